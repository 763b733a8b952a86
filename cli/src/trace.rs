//! What belongs to an object, over all clusters: its copy, what the provider hands back, its moves; the children of a
//! graph's instance, and theirs.

use std::sync::Arc;

use broker_api::{ClusterName, Role, graphs::keys as graphs, keys};
use broker_core::{
    assignment::{Proven, claimed},
    copy,
    naming::strip_prefix,
    snapshot::OriginKey,
};
use futures::{
    FutureExt as _,
    future::{BoxFuture, join_all},
};
use k8s_openapi::jiff::Timestamp;
use runtime_effect::kind::Kind;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    distribution,
    instance::Instance,
    object::{annotation, label, text},
    resource::Resource,
    sought::Found,
    tree::Node,
    whose::Whose,
};

/// How deep instances within instances are followed: `resource-graphs` itself nests no deeper.
const DEPTH: usize = 8;

/// The tree of an object.
pub(crate) async fn trace(clusters: &Clusters, found: &Found) -> Node {
    let Found { cluster, resource, object } = found;
    below(clusters, cluster.clone(), resource.clone(), object.clone(), "", 0).await
}

/// The key of an object in a consumer.
pub(crate) fn origin_key(cluster: &ClusterName, resource: &Resource, object: &Value) -> OriginKey {
    OriginKey {
        cluster: ClusterName::consumer(cluster.name()),
        gvk: Arc::new(resource.kind.clone()),
        namespace: text(object, "/metadata/namespace").into(),
        name: text(object, "/metadata/name").into(),
    }
}

/// An object and all that belongs to it.
fn below<'a>(
    clusters: &'a Clusters,
    cluster: Cluster,
    resource: Resource,
    object: Value,
    relation: &'a str,
    depth: usize,
) -> BoxFuture<'a, Node> {
    async move {
        let (namespace, name) = (text(&object, "/metadata/namespace"), text(&object, "/metadata/name"));
        let node = Node::place(relation, &cluster, &resource.kind.kind, namespace, name);
        let mut node = node.with(Ok::<_, Trouble>(Some(&object)));
        let (brokered, children) = futures::join!(
            brokered(clusters, &cluster, &resource, &object),
            children(clusters, &cluster, &object, depth)
        );
        if resource.kind.group == graphs::GROUP && resource.kind.kind == "ResourceGraphDefinition" {
            node.children.extend(distribution::of(clusters, &cluster, &object).await);
        }
        node.children.extend(brokered);
        node.children.extend(children);
        let found = Found { cluster, resource, object };
        node.children.extend(lacking(clusters, &found, depth).await);
        node
    }
    .boxed()
}

/// The copies of an object in a consumer, and its moves. Nothing where it is not brokered.
async fn brokered(clusters: &Clusters, cluster: &Cluster, resource: &Resource, object: &Value) -> Vec<Node> {
    let consumer = ClusterName::consumer(cluster.name.name());
    let is_consumer = cluster.name.role() == Role::Consumer || clusters.get(&consumer).is_some();
    let assigned = annotation(object, keys::PROVIDER_CLUSTER);
    if !is_consumer || assigned.is_none() && label(object, graphs::OWNED).is_some() {
        return Vec::new();
    }
    let key = origin_key(&cluster.name, resource, object);
    let next = annotation(object, keys::NEW_PROVIDER_CLUSTER);
    let providers = clusters.in_role(Role::Provider);
    let origin = Origin { clusters, cluster, resource, object, key };
    let copies = providers.map(|provider| async {
        let is_assigned = [assigned, next].contains(&Some(provider.name.name()));
        (provider.name.name(), copy_at(&origin, provider, is_assigned).await)
    });
    let (copies, migrations) = futures::join!(join_all(copies), migrations(clusters, &origin.key));
    let mut copies: Vec<(&str, Node)> =
        copies.into_iter().filter_map(|(provider, copy)| Some((provider, copy?))).collect();
    let mut nodes = Vec::new();
    for (named, moves) in [(assigned, false), (next, true)] {
        let Some(named) = named else { continue };
        let at = copies.iter().position(|(provider, _)| *provider == named);
        let copy = at.map_or_else(|| origin.copy_nowhere(named), |at| copies.remove(at).1);
        nodes.push(origin.assignment(named, moves, copy));
    }
    nodes.extend(copies.into_iter().map(|(_, copy)| copy));
    nodes.extend(migrations);
    nodes
}

/// An object in a consumer, and its copies.
struct Origin<'a> {
    clusters: &'a Clusters,
    cluster: &'a Cluster,
    resource: &'a Resource,
    object: &'a Value,
    key: OriginKey,
}

impl Origin<'_> {
    /// Which provider it is assigned to, as it says itself, and the copy there.
    fn assignment(&self, provider: &str, moves: bool, copy: Node) -> Node {
        let mut node = Node::place("assignment", self.cluster, "provider", "", provider);
        let said = annotation(self.object, keys::ASSIGNMENT);
        let is_left = !moves && annotation(self.object, keys::NEW_PROVIDER_CLUSTER).is_some();
        let mut words = Vec::new();
        match said.map(claimed) {
            Some(Some(Proven { epoch, pinned, pinned_before })) => {
                // It is the moment in milliseconds, and at least one more than the last; while it moves, that at which this
                // began.
                let made = i64::try_from(epoch / 1000).unwrap_or(i64::MAX);
                node.age_seconds = (!is_left).then(|| Timestamp::now().as_second().saturating_sub(made));
                let chosen = if is_left { pinned_before } else { pinned };
                words.extend(chosen.then(|| "chosen by a person".to_owned()));
            }
            Some(None) => node.message = Some("its signature cannot be read: nobody believes it".into()),
            None => node.message = Some("it is not signed: nobody believes it".into()),
        }
        words.extend(moves.then(|| "moves there".to_owned()));
        node.standing = words.join(", ");
        node.children = vec![copy];
        node
    }

    /// Its copy at a provider that is not there.
    fn copy_nowhere(&self, provider: &str) -> Node {
        let Self { key, resource, .. } = self;
        let mut gone = Node { relation: "copy".into(), kind: resource.kind.kind.clone(), ..Node::default() };
        gone.cluster = ClusterName::provider(provider).to_string();
        gone.namespace = key.namespace.to_string();
        gone.name = copy::name(key);
        gone.with(Err("the object is assigned to this provider, which is not among the clusters"))
    }
}

/// The copy at a provider. Where it is not assigned, only what is there is told of, and what cannot be known.
async fn copy_at(origin: &Origin<'_>, provider: &Cluster, is_assigned: bool) -> Option<Node> {
    let Origin { clusters, cluster, resource, object, key } = origin;
    let name = copy::name(key);
    let place = Place { namespace: &key.namespace, name: &name };
    let read = provider.get(resource, place).await;
    let relation = if is_assigned { "copy" } else { "copy at a provider that it is not assigned to" };
    let node = Node::place(relation, provider, &resource.kind.kind, &key.namespace, &name);
    let found = match &read {
        Ok(None) | Err(Trouble::NotServed(_)) if !is_assigned => return None,
        Ok(Some(found)) => found,
        Ok(None) => return Some(node.with(Ok::<_, Trouble>(None))),
        Err(why) => return Some(node.with(Err(why))),
    };
    let mut node = node.with(Ok::<_, Trouble>(Some(found)));
    if let Some(told) = Whose::of(found, object).told() {
        node.standing = "not its copy".into();
        node.good = Some(false);
        node.message = Some(told.into());
        return Some(node);
    }
    let of_instance = label(found, graphs::OWNED).is_some() || label(found, graphs::APPLYSET_ID).is_some();
    node.children.extend(
        join_all(related(found).map(|one| related_pair(cluster, provider, key, one))).await.into_iter().flatten(),
    );
    if of_instance {
        node.children.extend(children(clusters, provider, found, 1).await);
    }
    Some(node)
}

/// What a copy's status names: kind and name.
fn related(copy: &Value) -> impl Iterator<Item = (Kind, String)> {
    let entries = copy["status"]["relatedResources"].as_object();
    entries.into_iter().flatten().filter_map(|(_, entry)| {
        let part = |name: &str| entry["gvk"][name].as_str().unwrap_or_default().to_owned();
        let group = part("group");
        let group = if group == "core" { String::new() } else { group };
        let kind = Kind { group, version: part("version"), kind: part("kind") };
        Some((kind, entry["name"].as_str()?.to_owned()))
    })
}

/// A related resource at the provider, and below it the one in the consumer.
async fn related_pair(
    cluster: &Cluster,
    provider: &Cluster,
    key: &OriginKey,
    (kind, name): (Kind, String),
) -> Option<Node> {
    let target = strip_prefix(&key.cluster, &name).to_owned();
    let one = async |relation: &str, cluster: &Cluster, name: &str| {
        let node = Node::place(relation, cluster, &kind.kind, &key.namespace, name);
        let resource = match cluster.resources().await {
            Ok(resources) => resources.of_kind(&kind).cloned(),
            Err(why) => return node.with(Err(why)),
        };
        let Some(resource) = resource else {
            return node.with(Err(format!("{} does not serve the kind", cluster.name)));
        };
        let read = cluster.get(&resource, Place { namespace: &key.namespace, name }).await;
        node.with(read.as_ref().map(Option::as_ref))
    };
    let (mut source, brought) = futures::join!(one("related", provider, &name), one("brought as", cluster, &target));
    source.children.push(brought);
    Some(source)
}

/// Migrations about an object's copies.
async fn migrations(clusters: &Clusters, key: &OriginKey) -> Vec<Node> {
    let resource = Resource::ours("Migration", "migrations");
    let name = copy::name(key);
    let list = match clusters.hub.list(&resource, None, None).await {
        Ok(list) => list,
        Err(Trouble::NotServed(_)) => return Vec::new(),
        Err(why) => {
            let node = Node::place("migration", &clusters.hub, "Migration", "", "?");
            return vec![node.with(Err(why))];
        }
    };
    let concerns = |side: &Value| {
        side["name"] == *name
            && side["gvk"]["kind"] == *key.gvk.kind
            && side["namespace"].as_str().is_none_or(|namespace| *namespace == *key.namespace)
    };
    let ours = list.iter().filter(|one| concerns(&one["spec"]["from"]) || concerns(&one["spec"]["to"]));
    join_all(ours.map(|migration| migration_node(clusters, migration))).await
}

async fn migration_node(clusters: &Clusters, migration: &Value) -> Node {
    let (namespace, name) = (text(migration, "/metadata/namespace"), text(migration, "/metadata/name"));
    let node = Node::place("migration", &clusters.hub, "Migration", namespace, name);
    let mut node = node.with(Ok::<_, Trouble>(Some(migration)));
    let (from, to) = (text(migration, "/spec/from/clusterName"), text(migration, "/spec/to/clusterName"));
    let sides = format!("from {from} to {to}");
    node.standing = if node.standing.is_empty() { sides } else { format!("{sides}: {}", node.standing) };
    let stages = migration["status"]["stages"].as_array().into_iter().flatten();
    let id = text(migration, "/status/id");
    node.children = join_all(stages.map(|stage| stage_node(clusters, migration, id, stage))).await;
    node
}

/// A stage, and the objects that were made for it.
async fn stage_node(clusters: &Clusters, migration: &Value, id: &str, stage: &Value) -> Node {
    let name = text(stage, "/name");
    let mut node = Node::place("stage", clusters.compute(), "", "", name);
    text(stage, "/state").clone_into(&mut node.standing);
    node.good = match &*node.standing {
        "Succeeded" => Some(true),
        "Failed" => Some(false),
        _ => None,
    };
    node.message = stage["message"].as_str().map(str::to_owned);
    let recorded = migration["status"]["configuration"]["stages"].as_array().into_iter().flatten();
    let templates =
        recorded.filter(|recorded| recorded["name"] == *name).filter_map(|recorded| recorded["templates"].as_object());
    let kinds: Vec<(String, String)> = templates
        .flatten()
        .filter_map(|(_, template)| {
            Some((template["apiVersion"].as_str()?.to_owned(), template["kind"].as_str()?.to_owned()))
        })
        .collect();
    let selector = format!("{}={id},{}={name}", keys::MIGRATION_ID, keys::MIGRATION_STAGE);
    let mut seen = Vec::new();
    for (api_version, kind) in kinds {
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let kind = Kind { group: group.into(), version: version.into(), kind };
        if seen.contains(&kind) {
            continue;
        }
        node.children.extend(labelled(clusters.compute(), &kind, &selector, "stage object").await);
        seen.push(kind);
    }
    node
}

async fn labelled(cluster: &Cluster, kind: &Kind, selector: &str, relation: &str) -> Vec<Node> {
    let unknown =
        |why: &dyn ToString| vec![Node::place(relation, cluster, &kind.kind, "", "?").with(Err(why.to_string()))];
    let resource = match cluster.resources().await {
        Ok(resources) => resources.of_kind(kind).cloned(),
        Err(why) => return unknown(&why),
    };
    let Some(resource) = resource else { return Vec::new() };
    match cluster.list(&resource, None, Some(selector)).await {
        Ok(list) => list
            .iter()
            .map(|object| {
                let (namespace, name) = (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
                Node::place(relation, cluster, &kind.kind, namespace, name).with(Ok::<_, Trouble>(Some(object)))
            })
            .collect(),
        Err(why) => unknown(&why),
    }
}

/// The nodes of an instance that have no object, or lack one, and why.
async fn lacking(clusters: &Clusters, found: &Found, depth: usize) -> Vec<Node> {
    if label(&found.object, graphs::APPLYSET_ID).is_none() || depth >= DEPTH {
        return Vec::new();
    }
    let instance = match Instance::read(clusters, found).await {
        Ok(instance) => instance,
        Err(why) => return vec![Node::place("node", &found.cluster, "", "", "?").with(Err(format!("{why:#}")))],
    };
    let nodes = instance.nodes.iter().zip(instance.children());
    nodes.filter_map(|(live, told)| told.lacks(live).then(|| told.node(found))).collect()
}

/// The children of an instance of a graph, and theirs.
async fn children(clusters: &Clusters, cluster: &Cluster, instance: &Value, depth: usize) -> Vec<Node> {
    let Some(set) = label(instance, graphs::APPLYSET_ID).filter(|_| depth < DEPTH) else { return Vec::new() };
    let held = annotation(instance, graphs::APPLYSET_GROUP_KINDS).unwrap_or_default();
    let selector = format!("{}={set}", graphs::APPLYSET_PART_OF);
    let namespace = text(instance, "/metadata/namespace");
    let further = annotation(instance, graphs::APPLYSET_NAMESPACES).unwrap_or_default();
    // Where its children may be: in its own namespace, in those it names, or in none.
    let everywhere = namespace.is_empty() || !further.is_empty();
    let lists = held.split(',').filter(|kind| !kind.is_empty()).map(|group_kind| async {
        let (kind, group) = group_kind.split_once('.').unwrap_or((group_kind, ""));
        let unknown =
            |why: &dyn ToString| vec![Node::place("child", cluster, kind, namespace, "?").with(Err(why.to_string()))];
        let resource = match cluster.resources().await {
            Ok(resources) => resources.of_group_kind(group, kind).cloned(),
            Err(why) => return unknown(&why),
        };
        let Some(resource) = resource else {
            return unknown(&format!("{} does not serve the kind any more", cluster.name));
        };
        let namespace = Some(namespace).filter(|_| !everywhere);
        match cluster.list(&resource, namespace, Some(&selector)).await {
            Ok(list) => {
                let each = list.into_iter().map(|child| async {
                    let id_in_graph = label(&child, graphs::NODE_ID).map(str::to_owned);
                    let below = below(clusters, cluster.clone(), resource.clone(), child, "child", depth + 1).await;
                    Node { id_in_graph, ..below }
                });
                join_all(each).await
            }
            Err(why) => unknown(&why),
        }
    });
    let mut nodes: Vec<Node> = join_all(lists).await.into_iter().flatten().collect();
    nodes.sort_by(|left, right| {
        (&left.kind, &left.namespace, &left.name).cmp(&(&right.kind, &right.namespace, &right.name))
    });
    nodes
}
