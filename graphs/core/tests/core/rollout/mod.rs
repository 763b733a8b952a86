//! What a rollout promises: waves in order, no more at a time than allowed, and no further cluster once too many have failed.

mod amounts;
mod fleet;
mod news;
mod status;
mod stories;

use broker_api::graphs::rollout::Offboarding;
use fleet::{Fleet, settings};
use graphs_core::rollout::{Assigned, Mark, Reason, Settings};
use serde_json::{Value, json};

/// Two waves: canaries one at a time, soaking for a minute, then the others two at a time.
fn waves(more: &Value) -> Settings {
    let mut spec = json!({"waves": [
        {"name": "canary", "clusterSelector": {"matchLabels": {"ring": "canary"}}, "soakSeconds": 60},
        {"name": "rest", "clusterSelector": {"matchLabels": {"ring": "rest"}}, "maxUnavailable": 2},
    ]});
    for (field, value) in more.as_object().unwrap() {
        spec[field] = value.clone();
    }
    settings(&spec)
}

fn fleet() -> Fleet {
    Fleet::of(&[("a", "canary"), ("b", "canary"), ("c", "rest"), ("d", "rest"), ("e", "rest")])
}

#[test]
fn without_a_rollout_all_get_the_newest_at_once() {
    let mut fleet = fleet();
    let decision = fleet.turn(&Settings::default(), Some(3));
    assert!(decision.assigned.values().all(|assigned| *assigned == Assigned::Revision(3)), "{decision:?}");
    assert_eq!(fleet.turn(&Settings::default(), Some(3)).clusters.updated, 5);
}

#[test]
fn nothing_is_assigned_while_no_revision_is_known() {
    let decision = fleet().turn(&waves(&json!({})), None);
    assert!(decision.assigned.values().all(|assigned| *assigned == Assigned::Stay), "{decision:?}");
}

#[test]
fn waves_come_in_order_and_soak() {
    let mut fleet = fleet();
    let settings = waves(&json!({}));
    assert_eq!(fleet.turn(&settings, Some(1)).wave.as_deref(), Some("canary"));
    assert_eq!(fleet.running(), ["a1"]);
    let decision = fleet.turn(&settings, Some(1));
    assert_eq!((fleet.running(), decision.again.unwrap().as_secs()), (vec!["a1".to_owned()], 60));
    fleet.later(20);
    assert_eq!(fleet.turn(&settings, Some(1)).again.unwrap().as_secs(), 40);
    fleet.later(40);
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1", "b1"], "b soaks, too");
    fleet.later(60);
    fleet.turn(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1", "b1", "c1", "d1"], "two at a time");
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!((decision.wave, decision.clusters.updated), (None, 5));
    // What happens later has other causes.
    fleet.member("a").errors = 7;
    fleet.member("b").is_slow = true;
    fleet.restart();
    fleet.later(10_000);
    assert!(fleet.turns(&settings, Some(1)).failing.is_empty());
}

#[test]
fn a_target_that_changes_begins_again_and_what_it_skips_is_never_seen() {
    let mut fleet = fleet();
    let settings = waves(&json!({}));
    fleet.turns(&settings, Some(1));
    fleet.later(60);
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1", "b1"]);
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a2", "b1"]);
    for _ in 0..3 {
        fleet.later(60);
        fleet.turns(&settings, Some(2));
    }
    assert_eq!(fleet.running(), ["a2", "b2", "c2", "d2", "e2"]);
    assert!(fleet.history.iter().all(|(cluster, revision)| *revision == 2 || ["a", "b"].contains(&cluster.as_str())));
}

#[test]
fn a_paused_rollout_starts_no_cluster() {
    let mut fleet = fleet();
    fleet.turns(&waves(&json!({})), Some(1));
    let decision = fleet.turns(&waves(&json!({"paused": true})), Some(2));
    assert_eq!((fleet.running(), decision.stopped), (vec!["a1".to_owned()], false));
}

#[test]
fn an_older_revision_is_a_target_like_any_other() {
    let mut fleet = fleet();
    fleet.turns(&Settings::default(), Some(7));
    fleet.turns(&settings(&json!({"revision": 6})), Some(7));
    assert_eq!(fleet.running(), ["a6", "b6", "c6", "d6", "e6"]);
}

#[test]
fn instances_that_fail_stop_the_waves_until_they_recover() {
    let mut fleet = fleet();
    let settings = waves(&json!({}));
    fleet.turns(&settings, Some(1));
    fleet.member("a").errors = 3;
    fleet.later(300);
    let decision = fleet.turns(&settings, Some(1));
    assert!(decision.stopped);
    assert_eq!((decision.failing[0].cluster.name(), decision.failing[0].reason), ("a", Reason::InstancesFailing));
    assert!(decision.failing[0].message.contains("3 instances are in ERROR"), "{decision:?}");
    assert_eq!(fleet.running(), ["a1"]);
    fleet.member("a").errors = 0;
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1", "b1"]);
}

#[test]
fn as_many_may_fail_as_the_threshold_allows() {
    let mut fleet = fleet();
    let settings = waves(&json!({"failureThreshold": "100%"}));
    fleet.member("a").trouble = Some(Reason::KindMissing);
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["b1"], "a cannot, and takes nobody's room");
    fleet.later(60);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["b1", "c1", "d1", "e1"]);
    assert_eq!((decision.clusters.failed, decision.clusters.conflicted, decision.stopped), (1, 0, false));
    assert_eq!(decision.wave, None, "all is done that can be");
    fleet.member("a").trouble = None;
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running()[0], "a1", "it is tried for as long as it is wanted");
}

#[test]
fn a_wave_that_has_only_failed_is_the_one_where_a_rollout_stops() {
    let mut fleet = Fleet::of(&[("a", "canary"), ("c", "rest")]);
    fleet.member("a").trouble = Some(Reason::Conflict);
    let decision = fleet.turns(&waves(&json!({})), Some(1));
    assert_eq!((decision.stopped, decision.wave.as_deref()), (true, Some("canary")));
    assert_eq!((decision.clusters.failed, decision.clusters.conflicted), (1, 1));
}

#[test]
fn those_that_failed_come_back_no_more_at_a_time_than_may_be_under_way() {
    let mut fleet = fleet();
    let settings = waves(&json!({"failureThreshold": 9, "waves": [
        {"name": "all", "clusterSelector": {}, "maxUnavailable": 2, "soakSeconds": 60},
    ]}));
    for name in ["a", "b", "c", "d", "e"] {
        fleet.member(name).trouble = Some(Reason::KindMissing);
    }
    assert_eq!(fleet.turns(&settings, Some(1)).clusters.failed, 5);
    for name in ["a", "b", "c", "d", "e"] {
        fleet.member(name).trouble = None;
    }
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1", "b1"]);
}

#[test]
fn what_failed_in_a_wave_that_has_not_begun_does_not_begin() {
    let mut fleet = fleet();
    fleet.turns(&Settings::default(), Some(1));
    fleet.member("e").trouble = Some(Reason::ApplyRefused);
    fleet.member("e").tried.insert(1);
    let decision = fleet.turns(&waves(&json!({"paused": true})), Some(2));
    assert_eq!(
        (fleet.running(), decision.clusters.failed),
        (["a1", "b1", "c1", "d1", "e1"].map(str::to_owned).to_vec(), 0)
    );
}

#[test]
fn it_goes_on_in_spite_of_failures_where_that_is_asked_for() {
    let mut fleet = fleet();
    fleet.member("a").trouble = Some(Reason::Conflict);
    fleet.member("b").trouble = Some(Reason::ApplyRefused);
    let decision = fleet.turns(&waves(&json!({"onFailure": "Continue"})), Some(1));
    assert_eq!(fleet.running(), ["c1", "d1", "e1"]);
    assert_eq!((decision.clusters.failed, decision.clusters.conflicted), (2, 1));
}

#[test]
fn what_failed_is_taken_back_and_stays_back_until_there_is_another_target() {
    let mut fleet = fleet();
    fleet.turns(&Settings::default(), Some(1));
    let settings = waves(&json!({"onFailure": "Rollback"}));
    fleet.turns(&settings, Some(2));
    fleet.later(60);
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a2", "b2", "c1", "d1", "e1"]);
    fleet.member("b").errors = 1;
    let decision = fleet.turns(&settings, Some(2));
    assert!(decision.gives_up);
    assert_eq!(fleet.running(), ["a1", "b1", "c1", "d1", "e1"]);
    fleet.member("b").errors = 0;
    fleet.restart();
    fleet.clusters.remove("b");
    fleet.later(10_000);
    assert!(fleet.turns(&settings, Some(2)).stopped, "whoever failed has left, and it failed nevertheless");
    assert_eq!(fleet.running(), ["a1", "c1", "d1", "e1"]);
    fleet.turns(&settings, Some(3));
    assert_eq!(fleet.running(), ["a3", "c1", "d1", "e1"]);
    // Somebody edits the rollout: tried once more.
    fleet.given_up = None;
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a2", "c1", "d1", "e1"]);
}

#[test]
fn what_is_in_error_when_a_revision_comes_is_not_its_fault() {
    let held = Mark { revision: 2, previous: Some(1), errors: 3, done: false };
    let back = Assigned::TakenBack(1).mark(Some(&held), 7);
    assert_eq!(back, Some(Mark { revision: 1, previous: None, errors: 7, done: false }));
    let on = Assigned::Revision(3).mark(Some(&held), 7);
    assert_eq!(on, Some(Mark { revision: 3, previous: Some(2), errors: 7, done: false }));
    assert_eq!(Assigned::Done(2).mark(Some(&held), 7), Some(Mark { done: true, ..held.clone() }));
    assert_eq!(
        [Assigned::Revision(2), Assigned::Stay].map(|one| one.mark(Some(&held), 7)),
        [Some(held.clone()), Some(held.clone())]
    );
    assert_eq!(Assigned::Leave(Offboarding::Orphan).mark(Some(&held), 7), None);
    let begins =
        [Assigned::Revision(3), Assigned::Done(3), Assigned::Revision(2), Assigned::TakenBack(1), Assigned::Stay];
    assert_eq!(begins.map(|one| one.begins(&held)), [true, true, false, false, false]);
}

#[test]
fn nobody_is_taken_back_to_what_was_taken_back() {
    let mut fleet = Fleet::of(&[("a", "canary")]);
    fleet.turns(&Settings::default(), Some(1));
    let settings = waves(&json!({"onFailure": "Rollback"}));
    fleet.turns(&settings, Some(2));
    fleet.member("a").errors = 1;
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a1"]);
    fleet.member("a").errors = 2;
    fleet.given_up = None;
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["a1"]);
}

#[test]
fn who_had_nothing_before_and_whom_the_way_back_would_break_is_not_taken_back() {
    let mut fleet = fleet();
    let settings = waves(&json!({"onFailure": "Rollback"}));
    fleet.turns(&settings, Some(2));
    fleet.member("a").errors = 1;
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a2"]);
    let mut fleet = self::fleet();
    fleet.turns(&Settings::default(), Some(1));
    fleet.turns(&settings, Some(2));
    fleet.member("a").errors = 1;
    fleet.member("a").trouble = Some(Reason::BreakingChange);
    let decision = fleet.turns(&settings, Some(2));
    assert!(decision.stopped);
    assert_eq!(decision.assigned[&fleet.name("a")], Assigned::Revision(2), "the way back is barred");
}

#[test]
fn an_unreachable_cluster_takes_room_and_stops_nobody() {
    let mut fleet = fleet();
    let settings = waves(&json!({"progressDeadlineSeconds": 100, "onFailure": "Rollback"}));
    fleet.turns(&Settings::default(), Some(1));
    fleet.lose("a");
    let decision = fleet.turns(&settings, Some(2));
    assert_eq!((decision.clusters.unreachable, decision.clusters.failed), (1, 0));
    assert_eq!((decision.failing[0].reason, decision.again.unwrap().as_secs()), (Reason::Unreachable, 100));
    assert_eq!(fleet.history.len(), 5, "one at a time, and that is away");
    fleet.later(100);
    let decision = fleet.turns(&settings, Some(2));
    assert_eq!((decision.stopped, decision.again), (false, None));
    assert_eq!(decision.assigned[&fleet.name("a")], Assigned::Stay, "nothing is concluded from silence");
    assert_eq!(decision.assigned[&fleet.name("b")], Assigned::Stay, "it takes room still");
    assert_eq!(decision.wave.as_deref(), Some("canary"));
    fleet.member("a").lost = None;
    fleet.turns(&settings, Some(2));
    fleet.later(60);
    fleet.turns(&settings, Some(2));
    fleet.later(60);
    fleet.turns(&settings, Some(2));
    assert_eq!(fleet.running(), ["a2", "b2", "c2", "d2", "e2"]);
    fleet.lose("c");
    fleet.later(10_000);
    let decision = fleet.turns(&settings, Some(2));
    assert!(!decision.stopped && !decision.gives_up, "{decision:?}");
}

#[test]
fn a_wave_does_not_wait_for_ever_for_clusters_that_are_away() {
    let mut fleet = fleet();
    let settings = waves(&json!({"progressDeadlineSeconds": 100, "waves": [
        {"name": "canary", "clusterSelector": {"matchLabels": {"ring": "canary"}}, "maxUnavailable": 2},
    ]}));
    fleet.lose("a");
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["b1"]);
    fleet.later(100);
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["b1", "c1", "d1", "e1"]);
}

#[test]
fn a_hub_that_starts_again_soaks_again_and_takes_nothing_for_late() {
    let mut fleet = fleet();
    let settings = waves(&json!({"progressDeadlineSeconds": 100}));
    fleet.turns(&settings, Some(1));
    fleet.later(50);
    fleet.restart();
    fleet.later(50);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!((fleet.running(), decision.clusters.updating), (vec!["a1".to_owned()], 1));
    fleet.member("a").is_slow = true;
    fleet.later(10_000);
    fleet.restart();
    assert!(!fleet.turns(&settings, Some(1)).stopped, "it is not seen yet");
}

#[test]
fn a_cluster_that_does_not_come_up_fails_at_the_deadline() {
    let mut fleet = fleet();
    let settings = waves(&json!({"progressDeadlineSeconds": 100}));
    fleet.member("a").is_slow = true;
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!((decision.clusters.updating, decision.again.unwrap().as_secs()), (1, 100));
    fleet.later(100);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!(decision.failing[0].reason, Reason::DeadlineExceeded);
    assert!(decision.stopped);
}

#[test]
fn what_is_in_the_way_of_what_runs_counts_only_where_it_is_not_served() {
    let mut fleet = fleet();
    let settings = waves(&json!({}));
    fleet.turns(&settings, Some(1));
    fleet.member("a").trouble = Some(Reason::NotEstablished);
    fleet.member("a").tried.insert(1);
    assert_eq!(fleet.turns(&settings, Some(1)).clusters.updating, 1, "it is served");
    fleet.member("a").is_slow = true;
    assert_eq!(fleet.turns(&settings, Some(1)).failing[0].reason, Reason::NotEstablished);
}

#[test]
fn a_cluster_to_which_nothing_can_be_written_fails_at_the_deadline_and_is_tried_on() {
    let mut fleet = fleet();
    let settings = waves(&json!({"progressDeadlineSeconds": 100, "failureThreshold": 2}));
    fleet.member("a").is_stuck = true;
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!((decision.clusters.updating, decision.again.unwrap().as_secs()), (1, 100));
    assert!(fleet.running().is_empty(), "its room is taken");
    fleet.later(50);
    let paused = fleet.turns(&waves(&json!({"paused": true})), Some(1));
    assert_eq!((paused.clusters.updating, paused.again), (0, None), "it is not its turn now");
    fleet.later(9000);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!((decision.clusters.failed, decision.again.unwrap().as_secs()), (0, 50), "a pause is no time of its own");
    fleet.later(50);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!(decision.failing[0].reason, Reason::DeadlineExceeded);
    assert!(decision.failing[0].message.ends_with("could not be applied for 100 s: boom"), "{decision:?}");
    assert_eq!(fleet.running(), ["b1"]);
    let decision = fleet.turns(&settings, Some(1));
    assert_eq!(
        (decision.assigned[&fleet.name("a")], decision.clusters.failed),
        (Assigned::Stay, 1),
        "no room, and late still"
    );
    fleet.later(60);
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running(), ["b1", "c1", "d1", "e1"]);
    fleet.member("a").is_stuck = false;
    fleet.turns(&settings, Some(1));
    assert_eq!(fleet.running()[0], "a1", "it is tried for as long as it is wanted");
}

#[test]
fn pins_and_selectors() {
    let mut fleet = fleet();
    let settings = settings(&json!({
        "clusterSelector": {"matchExpressions": [{"key": "ring", "operator": "Exists"}]},
        "pins": [{"clusterSelector": {"matchLabels": {"ring": "rest"}}, "revision": 4}],
    }));
    fleet.add("stranger", None);
    let decision = fleet.turns(&settings, Some(9));
    assert_eq!(fleet.running(), ["a9", "b9", "c4", "d4", "e4"]);
    assert_eq!(decision.assigned[&fleet.name("stranger")], Assigned::Leave(Offboarding::Orphan));
    assert_eq!((decision.clusters.total, decision.clusters.updated), (5, 5));
    assert!(fleet.member("c").mark.as_ref().unwrap().done, "what happens later has other causes");
    fleet.add("f", Some("rest"));
    fleet.lose("c");
    let mut paused = settings.clone();
    for is in [true, false] {
        paused = if is {
            self::settings(&json!({"paused": true, "pins": [{"clusterSelector": {}, "revision": 4}]}))
        } else {
            settings.clone()
        };
        let decision = fleet.turns(&paused, Some(9));
        assert_eq!(decision.assigned[&fleet.name("c")], Assigned::Stay, "away");
        assert_eq!(fleet.running().contains(&"f4".to_owned()), !is);
    }
    drop(paused);
}

#[test]
fn a_cluster_is_left_that_says_so_in_its_label() {
    let mut fleet = fleet();
    (fleet.member("a").offboard, fleet.member("b").offboard) = (Some("true"), Some("no"));
    let assigned = fleet.turn(&Settings::default(), Some(1)).assigned;
    assert_eq!(assigned[&fleet.name("a")], Assigned::Leave(Offboarding::Orphan));
    assert_eq!(assigned[&fleet.name("b")], Assigned::Revision(1));
}

#[test]
fn what_leaves_is_waited_for_where_something_is_to_be_done() {
    let mut fleet = fleet();
    for (offboarding, waits) in [("Orphan", false), ("Release", true), ("Delete", true)] {
        let settings =
            settings(&json!({"clusterSelector": {"matchLabels": {"ring": "rest"}}, "offboarding": offboarding}));
        fleet.member("a").left = Some(Offboarding::Orphan).filter(|_| waits);
        fleet.member("b").left = serde_json::from_value(json!(offboarding)).unwrap();
        let decision = fleet.turn(&settings, Some(1));
        let leaving: Vec<_> = decision.leaving.iter().map(ToString::to_string).collect();
        assert_eq!(leaving, if waits { vec!["provider#a"] } else { vec![] }, "{offboarding}");
        assert_eq!((decision.assigned[&fleet.name("c")], decision.clusters.total), (Assigned::Revision(1), 3));
        fleet.lose("b");
        assert_eq!(fleet.turn(&settings, Some(1)).leaving.len(), if waits { 2 } else { 0 }, "nobody can tell");
        fleet.member("b").lost = None;
    }
}

#[test]
fn an_rgd_that_is_deleted_leaves_all_clusters() {
    let mut fleet = fleet();
    let settings = waves(&json!({"offboarding": "Delete"}));
    fleet.turns(&settings, Some(1));
    fleet.ends = true;
    for (settings, wanted) in
        [(settings.clone(), Offboarding::Delete), (settings.without_deletion(), Offboarding::Orphan)]
    {
        let decision = fleet.turn(&settings, Some(2));
        assert!(decision.assigned.values().all(|assigned| *assigned == Assigned::Leave(wanted)), "{decision:?}");
    }
    let release = waves(&json!({"offboarding": "Release"})).without_deletion();
    assert_eq!(release.offboarding, Offboarding::Release);
}

#[test]
fn what_fails_once_all_ran_the_target_stops_and_takes_back_nothing() {
    for policy in ["Pause", "Rollback"] {
        let settings = waves(&json!({"onFailure": policy}));
        let mut fleet = fleet();
        for revision in [1, 2] {
            for _ in 0..4 {
                fleet.turns(&settings, Some(revision));
                fleet.later(60);
            }
        }
        assert_eq!(fleet.running(), ["a2", "b2", "c2", "d2", "e2"]);
        fleet.completed = Some(2);
        // One comes where nothing can be brought, from another a kind was taken, and behind them comes one that is well.
        fleet.add("a0", Some("canary"));
        fleet.member("a0").trouble = Some(Reason::KindMissing);
        fleet.member("b").mark = None;
        fleet.member("b").trouble = Some(Reason::Conflict);
        fleet.add("e0", None);
        let decision = fleet.turns(&settings, Some(2));
        assert!(!decision.stopped && !decision.gives_up, "{policy}: {decision:?}");
        assert_eq!(decision.failing.len(), 2);
        assert_eq!(fleet.running(), ["a2", "c2", "d2", "e2", "e02"], "{policy}");
        // Another target is another rollout.
        fleet.member("a0").tried.insert(3);
        assert!(fleet.turns(&settings, Some(3)).stopped, "{policy}");
    }
}
