//! Moves between providers, by a person's hand.

use anyhow::{Context as _, bail};
use broker_api::{
    keys,
    migration::{MigrationState, STALLED},
};
use broker_core::copy;
use clap::Args;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    cluster::{Place, Trouble},
    clusters::Clusters,
    object::annotation,
    resource::Resource,
    sought::{Found, Sought},
    standing::Standing,
    trace::origin_key,
    wait::{Progress, Wait},
};

/// Which Migration.
#[derive(Debug, Clone, Args)]
pub(crate) struct Migration {
    /// Its name in the coordination cluster
    #[arg(value_name = "MIGRATION")]
    pub(crate) name: String,
    /// Its namespace; wherever it is, unless it is given
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
}

/// Which Migration, and whether its end is waited for.
#[derive(Debug, Clone, Args)]
pub(crate) struct Followed {
    #[command(flatten)]
    pub(crate) migration: Migration,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// What is asked of a Migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Pause,
    Resume,
    Abort,
    Retry,
}

impl Ask {
    fn patch(self, migration: &Value) -> Value {
        let spec = match self {
            Self::Pause => json!({ "paused": true }),
            Self::Resume => json!({ "paused": false }),
            Self::Abort => json!({ "abort": true }),
            Self::Retry => json!({ "retry": migration["spec"]["retry"].as_i64().unwrap_or_default() + 1 }),
        };
        // Nobody else's change in between is undone.
        json!({ "metadata": { "resourceVersion": migration["metadata"]["resourceVersion"] }, "spec": spec })
    }

    fn told(self) -> &'static str {
        match self {
            Self::Pause => "goes no further until it is resumed",
            Self::Resume => "goes on",
            Self::Abort => "is given up, unless the consumer has been switched to the new copy already",
            Self::Retry => "runs its failed stage once more",
        }
    }
}

fn migrations() -> Resource {
    Resource::ours("Migration", "migrations")
}

/// Asks it of a Migration, and follows its stages to the end.
pub(crate) async fn follow(clusters: &Clusters, which: &Followed, asked: Ask) -> anyhow::Result<()> {
    let migration = ask(clusters, &which.migration, asked).await?;
    let place = |of: &'static str| migration["metadata"][of].as_str().unwrap_or_default();
    let to = migration["spec"]["to"]["clusterName"].as_str().unwrap_or_default();
    let ends = |now: &Value| match progress(now, to) {
        Progress::Failed(why) if asked == Ask::Abort && succeeded(now).is_some() => Progress::Done(why),
        Progress::Done(said) if asked == Ask::Abort => Progress::Failed(format!("it came too late: {said}")),
        other => other,
    };
    until_ended(clusters, place("namespace"), place("name"), ends, which.wait).await
}

/// Asks it of a Migration. Returns that, as it is now.
pub(crate) async fn ask(clusters: &Clusters, which: &Migration, ask: Ask) -> anyhow::Result<Value> {
    let list = clusters.hub.list(&migrations(), which.namespace.as_deref(), None).await?;
    let mut found: Vec<&Value> = list.iter().filter(|one| one["metadata"]["name"] == *which.name).collect();
    let migration = match (found.pop(), found.is_empty()) {
        (Some(one), true) => one,
        (Some(_), false) => bail!("there are several Migrations {}: say which with --namespace", which.name),
        (None, _) => bail!("there is no Migration {}: `kubectl broker migrations` lists them", which.name),
    };
    let namespace = migration["metadata"]["namespace"].as_str().unwrap_or_default();
    let now = clusters.hub.patch(&migrations(), Place { namespace, name: &which.name }, &ask.patch(migration)).await?;
    println!("Migration {namespace}/{} {}", which.name, ask.told());
    Ok(now)
}

/// Waits until a Migration has ended, whichever way.
async fn until_ended(
    clusters: &Clusters,
    namespace: &str,
    name: &str,
    ends: impl Fn(&Value) -> Progress,
    wait: Wait,
) -> anyhow::Result<()> {
    let look = async || {
        let Some(now) = clusters.hub.get(&migrations(), Place { namespace, name }).await? else {
            return Ok(Progress::Failed(format!("Migration {namespace}/{name} was deleted")));
        };
        Ok(ends(&now))
    };
    wait.until(look).await
}

/// Moves an object to a provider.
pub(crate) async fn migrate(
    clusters: &Clusters,
    sought: &Sought,
    to: &str,
    namespace: Option<&str>,
    wait: Wait,
) -> anyhow::Result<()> {
    let found = Found::find(clusters, sought).await?;
    let to = clusters.provider(to)?.name.name().to_owned();
    let from = annotation(&found.object, keys::PROVIDER_CLUSTER);
    let from =
        from.with_context(|| format!("{}: the object is at no provider: {}", found.cluster.name, found.ask_why()))?;
    anyhow::ensure!(from != to, "the object is at provider {to} already");
    let key = origin_key(&found.cluster.name, &found.resource, &found.object);
    // Where the broker makes its own, and anywhere but in its own namespace the only one that it takes.
    let namespace = namespace.unwrap_or(&key.namespace);
    let kind = &found.resource.kind;
    let gvk = json!({ "group": kind.group, "version": kind.version, "kind": kind.kind });
    let side = |provider: &str| json!({ "gvk": gvk, "clusterName": provider, "namespace": key.namespace, "name": copy::name(&key) });
    let migration = json!({
        "apiVersion": format!("{}/v1alpha1", keys::GROUP),
        "kind": "Migration",
        "metadata": { "generateName": format!("{}-", cut(&key.name)), "namespace": namespace },
        "spec": { "from": side(from), "to": side(&to) },
    });
    let made = clusters
        .hub
        .create(&migrations(), namespace, &migration)
        .await
        .map_err(|trouble| no_room(trouble, namespace))?;
    let name = made["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    println!("Migration {namespace}/{name} moves it from provider {from} to provider {to}");
    until_ended(clusters, namespace, &name, |now| progress(now, &to), wait).await
}

/// A consumer's namespaces need not be in the coordination cluster.
fn no_room(trouble: Trouble, namespace: &str) -> anyhow::Error {
    if !trouble.to_string().contains(&format!("namespaces \"{namespace}\" not found")) {
        return trouble.into();
    }
    anyhow::anyhow!(
        "the coordination cluster has no namespace {namespace}, where a Migration of this object would be: create it, or \
         name the broker's own, which may hold any, with --migration-namespace"
    )
}

/// Room is left for what makes the name one of its own.
fn cut(name: &str) -> &str {
    let end = (0..=200.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or_default();
    name[..end].trim_end_matches(['.', '-'])
}

/// The condition that only one that has ended has.
fn succeeded(migration: &Value) -> Option<&Value> {
    migration["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == "Succeeded")
}

fn progress(migration: &Value, to: &str) -> Progress {
    let said = Standing::of(migration);
    match succeeded(migration).map(|one| (one["status"] == "True", one["message"].as_str().unwrap_or_default())) {
        Some((true, _)) => Progress::Done(format!("it is at provider {to}")),
        Some((false, why)) => Progress::Failed(format!("the Migration failed: {why}")),
        None => {
            if let Some(why) = held(migration) {
                return Progress::Failed(format!("it is held, and all stays as it is: {why}"));
            }
            let stage =
                migration["status"]["stage"].as_str().map(|stage| format!(", stage {stage}")).unwrap_or_default();
            let why = said.message.map(|why| format!(": {why}")).unwrap_or_default();
            Progress::Under(format!("{}{stage}{why}", said.summary))
        }
    }
}

/// Why a Migration waits for a person: its stage has failed, and nothing has been asked for since.
fn held(migration: &Value) -> Option<&str> {
    let (spec, status) = (&migration["spec"], &migration["status"]);
    // Where nothing is told of it, it has not begun.
    let state = status.get("state").map_or(Ok(MigrationState::Unknown), MigrationState::deserialize);
    let may_be_aborted = state.is_ok_and(MigrationState::is_before_switch);
    if spec["abort"] == true && may_be_aborted || spec["force"] == true {
        return None;
    }
    let retry = |of: &Value| of["retry"].as_i64().unwrap_or_default();
    let mut stages = status["stages"].as_array().into_iter().flatten();
    stages.find(|stage| stage["state"] == "Failed" && retry(stage) >= retry(spec))?;
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.find(|one| one["type"] == STALLED && one["status"] == "True")?["message"].as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_is_one_more() {
        let migration = json!({ "metadata": { "resourceVersion": "7" }, "spec": { "retry": 2 } });
        let patch = Ask::Retry.patch(&migration);
        assert_eq!((&patch["spec"]["retry"], &patch["metadata"]["resourceVersion"]), (&json!(3), &json!("7")));
    }

    #[test]
    fn a_stage_that_is_held_is_waited_for_only_when_it_was_asked_for_again() {
        let of = |asked: i64, abort: bool, state: &str| {
            let stalled = json!({ "type": "Stalled", "status": "True", "message": "stage copy has failed" });
            progress(
                &json!({ "spec": { "retry": asked, "abort": abort },
                    "status": { "stages": [{ "name": "copy", "state": state, "retry": 1 }], "conditions": [stalled] } }),
                "theseus",
            )
        };
        assert!(matches!(of(1, false, "Failed"), Progress::Failed(why) if why.contains("stage copy has failed")));
        let late = json!({ "spec": { "abort": true }, "status": { "state": "CutoverInProgress",
            "stages": [{ "state": "Failed" }],
            "conditions": [{ "type": "Stalled", "status": "True", "message": "it came too late" }] } });
        assert_eq!(held(&late), Some("it came too late"));
        for (asked, abort, state) in [(2, false, "Failed"), (1, true, "Failed"), (1, false, "Running")] {
            assert!(matches!(of(asked, abort, state), Progress::Under(_)), "{asked} {abort} {state}");
        }
    }
}
