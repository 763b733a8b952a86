//! What a provider holds for the broker: its copies, whatever its AcceptAPIs count.

use anyhow::ensure;
use broker_api::keys;
use resource_broker::watch_kind::KindFlag;

use crate::{
    cluster::{Cluster, Trouble, Wanted},
    deployed::brokers,
    resource::Resource,
};

/// The kinds of which a provider may hold copies: those that are named, and those of the brokers' flags. What a broker has served
/// once and is told of no longer is not among them.
pub(crate) async fn kinds(
    hub: &Cluster,
    provider: &Cluster,
    broker_namespace: &str,
    named: &[KindFlag],
) -> anyhow::Result<Vec<Resource>> {
    let mut brokered = named.to_vec();
    let mut why = format!("no broker is in namespace {broker_namespace}");
    match brokers(hub, broker_namespace).await {
        Ok(brokers) => {
            for broker in brokers {
                match broker.options {
                    Ok(options) => brokered.extend(options.watch_kind),
                    Err(error) => why = format!("the flags of {} cannot be read: {error}", broker.name),
                }
            }
        }
        Err(trouble) => why = format!("its Deployment cannot be read: {trouble}"),
    }
    ensure!(!brokered.is_empty(), "which kinds are brokered is not known ({why}): name them with --watch-kind");
    let resources = provider.resources().await?;
    let mut served: Vec<Resource> = Vec::new();
    for KindFlag(kind) in &brokered {
        if let Some(resource) = resources.of_group_kind(&kind.group, &kind.kind)
            && !served.contains(resource)
        {
            served.push(resource.clone());
        }
    }
    Ok(served)
}

/// The label selector of all copies of the broker's.
pub(crate) fn selector() -> String {
    format!("{}={},{}", keys::MANAGED_BY, keys::MANAGER, keys::CONSUMER)
}

/// How many copies of these kinds there are.
pub(crate) async fn copies(provider: &Cluster, kinds: &[Resource]) -> Result<u64, Trouble> {
    let selector = selector();
    let wanted = Wanted { selector: Some(&selector), metadata_only: true, ..Wanted::default() };
    let mut count = 0;
    for kind in kinds {
        provider.each(kind, wanted, |_| count += 1).await?;
    }
    Ok(count)
}
