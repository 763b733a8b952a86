//! Tables over all clusters.

use std::collections::BTreeMap;

use broker_api::Role;
use futures::future::join_all;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Trouble, Wanted},
    clusters::Clusters,
    object::text,
    output::Printing,
    resource::Resource,
    rows::{AcceptApiRow, ClusterRow, MigrationRow, ObjectRow},
    table::{self, Row},
};

/// What is printed, and what could not be known: a line each.
pub(crate) struct Listed {
    pub(crate) text: String,
    pub(crate) unknown: Vec<String>,
}

/// A table, and what could not be known for it.
pub(crate) fn listed<R: Row>(rows: Vec<R>, printing: &Printing, unknown: Vec<String>) -> anyhow::Result<Listed> {
    Ok(Listed { text: table::print(rows, printing)?, unknown })
}

/// A row of each object of a kind in all clusters of a role; those that cannot be known are told of. No more is held of an
/// object than its row.
async fn everywhere<'a, R>(
    clusters: impl Iterator<Item = &'a Cluster>,
    resource: impl AsyncFn(&Cluster) -> Result<Option<Resource>, Trouble>,
    row: impl Fn(&Cluster, &Value) -> R,
    unknown: &mut Vec<String>,
) -> Vec<R> {
    let (resource, row) = (&resource, &row);
    let lists = clusters.map(|cluster| async move {
        let mut rows = Vec::new();
        if let Some(resource) = resource(cluster).await? {
            cluster.each(&resource, Wanted::default(), |object| rows.push(row(cluster, &object))).await?;
        }
        Ok::<_, Trouble>(rows)
    });
    let mut all = Vec::new();
    for list in join_all(lists).await {
        match list {
            Ok(rows) => all.extend(rows),
            Err(Trouble::NotServed(_)) => {}
            Err(trouble) => unknown.push(trouble.to_string()),
        }
    }
    all
}

/// `kubectl broker clusters`.
pub(crate) async fn clusters(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let all: Vec<&Cluster> = std::iter::once(&clusters.hub).chain(clusters.others()).collect();
    let versions = join_all(all.iter().map(|cluster| cluster.ask::<Value>("/version", "application/json"))).await;
    let rows = all.into_iter().zip(versions).map(|(cluster, version)| ClusterRow::of(cluster, version));
    let rows: Vec<ClusterRow> = rows.collect();
    let unknown = clusters.unknown.iter().chain(rows.iter().filter_map(|row| row.why.as_ref())).cloned().collect();
    listed(rows, printing, unknown)
}

/// A row of each AcceptAPI of all providers.
pub(crate) async fn accept_apis_of<R>(
    clusters: &Clusters,
    row: impl Fn(&Cluster, &Value) -> R,
    unknown: &mut Vec<String>,
) -> Vec<R> {
    let resource = async |_: &Cluster| Ok::<_, Trouble>(Some(Resource::ours("AcceptAPI", "acceptapis")));
    everywhere(clusters.in_role(Role::Provider), resource, row, unknown).await
}

/// `kubectl broker acceptapis`.
pub(crate) async fn accept_apis(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let mut unknown = clusters.unknown.clone();
    let rows = accept_apis_of(clusters, AcceptApiRow::of, &mut unknown).await;
    listed(rows, printing, unknown)
}

/// `kubectl broker objects`.
pub(crate) async fn objects(clusters: &Clusters, kind: &str, printing: &Printing) -> anyhow::Result<Listed> {
    let mut unknown = clusters.unknown.clone();
    let resource = async |cluster: &Cluster| Ok::<_, Trouble>(cluster.resources().await?.called(kind).cloned());
    let rows = everywhere(clusters.in_role(Role::Consumer), resource, ObjectRow::of, &mut unknown).await;
    if rows.is_empty() && unknown.is_empty() {
        let consumers = clusters.in_role(Role::Consumer).map(Cluster::resources);
        let served = join_all(consumers).await.into_iter().flatten().any(|resources| resources.called(kind).is_some());
        anyhow::ensure!(served, "no consumer serves a kind {kind}");
    }
    listed(rows, printing, unknown)
}

/// `kubectl broker migrations`. Beside the table what is another as soon as one of them is.
pub(crate) async fn migrations(clusters: &Clusters, printing: &Printing) -> anyhow::Result<(Listed, Vec<String>)> {
    let list = clusters.hub.list(&Resource::ours("Migration", "migrations"), None, None).await?;
    let versions = list.iter().map(|one| text(one, "/metadata/resourceVersion").to_owned()).collect();
    Ok((listed(list.iter().map(MigrationRow::of).collect(), printing, Vec::new())?, versions))
}

/// How many objects each AcceptAPI of a provider holds, by `namespace/name`.
pub(crate) fn placed(list: &[Value]) -> BTreeMap<String, u64> {
    let full = |one: &Value| {
        let part = |name: &str| one["metadata"][name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("namespace"), part("name"))
    };
    list.iter().map(|one| (full(one), one["status"]["placed"].as_u64().unwrap_or_default())).collect()
}
