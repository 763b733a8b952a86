//! A provider that asks for its share of what is placed already, and how much of it has come.
//!
//! How much is still to come only a broker can tell. The production broker runs in this process as an onlooker and sees each move
//! as it goes on; what the one in the cluster keeps in its memory only, such as a move that it has given up for an hour, is
//! still to come here.

use std::{cell::Cell, time::Duration};

use anyhow::{Context as _, bail};
use broker_api::keys;
use broker_core::movement::Route;
use clap::Args;
use resource_broker::broker::Broker;
use runtime_effect::kind::Kind;
use serde_json::Value;

use crate::{
    access::Access,
    cluster::Cluster,
    clusters::Clusters,
    object::text,
    onlooker::{self, Looking, PATIENCE},
    paint::harmless,
    providers::{Ask, Provider, accept_apis, ask, bar},
    resource::Resources,
    wait::{Progress, Wait, goes_on},
};

/// How long a look waits for what is being decided.
const LOOK: Duration = Duration::from_secs(2);

/// Who asks for its share.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rebalance {
    #[command(flatten)]
    provider: Provider,
    /// Namespace of the broker's own objects
    #[arg(long, value_name = "NAMESPACE", default_value = "resource-broker-system")]
    broker_namespace: String,
    #[command(flatten)]
    wait: Wait,
}

/// Asks for what would be placed there now, and waits until it has come.
pub(crate) async fn rebalance(access: &Access, clusters: &Clusters, asked: &Rebalance) -> anyhow::Result<()> {
    let Rebalance { provider, broker_namespace, wait } = asked;
    ask(clusters, provider, Ask::Rebalance).await?;
    if wait.no_wait {
        goes_on();
        return Ok(());
    }
    let cluster = clusters.provider(&provider.name)?;
    let kinds = kinds(&accept_apis(cluster, provider.acceptapi.as_deref()).await?, cluster.resources().await?);
    let (options, notes) = onlooker::options(&clusters.hub, access, &kinds, broker_namespace).await?;
    let options = options.context("no broker brokers what this provider accepts: nothing will come")?;
    for note in notes {
        eprintln!("not known: {}", harmless(&note));
    }
    let looking = Looking::begin(options, access)?;
    looking.is_in_step(PATIENCE).await;
    if let Some(blind) = looking.blind() {
        bail!("how much is to come cannot be told: {blind}");
    }
    let most = Cell::new(0);
    wait.until(async || {
        let is_settled = looking.is_in_step(LOOK).await;
        let route = Route::Rebalance { to: cluster.name.clone() };
        let left = looking.broker().records.in_route(&route);
        most.set(most.get().max(left));
        Ok(match (left, is_settled) {
            (0, false) => Progress::Under("what is to come is not known yet".to_owned()),
            (0, true) if !may_ask(looking.broker(), cluster) => Progress::Failed(format!(
                "provider {} gets no share: the platform has to allow it (annotation {} on its cluster Secret, allowRebalance in its policy file), and an AcceptAPI has to be Ready",
                cluster.name.name(), keys::ALLOW_REBALANCE
            )),
            (0, true) => Progress::Done(there_is_no_more(cluster, &looking.unknown())),
            _ => Progress::Under(told(most.get(), left)),
        })
    })
    .await
}

/// The kinds that AcceptAPIs speak of.
fn kinds(accept_apis: &[Value], served: &Resources) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for accept in accept_apis {
        let gvr = |field: &str| text(accept, &format!("/spec/gvr/{field}"));
        if let Some(resource) = served.of_plural(gvr("group"), gvr("version"), gvr("resource"))
            && !kinds.contains(&resource.kind)
        {
            kinds.push(resource.kind.clone());
        }
    }
    kinds
}

/// Whether any AcceptAPI of a provider gets its share.
fn may_ask(broker: &Broker, provider: &Cluster) -> bool {
    let registry = broker.registry.load();
    registry.entries_of(&provider.name).any(|(id, _)| registry.rebalances(id))
}

fn told(most: usize, left: usize) -> String {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    format!("{} {left} of {most} objects are still to come", bar(count(most), count(left)))
}

fn there_is_no_more(provider: &Cluster, unknown: &[String]) -> String {
    let said = format!("nothing more is to come to provider {}", provider.name.name());
    unknown.iter().fold(said, |said, why| format!("{said}\nnot known: {why}"))
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use serde_json::json;

    use super::*;
    use crate::resource::Resource;

    #[test]
    fn kinds_are_those_that_the_provider_serves_under_their_plural() {
        let served = Resources::these([
            Resource::named("cert.io", "v1", "Certificate", "certificates"),
            Resource::named("x.io", "v1", "VM", "vms"),
        ]);
        let accepts = |group: &str, resource: &str| json!({"spec": {"gvr": {"group": group, "version": "v1", "resource": resource}}});
        let all = [accepts("cert.io", "certificates"), accepts("cert.io", "certificates"), accepts("x.io", "machines")];
        let names: Vec<String> = kinds(&all, &served).into_iter().map(|kind| kind.kind).collect();
        assert_eq!(names, ["Certificate"]);
    }

    #[test]
    fn what_cannot_be_seen_is_not_said_to_have_come() {
        let ariadne = Cluster::new(ClusterName::provider("ariadne"), Err("not asked".into()));
        assert_eq!(there_is_no_more(&ariadne, &[]), "nothing more is to come to provider ariadne");
        let said = there_is_no_more(&ariadne, &["homer is unreachable".into()]);
        assert!(said.ends_with("\nnot known: homer is unreachable"), "{said}");
        assert_eq!(told(4, 1), "[###############-----] 1 of 4 objects are still to come");
    }
}
