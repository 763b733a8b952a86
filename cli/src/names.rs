//! What the clusters have names for, for whoever types one.

use std::{collections::BTreeSet, time::Duration};

use broker_api::Role;
use clap::Arg;
use futures::future::join_all;
use kube::config::Kubeconfig;
use serde_json::Value;

use crate::{
    access::Access,
    cluster::{Cluster, Trouble, Wanted},
    clusters::Clusters,
    resource::Resource,
    sought,
};

/// So long somebody waits for names.
const PATIENCE: Duration = Duration::from_secs(2);

/// So many are shown at the most: nobody reads more.
const MOST: usize = 500;

/// What a name is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// An object, as KIND/NAME.
    Object,
    /// A kind that providers accept, or that a graph serves.
    Kind,
    /// A provider.
    Provider,
    /// Any cluster but the coordination cluster.
    Cluster,
    /// A consumer.
    Consumer,
    /// An AcceptAPI of the provider that is named before, as NAMESPACE/NAME.
    AcceptApi,
    /// A Migration.
    Migration,
    /// A ResourceGraphDefinition.
    Graph,
    /// A namespace of the clusters in which objects are looked for.
    Namespace,
    /// A namespace of the coordination cluster.
    HubNamespace,
    /// A revision of the graph that is named before.
    Revision,
    /// A context of the kubeconfig.
    Context,
    /// A file or a directory: the shell knows them.
    File,
}

impl Sort {
    /// Of the values of an argument, by what help calls them.
    pub(crate) fn of(arg: &Arg) -> Option<Self> {
        let called = match arg.get_value_names().and_then(<[_]>::first) {
            Some(called) => called.as_str().to_owned(),
            None => arg.get_id().as_str().to_uppercase(),
        };
        Some(match called.as_str() {
            "KIND/NAME" => Self::Object,
            "KIND" => Self::Kind,
            "PROVIDER" => Self::Provider,
            "CLUSTER" => Self::Cluster,
            "CONSUMER" => Self::Consumer,
            "NAMESPACE/NAME" => Self::AcceptApi,
            "MIGRATION" => Self::Migration,
            "GRAPH" => Self::Graph,
            "NAMESPACE" if arg.get_id() == "namespace" => Self::Namespace,
            "NAMESPACE" => Self::HubNamespace,
            "REVISION" => Self::Revision,
            "CONTEXT" => Self::Context,
            "FILE" | "DIRECTORY" => Self::File,
            _ => return None,
        })
    }
}

/// What narrows names down: what was typed of it, and words before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Asked<'a> {
    /// What was typed of it.
    pub(crate) typed: &'a str,
    /// Its namespace.
    pub(crate) namespace: Option<&'a str>,
    /// Its cluster.
    pub(crate) cluster: Option<&'a str>,
    /// The provider that it is of.
    pub(crate) provider: Option<&'a str>,
    /// The graph that it is of.
    pub(crate) graph: Option<&'a str>,
}

/// Names of a sort, in order; fewer, or none, where clusters cannot be asked in time.
pub(crate) async fn of(sort: Sort, access: &Access, asked: &Asked<'_>) -> Vec<String> {
    let found = tokio::time::timeout(PATIENCE, find(sort, access, asked)).await;
    let found = found.ok().and_then(Result::ok).unwrap_or_default();
    found.into_iter().filter(|name| is_plain(name) && name.starts_with(asked.typed)).take(MOST).collect()
}

/// A shell may take what a cluster calls something for a command: nothing comes to the line but what Kubernetes lets names have.
fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/#:@".contains(&byte))
}

async fn find(sort: Sort, access: &Access, asked: &Asked<'_>) -> anyhow::Result<BTreeSet<String>> {
    if sort == Sort::File {
        return Ok(BTreeSet::new());
    }
    if sort == Sort::Context {
        let kubeconfig = match &access.kubeconfig {
            Some(file) => Kubeconfig::read_from(file)?,
            None => Kubeconfig::read()?,
        };
        return Ok(kubeconfig.contexts.into_iter().map(|context| context.name).collect());
    }
    let clusters = Clusters::connect(access).await?;
    let called =
        |clusters: &mut dyn Iterator<Item = &Cluster>| clusters.map(|one| one.name.name().to_owned()).collect();
    let namespaces = Resource::named("", "v1", "Namespace", "namespaces").cluster_wide();
    Ok(match sort {
        Sort::Object => match asked.typed.split_once('/') {
            Some((kind, _)) => objects(&clusters, kind, asked).await?,
            None => kinds(&clusters).await.into_iter().map(|kind| kind + "/").collect(),
        },
        Sort::Kind => kinds(&clusters).await,
        Sort::Provider => called(&mut clusters.in_role(Role::Provider)),
        Sort::Consumer => called(&mut clusters.in_role(Role::Consumer)),
        Sort::Cluster => called(&mut clusters.others()),
        Sort::AcceptApi => match asked.provider {
            Some(provider) => {
                let accept_apis = Resource::ours("AcceptAPI", "acceptapis");
                list(clusters.provider(provider)?, &accept_apis, names(None), full_name).await?
            }
            None => BTreeSet::new(),
        },
        Sort::Migration => {
            list(&clusters.hub, &Resource::ours("Migration", "migrations"), names(asked.namespace), name).await?
        }
        Sort::Graph => list(&clusters.hub, &Resource::definitions(), names(None), name).await?,
        Sort::HubNamespace => list(&clusters.hub, &namespaces, names(None), name).await?,
        Sort::Namespace => {
            let lists = sought::candidates(&clusters, asked.cluster)?;
            let lists = lists.into_iter().map(|cluster| list(cluster, &namespaces, names(None), name));
            join_all(lists).await.into_iter().filter_map(Result::ok).flatten().collect()
        }
        Sort::Revision => {
            let of_graph = |revision: &Value| {
                let is_ours = revision["spec"]["snapshot"]["name"].as_str() == asked.graph;
                is_ours.then(|| revision["spec"]["revision"].as_i64().map(|number| number.to_string()))?
            };
            list(&clusters.hub, &Resource::revisions(), Wanted::default(), of_graph).await?
        }
        Sort::Context | Sort::File => BTreeSet::new(),
    })
}

/// No more than names.
fn names(namespace: Option<&str>) -> Wanted<'_> {
    Wanted { namespace, metadata_only: true, ..Wanted::default() }
}

fn name(object: &Value) -> Option<String> {
    object["metadata"]["name"].as_str().map(str::to_owned)
}

fn full_name(object: &Value) -> Option<String> {
    Some(format!("{}/{}", object["metadata"]["namespace"].as_str()?, name(object)?))
}

/// What the objects of a kind are called.
async fn list(
    cluster: &Cluster,
    resource: &Resource,
    wanted: Wanted<'_>,
    called: impl Fn(&Value) -> Option<String>,
) -> Result<BTreeSet<String>, Trouble> {
    let mut all = BTreeSet::new();
    cluster.each(resource, wanted, |object| all.extend(called(&object))).await?;
    Ok(all)
}

/// What providers accept and graphs serve, as kubectl calls kinds.
async fn kinds(clusters: &Clusters) -> BTreeSet<String> {
    let accept_apis = Resource::ours("AcceptAPI", "acceptapis");
    let accepted = |object: &Value| object["spec"]["gvr"]["resource"].as_str().map(str::to_owned);
    let accepted = clusters.in_role(Role::Provider).map(|one| list(one, &accept_apis, Wanted::default(), accepted));
    let served = |object: &Value| object["spec"]["schema"]["kind"].as_str().map(str::to_lowercase);
    let graphs = Resource::definitions();
    let served = list(&clusters.hub, &graphs, Wanted::default(), served);
    let (accepted, served) = futures::join!(join_all(accepted), served);
    accepted.into_iter().chain([served]).flatten().flatten().collect()
}

/// Objects of a kind, wherever `why` and `trace` look for them.
async fn objects(clusters: &Clusters, kind: &str, asked: &Asked<'_>) -> anyhow::Result<BTreeSet<String>> {
    let candidates = sought::candidates(clusters, asked.cluster)?;
    let looks = candidates.into_iter().map(async |cluster| {
        let Some(resource) = cluster.resources().await?.called(kind) else { return Ok(BTreeSet::new()) };
        let called = |object: &Value| Some(format!("{kind}/{}", name(object)?));
        list(cluster, resource, names(asked.namespace), called).await
    });
    Ok(join_all(looks).await.into_iter().filter_map(Result::<_, Trouble>::ok).flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_could_take_for_more_than_a_name_is_none() {
        for name in ["certificates/web", "team-a/v1.2", "consumer#homer", "arn:aws:eks@eu"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["$(id)", "a;b", "a b", "a\nb", "`id`", "a\u{1b}[2J", "'", "ä"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
