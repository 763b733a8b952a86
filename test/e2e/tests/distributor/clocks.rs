//! The clock of the hub's controller jumps.

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    fields::{one_wave, revisions, updating},
    fleet::{Fleet, PEACE, note},
};
use crate::{FLEET, kinds::RGD};

/// What the controller says now has a time that is so far ahead.
async fn says_the_time(fleet: &Fleet, name: &str, ahead: SignedDuration) {
    let kind = fleet.define(name, &note("")).await;
    fleet.all_run(&kind, "1").await;
    let rgd = fleet.hub.get(&RGD, "", name).await;
    let said = rgd.at("/status/conditions/0/lastTransitionTime").as_str().unwrap();
    let off = said.parse::<Timestamp>().unwrap().duration_since(Timestamp::now() + ahead);
    assert!(off.abs() < SignedDuration::from_mins(10), "{rgd}");
}

#[test]
fn a_clock_that_jumps_ends_no_soak_and_exceeds_no_deadline() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        let kind = fleet.define("clocks", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        let mut rollout = one_wave(&json!(1), 3600);
        rollout["progressDeadlineSeconds"] = json!(1800);
        fleet.roll_out("clocks", rollout).await;
        fleet.edit("clocks", &note("2 ")).await;
        fleet.rollout_until("clocks", "to soak in one", updating(1, 0)).await;
        for (hours, barrier) in [(2, "clocks-ahead"), (-2, "clocks-behind"), (0, "clocks-right")] {
            fleet.clock.set(hours * 3600).unwrap();
            says_the_time(fleet, barrier, SignedDuration::from_hours(hours)).await;
            assert_eq!(revisions(fleet, &kind).await, ["2", "1", "1"], "{hours} h");
            let rollout = fleet.hub.get(&super::fleet::ROLLOUT, "", "clocks").await;
            assert_eq!(rollout.at("/status/clusters/failed"), 0, "{hours} h: {rollout}");
        }
        fleet.roll_out("clocks", one_wave(&json!(3), 1)).await;
        fleet.all_run(&kind, "2").await;
    });
}
