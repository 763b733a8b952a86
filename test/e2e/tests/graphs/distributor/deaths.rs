//! The hub's controller dies again and again, and its clock jumps.

use e2e::{
    Kind, Object,
    kind::{CONFIG_MAP, CRD},
};
use harness::Mark;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{
    fields::{one_wave, revisions, updating},
    fleet::{Fleet, PEACE, SPOKES, note, text_is},
    waves::waves,
};
use crate::{FLEET, controller::GRAPHS, kinds::RGD};

/// How often the controller has written these objects of a cluster since.
async fn writes(fleet: &Fleet, spoke: &str, since: Mark, kind: &Kind, name: &str) -> Vec<String> {
    let events = fleet.spoke(spoke).cluster.audit().settled_since(since).await.unwrap().of(GRAPHS).writes();
    // One that was cut off was never made, or is not made again.
    let of = events.on(kind.plural).only(|event| event.name == name && event.code < 300);
    of.iter().map(|event| format!("{} {} {}", event.verb, event.uri, event.code)).collect()
}

#[test]
fn killed_after_each_cluster_a_roll_out_takes_no_write_more() {
    FLEET.run(async |fleet| {
        let _alone = PEACE.write().await;
        fleet.join_all().await;
        fleet.roll_out("killed", waves()).await;
        let kind = fleet.define("killed", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        for spoke in SPOKES {
            fleet.bring_up(spoke, &kind, "killed", "one").await;
        }
        let done =
            |seen: &Object| seen.at("/status/targetRevision") == 1 && seen.has("Progressing", "False", "Complete");
        fleet.rollout_until("killed", "to be done", done).await;
        let mut marks = Vec::new();
        for spoke in SPOKES {
            marks.push(fleet.spoke(spoke).cluster.audit().settle().await.unwrap());
        }
        let mut controller = fleet.controller().await;
        fleet.apply("killed", &note("2 ")).await;
        for spoke in ["paris", "lima", "tokyo"] {
            fleet.runs(spoke, &kind, "2").await;
            controller.kill();
            controller.start_again(&fleet.lab).await;
        }
        fleet.rollout_until("killed", "to be done", updating(0, 3)).await;
        let crd = format!("{}.{}", kind.plural, kind.group);
        for (spoke, mark) in SPOKES.into_iter().zip(marks) {
            text_is(fleet.spoke(spoke), "killed", &format!("2 {spoke}")).await;
            // The revision, and that it does well.
            let all = writes(fleet, spoke, mark, &CRD, &crd).await;
            assert!(all.len() <= 2, "{spoke}: {all:#?}");
            let all = writes(fleet, spoke, mark, &CONFIG_MAP, "one-config").await;
            assert!(all.len() <= 1, "{spoke}: {all:#?}");
        }
    });
}

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
