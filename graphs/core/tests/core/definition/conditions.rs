//! The status of an RGD and of its revisions.

use graphs_core::definition::{Controller, Distributed, Subject};
use serde_json::json;

use crate::definition::world::*;

fn said(status: &str, reason: &str, message: &str) -> [String; 3] {
    [status, reason, message].map(str::to_owned)
}

#[test]
fn an_rgd_that_serves_says_so_in_all_five_conditions() {
    let world = World::settled(&plain());
    let status = world.status();
    let entries = status["conditions"].as_array().unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| text(&entry["type"])).collect();
    assert_eq!(kinds, ["GraphRevisionsResolved", "GraphAccepted", "KindReady", "ControllerReady", "Ready"]);
    assert!(entries.iter().all(|entry| entry["observedGeneration"] == 1 && entry["status"] == "True"), "{status:#}");
    let resolved = said("True", "Resolved", "revision 1 compiled and active");
    assert_eq!(world.condition("GraphRevisionsResolved"), resolved);
    assert_eq!(world.condition("GraphAccepted"), said("True", "Valid", "resource graph and schema are valid"));
    assert_eq!(world.condition("KindReady"), said("True", "Ready", "kind WebApp has been accepted and ready"));
    assert_eq!(world.condition("ControllerReady"), said("True", "Running", "controller is running"));
    assert_eq!(world.condition("Ready"), said("True", "Ready", ""));
    assert_eq!(status["state"], "Active");
    assert_eq!(status["topologicalOrder"], json!(["a", "b"]));
    assert_eq!(status["resources"], json!([{"id": "b", "dependencies": [{"id": "a"}]}]));
    assert_eq!(status["lastIssuedRevision"], 1);
}

#[test]
fn a_new_rgd_takes_few_writes_in_this_order() {
    let mut world = World::of(&plain());
    world.run();
    let wanted = [
        ("ResourceGraphDefinition", "merge"),
        ("GraphRevision", "create"),
        ("CustomResourceDefinition", "create"),
        ("GraphRevision", "status"),
        ("ResourceGraphDefinition", "status"),
    ];
    assert_eq!(world.written(), wanted);
    assert_eq!(world.rgd.unwrap()["metadata"]["finalizers"], json!(["kro.run/finalizer"]));
}

#[test]
fn a_revision_says_that_it_compiles() {
    let world = World::settled(&plain());
    let status = &world.revisions["web-r00001"]["status"];
    let [verified, ready] = [&status["conditions"][0], &status["conditions"][1]];
    assert_eq!((text(&verified["type"]), text(&ready["type"])), ("GraphVerified".into(), "Ready".into()));
    assert_eq!(verified["message"], "graph revision compiled and verified");
    assert_eq!((&verified["reason"], &verified["status"]), (&json!("Verified"), &json!("True")));
    assert_eq!((&ready["reason"], &ready["message"]), (&json!("Ready"), &json!("")));
    assert_eq!(status["topologicalOrder"], json!(["a", "b"]));
    assert_eq!(status["resources"], json!([{"id": "b", "dependencies": [{"id": "a"}]}]));
}

#[test]
fn a_revision_that_compiles_no_more_says_why() {
    let mut world = World::empty();
    world.later = true;
    world.make(&spec(&["name"], &[later("x")]));
    world.run();
    world.later = false;
    world.restart();
    let decision = world.run();
    let status = &world.revisions["web-r00001"]["status"];
    assert_eq!(status["conditions"][0]["reason"], "InvalidGraph");
    assert_eq!(status["conditions"][1]["message"], "schema not found: Later");
    assert_eq!(status["topologicalOrder"], json!(null));
    let why = "revision 1 does not compile any more, and nothing is served: schema not found: Later";
    assert_eq!(world.condition("GraphRevisionsResolved"), said("False", "Failed", why));
    assert_eq!(world.condition("ControllerReady"), said("False", "FailedToStart", "no revision compiles"));
    assert_eq!((world.status()["state"].as_str(), world.served), (Some("Inactive"), None));
    assert_eq!(decision.waits_for, [later_kind()]);
}

#[test]
fn nothing_is_said_of_a_revision_that_is_going() {
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    let revision = world.revisions.get_mut("web-r00001").unwrap();
    revision["metadata"]["deletionTimestamp"] = json!("now");
    revision["status"] = json!({});
    world.log.clear();
    world.run();
    assert_eq!(world.served, Some(1), "which serves on");
    assert!(world.log.iter().all(|write| write.subject != Subject::RevisionStatus), "{:#?}", world.log);
}

#[test]
fn an_rgd_that_never_compiled_says_why_and_awaits_the_rest() {
    let world = World::settled(&invalid());
    assert_eq!(world.condition("GraphAccepted"), said("False", "InvalidResourceGraph", "node bad is bad"));
    assert_eq!(world.condition("Ready"), said("False", "InvalidResourceGraph", "node bad is bad"));
    for kind in ["GraphRevisionsResolved", "KindReady", "ControllerReady"] {
        assert_eq!(world.condition(kind)[..2], ["Unknown", "AwaitingReconciliation"], "{kind}");
    }
    assert_eq!(world.status()["topologicalOrder"], json!(null));
    assert_eq!(world.status()["lastIssuedRevision"], json!(null));
    assert_eq!(world.status()["state"], "Inactive");
    assert!(world.revisions.is_empty() && world.crd.is_none());
}

#[test]
fn what_cannot_be_watched_or_labelled_is_told() {
    let cases = [
        (Controller::FailedToStart("no right".into()), "FailedToStart"),
        (Controller::FailedLabels("no label".into()), "FailedLabelerSetup"),
    ];
    for (controller, reason) in cases {
        let mut world = World::settled(&plain());
        world.controller = controller;
        world.run();
        assert_eq!(world.condition("ControllerReady")[..2], ["False", reason]);
        assert_eq!(world.status()["state"], "Inactive");
        world.controller = Controller::Running;
        world.run();
        assert_eq!(world.status()["state"], "Active");
    }
}

#[test]
fn a_time_moves_only_with_the_status_and_the_generation_with_each_edit() {
    let mut world = World::settled(&plain());
    let before = world.status().clone();
    world.edit(other());
    world.run();
    let after = world.status().clone();
    for (before, after) in [0, 1, 2, 3, 4].map(|at| (&before["conditions"][at], &after["conditions"][at])) {
        assert_eq!(before["lastTransitionTime"], after["lastTransitionTime"]);
        assert_eq!(after["observedGeneration"], 2);
    }
    world.edit(invalid());
    world.run();
    let now = world.status();
    assert_ne!(now["conditions"][1]["lastTransitionTime"], after["conditions"][1]["lastTransitionTime"]);
    assert_ne!(now["conditions"][4]["lastTransitionTime"], after["conditions"][4]["lastTransitionTime"]);
    assert_eq!(now["conditions"][2]["lastTransitionTime"], after["conditions"][2]["lastTransitionTime"]);
}

#[test]
fn the_root_says_what_the_newest_false_says() {
    let mut world = World::settled(&plain());
    world.controller = Controller::FailedToStart("no right".into());
    world.run();
    assert_eq!(world.condition("Ready"), said("False", "FailedToStart", "no right"));
    world.edit(invalid());
    world.run();
    assert_eq!(world.condition("ControllerReady")[0], "False");
    assert_eq!(world.condition("Ready"), said("False", "InvalidResourceGraph", "node bad is bad"));
    // Wherever it stands in the list.
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    world.controller = Controller::FailedToStart("no right".into());
    world.run();
    assert_eq!(world.condition("GraphAccepted")[0], "False");
    assert_eq!(world.condition("Ready"), said("False", "FailedToStart", "no right"));
}

#[test]
fn a_false_counts_before_an_unknown_that_is_newer() {
    let mut world = World::settled(&invalid());
    assert_eq!(world.condition("Ready")[0], "False");
    world.later = false;
    world.edit(spec(&["name"], &[later("x")]));
    world.run();
    assert_eq!(world.condition("Ready"), said("False", "InvalidResourceGraph", "schema not found: Later"));
}

#[test]
fn an_obsolete_condition_goes_and_that_of_somebody_else_stays_before_ready() {
    let mut world = World::settled(&plain());
    world.change_rgd(|rgd| {
        let entries = rgd["status"]["conditions"].as_array_mut().unwrap();
        entries.insert(0, json!({"type": "ResourceGraphAccepted", "status": "True"}));
        entries.push(json!({"type": "Audited", "status": "True"}));
    });
    world.run();
    let entries = world.status()["conditions"].as_array().unwrap();
    let kinds: Vec<_> = entries.iter().map(|entry| text(&entry["type"])).collect();
    assert_eq!(kinds[4..], ["Audited", "Ready"]);
    assert_eq!((kinds.len(), kinds[0].as_str()), (6, "GraphRevisionsResolved"));
}

#[test]
fn nothing_is_written_when_nothing_changed_nor_after_a_restart() {
    let mut world = World::settled(&plain());
    world.log.clear();
    world.run();
    world.restart();
    world.seconds += 1000;
    world.run();
    assert_eq!(world.written(), []);
    assert_eq!(world.served, Some(1));
}

#[test]
fn what_is_said_of_its_clusters_is_no_part_of_ready() {
    let mut world = World::settled(&plain());
    world.distributed = Distributed::Partial("1/2 clusters".into());
    world.run();
    assert_eq!(world.condition("Distributed"), said("False", "Partial", "1/2 clusters"));
    assert_eq!(world.condition("Ready"), said("True", "Ready", ""));
    assert_eq!(world.status()["state"], "Active");
    // Not known yet: what was said stands.
    let before = world.written().len();
    world.distributed = Distributed::Unknown;
    world.run();
    assert_eq!(world.condition("Distributed"), said("False", "Partial", "1/2 clusters"));
    assert_eq!(world.written().len(), before);
    world.distributed = Distributed::All("2/2 clusters".into());
    world.run();
    assert_eq!(world.condition("Distributed"), said("True", "AllClusters", "2/2 clusters"));
    world.distributed = Distributed::Off;
    world.run();
    let all = world.status()["conditions"].as_array().unwrap().len();
    assert_eq!(all, 5, "{:#}", world.status());
}
