//! What would become of an object that is new, in the clusters as they are now: what the broker would decide on it, and, where
//! a graph serves its kind, on its children.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, Role};
use broker_core::{decide::Explanation, snapshot::OriginKey};
use graphs_core::limits;
use runtime_cel::graph;
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::{
    Told,
    children::Children,
    defaults::fill,
    instance::Instance,
    object::{self, Object},
    outlook::Outlook,
    schemas::published_of,
};
use crate::{
    access::Access,
    cluster::{Cluster, Place},
    clusters::Clusters,
    instance::{Served, crd_of},
    lists::accept_apis_of,
    object::text,
    onlooker::{self, flag},
    resource::Resource,
};

/// The consumer that is named, or the spoke; the only consumer, where none is.
fn home<'a>(clusters: &'a Clusters, named: Option<&str>) -> anyhow::Result<&'a Cluster> {
    let all: Vec<&Cluster> = clusters.in_role(Role::Consumer).collect();
    let there_are = || all.iter().map(|cluster| cluster.name.name()).collect::<Vec<_>>().join(", ");
    let Some(named) = named else {
        return match &all[..] {
            [only] => Ok(*only),
            _ => bail!("say in which consumer it would be with --in; there are: {}", there_are()),
        };
    };
    let found = [Role::Consumer, Role::Spoke].map(|role| clusters.get(&ClusterName::written(role, named)));
    let found = found.into_iter().flatten().next();
    found.with_context(|| {
        let name = ClusterName::written(Role::Consumer, named);
        format!("there is no consumer {}; there are: {}", name.name(), there_are())
    })
}

/// Who asks, and whom.
struct Would<'a> {
    access: &'a Access,
    clusters: Clusters,
    /// Namespace of the broker's own objects.
    namespace: &'a str,
}

/// Lets the broker look on, and asks it.
pub(super) async fn explain_new(
    access: &Access,
    object: &Object,
    named: Option<&str>,
    namespace: &str,
) -> anyhow::Result<Told> {
    let would = Would { access, clusters: Clusters::connect(access).await?, namespace };
    let cluster = home(&would.clusters, named)?;
    let kind = &object.kind;
    let resource = cluster.resources().await?.of_kind(kind);
    let resource =
        resource.with_context(|| format!("{} serves no {} of {}", cluster.name, kind.kind, kind.api_version()))?;
    let mut notes = Vec::new();
    let key = object.key(&cluster.name);
    let place = Place { namespace: &key.namespace, name: &key.name };
    match cluster.get(resource, place).await {
        Ok(None) => {}
        Ok(Some(_)) => notes.push(
            "one of this name is there already, and this is about another one in its place: `kubectl broker why` tells of the one that is there"
                .to_owned(),
        ),
        Err(trouble) => notes.push(format!("whether one of this name is there: {trouble}")),
    }
    let crd = match crd_of(cluster, resource).await {
        Ok(crd) => crd,
        Err(trouble) => {
            notes.push(format!("whether a graph serves its kind: {trouble}"));
            None
        }
    };
    if let Some(crd) = crd {
        let evaluator = limits::evaluator();
        if let Some(served) = Served::of_kind(&would.clusters, cluster, &crd, &evaluator).await? {
            return would.instance(cluster, object, served, notes, &evaluator).await;
        }
    }
    would.object(cluster, resource, object, notes).await
}

impl Would<'_> {
    /// An object that the broker has to be told to broker.
    async fn object(
        &self,
        cluster: &Cluster,
        resource: &Resource,
        object: &Object,
        notes: Vec<String>,
    ) -> anyhow::Result<Told> {
        let kind = &object.kind;
        anyhow::ensure!(
            cluster.name.role() == Role::Consumer,
            "{} is no consumer, and no graph serves a {}",
            cluster.name,
            kind.kind
        );
        let (options, mut told) =
            onlooker::options(&self.clusters.hub, self.access, std::slice::from_ref(kind), self.namespace).await?;
        told.extend(notes);
        let options =
            options.with_context(|| format!("the broker is not told to broker {} ({})", kind.kind, flag(kind)))?;
        let key = object.key(&cluster.name);
        let mut value = object.value.clone();
        if let Some(schema) = defaults(cluster, resource, &mut told).await {
            fill(&schema, &mut value);
        }
        let explained =
            onlooker::ask(options, self.access, &key.cluster, &mut told, |broker| broker.explain_new(&key, value))
                .await?;
        Ok(Told::outlook(Outlook::of(&key, &explained, &told)))
    }

    /// An instance of a graph, with its children.
    async fn instance(
        &self,
        cluster: &Cluster,
        object: &Object,
        served: Served,
        mut notes: Vec<String>,
        evaluator: &graph::Evaluator,
    ) -> anyhow::Result<Told> {
        let mut children = Children::of(&served.graph, &object.value, evaluator);
        let consumer = ClusterName::consumer(cluster.name.name());
        let mut own = None;
        if self.clusters.get(&consumer).is_some() {
            let made = children.nodes.iter().filter(|child| child.is_made()).flat_map(|child| &child.objects);
            let all: Vec<&Value> = [&object.value].into_iter().chain(made).collect();
            let mut outlooks = self.placed(cluster, &consumer, &all, &mut notes).await?.into_iter();
            own = outlooks.next().flatten();
            for child in children.nodes.iter_mut().filter(|child| child.is_made()) {
                child.placement = outlooks.by_ref().take(child.objects.len()).flatten().collect();
            }
        }
        let instance = Instance {
            object: own,
            definition: served.definition,
            revision: Some(served.revision),
            problems: object.document.flaws(&children.flaws),
            children,
            not_checked: None,
            not_known: notes,
        };
        instance.told(&object.key(&cluster.name))
    }

    /// What would become of each of these objects of a consumer; `None`: it is not brokered.
    async fn placed(
        &self,
        cluster: &Cluster,
        consumer: &ClusterName,
        objects: &[&Value],
        notes: &mut Vec<String>,
    ) -> anyhow::Result<Vec<Option<Outlook>>> {
        let resources = cluster.resources().await?;
        let accepted = self.accepted(notes).await;
        let mut kinds: Vec<Kind> = Vec::new();
        for kind in objects.iter().map(|object| object::kind_of(object)) {
            let gvr = resources.of_kind(&kind).map(|resource| gvr(&kind, &resource.plural));
            if gvr.is_some_and(|gvr| accepted.contains(&gvr)) && !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.is_empty() {
            return Ok(objects.iter().map(|_| None).collect());
        }
        let (options, told) = onlooker::options(&self.clusters.hub, self.access, &kinds, self.namespace).await?;
        notes.extend(told);
        let Some(options) = options else { return Ok(objects.iter().map(|_| None).collect()) };
        kinds.retain(|kind| options.watch_kind.iter().any(|flag| flag.0 == *kind));
        let mut schemas = Vec::new();
        for kind in &kinds {
            if let Some(resource) = resources.of_kind(kind) {
                schemas.push((kind, defaults(cluster, resource, notes).await));
            }
        }
        let asked = |object: &&Value| {
            let kind = object::kind_of(object);
            let (kind, schema) = schemas.iter().find(|(known, _)| **known == kind)?;
            let mut value = (*object).clone();
            if let Some(schema) = schema {
                fill(schema, &mut value);
            }
            Some((object::key(consumer, kind, object), value))
        };
        let asked: Vec<Option<(OriginKey, Value)>> = objects.iter().map(asked).collect();
        let question = |broker: &resource_broker::broker::Broker| {
            let mut explained = Vec::new();
            for one in &asked {
                explained.push(match one {
                    Some((key, value)) => Some(broker.explain_new(key, value.clone())?),
                    None => None,
                });
            }
            Some(explained)
        };
        let explained: Vec<Option<Explanation>> =
            onlooker::ask(options, self.access, consumer, notes, question).await?;
        let outlook = |(asked, explained): (&Option<(OriginKey, Value)>, Option<Explanation>)| {
            Some(Outlook::of(&asked.as_ref()?.0, &explained?, &[]))
        };
        Ok(asked.iter().zip(explained).map(outlook).collect())
    }

    /// The resources that any AcceptAPI speaks of.
    async fn accepted(&self, notes: &mut Vec<String>) -> BTreeSet<[String; 3]> {
        let parts = ["group", "version", "resource"];
        let gvr =
            |_: &Cluster, one: &Value| parts.map(|part| text(&one["spec"]["gvr"], &format!("/{part}")).to_owned());
        accept_apis_of(&self.clusters, gvr, notes).await.into_iter().collect()
    }
}

fn gvr(kind: &Kind, plural: &str) -> [String; 3] {
    [kind.group.clone(), kind.version.clone(), plural.to_owned()]
}

/// The schema by which the API server fills in what an object leaves out.
async fn defaults(cluster: &Cluster, resource: &Resource, notes: &mut Vec<String>) -> Option<Value> {
    let read = published_of(cluster, resource).await;
    read.map_err(|why| notes.push(format!("the defaults that the API server fills in: {why}"))).ok()
}
