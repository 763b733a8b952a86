//! What is said of a rollout.

use std::sync::Arc;

use broker_api::{ClusterName, graphs::rollout::ClusterCounts};
use graphs_core::{
    definition::Distributed,
    rollout::{Decision, Failing, Reason, completed, distributed, given_up, status, status_without_graph},
};
use runtime_effect::view::View;
use serde_json::{Value, json};

fn rollout(generation: i64, status: &Value) -> View {
    View {
        uid: "u".into(),
        resource_version: 1,
        deleting: false,
        applied_by_us: false,
        value: Arc::new(json!({"metadata": {"name": "web", "generation": generation}, "status": status})),
        unread: None,
        conditions_known: true,
    }
}

fn failing(count: usize) -> Vec<Failing> {
    let one = |number| Failing {
        cluster: ClusterName::spoke(format!("s{number:03}")),
        revision: 2,
        reason: Reason::KindMissing,
        message: "x".repeat(5000),
    };
    (0..count).map(one).collect()
}

fn decision(failed: usize) -> Decision {
    let clusters = ClusterCounts { total: 100, updated: 40, failed: 30, ..ClusterCounts::default() };
    Decision { target: Some(2), wave: Some("one".into()), clusters, failing: failing(failed), ..Decision::default() }
}

fn condition<'a>(status: &'a Value, kind: &str) -> [&'a str; 2] {
    let entry = status["conditions"].as_array().unwrap().iter().find(|entry| entry["type"] == kind).unwrap();
    [&entry["status"], &entry["reason"]].map(|word| word.as_str().unwrap())
}

#[test]
fn it_is_of_the_same_size_however_many_clusters_fail() {
    let said = status(&rollout(1, &Value::Null), Ok(&decision(100)), false, "now");
    assert_eq!(said["failing"].as_array().unwrap().len(), 20);
    assert!(said.to_string().len() < 30_000);
    let Distributed::Partial(message) = distributed(&decision(100)) else { panic!() };
    assert_eq!(
        message,
        "40/100 clusters at revision 2; failing: spoke#s000, spoke#s001, spoke#s002, spoke#s003, spoke#s004, and 95 more"
    );
    let Distributed::Partial(message) = distributed(&decision(5)) else { panic!() };
    assert!(message.ends_with("spoke#s003, spoke#s004"), "{message}");
}

#[test]
fn since_when_a_cluster_fails_is_kept() {
    let first = status(&rollout(1, &Value::Null), Ok(&decision(1)), false, "then");
    let again = status(&rollout(1, &first), Ok(&decision(2)), false, "now");
    assert_eq!((&again["failing"][0]["since"], &again["failing"][1]["since"]), (&json!("then"), &json!("now")));
    let mut other = decision(1);
    other.failing[0].reason = Reason::Conflict;
    assert_eq!(status(&rollout(1, &first), Ok(&other), false, "now")["failing"][0]["since"], "now");
}

#[test]
fn what_was_taken_back_is_remembered_until_somebody_edits_the_rollout() {
    let back = Decision { gives_up: true, stopped: true, ..decision(1) };
    let said = status(&rollout(3, &Value::Null), Ok(&back), false, "now");
    assert_eq!(condition(&said, "Progressing"), ["False", "RolledBack"]);
    assert_eq!(given_up(&rollout(3, &said)), Some(2));
    assert_eq!(given_up(&rollout(4, &said)), None);
    let stopped = Decision { stopped: true, ..decision(1) };
    let said = status(&rollout(3, &Value::Null), Ok(&stopped), false, "now");
    assert_eq!((condition(&said, "Progressing"), given_up(&rollout(3, &said))), (["False", "Stopped"], None));
}

#[test]
fn that_all_ran_the_target_is_remembered_until_it_is_another_or_somebody_edits_the_rollout() {
    let whole = |target, total| {
        let clusters = ClusterCounts { total, updated: total, ..ClusterCounts::default() };
        Decision { target: Some(target), clusters, ..Decision::default() }
    };
    let after = |held: &Value, generation, decision: &Decision| {
        let said = status(&rollout(generation, held), Ok(decision), false, "now");
        (completed(&rollout(generation, &said)), said)
    };
    assert_eq!(after(&Value::Null, 3, &decision(1)).0, None);
    assert_eq!(after(&Value::Null, 3, &whole(2, 0)).0, None, "there was no cluster");
    let (done, said) = after(&Value::Null, 3, &whole(2, 100));
    assert_eq!((done, completed(&rollout(4, &said))), (Some(2), None));
    assert_eq!(after(&said, 3, &decision(1)).0, Some(2), "one fails later");
    assert_eq!(after(&said, 4, &decision(1)).0, None, "somebody has edited it");
    assert_eq!(after(&said, 3, &Decision { target: Some(3), ..decision(1) }).0, None);
}

#[test]
fn each_state_has_its_word() {
    let none = rollout(1, &Value::Null);
    let said = |decision: &Decision, paused| status(&none, Ok(decision), paused, "now");
    let under_way = decision(0);
    assert_eq!(condition(&said(&under_way, false), "Progressing"), ["True", "RollingOut"]);
    assert_eq!(condition(&said(&under_way, true), "Progressing"), ["False", "Paused"]);
    assert_eq!(condition(&said(&under_way, false), "Available"), ["False", "Behind"]);
    assert!(matches!(distributed(&under_way), Distributed::Progressing(_)));
    let clusters = ClusterCounts { total: 2, updated: 2, ..ClusterCounts::default() };
    let done = Decision { target: Some(1), clusters, ..Decision::default() };
    for kind in ["Progressing", "Available", "Degraded"] {
        let wanted = if kind == "Available" { "True" } else { "False" };
        assert_eq!(condition(&said(&done, false), kind)[0], wanted, "{kind}");
    }
    assert!(matches!(distributed(&done), Distributed::All(_)));
    let told = |decision: &Decision| said(decision, false)["conditions"].to_string();
    assert!(!told(&done).contains("leaving"), "{}", told(&done));
    let leaving = Decision { leaving: vec![ClusterName::spoke("far")], ..done.clone() };
    assert_eq!(condition(&said(&leaving, false), "Progressing"), ["True", "RollingOut"]);
    assert!(told(&leaving).contains("leaving: spoke#far"), "{}", told(&leaving));
    let nothing = Decision { target: None, ..done };
    assert_eq!(condition(&said(&nothing, false), "Progressing"), ["False", "NoRevision"]);
    assert!(matches!(distributed(&nothing), Distributed::Progressing(_)));

    // A spec that cannot be read changes nothing of what was counted.
    let before = said(&under_way, false);
    let invalid = status(&rollout(2, &before), Err("spec.waves: bad"), false, "now");
    assert_eq!(condition(&invalid, "Degraded"), ["True", "InvalidSpec"]);
    assert_eq!(invalid["clusters"], before["clusters"]);
}

#[test]
fn without_an_rgd_nothing_is_left_of_what_one_came_to() {
    let decision = Decision { failing: Vec::new(), ..decision(0) };
    let before = status(&rollout(1, &Value::Null), Ok(&decision), false, "then");
    let said = status_without_graph(&rollout(1, &before), "now");
    assert_eq!(condition(&said, "Progressing"), ["False", "NoGraph"]);
    assert_eq!(said["conditions"][0]["message"], "there is no ResourceGraphDefinition web");
    assert_eq!(said["clusters"], json!(ClusterCounts::default()));
    assert_eq!(completed(&rollout(1, &said)), None);
    assert!(["targetRevision", "completedRevision", "wave"].iter().all(|field| said[field].is_null()), "{said}");
    assert_eq!(status_without_graph(&rollout(1, &said), "later"), said);
}
