//! `Served`: the revision of a graph that serves an instance.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use broker_api::graphs::{GraphRevisionSpec, ResourceGraphDefinitionSpec, keys};
use graphs_core::{
    graph::{Bounds, Graph, GraphError, compile},
    revision,
};
use runtime_cel::graph::Evaluator;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    object::{annotation, label},
    resource::Resource,
    simulate::schemas::Schemas,
    subject::Found,
};

/// A graph, and which revision of it.
pub(crate) struct Served {
    /// Name of the ResourceGraphDefinition.
    pub(crate) definition: String,
    /// Its revision; `None`: none was issued yet.
    pub(crate) revision: Option<i64>,
    /// What it says, compiled with the schemas of the instance's cluster.
    pub(crate) graph: Arc<Graph>,
}

fn definitions() -> Resource {
    Resource::named(keys::GROUP, "v1alpha1", "ResourceGraphDefinition", "resourcegraphdefinitions").cluster_wide()
}

fn revisions() -> Resource {
    Resource::named(keys::INTERNAL_GROUP, "v1alpha1", "GraphRevision", "graphrevisions").cluster_wide()
}

/// The revision that a hub has brought to the instance's cluster; `None`: its graph is served there, by itself.
async fn brought(found: &Found) -> Result<Option<i64>, Trouble> {
    let crds = Resource::named("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions");
    let name = format!("{}.{}", found.resource.plural, found.resource.kind.group);
    let crd = found.cluster.get(&crds.cluster_wide(), Place { namespace: "", name: &name }).await?;
    Ok(crd.and_then(|crd| annotation(&crd, keys::GRAPH_REVISION)?.parse().ok()))
}

/// Where its ResourceGraphDefinition is, and what that says.
async fn home<'a>(clusters: &'a Clusters, found: &'a Found, name: &str) -> anyhow::Result<(&'a Cluster, Value)> {
    for cluster in [&found.cluster, &clusters.hub] {
        match cluster.get(&definitions(), Place { namespace: "", name }).await {
            Ok(Some(definition)) => return Ok((cluster, definition)),
            Ok(None) | Err(Trouble::NotServed(_)) => {}
            Err(trouble) => bail!("{trouble}"),
        }
    }
    bail!("ResourceGraphDefinition {name} is neither in {} nor in {}", found.cluster.name, clusters.hub.name)
}

/// Compiles a graph with the schemas of a cluster.
async fn compiled(
    cluster: &Cluster,
    name: &str,
    spec: &ResourceGraphDefinitionSpec,
    evaluator: &Evaluator,
) -> anyhow::Result<Arc<Graph>> {
    let schemas = Schemas::published(cluster, spec).await?;
    compile(name, spec, &schemas, evaluator, Bounds::default()).map_err(|error| match error {
        GraphError::Busy(why) => anyhow::anyhow!("this machine is too busy to compile {name}: {why}"),
        GraphError::Invalid(why) => anyhow::anyhow!("{name} cannot be served: {why}"),
        GraphError::KindsMissing(missing) => {
            let kinds: Vec<String> = missing.iter().map(|missing| missing.kind.kind.clone()).collect();
            anyhow::anyhow!("{} serves no {}", cluster.name, kinds.join(", "))
        }
    })
}

/// What a GraphRevision holds.
async fn snapshot(cluster: &Cluster, definition: &str, number: i64) -> anyhow::Result<ResourceGraphDefinitionSpec> {
    let name = revision::name(definition, number);
    let held = cluster.get(&revisions(), Place { namespace: "", name: &name }).await?;
    let mut held = held.with_context(|| format!("{}: there is no GraphRevision {name}", cluster.name))?;
    let spec: GraphRevisionSpec =
        serde_json::from_value(held["spec"].take()).with_context(|| format!("GraphRevision {name} cannot be read"))?;
    Ok(spec.snapshot.spec)
}

impl Served {
    /// The one of an instance: that which its cluster was given, or the newest that can be served.
    pub(super) async fn of(clusters: &Clusters, found: &Found, evaluator: &Evaluator) -> anyhow::Result<Self> {
        let named = annotation(&found.object, keys::RGD_NAME).or_else(|| label(&found.object, keys::RGD_NAME));
        let name = named.context("it does not say which ResourceGraphDefinition serves it")?.to_owned();
        let cluster = &found.cluster;
        if let Some(number) = brought(found).await? {
            let spec = snapshot(&clusters.hub, &name, number).await?;
            let graph = compiled(cluster, &name, &spec, evaluator).await?;
            return Ok(Self { definition: name, revision: Some(number), graph });
        }
        let (home, mut definition) = home(clusters, found, &name).await?;
        let newest = definition["status"]["lastIssuedRevision"].as_i64().filter(|number| *number > 0);
        let Some(newest) = newest else {
            let spec: ResourceGraphDefinitionSpec = serde_json::from_value(definition["spec"].take())
                .with_context(|| format!("ResourceGraphDefinition {name} cannot be read"))?;
            let graph = compiled(cluster, &name, &spec, evaluator).await?;
            return Ok(Self { definition: name, revision: None, graph });
        };
        // Where the newest cannot be served, the one before goes on.
        let mut first = None;
        for number in (1..=newest).rev().take(2) {
            let graph = match snapshot(home, &name, number).await {
                Ok(spec) => compiled(cluster, &name, &spec, evaluator).await,
                Err(why) => Err(why),
            };
            match graph {
                Ok(graph) => return Ok(Self { definition: name, revision: Some(number), graph }),
                Err(why) => first = first.or(Some(why)),
            }
        }
        Err(first.unwrap_or_else(|| anyhow::anyhow!("ResourceGraphDefinition {name} has no revision")))
    }

    /// `ResourceGraphDefinition web, revision 3`.
    pub(crate) fn called(&self) -> String {
        let number = self.revision.map(|number| format!(", revision {number}")).unwrap_or_default();
        format!("ResourceGraphDefinition {}{number}", self.definition)
    }
}
