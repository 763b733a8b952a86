//! What happens once all clusters run the target.

use e2e::{Object, kind::CRD};
use serde_json::json;

use super::fleet::{PEACE, SPOKES, note, text_is};
use crate::{FLEET, kinds::RGD};

#[test]
fn what_fails_then_stops_and_takes_back_nothing_in_other_clusters() {
    FLEET.run(async |fleet| {
        let _peace = PEACE.read().await;
        fleet.join_all().await;
        fleet.roll_out("completed", json!({"onFailure": "Rollback"})).await;
        let kind = fleet.define("completed", &note("1 ")).await;
        fleet.all_run(&kind, "1").await;
        fleet.edit("completed", &note("2 ")).await;
        fleet.all_run(&kind, "2").await;
        let done = |seen: &Object| seen.at("/status/completedRevision") == 2;
        fleet.rollout_until("completed", "to be done", done).await;

        // The owner of paris gives its CRD to somebody else.
        let paris = fleet.spoke("paris");
        let name = format!("{}.{}", kind.plural, kind.group);
        let theirs = json!({"metadata": {"labels": {"broker.platform-mesh.io/hub": "0123456789ab"}}});
        paris.edit(&CRD, "", &name, theirs).await;
        let failing = |seen: &Object| {
            seen.at("/status/failing/0/cluster") == "spoke#paris"
                && seen.at("/status/failing/0/reason") == "Conflict"
                && seen.at("/status/clusters/conflicted") == 1
        };
        let seen = fleet.rollout_until("completed", "to say so", failing).await;
        assert!(seen.has("Progressing", "True", "RollingOut"), "{seen}");
        // Whatever would be taken back has been by the time that others are served.
        for spoke in SPOKES.into_iter().filter(|spoke| *spoke != "paris") {
            fleet.bring_up(spoke, &kind, "completed", "one").await;
            text_is(fleet.spoke(spoke), "completed", &format!("2 {spoke}")).await;
            assert_eq!(fleet.revision(spoke, &kind).await.as_deref(), Some("2"), "{spoke}");
        }
        // He takes that back.
        let ours = fleet.hub.get(&RGD, "", "completed").await;
        paris.delete(&CRD, "", &name).await;
        let crd = fleet.runs("paris", &kind, "2").await;
        assert_eq!(crd.label("kro.run/resource-graph-definition-id"), Some(ours.uid()), "{crd}");
        let whole = |seen: &Object| seen.has("Progressing", "False", "Complete");
        fleet.rollout_until("completed", "to be whole again", whole).await;
    });
}
