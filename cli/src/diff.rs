//! Where an object and its copy differ, or the children of an instance and what its graph makes of it, field by field.

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, graphs::keys as graphs, keys};
use broker_core::copy;
use futures::future::join_all;
use runtime_cel::schema::Schema;
use runtime_fleet::kind::may_be_built_in;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cluster::Place,
    clusters::Clusters,
    difference::{Difference, of_child, of_copy},
    instance::{Instance, Live, There},
    object::{annotation, called, label},
    paint::harmless,
    resource::Resource,
    simulate::schemas::published_of,
    sought::Found,
    trace::origin_key,
    whose::Whose,
};

/// Where something differs.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Diff {
    /// An object and its copy.
    Copy(OfCopy),
    /// What a graph renders and what is there.
    Children(OfChildren),
}

/// Where an object and its copy differ.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfCopy {
    /// The object's cluster, such as `consumer#homer`.
    origin: String,
    /// The copy's.
    copy: String,
    /// The fields that differ.
    fields: Vec<Difference>,
    /// While it moves: the copy at the provider that it moves to, where there is one yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    moves_to: Option<Box<OfCopy>>,
    /// The same: why it cannot be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    moves_to_unknown: Option<String>,
}

/// Where the children of an instance are not as its graph renders them.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfChildren {
    /// Their cluster, such as `spoke#paris`.
    cluster: String,
    /// What renders them.
    served_by: String,
    /// All of them, also those that are as they should be.
    children: Vec<OfChild>,
    /// Nodes of which nothing is rendered, and why.
    not_rendered: Vec<String>,
}

/// Where one child is not as it is rendered.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfChild {
    /// Id of its node in the graph.
    node: String,
    /// Its kind.
    kind: String,
    /// `namespace/name`.
    name: String,
    /// The fields that differ.
    fields: Vec<Difference>,
    /// What else is wrong with it: it is not there, or nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

impl OfCopy {
    async fn of(clusters: &Clusters, found: &Found, provider: &str) -> anyhow::Result<Self> {
        let next = annotation(&found.object, keys::NEW_PROVIDER_CLUSTER);
        let ask = async || match next {
            Some(next) => Self::at(clusters, found, next).await,
            None => Ok(None),
        };
        let (here, there) = futures::join!(Self::at(clusters, found, provider), ask());
        let here = here?.with_context(|| format!("provider#{provider}: there is no copy: {}", found.ask_why()))?;
        Ok(match there {
            Ok(there) => Self { moves_to: there.map(Box::new), ..here },
            Err(why) => Self { moves_to_unknown: Some(format!("{why:#}")), ..here },
        })
    }

    /// The copy at one provider; `None`: there is none.
    async fn at(clusters: &Clusters, found: &Found, provider: &str) -> anyhow::Result<Option<Self>> {
        let provider = clusters
            .get(&ClusterName::provider(provider))
            .with_context(|| format!("provider {provider} is not among the clusters"))?;
        let key = origin_key(&found.cluster.name, &found.resource, &found.object);
        let name = copy::name(&key);
        let place = Place { namespace: &key.namespace, name: &name };
        let Some(held) = provider.get(&found.resource, place).await? else { return Ok(None) };
        if let Some(told) = Whose::of(&held, &found.object).told() {
            bail!("{}: {}/{name} is not its copy: {told}", provider.name, key.namespace);
        }
        let (origin, copy) = (found.cluster.name.to_string(), provider.name.to_string());
        Ok(Some(Self { origin, copy, fields: of_copy(&found.object, &held), moves_to: None, moves_to_unknown: None }))
    }

    fn differs(&self) -> bool {
        !self.fields.is_empty()
            || self.moves_to_unknown.is_some()
            || self.moves_to.as_ref().is_some_and(|there| there.differs())
    }

    fn draw(&self) -> String {
        let Self { origin, copy, fields, moves_to, moves_to_unknown } = self;
        let mut there = moves_to.as_ref().map(|there| there.draw()).unwrap_or_default();
        there.extend(moves_to_unknown.iter().map(|why| format!("where it moves to: not known: {}\n", harmless(why))));
        if fields.is_empty() {
            return format!("{origin} and {copy} say the same\n{there}");
        }
        let lines: Vec<String> = fields.iter().map(Difference::draw).collect();
        format!("{origin} → {copy}\n  {}\n{there}", lines.join("\n  "))
    }
}

/// How an API server reads objects of a kind, and whether it stores empty values of theirs. `Err`: why that is not known.
async fn reading(found: &Found, resource: &Resource) -> Result<(Schema, bool), String> {
    let schema = published_of(&found.cluster, resource).await?;
    let name = format!("{}.{}", resource.plural, resource.kind.group);
    // A built-in kind is one that no CRD defines.
    let is_built_in = may_be_built_in(&resource.kind.group) && {
        let crd = found.cluster.get(&Resource::crds(), Place { namespace: "", name: &name }).await;
        crd.map_err(|trouble| trouble.to_string())?.is_none()
    };
    Ok((Schema::compile(&schema), is_built_in))
}

/// The children of one node.
async fn id_in_graph(found: &Found, node: &Live) -> Vec<OfChild> {
    let Some((_, _, resource)) = node.pairs().next().filter(|_| !node.is_external) else { return Vec::new() };
    let read = match resource {
        Some(resource) => reading(found, resource).await,
        None => Err("its kind is not served".to_owned()),
    };
    let child = |wanted: &serde_json::Value, there: &There| {
        let (fields, trouble) = match there {
            There::Yes(held) => match &read {
                Ok((schema, omits_empty)) => (of_child(wanted, held, schema, *omits_empty), None),
                Err(why) => (Vec::new(), Some(format!("not known: how its API server reads it: {why}"))),
            },
            There::No => (Vec::new(), Some("it is not there".to_owned())),
            There::Foreign => (Vec::new(), Some("what is there of this name is not this instance's".to_owned())),
            There::Unknown(why) => (Vec::new(), Some(format!("not known: {why}"))),
        };
        OfChild { node: node.id.clone(), kind: node.kind.kind.clone(), name: called(wanted), fields, trouble }
    };
    node.pairs().map(|(wanted, there, _)| child(wanted, there)).collect()
}

impl OfChildren {
    async fn of(clusters: &Clusters, found: &Found) -> anyhow::Result<Self> {
        let instance = Instance::read(clusters, found).await?;
        let children = join_all(instance.nodes.iter().map(|node| id_in_graph(found, node))).await;
        let told = instance.children();
        let unrendered = instance.nodes.iter().zip(&told).filter(|(node, _)| node.is_unrendered());
        let not_rendered = unrendered.map(|(_, told)| format!("{}: {}", told.id, told.standing())).collect();
        Ok(Self {
            cluster: found.cluster.name.to_string(),
            served_by: instance.served.called(),
            children: children.into_iter().flatten().collect(),
            not_rendered,
        })
    }

    fn differs(&self) -> bool {
        self.children.iter().any(|child| !child.fields.is_empty() || child.trouble.is_some())
    }

    fn draw(&self) -> String {
        let Self { cluster, served_by, children, not_rendered } = self;
        let mut out = harmless(&format!("{served_by} → {cluster}")) + "\n";
        for OfChild { node, kind, name, fields, trouble } in children {
            let same = if fields.is_empty() && trouble.is_none() { "  as rendered" } else { "" };
            out.push_str(&format!("  {}\n", harmless(&format!("{node}  {kind} {name}{same}"))));
            out.extend(trouble.iter().map(|trouble| format!("    {}\n", harmless(trouble))));
            out.extend(fields.iter().map(|field| format!("    {}\n", field.draw())));
        }
        out.extend(not_rendered.iter().map(|node| format!("  {}\n", harmless(node))));
        out
    }
}

impl Diff {
    /// Of an object and its copy; of an instance that has none, what its graph renders and what is there.
    pub(crate) async fn of(clusters: &Clusters, found: &Found) -> anyhow::Result<Self> {
        let provider = annotation(&found.object, keys::PROVIDER_CLUSTER);
        if let Some(provider) = provider {
            return OfCopy::of(clusters, found, provider).await.map(Self::Copy);
        }
        if label(&found.object, graphs::APPLYSET_ID).is_some() {
            return OfChildren::of(clusters, found).await.map(Self::Children);
        }
        let (cluster, why) = (&found.cluster.name, found.ask_why());
        bail!("{cluster}: the object is at no provider, and it is no instance of a graph: {why}")
    }

    /// Whether anything differs.
    pub(crate) fn differs(&self) -> bool {
        match self {
            Self::Copy(copy) => copy.differs(),
            Self::Children(children) => children.differs(),
        }
    }

    /// For people: a line for each field that differs.
    pub(crate) fn draw(&self) -> String {
        match self {
            Self::Copy(copy) => copy.draw(),
            Self::Children(children) => children.draw(),
        }
    }
}
