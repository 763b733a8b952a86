//! `Served`: the revision of a graph that serves an instance.

use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use broker_api::graphs::{GraphRevisionSpec, ResourceGraphDefinitionSpec, keys};
use graphs_core::{
    crd::{self, Owner, Verdict, digest_of},
    graph::{Bounds, Graph, GraphError, compile},
    labels, revision,
};
use runtime_cel::graph::Evaluator;
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    object::{annotation, label, text},
    resource::Resource,
    simulate::schemas::Schemas,
    sought::Found,
};

/// A graph, and which revision of it.
pub(crate) struct Served {
    /// Name of the ResourceGraphDefinition.
    pub(crate) definition: String,
    /// Its revision.
    pub(crate) revision: i64,
    /// What it says, compiled with the schemas of the instance's cluster.
    pub(crate) graph: Arc<Graph>,
}

/// The ResourceGraphDefinition of a name that a CRD was made for, and where it is: in the instance's cluster, or in the hub that
/// has brought it there.
async fn home<'a>(
    clusters: &'a Clusters,
    own: &'a Cluster,
    name: &str,
    crd: &Value,
) -> anyhow::Result<(&'a Cluster, Value)> {
    // What a hub has brought says so; where it has, its credentials read nothing else of graphs.
    let is_brought = annotation(crd, keys::GRAPH_REVISION).is_some();
    for cluster in [own, &clusters.hub].into_iter().skip(usize::from(is_brought)) {
        match cluster.get(&Resource::definitions(), Place { namespace: "", name }).await {
            Ok(Some(found)) if label(crd, keys::RGD_ID) == Some(text(&found, "/metadata/uid")) => {
                return Ok((cluster, found));
            }
            Ok(_) | Err(Trouble::NotServed(_)) => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    bail!(
        "the ResourceGraphDefinition {name} that its CRD was made for is neither in {} nor in {}",
        own.name,
        clusters.hub.name
    )
}

/// Why a revision cannot serve.
enum Unfit {
    /// It is wrong, or its kinds are not served: one before it may serve.
    Wrong(anyhow::Error),
    /// Nobody can tell.
    Unknown(anyhow::Error),
}

/// Compiles a graph with the schemas of a cluster.
async fn compiled(
    cluster: &Cluster,
    name: &str,
    spec: &ResourceGraphDefinitionSpec,
    evaluator: &Evaluator,
) -> Result<Arc<Graph>, Unfit> {
    let schemas = Schemas::published(cluster, spec).await.map_err(|trouble| Unfit::Unknown(trouble.into()))?;
    compile(name, spec, &schemas, evaluator, Bounds::default()).map_err(|error| match error {
        GraphError::Busy(why) => Unfit::Unknown(anyhow!("this machine is too busy to compile {name}: {why}")),
        GraphError::Invalid(why) => Unfit::Wrong(anyhow!("{name} cannot be served: {why}")),
        GraphError::KindsMissing(missing) => {
            let kinds: Vec<String> = missing.iter().map(|missing| missing.kind.kind.clone()).collect();
            Unfit::Wrong(anyhow!("{} serves no {}", cluster.name, kinds.join(", ")))
        }
    })
}

/// The number and the spec of what a GraphRevision holds.
fn snapshot(revision: &Value) -> anyhow::Result<(i64, ResourceGraphDefinitionSpec)> {
    let spec = GraphRevisionSpec::deserialize(&revision["spec"])
        .with_context(|| format!("GraphRevision {} cannot be read", text(revision, "/metadata/name")))?;
    Ok((spec.revision, spec.snapshot.spec))
}

/// The ResourceGraphDefinition that an instance or a CRD is of, as it says itself: a label holds no long name.
fn named(object: &Value) -> Option<&str> {
    annotation(object, keys::RGD_NAME).or_else(|| label(object, keys::RGD_NAME))
}

/// The CRD of a kind in a cluster; `None`: it has none, such as one that is built in.
pub(crate) async fn crd_of(cluster: &Cluster, resource: &Resource) -> Result<Option<Value>, Trouble> {
    let name = format!("{}.{}", resource.plural, resource.kind.group);
    cluster.get(&Resource::crds(), Place { namespace: "", name: &name }).await
}

impl Served {
    /// The one of an instance.
    pub(super) async fn of(clusters: &Clusters, found: &Found, evaluator: &Evaluator) -> anyhow::Result<Self> {
        let crd = crd_of(&found.cluster, &found.resource).await?;
        let crd = crd.with_context(|| format!("{} has no CRD of its kind any more", found.cluster.name))?;
        let name = named(&found.object).context("it does not say which ResourceGraphDefinition serves it")?;
        Self::in_cluster(clusters, &found.cluster, name, &crd, evaluator).await
    }

    /// The one of the instances of a kind in a cluster, by its CRD; `None`: no graph serves them.
    pub(crate) async fn of_kind(
        clusters: &Clusters,
        cluster: &Cluster,
        crd: &Value,
        evaluator: &Evaluator,
    ) -> anyhow::Result<Option<Self>> {
        match named(crd) {
            Some(name) => Self::in_cluster(clusters, cluster, name, crd, evaluator).await.map(Some),
            None => Ok(None),
        }
    }

    async fn in_cluster(
        clusters: &Clusters,
        cluster: &Cluster,
        name: &str,
        crd: &Value,
        evaluator: &Evaluator,
    ) -> anyhow::Result<Self> {
        let (home, definition) = home(clusters, cluster, name, crd).await?;
        if home.name != cluster.name {
            return Self::brought(cluster, home, name, crd, evaluator).await;
        }
        Self::chosen(home, &definition, crd, evaluator).await
    }

    /// The revision that the hub has brought to a spoke, as the CRD there says it.
    async fn brought(
        spoke: &Cluster,
        hub: &Cluster,
        name: &str,
        crd: &Value,
        evaluator: &Evaluator,
    ) -> anyhow::Result<Self> {
        let number = annotation(crd, keys::GRAPH_REVISION).and_then(|number| number.parse().ok());
        let number = number.context("its CRD does not say which revision it is of")?;
        let issued = revision::name(name, number);
        let held = hub.get(&Resource::revisions(), Place { namespace: "", name: &issued }).await?;
        let held = held.with_context(|| format!("{}: there is no GraphRevision {issued}", hub.name))?;
        let graph = compiled(spoke, name, &snapshot(&held)?.1, evaluator).await;
        let graph = graph.map_err(|(Unfit::Wrong(why) | Unfit::Unknown(why))| why)?;
        Ok(Self { definition: name.to_owned(), revision: number, graph })
    }

    /// In its own cluster: the newest that compiles and that the CRD, as it is, was made for; where none was, the newest that
    /// may change it. So the controller chooses, but for what it still knows of revisions that do not compile any more.
    async fn chosen(home: &Cluster, definition: &Value, crd: &Value, evaluator: &Evaluator) -> anyhow::Result<Self> {
        let (name, uid) = (text(definition, "/metadata/name"), text(definition, "/metadata/uid"));
        let owner = Owner { name, uid, version: label(crd, keys::VERSION).unwrap_or_default() };
        let allow_breaking = annotation(definition, keys::ALLOW_BREAKING_CHANGES) == Some(keys::TRUE);
        let selector = format!("{}={}", keys::RGD_NAME, labels::value(name).value);
        let mut kept = home.list(&Resource::revisions(), None, Some(&selector)).await?;
        kept.retain(|one| text(one, "/spec/snapshot/name") == name);
        kept.sort_by_key(|one| std::cmp::Reverse(one["spec"]["revision"].as_i64()));
        let (mut fitting, mut wrong) = (None, None);
        for one in &kept {
            let (revision, spec) = snapshot(one)?;
            let graph = match compiled(home, name, &spec, evaluator).await {
                Ok(graph) => graph,
                Err(Unfit::Unknown(why)) => return Err(why),
                Err(Unfit::Wrong(why)) => {
                    wrong = wrong.or(Some(why));
                    continue;
                }
            };
            let plural = text(crd, "/spec/names/plural");
            let wanted = crd::desired(owner, &spec.schema, plural, &graph.spec_schema, &graph.status_schema)?;
            let served = Self { definition: name.to_owned(), revision, graph };
            if digest_of(crd).is_some() && digest_of(crd) == digest_of(&wanted) {
                return Ok(served);
            }
            let verdict = crd::decide(Some(crd), &wanted, owner, allow_breaking);
            fitting = fitting.or((!matches!(verdict, Verdict::Refuse(_))).then_some(served));
        }
        let none = || wrong.unwrap_or_else(|| anyhow!("no revision of ResourceGraphDefinition {name} fits its CRD"));
        fitting.ok_or_else(none)
    }

    /// `ResourceGraphDefinition web, revision 3`.
    pub(crate) fn called(&self) -> String {
        format!("ResourceGraphDefinition {}, revision {}", self.definition, self.revision)
    }
}
