//! Spokes that go, and nothing that happens when nothing changes.

use std::time::Duration;

use e2e::{
    Object,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use serde_json::{Value, json};

use super::fleet::{ARGS, PEACE, SECRETS, SPOKES, note};
use crate::{
    FLEET,
    kinds::{FINALIZER, RGD, is_active},
    rights,
};

/// How long nothing may be asked for.
const IDLE: Duration = Duration::from_secs(5);

#[test]
fn a_spoke_that_is_offboarded_keeps_what_it_has_and_is_taken_up_again() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let kind = fleet.define("leaving", &note("")).await;
        fleet.all_run(&kind, "1").await;
        fleet.bring_up("tokyo", &kind, "leaving", "one").await;
        let tokyo = fleet.spoke("tokyo");
        let offboard = |value: Value| json!({"metadata": {"labels": {"broker.platform-mesh.io/offboard": value}}});
        fleet.hub.edit(&SECRET, SECRETS, "tokyo", offboard(json!("true"))).await;
        fleet.distributed("leaving", "AllClusters", "2/2").await;
        tokyo.delete(&CONFIG_MAP, "leaving", "one-config").await;
        // What comes after that is served elsewhere: nobody has looked at it here.
        fleet.bring_up("paris", &kind, "leaving", "barrier").await;
        assert!(tokyo.find(&CONFIG_MAP, "leaving", "one-config").await.is_none());
        assert_eq!(tokyo.get(&kind, "leaving", "one").await.finalizers(), [FINALIZER]);
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));

        fleet.hub.edit(&SECRET, SECRETS, "tokyo", offboard(Value::Null)).await;
        tokyo.until_there(&CONFIG_MAP, "leaving", "one-config").await;
        fleet.hub.delete(&SECRET, SECRETS, "tokyo").await;
        fleet.hub.until_event(SECRETS, "tokyo", "ClusterLeft", |told| told.message.contains("instances stay")).await;
        fleet.distributed("leaving", "AllClusters", "2/2").await;
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));
        fleet.join("tokyo").await;
        fleet.distributed("leaving", "AllClusters", "3/3").await;
    });
}

#[test]
fn instances_that_are_released_can_be_deleted_by_people_and_are_taken_up_again() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let rollout = |selector: Value| json!({"clusterSelector": selector, "offboarding": "Release"});
        fleet.roll_out("released", rollout(json!({}))).await;
        let kind = fleet.define("released", &note("")).await;
        fleet.all_run(&kind, "1").await;
        for spoke in ["tokyo", "lima"] {
            fleet.bring_up(spoke, &kind, "released", "one").await;
        }
        let labels = json!({"metadata": {"labels": {"city": "tokyo"}}});
        fleet.hub.edit(&SECRET, SECRETS, "tokyo", labels).await;
        let not_tokyo = json!({"matchExpressions": [{"key": "city", "operator": "NotIn", "values": ["tokyo"]}]});
        fleet.roll_out("released", rollout(not_tokyo)).await;
        let tokyo = fleet.spoke("tokyo");
        let is_free = |seen: &Object| seen.finalizers().is_empty() && seen.label("kro.run/owned").is_none();
        tokyo.until(&kind, "released", "one", "to be released", is_free).await;
        fleet.distributed("released", "AllClusters", "2/2").await;
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));
        tokyo.get(&CONFIG_MAP, "released", "one-config").await;
        assert_eq!(fleet.spoke("lima").get(&kind, "released", "one").await.finalizers(), [FINALIZER]);
        fleet.roll_out("released", rollout(json!({}))).await;
        let is_kept = |seen: &Object| seen.finalizers() == [FINALIZER] && is_active(seen);
        tokyo.until(&kind, "released", "one", "to be served again", is_kept).await;
        // An RGD that is deleted releases what it has everywhere, without any further right.
        fleet.hub.delete(&RGD, "", "released").await;
        fleet.hub.until_gone(&RGD, "", "released").await;
        for spoke in ["tokyo", "lima"] {
            assert!(is_free(&fleet.spoke(spoke).get(&kind, "released", "one").await), "{spoke}");
            fleet.spoke(spoke).delete(&kind, "released", "one").await;
            fleet.spoke(spoke).until_gone(&kind, "released", "one").await;
        }
    });
}

#[test]
fn with_an_rgd_that_is_deleted_all_goes_where_that_is_allowed() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let mut controller = fleet.controller().await;
        let mut args = ARGS.to_vec();
        args.push("--allow-crd-deletion");
        controller.with_args(&fleet.lab, &args).await;
        fleet.roll_out("gone", json!({"offboarding": "Delete"})).await;
        let kind = fleet.define("gone", &note("")).await;
        fleet.all_run(&kind, "1").await;
        let more = [
            rights::rule(kind.group, &[kind.plural], &["delete"]),
            rights::rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["delete"]),
        ];
        for spoke in SPOKES {
            rights::grant(fleet.spoke(spoke), "gone-deletion", more.to_vec()).await;
            fleet.bring_up(spoke, &kind, "gone", "one").await;
        }
        fleet.hub.delete(&RGD, "", "gone").await;
        fleet.hub.until_gone(&RGD, "", "gone").await;
        for place in SPOKES.map(|name| fleet.spoke(name)).into_iter().chain([&fleet.hub]) {
            // The hub's goes with the RGD, those of spokes went before it.
            place.until_gone(&CRD, "", &format!("{}.{}", kind.plural, kind.group)).await;
            assert!(place.find(&CONFIG_MAP, "gone", "one-config").await.is_none(), "{}", place.name());
        }
        controller.with_args(&fleet.lab, &ARGS).await;
    });
}

#[test]
fn nothing_is_asked_for_when_nothing_changes() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let kind = fleet.define("idle", &note("")).await;
        fleet.all_run(&kind, "1").await;
        for spoke in SPOKES {
            fleet.bring_up(spoke, &kind, "idle", "one").await;
        }
        fleet.distributed("idle", "AllClusters", "3/3").await;
        fleet.until_quiet(IDLE).await;
    });
}
