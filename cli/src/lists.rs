//! Tables over all clusters.

use std::collections::BTreeMap;

use broker_api::{ClusterName, Role, keys};
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    age,
    arguments::Printing,
    cluster::{Cluster, Trouble},
    clusters::Clusters,
    resource::Resource,
    standing::Standing,
    table::{Table, column, wide},
    trace::annotation,
};

/// What is printed, and what could not be known: a line each.
pub(crate) struct Listed {
    pub(crate) text: String,
    pub(crate) unknown: Vec<String>,
}

/// A table, and what could not be known for it.
pub(crate) fn listed(table: Table, printing: &Printing, unknown: Vec<String>) -> anyhow::Result<Listed> {
    Ok(Listed { text: table.print(printing)?, unknown })
}

/// Its name.
pub(crate) fn name(object: &Value) -> Value {
    object["metadata"]["name"].clone()
}

/// Its age, as people say it.
pub(crate) fn age_of(object: &Value) -> Value {
    let made = object["metadata"]["creationTimestamp"].as_str();
    made.and_then(|made| age::seconds(made, Timestamp::now())).map_or(Value::Null, |seconds| json!(age::told(seconds)))
}

/// All objects of a kind in all clusters of a role; those that cannot be known are told of.
async fn everywhere<'a>(
    clusters: impl Iterator<Item = &'a Cluster>,
    resource: impl AsyncFn(&Cluster) -> Result<Option<Resource>, Trouble>,
    unknown: &mut Vec<String>,
) -> Vec<(&'a Cluster, Value)> {
    let lists = clusters.map(|cluster| {
        let resource = resource(cluster);
        async move {
            let list = match resource.await {
                Ok(Some(resource)) => cluster.list(&resource, None, None).await,
                Ok(None) => Ok(Vec::new()),
                Err(trouble) => Err(trouble),
            };
            (cluster, list)
        }
    });
    let mut all = Vec::new();
    for (cluster, list) in join_all(lists).await {
        match list {
            Ok(list) => all.extend(list.into_iter().map(|object| (cluster, object))),
            Err(Trouble::NotServed(_)) => {}
            Err(trouble) => unknown.push(trouble.to_string()),
        }
    }
    all
}

/// `kubectl broker clusters`.
pub(crate) async fn clusters(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let mut table = Table::new([column("NAME"), column("ROLE"), column("REACHABLE"), column("VERSION"), wide("WHY")]);
    let all: Vec<&Cluster> = std::iter::once(&clusters.hub).chain(clusters.others()).collect();
    let versions = join_all(all.iter().map(|cluster| cluster.ask::<Value>("/version", "application/json"))).await;
    let mut unknown = clusters.unknown.clone();
    for (cluster, version) in all.into_iter().zip(versions) {
        let (reachable, version, why) = match version {
            Ok(version) => (true, version["gitVersion"].clone(), Value::Null),
            Err(trouble) => (false, Value::Null, json!(trouble.to_string())),
        };
        if let Some(why) = why.as_str() {
            unknown.push(why.to_owned());
        }
        table.row([json!(cluster.name.name()), json!(cluster.name.role().as_str()), json!(reachable), version, why]);
    }
    listed(table, printing, unknown)
}

/// `kubectl broker acceptapis`.
pub(crate) async fn accept_apis(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let mut table = Table::new([
        column("PROVIDER"),
        column("NAMESPACE"),
        column("NAME"),
        column("RESOURCE"),
        column("READY"),
        column("PLACED"),
        column("CAPACITY"),
        column("PRIORITY"),
        wide("WEIGHT"),
        column("STATE"),
        wide("AGE"),
        wide("WHY"),
    ]);
    let mut unknown = clusters.unknown.clone();
    let resource = async |_: &Cluster| Ok(Some(Resource::ours("AcceptAPI", "acceptapis")));
    for (provider, one) in everywhere(clusters.in_role(Role::Provider), resource, &mut unknown).await {
        let spec = &one["spec"];
        let part = |name: &str| spec["gvr"][name].as_str().unwrap_or_default().to_owned();
        let resource = [part("resource"), part("version"), part("group")].join(".");
        let said = Standing::of(&one);
        table.row([
            json!(provider.name.name()),
            one["metadata"]["namespace"].clone(),
            name(&one),
            json!(resource.trim_end_matches('.')),
            json!(said.good.map_or("-".to_owned(), |good| good.to_string())),
            one["status"]["placed"].clone(),
            spec["capacity"].clone(),
            json!(spec["priority"].as_i64().unwrap_or_default()),
            json!(spec["weight"].as_u64().unwrap_or(1)),
            json!(state(&one)),
            age_of(&one),
            said.message.map_or(Value::Null, Value::String),
        ]);
    }
    listed(table, printing, unknown)
}

/// What people have asked of an AcceptAPI.
fn state(one: &Value) -> String {
    let is_on = |key| annotation(one, key) == Some(keys::TRUE);
    let cordoned = one["spec"]["cordoned"] == true;
    let words = [
        (cordoned && is_on(keys::DRAIN), "draining"),
        (cordoned && !is_on(keys::DRAIN), "cordoned"),
        (is_on(keys::REBALANCE), "rebalancing"),
    ];
    let told: Vec<&str> = words.into_iter().filter_map(|(said, word)| said.then_some(word)).collect();
    if told.is_empty() { "open".to_owned() } else { told.join(",") }
}

/// `kubectl broker objects`.
pub(crate) async fn objects(clusters: &Clusters, kind: &str, printing: &Printing) -> anyhow::Result<Listed> {
    let mut table = Table::new([
        column("CONSUMER"),
        column("NAMESPACE"),
        column("NAME"),
        column("PROVIDER"),
        wide("MOVING TO"),
        column("STATUS"),
        column("AGE"),
        wide("WHY"),
    ]);
    let mut unknown = clusters.unknown.clone();
    let resource = async |cluster: &Cluster| Ok(cluster.resources().await?.called(kind).cloned());
    let found = everywhere(clusters.in_role(Role::Consumer), resource, &mut unknown).await;
    for (consumer, one) in &found {
        let said = Standing::of(one);
        let marked = |key| annotation(one, key).map_or(Value::Null, |value| json!(value));
        table.row([
            json!(consumer.name.name()),
            one["metadata"]["namespace"].clone(),
            name(one),
            marked(keys::PROVIDER_CLUSTER),
            marked(keys::NEW_PROVIDER_CLUSTER),
            if said.summary.is_empty() { Value::Null } else { json!(said.summary) },
            age_of(one),
            said.message.map_or(Value::Null, Value::String),
        ]);
    }
    if found.is_empty() && unknown.is_empty() {
        let consumers = clusters.in_role(Role::Consumer).map(Cluster::resources);
        let served = join_all(consumers).await.into_iter().flatten().any(|resources| resources.called(kind).is_some());
        anyhow::ensure!(served, "no consumer serves a kind {kind}");
    }
    listed(table, printing, unknown)
}

/// `kubectl broker migrations`.
pub(crate) async fn migrations(clusters: &Clusters, printing: &Printing) -> anyhow::Result<Listed> {
    let mut table = Table::new([
        column("NAMESPACE"),
        column("NAME"),
        column("KIND"),
        column("FROM"),
        column("TO"),
        column("STATE"),
        column("STAGE"),
        column("AGE"),
        wide("COPY"),
        wide("WHY"),
    ]);
    let list = clusters.hub.list(&Resource::ours("Migration", "migrations"), None, None).await?;
    for one in &list {
        let side = |side: &str| {
            let written = one["spec"][side]["clusterName"].as_str().unwrap_or_default();
            json!(ClusterName::written(Role::Provider, written).name())
        };
        table.row([
            one["metadata"]["namespace"].clone(),
            name(one),
            one["spec"]["from"]["gvk"]["kind"].clone(),
            side("from"),
            side("to"),
            one["status"]["state"].clone(),
            one["status"]["stage"].clone(),
            age_of(one),
            one["spec"]["from"]["name"].clone(),
            Standing::of(one).message.map_or(Value::Null, Value::String),
        ]);
    }
    listed(table, printing, Vec::new())
}

/// How many objects each AcceptAPI of a provider holds, by `namespace/name`.
pub(crate) fn placed(list: &[Value]) -> BTreeMap<String, u64> {
    let full = |one: &Value| {
        let part = |name: &str| one["metadata"][name].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", part("namespace"), part("name"))
    };
    list.iter().map(|one| (full(one), one["status"]["placed"].as_u64().unwrap_or_default())).collect()
}
