//! Spokes that go, and nothing that happens when nothing changes.

use std::time::Duration;

use e2e::kind::{CONFIG_MAP, SECRET};
use serde_json::{Value, json};

use super::fleet::{PEACE, SECRETS, SPOKES, note};
use crate::{FLEET, kinds::FINALIZER};

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
        fleet.distributed("leaving", "AllClusters", "2/2").await;
        assert_eq!(fleet.revision("tokyo", &kind).await.as_deref(), Some("1"));
        fleet.join("tokyo").await;
        fleet.distributed("leaving", "AllClusters", "3/3").await;
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
