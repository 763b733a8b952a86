//! Without a rollout: every cluster gets every RGD at once.

use e2e::{
    Object,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::fleet::{Fleet, SECRETS};
use crate::{
    FLEET,
    kinds::{RGD, is_active},
    rgd::{Node, Rgd},
};

fn note() -> Rgd {
    Rgd::new("Note")
        .spec(json!({"text": "string"}))
        .status(json!({"config": "${config.metadata.name}"}))
        .node(Node::config("config", "${schema.metadata.name}-config", json!({"text": "${schema.spec.text}"})))
}

async fn bring_up(fleet: &Fleet, spoke: &str, kind: &e2e::Kind, namespace: &str, name: &str) -> Object {
    let place = fleet.spoke(spoke);
    fleet.namespace(place, namespace).await;
    let object = kind.object(namespace, name, &json!({"spec": {"text": spoke}}));
    let author = PatchParams::apply("author");
    place.api(kind, namespace).patch(name, &author, &Patch::Apply(&object)).await.unwrap();
    place.until(kind, namespace, name, "to be ACTIVE", is_active).await
}

#[test]
fn an_rgd_in_the_hub_is_an_api_on_every_spoke() {
    FLEET.run(async |fleet| {
        fleet.join("paris", json!({})).await;
        fleet.join("tokyo", json!({})).await;
        let kind = fleet.define("everywhere", &note()).await;
        let rgd = fleet.hub.get(&RGD, "", "everywhere").await;
        for spoke in ["paris", "tokyo"] {
            let crd = fleet.runs(spoke, &kind, "1").await;
            assert_eq!(crd.label("kro.run/owned"), Some("true"), "{crd}");
            assert_eq!(crd.label("kro.run/resource-graph-definition-id"), Some(rgd.uid()), "{crd}");
            assert_eq!(crd.label("broker.platform-mesh.io/hub").map(str::len), Some(12), "{crd}");
            let managers = crd.at("/metadata/managedFields").as_array().unwrap();
            assert!(managers.iter().any(|entry| entry["manager"] == "kro.run/distributor"), "{crd}");
        }

        let seen = bring_up(fleet, "paris", &kind, "everywhere", "one").await;
        assert_eq!(seen.text("/status/config"), "one-config");
        let child = fleet.spoke("paris").get(&CONFIG_MAP, "everywhere", "one-config").await;
        assert_eq!(child.at("/data"), &json!({"text": "paris"}));
        assert_eq!(child.label("kro.run/instance-id"), Some(seen.uid()));
        // The same name elsewhere is another instance.
        bring_up(fleet, "tokyo", &kind, "everywhere", "one").await;
        let child = fleet.spoke("tokyo").get(&CONFIG_MAP, "everywhere", "one-config").await;
        assert_eq!(child.at("/data"), &json!({"text": "tokyo"}));
        assert!(fleet.hub.find(&CONFIG_MAP, "everywhere", "one-config").await.is_none());

        let told = |seen: &Object| seen.has("Distributed", "True", "AllClusters");
        fleet.hub.until(&RGD, "", "everywhere", "to be distributed", told).await;
        fleet.spoke("paris").delete(&kind, "everywhere", "one").await;
        fleet.spoke("paris").until_gone(&kind, "everywhere", "one").await;
        assert!(fleet.spoke("tokyo").find(&CONFIG_MAP, "everywhere", "one-config").await.is_some());

        // One that comes later gets what there is; which API server it is is written on its Secret.
        fleet.join("lima", json!({})).await;
        fleet.runs("lima", &kind, "1").await;
        bring_up(fleet, "lima", &kind, "everywhere", "late").await;
        let named = |seen: &Object| seen.annotation("broker.platform-mesh.io/cluster-uid").is_some();
        fleet.hub.until(&SECRET, SECRETS, "lima", "to say which API server it is", named).await;
        for name in ["resourcegraphdefinitions.kro.run", "graphrevisions.internal.kro.run"] {
            assert!(fleet.spoke("lima").find(&CRD, "", name).await.is_none(), "{name} never leaves the hub");
        }
    });
}
