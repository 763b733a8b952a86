//! What belongs to a ResourceGraphDefinition, over all clusters: its revisions, its rollout, and the CRD that each cluster has of
//! it, with the revision that it runs.

use broker_api::graphs::keys;
use futures::future::join_all;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    object::{annotation, label, text},
    resource::Resource,
    tree::Node,
};

/// All of it. `home`: where the definition is.
pub(crate) async fn of(clusters: &Clusters, home: &Cluster, definition: &Value) -> Vec<Node> {
    let (name, uid) = (text(definition, "/metadata/name"), text(definition, "/metadata/uid"));
    // Only a hub brings its definitions to others; a cluster of another role may be a spoke as well.
    let is_hub = home.name == clusters.hub.name;
    let spokes = clusters.others().filter(|_| is_hub);
    let places: Vec<&Cluster> = std::iter::once(home).chain(spokes).collect();
    let (revisions, crds) = (Resource::revisions(), Resource::crds());
    let (made, rollout, kinds) = futures::join!(
        made(home, &revisions, name),
        rollout(home, name),
        join_all(places.iter().map(|cluster| made(cluster, &crds, name)))
    );
    let mut all = nodes("revision", home, &revisions, made, |_| None);
    all.extend(rollout);
    for (cluster, made) in places.into_iter().zip(kinds) {
        // One of the same name, of another hub, is none of its.
        let its = |list: Vec<Value>| list.into_iter().filter(|crd| label(crd, keys::RGD_ID) == Some(uid)).collect();
        all.extend(nodes("served by", cluster, &crds, made.map(its), runs));
    }
    all
}

/// What a CRD says of the revision that its cluster runs.
fn runs(crd: &Value) -> Option<String> {
    Some(format!("revision {}", annotation(crd, keys::GRAPH_REVISION)?))
}

/// The objects of a kind that were made for a definition of this name.
async fn made(cluster: &Cluster, resource: &Resource, definition: &str) -> Result<Vec<Value>, Trouble> {
    let selector = format!("{}={}", keys::RGD_NAME, graphs_core::labels::value(definition).value);
    match cluster.list(resource, None, Some(&selector)).await {
        Err(Trouble::NotServed(_)) => Ok(Vec::new()),
        read => read,
    }
}

/// Objects as they stand, and what else they say; where they are not known, why.
fn nodes(
    relation: &str,
    cluster: &Cluster,
    resource: &Resource,
    read: Result<Vec<Value>, Trouble>,
    says: fn(&Value) -> Option<String>,
) -> Vec<Node> {
    let place = |name: &str| Node::place(relation, cluster, &resource.kind.kind, "", name);
    let node = |object: &Value| {
        let node = place(text(object, "/metadata/name")).with(Ok::<_, Trouble>(Some(object)));
        let standing = told([says(object), Some(node.standing.clone())]);
        Node { standing, ..node }
    };
    match read {
        Ok(list) => list.iter().map(node).collect(),
        Err(why) => vec![place("?").with(Err(why))],
    }
}

fn told(parts: [Option<String>; 2]) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// How it gets to the spokes, where there is something of its own to say about that.
async fn rollout(home: &Cluster, name: &str) -> Option<Node> {
    let resource = Resource::ours("ResourceGraphRollout", "resourcegraphrollouts").cluster_wide();
    let node = Node::place("rollout", home, &resource.kind.kind, "", name);
    match home.get(&resource, Place { namespace: "", name }).await {
        Ok(Some(rollout)) => {
            let node = node.with(Ok::<_, Trouble>(Some(&rollout)));
            let (status, wave) = (&rollout["status"], text(&rollout, "/status/wave"));
            let wave = if wave.is_empty() { String::new() } else { format!(", wave {wave}") };
            let far = status["targetRevision"].as_i64().map(|target| {
                let count = |name: &str| status["clusters"][name].as_u64().unwrap_or_default();
                format!("revision {target} in {} of {} clusters{wave}", count("updated"), count("total"))
            });
            let standing = told([far, Some(node.standing.clone())]);
            Some(Node { standing, ..node })
        }
        Ok(None) | Err(Trouble::NotServed(_)) => None,
        Err(why) => Some(node.with(Err(why))),
    }
}
