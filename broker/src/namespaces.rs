//! Namespaces that the broker made at providers go when they are empty.

use std::{collections::HashSet, sync::Arc, time::Duration};

use broker_api::{ClusterName, keys};
use broker_fleet::{
    call::{Caller, JSON, OBJECT_LIMIT, get},
    cluster::Cluster,
    error::CallError,
    index::Index,
    kind::{KindState, group_version_path},
    object::ObjectKey,
    write::Writer,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroupList, APIResourceList};
use serde::Deserialize;
use tracing::{debug, info};

use crate::{act::namespaces, broker::Broker};

/// A copy that moves or is recreated is back by then.
const GRACE: Duration = Duration::from_secs(2);

/// What every namespace holds by itself, or what says nothing about use.
fn counts(resource: &str, name: &str) -> bool {
    !matches!((resource, name), ("configmaps", "kube-root-ca.crt") | ("serviceaccounts", "default") | ("events", _))
}

#[derive(Deserialize)]
struct Names {
    /// An empty list comes as `null`.
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Name,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

impl Broker {
    /// A copy has gone from this namespace of a provider.
    pub(crate) fn copy_gone(&self, provider: &ClusterName, namespace: &Arc<str>) {
        let Some(cluster) = self.fleet().cluster(provider).filter(|_| self.leads()) else { return };
        if self.is_used(&cluster, namespace) {
            return;
        }
        let (broker, namespace) = (self.itself(), Arc::clone(namespace));
        tokio::spawn(async move {
            tokio::time::sleep(GRACE).await;
            broker.remove_if_empty(&cluster, &namespace).await;
        });
    }

    /// Namespaces that an earlier process made at a provider and did not come to remove.
    pub(crate) async fn sweep_namespaces(&self, cluster: &Cluster) {
        let Some(connection) = cluster.connection() else { return };
        let label = keys::MANAGED_BY.replace('/', "%2F");
        let path = format!("/api/v1/namespaces?labelSelector={label}%3D{}", keys::MANAGER);
        match read::<Names>(&connection.caller, &path, METADATA_LIST).await {
            Ok(found) => {
                for item in found.items.into_iter().flatten() {
                    self.remove_if_empty(cluster, &item.metadata.name.into()).await;
                }
            }
            Err(error) => debug!(cluster = %cluster.name(), %error, "namespaces of an earlier process stay"),
        }
    }

    /// Whether copies are, or may be, in a namespace of a provider.
    fn is_used(&self, cluster: &Cluster, namespace: &str) -> bool {
        // A kind that the provider does not serve has no objects there; its index is never complete.
        let counts = |index: &Index| {
            self.watches.brokered_by(index.spec()).is_some() && cluster.kind(&index.spec().gvk) != KindState::Missing
        };
        cluster.indexes().iter().any(|index| counts(index) && (!index.is_complete() || index.has_any_in(namespace)))
    }

    async fn remove_if_empty(&self, cluster: &Cluster, namespace: &Arc<str>) {
        let Some(connection) = cluster.connection() else { return };
        // Asked again right before the delete: looking takes a while.
        let may = || self.leads() && !self.is_used(cluster, namespace);
        match remove_if_empty(&connection.caller, namespace, may).await {
            Ok(true) => info!(cluster = %cluster.name(), %namespace, "empty namespace removed"),
            Ok(false) => {}
            Err(error) => {
                debug!(cluster = %cluster.name(), %namespace, %error, "namespace kept: it is not known whether it is empty");
            }
        }
    }
}

/// Removes the namespace if the broker made it and nothing is in it. An error means that nobody can tell: it stays.
async fn remove_if_empty(caller: &Caller, namespace: &str, may: impl Fn() -> bool) -> Result<bool, CallError> {
    if !may() {
        return Ok(false);
    }
    let kind = namespaces();
    let key = ObjectKey::new("", namespace);
    let writer = Writer::new(caller, keys::MANAGER);
    let Some(found) = writer.get(&kind, &key).await? else { return Ok(false) };
    let ours = found.marks().labels.get(keys::MANAGED_BY).is_some_and(|manager| manager == keys::MANAGER);
    if !ours || found.deleting || !is_empty(caller, namespace).await? || !may() {
        return Ok(false);
    }
    writer.delete(&kind, &key, &found.uid).await?;
    Ok(true)
}

async fn read<T: serde::de::DeserializeOwned>(
    caller: &Caller,
    path: &str,
    accept: &'static str,
) -> Result<T, CallError> {
    let (_, answer) = caller.call(get(path, accept)?, OBJECT_LIMIT).await?;
    serde_json::from_slice(&answer)
        .map_err(|error| CallError::UnknownOutcome(format!("unreadable answer from {path}: {error}")))
}

async fn is_empty(caller: &Caller, namespace: &str) -> Result<bool, CallError> {
    let groups: APIGroupList = read(caller, "/apis", JSON).await?;
    let mut versions = vec![group_version_path("", "v1")];
    // All versions: a kind that only an older one serves is there as well.
    let all = groups.groups.iter().flat_map(|group| &group.versions);
    versions.extend(all.map(|version| format!("/apis/{}", version.group_version)));
    let mut seen: HashSet<(String, String)> = HashSet::new();
    for path in versions {
        let list: APIResourceList = read(caller, &path, JSON).await?;
        let listable = list.resources.iter().filter(|resource| {
            resource.namespaced && !resource.name.contains('/') && resource.verbs.iter().any(|verb| verb == "list")
        });
        for resource in listable {
            let group = path.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
            if !seen.insert((group, resource.name.clone())) {
                continue;
            }
            let path = format!("{path}/namespaces/{namespace}/{}?limit=5", resource.name);
            let names: Names = read(caller, &path, METADATA_LIST).await?;
            if names.items.iter().flatten().any(|item| counts(&resource.name, &item.metadata.name)) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
