//! What is asked of a provider, by its AcceptAPIs.

use anyhow::bail;
use broker_api::keys;
use clap::Args;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, Place},
    clusters::Clusters,
    lists::placed,
    paint::harmless,
    resource::Resource,
    wait::{Progress, Wait},
};

/// Which AcceptAPIs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Provider {
    /// The provider
    #[arg(value_name = "PROVIDER")]
    pub(crate) name: String,
    /// Only this AcceptAPI of its: NAMESPACE/NAME; all of them unless it is given
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub(crate) acceptapi: Option<String>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Nothing new.
    Cordon,
    /// As if nothing had been asked.
    Uncordon,
    /// All that is there goes.
    Drain,
    /// What would be placed here comes.
    Rebalance,
}

impl Ask {
    /// What is written into an AcceptAPI.
    fn patch(self) -> Value {
        let annotations = |drain: Value, rebalance: Value| json!({ keys::DRAIN: drain, keys::REBALANCE: rebalance });
        match self {
            Self::Cordon => json!({ "spec": { "cordoned": true } }),
            Self::Uncordon => {
                json!({ "spec": { "cordoned": false }, "metadata": { "annotations": annotations(Value::Null, Value::Null) } })
            }
            Self::Drain => {
                json!({ "spec": { "cordoned": true }, "metadata": { "annotations": annotations(json!(keys::TRUE), Value::Null) } })
            }
            Self::Rebalance => json!({ "metadata": { "annotations": { keys::REBALANCE: keys::TRUE } } }),
        }
    }
}

/// Asks it of all AcceptAPIs of a provider, or of one. Returns how many objects these held before.
pub(crate) async fn ask(clusters: &Clusters, asked: &Provider, ask: Ask) -> anyhow::Result<u64> {
    let provider = clusters.provider(&asked.name)?;
    let before = placed(&accept_apis(provider, asked.acceptapi.as_deref()).await?);
    let resource = Resource::ours("AcceptAPI", "acceptapis");
    for full in before.keys() {
        let (namespace, name) = full.split_once('/').unwrap_or_default();
        provider.patch(&resource, Place { namespace, name }, &ask.patch()).await?;
        println!("AcceptAPI {} of provider {}: {}", harmless(full), provider.name.name(), told(ask));
    }
    Ok(before.values().sum())
}

/// Asks for all objects to leave, and waits until they have.
pub(crate) async fn drain(clusters: &Clusters, asked: &Provider, wait: Wait) -> anyhow::Result<()> {
    let total = ask(clusters, asked, Ask::Drain).await?;
    let provider = clusters.provider(&asked.name)?;
    let left = async || {
        let now = accept_apis(provider, asked.acceptapi.as_deref()).await?;
        if !now.iter().all(is_counted) {
            return Ok(Progress::Under("the broker has not said yet how many objects are left".to_owned()));
        }
        Ok(left_of(provider, total, placed(&now).values().sum(), ["object", "objects"]))
    };
    wait.until(left).await
}

/// How far a provider is that gives up what it holds; `called`: one of it, and several.
pub(crate) fn left_of(provider: &Cluster, total: u64, left: u64, called: [&str; 2]) -> Progress {
    let ([one, several], total) = (called, total.max(left));
    match left {
        0 => Progress::Done(format!("provider {} holds no {one} any more", provider.name.name())),
        _ => Progress::Under(format!("{} {left} of {total} {several} are left", bar(total, left))),
    }
}

/// Whether a broker has counted what an AcceptAPI holds since its spec was changed.
fn is_counted(accept: &Value) -> bool {
    let seen = accept["status"]["observedGeneration"].as_i64();
    accept["status"]["placed"].is_u64() && seen >= accept["metadata"]["generation"].as_i64()
}

/// How much is done: `[#####-----]`.
pub(crate) fn bar(total: u64, left: u64) -> String {
    const WIDTH: u64 = 20;
    let done = (total - left) * WIDTH / total.max(1);
    let of = |letter: &str, count: u64| letter.repeat(usize::try_from(count).unwrap_or_default());
    format!("[{}{}]", of("#", done), of("-", WIDTH - done))
}

fn told(ask: Ask) -> &'static str {
    match ask {
        Ask::Cordon => "takes nothing new",
        Ask::Uncordon => "takes objects",
        Ask::Drain => "takes nothing new, and what is there moves away",
        Ask::Rebalance => "asks for what would be placed there now, where the platform allows it (allow-rebalance)",
    }
}

/// All AcceptAPIs of a provider, or one: it is an error where there is none.
pub(crate) async fn accept_apis(provider: &Cluster, only: Option<&str>) -> anyhow::Result<Vec<Value>> {
    let mut list = provider.list(&Resource::ours("AcceptAPI", "acceptapis"), None, None).await?;
    let names: Vec<String> = placed(&list).into_keys().collect();
    if let Some(only) = only {
        list.retain(|one| placed(std::slice::from_ref(one)).contains_key(only));
    }
    if list.is_empty() {
        match only {
            Some(only) => bail!("{} has no AcceptAPI {only}; it has: {}", provider.name, names.join(", ")),
            None => bail!("{} has no AcceptAPI", provider.name),
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drained_provider_is_cordoned_and_one_that_is_not_forgets_both() {
        assert_eq!(Ask::Drain.patch()["spec"]["cordoned"], true);
        assert_eq!(Ask::Drain.patch()["metadata"]["annotations"][keys::DRAIN], "true");
        assert!(Ask::Uncordon.patch()["metadata"]["annotations"][keys::DRAIN].is_null());
        let accept = |status: Value| json!({ "metadata": { "generation": 2 }, "status": status });
        assert!(is_counted(&accept(json!({ "placed": 0, "observedGeneration": 2 }))));
        for status in [json!({ "placed": 0, "observedGeneration": 1 }), json!({ "observedGeneration": 2 }), Value::Null]
        {
            assert!(!is_counted(&accept(status.clone())), "{status}");
        }
        assert_eq!((bar(4, 4), bar(4, 1)), ("[--------------------]".into(), "[###############-----]".into()));
    }
}
