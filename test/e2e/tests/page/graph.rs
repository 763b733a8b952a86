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

/// It comes, and the page shows it.
pub(crate) async fn arrive(shop: &Shop) {
    let hub = &shop.world.hub;
    hub.apply(DEFINITION).await;
    let schema = json!({"apiVersion": "v1alpha1", "kind": SERVED});
    hub.create(&RGD, "", NAME, json!({"spec": {"schema": schema}})).await;
    until_shown(shop, NAME).await;
}

/// It goes, if it is there, with its kind, and the page says so.
pub(crate) async fn leave(shop: &Shop) {
    let hub = &shop.world.hub;
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
