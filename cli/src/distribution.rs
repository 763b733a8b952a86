//! What belongs to a ResourceGraphDefinition, over all clusters: its revisions, its rollout, and the CRD that each cluster has of
//! it, with the revision that it runs.

use broker_api::graphs::keys;
use futures::future::join_all;
use serde_json::Value;

use crate::{
    cluster::{Cluster, Place, Trouble},
    clusters::Clusters,
    object::{annotation, text},
    resource::Resource,
    tree::Node,
};

/// All of it. `home`: where the definition is.
pub(crate) async fn of(clusters: &Clusters, home: &Cluster, definition: &Value) -> Vec<Node> {
    let name = text(definition, "/metadata/name");
    // Only a hub brings its definitions to others; a cluster of another role may be a spoke as well.
    let is_hub = home.name == clusters.hub.name;
    let spokes = clusters.others().filter(|_| is_hub);
    let places: Vec<&Cluster> = std::iter::once(home).chain(spokes).collect();
    let (revisions, crds) = (revisions(), crds());
    let (revisions, rollout, kinds) = futures::join!(
        listed(home, &revisions, "revision", name, &|_| None),
        rollout(home, name),
        join_all(places.iter().map(|cluster| listed(cluster, &crds, "served by", name, &runs)))
    );
    revisions.into_iter().chain(rollout).chain(kinds.into_iter().flatten()).collect()
}

fn revisions() -> Resource {
    Resource::named(keys::INTERNAL_GROUP, "v1alpha1", "GraphRevision", "graphrevisions").cluster_wide()
}

fn crds() -> Resource {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    Resource::named(group, "v1", kind, "customresourcedefinitions").cluster_wide()
}

/// What a CRD says of the revision that its cluster runs.
fn runs(crd: &Value) -> Option<String> {
    Some(format!("revision {}", annotation(crd, keys::GRAPH_REVISION)?))
}

/// The objects of a kind that a definition has made in a cluster; where that cannot be known, why.
async fn listed(
    cluster: &Cluster,
    resource: &Resource,
    relation: &str,
    definition: &str,
    says: &(dyn Fn(&Value) -> Option<String> + Sync),
) -> Vec<Node> {
    let selector = format!("{}={}", keys::RGD_NAME, graphs_core::labels::value(definition).value);

    let list = match cluster.list(resource, None, Some(&selector)).await {
        Ok(list) => list,
        Err(Trouble::NotServed(_)) => return Vec::new(),
        Err(why) => return vec![Node::place(relation, cluster, &resource.kind.kind, "", "?").with(Err(why))],
    };
    let node = |object: &Value| {
        let place = Node::place(relation, cluster, &resource.kind.kind, "", text(object, "/metadata/name"));
        let node = place.with(Ok::<_, Trouble>(Some(object)));
        let standing = says(object).into_iter().chain([node.standing.clone()]).filter(|text| !text.is_empty());
        Node { standing: standing.collect::<Vec<_>>().join(", "), ..node }
    };
    list.iter().map(node).collect()
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
            let standing = far.into_iter().chain([node.standing.clone()]).filter(|text| !text.is_empty());
            Some(Node { standing: standing.collect::<Vec<_>>().join(", "), ..node })
        }
        Ok(None) | Err(Trouble::NotServed(_)) => None,
        Err(why) => Some(node.with(Err(why))),
    }
}
