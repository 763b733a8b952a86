//! A graph that is in the coordination cluster for a while: on the pictures of the documentation its kind is not served.

use e2e::{Kind, kind::CRD};
use serde_json::json;

use crate::shop::Shop;

/// Its name, and the kind that it serves.
pub(crate) const NAME: &str = "fair-stalls";
const SERVED: &str = "MarketStall";

const RGD: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };

/// The CRD of that, and its name.
const DEFINITION: &str = include_str!("../../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml");
const DEFINED: &str = "resourcegraphdefinitions.kro.run";

const ROLLOUT: Kind = Kind {
    group: "broker.platform-mesh.io",
    version: "v1alpha1",
    kind: "ResourceGraphRollout",
    plural: "resourcegraphrollouts",
};

/// The CRD of that.
const ROLLED_OUT: &str =
    include_str!("../../../../config/crd-graphs/broker.platform-mesh.io_resourcegraphrollouts.yaml");

/// The path of its page.
pub(crate) fn path() -> String {
    format!("/graph?name={NAME}")
}

/// It is rolled out, to a canary first, which fails.
pub(crate) async fn fail(shop: &Shop) {
    let hub = &shop.world.hub;
    hub.apply(ROLLED_OUT).await;
    let waves = json!([{"name": "canary", "clusterSelector": {"matchLabels": {"tier": "canary"}}}, {"name": "rest", "clusterSelector": {}}]);
    hub.create(&ROLLOUT, "", NAME, json!({"spec": {"waves": waves}})).await;
    let failing = json!([{"cluster": "spoke#paris", "revision": 2, "reason": "KindsMissing", "message": "no kind Stall", "since": "2026-01-01T00:00:00Z"}]);
    let clusters = json!({"total": 3, "updated": 0, "updating": 0, "failed": 1, "unreachable": 0, "conflicted": 0});
    let status = json!({"observedGeneration": 1, "targetRevision": 2, "wave": "canary", "clusters": clusters, "failing": failing});
    hub.set_status(&ROLLOUT, "", NAME, status).await;
    let status = json!({"state": "Inactive", "lastIssuedRevision": 2});
    hub.set_status(&RGD, "", NAME, status).await;
}

/// It comes, and the page shows it.
pub(crate) async fn arrive(shop: &Shop) {
    let hub = &shop.world.hub;
    hub.apply(DEFINITION).await;
    let schema = json!({"apiVersion": "v1alpha1", "kind": SERVED});
    hub.create(&RGD, "", NAME, json!({"spec": {"schema": schema}})).await;
    until_shown(shop, NAME).await;
}

/// It goes, if it is there, with its kind and that of its rollout, and the page says so.
pub(crate) async fn leave(shop: &Shop) {
    let hub = &shop.world.hub;
    let rolled_out = format!("{}.{}", ROLLOUT.plural, ROLLOUT.group);
    if hub.find(&CRD, "", &rolled_out).await.is_some() {
        hub.delete(&CRD, "", &rolled_out).await;
        hub.until_gone(&CRD, "", &rolled_out).await;
    }
    if hub.find(&CRD, "", DEFINED).await.is_some() {
        hub.delete(&CRD, "", DEFINED).await;
        hub.until_gone(&CRD, "", DEFINED).await;
        until_shown(shop, "does not serve ResourceGraphDefinitions").await;
    }
}

async fn until_shown(shop: &Shop, text: &str) {
    let steps = json!([{"shows": text, "says": "shown"}]);
    let mut look = shop.look("live", json!({"path": "/", "steps": steps}));
    look.hears("shown").await;
    look.found_nothing().await;
}
