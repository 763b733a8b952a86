//! Without a rollout: every cluster gets every RGD at once.

use e2e::{
    Object,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use harness::Mark;
use serde_json::json;

use super::fleet::{PEACE, SECRETS, note};
use crate::{
    FLEET,
    controller::GRAPHS as USER,
    kinds::RGD,
    rgd::{Node, Rgd},
};

#[test]
fn an_rgd_in_the_hub_is_an_api_on_every_spoke() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        fleet.join("tokyo").await;
        let kind = fleet.define("everywhere", &note("")).await;
        let rgd = fleet.hub.get(&RGD, "", "everywhere").await;
        for spoke in ["paris", "tokyo"] {
            let crd = fleet.runs(spoke, &kind, "1").await;
            assert_eq!(crd.label("kro.run/owned"), Some("true"), "{crd}");
            assert_eq!(crd.label("kro.run/resource-graph-definition-id"), Some(rgd.uid()), "{crd}");
            assert_eq!(crd.label("broker.platform-mesh.io/hub").map(str::len), Some(12), "{crd}");
            let managers = crd.at("/metadata/managedFields").as_array().unwrap();
            assert!(managers.iter().any(|entry| entry["manager"] == "kro.run/distributor"), "{crd}");
        }

        let seen = fleet.bring_up("paris", &kind, "everywhere", "one").await;
        assert_eq!(seen.text("/status/config"), "one-config");
        let child = fleet.spoke("paris").get(&CONFIG_MAP, "everywhere", "one-config").await;
        assert_eq!(child.at("/data"), &json!({"text": "paris"}));
        assert_eq!(child.label("kro.run/instance-id"), Some(seen.uid()));
        // The same name elsewhere is another instance.
        fleet.bring_up("tokyo", &kind, "everywhere", "one").await;
        let child = fleet.spoke("tokyo").get(&CONFIG_MAP, "everywhere", "one-config").await;
        assert_eq!(child.at("/data"), &json!({"text": "tokyo"}));
        assert!(fleet.hub.find(&CONFIG_MAP, "everywhere", "one-config").await.is_none());

        fleet.distributed("everywhere", "AllClusters", "at revision 1").await;
        let metrics = fleet.controller().await.metrics().await;
        let value = |line: &str| {
            let found = metrics.lines().find_map(|held| held.strip_prefix(line));
            found.unwrap_or_else(|| panic!("{line}: {metrics}")).trim().parse::<f64>().unwrap()
        };
        for (line, least) in [
            (r#"kro_distribution_clusters{rgd="everywhere",state="updated"} "#, 2.0),
            (r#"kro_distribution_clusters{rgd="everywhere",state="waiting"} "#, 0.0),
            (r#"kro_cluster_up{cluster="spoke#paris"} "#, 1.0),
            (r#"kro_cluster_last_event_seconds{cluster="spoke#tokyo"} "#, 0.0),
            (r#"workqueue_depth{name="spokes"} "#, 0.0),
            ("kro_distribution_apply_seconds_count ", 2.0),
        ] {
            assert!(value(line) >= least, "{line}{}", value(line));
        }
        fleet.spoke("paris").delete(&kind, "everywhere", "one").await;
        fleet.spoke("paris").until_gone(&kind, "everywhere", "one").await;
        assert!(fleet.spoke("tokyo").find(&CONFIG_MAP, "everywhere", "one-config").await.is_some());

        // One that comes later gets what there is; which API server it is is written on its Secret.
        fleet.join("lima").await;
        fleet.runs("lima", &kind, "1").await;
        fleet.bring_up("lima", &kind, "everywhere", "late").await;
        let named = |seen: &Object| seen.annotation("broker.platform-mesh.io/cluster-uid").is_some();
        fleet.hub.until(&SECRET, SECRETS, "lima", "to say which API server it is", named).await;
        let asked = fleet.spoke("lima").cluster.audit().settled_since(Mark::START).await.unwrap().of(USER);
        let of_all = ["/openapi/v3/api/v1", "/openapi/v3/apis/apiextensions.k8s.io/v1"];
        let schemas = asked.only(|event| of_all.iter().any(|path| event.uri.starts_with(path)));
        assert!(schemas.is_empty(), "what objects of these can hold the hub knows: {schemas:?}");
        for name in [
            "resourcegraphdefinitions.kro.run",
            "graphrevisions.internal.kro.run",
            "resourcegraphrollouts.broker.platform-mesh.io",
        ] {
            assert!(fleet.spoke("lima").find(&CRD, "", name).await.is_none(), "{name} never leaves the hub");
        }
    });
}

#[test]
fn who_writes_instances_in_a_spoke_chooses_no_namespace_there() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join("paris").await;
        let mut child = Node::config("config", "reaches", json!({"text": "${schema.spec.text}"}));
        child.0["template"]["metadata"]["namespace"] = json!("${schema.spec.text}");
        let rgd = Rgd::new("Note").spec(json!({"text": "string"})).node(child);
        let kind = fleet.define("reaching", &rgd).await;
        fleet.runs("paris", &kind, "1").await;
        let paris = fleet.spoke("paris");
        fleet.namespace(paris, "reaching").await;
        paris.create(&kind, "reaching", "one", json!({"spec": {"text": "kube-system"}})).await;
        let refused = |seen: &Object| seen.at("/status").to_string().contains("--restrict-namespaces");
        paris.until(&kind, "reaching", "one", "to be refused", refused).await;
        assert!(paris.find(&CONFIG_MAP, "kube-system", "reaches").await.is_none());
    });
}
