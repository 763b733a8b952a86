//! The CRD: made, changed, restored, left alone.

use graphs_core::{
    applyset::GroupKind,
    definition::{Decision, Subject, crd_name, generated_kind},
};
use runtime_effect::write::Op;
use serde_json::json;

use crate::{back_and_forth::is_slowed, definition::world::*};

fn generation(world: &World) -> i64 {
    world.crd.as_ref().unwrap()["metadata"]["generation"].as_i64().unwrap()
}

#[test]
fn it_is_written_once() {
    let mut world = World::settled(&plain());
    world.run();
    assert_eq!(generation(&world), 1);
    assert_eq!(world.written().iter().filter(|(kind, _)| *kind == "CustomResourceDefinition").count(), 1);
}

#[test]
fn instances_are_not_served_before_it_is_established() {
    let mut world = World::of(&plain());
    world.establishes = false;
    world.run();
    assert_eq!(world.served, None);
    assert_eq!(world.condition("KindReady")[..2], ["Unknown", "AwaitingReconciliation"]);
    assert_eq!(world.status()["state"], "Inactive");
    world.establish();
    world.run();
    assert_eq!((world.served, world.status()["state"].as_str()), (Some(1), Some("Active")));
}

#[test]
fn names_that_are_taken_are_told() {
    let mut world = World::of(&plain());
    world.establishes = false;
    world.run();
    world.change_crd(|crd| {
        let entry = json!({"type": "NamesAccepted", "status": "False", "message": "plural is taken"});
        crd["status"] = json!({"conditions": [entry]});
    });
    world.run();
    let [status, reason, message] = world.condition("KindReady");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Failed"));
    assert!(message.ends_with("plural is taken"), "{message}");
}

#[test]
fn an_edit_that_is_compatible_is_applied() {
    let mut world = World::settled(&plain());
    world.edit(wider());
    world.run();
    assert_eq!((generation(&world), world.served), (2, Some(2)));
    world.log.clear();
    world.run();
    assert_eq!(world.written(), []);
}

#[test]
fn a_breaking_edit_is_refused_and_the_revision_before_serves_on() {
    let mut world = World::settled(&wider());
    world.edit(plain());
    world.run();
    let why = "cannot update CRD webapps.kro.run: breaking changes detected: Property port was removed";
    assert_eq!(world.condition("KindReady"), ["False", "Failed", why]);
    assert_eq!(world.condition("Ready")[2], why);
    assert_eq!((generation(&world), world.numbers(), world.served), (1, vec![1, 2], Some(1)));
    world.restart();
    world.run();
    assert_eq!(world.served, Some(1));
}

#[test]
fn a_breaking_edit_goes_through_once_that_is_allowed() {
    let mut world = World::settled(&wider());
    world.edit(plain());
    world.run();
    for (value, wanted) in [("yes", 1), ("true", 2)] {
        world.change_rgd(|rgd| rgd["metadata"]["annotations"]["kro.run/allow-breaking-changes"] = value.into());
        world.run();
        assert_eq!((generation(&world), world.served), (wanted, Some(wanted)), "{value}");
    }
    assert_eq!(world.issued.len(), 2, "without another revision");
}

#[test]
fn it_is_restored_when_deleted_by_hand() {
    let mut world = World::settled(&plain());
    world.crd = None;
    world.applied = None;
    world.run();
    assert_eq!((generation(&world), world.served), (1, Some(1)));
}

#[test]
fn it_is_not_written_while_it_is_being_deleted() {
    let mut world = World::settled(&plain());
    world.change_crd(|crd| {
        crd["metadata"]["deletionTimestamp"] = "now".into();
        crd["spec"]["names"]["shortNames"] = json!(["x"]);
    });
    let decision = world.decide();
    assert!(decision.writes.iter().all(|write| write.subject != Subject::CustomResource), "{decision:#?}");
    assert!(decision.notes.iter().any(|note| note.message.contains("is being deleted")));
}

#[test]
fn it_is_restored_when_edited_by_hand() {
    let mut world = World::settled(&plain());
    let before = world.crd.clone().unwrap();
    world.change_crd(|crd| {
        crd["spec"]["names"]["shortNames"] = json!(["x"]);
        crd["metadata"]["labels"]["mine"] = "yes".into();
        crd["metadata"]["labels"]["kro.run/resource-graph-definition-id"] = "u-0".into();
    });
    world.log.clear();
    world.run();
    let after = world.crd.as_ref().unwrap();
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["metadata"]["labels"]["mine"], "yes", "labels of others stay");
    let id = "kro.run/resource-graph-definition-id";
    assert_eq!(after["metadata"]["labels"][id], before["metadata"]["labels"][id]);
    assert_eq!(world.served, Some(1));
    let Op::Merge(patch) = &world.log[0].op else { panic!("{:#?}", world.log) };
    assert_eq!(patch["metadata"]["uid"], before["metadata"]["uid"]);
    assert!(patch["metadata"]["resourceVersion"].is_string());
}

#[test]
fn it_is_restored_from_the_revision_that_serves_when_the_rgd_is_invalid() {
    let mut world = World::settled(&plain());
    world.edit(invalid());
    world.run();
    world.restart();
    world.crd = None;
    world.applied = None;
    world.run();
    assert_eq!((generation(&world), world.served), (1, Some(1)));
    assert_eq!(world.condition("KindReady")[0], "True");
}

#[test]
fn a_label_that_is_no_longer_wanted_goes() {
    let mut world = World::of(&plain());
    let with = |labels| {
        let mut spec = plain();
        spec["schema"]["metadata"] = json!({"labels": labels});
        spec
    };
    world.edit(with(json!({"team": "a", "tier": "b"})));
    world.run();
    world.edit(with(json!({"team": "a"})));
    world.run();
    let labels = &world.crd.as_ref().unwrap()["metadata"]["labels"];
    assert_eq!((&labels["team"], &labels["tier"]), (&json!("a"), &json!(null)));
}

#[test]
fn one_that_is_not_ours_is_never_touched() {
    let cases = [
        (json!({}), "failed to update CRD webapps.kro.run: CRD already exists and is not owned by KRO"),
        (
            json!({"kro.run/owned": "true", "kro.run/resource-graph-definition-name": "shop"}),
            "failed to update CRD webapps.kro.run: CRD is owned by another ResourceGraphDefinition shop",
        ),
    ];
    for (labels, why) in cases {
        let mut world = World::settled(&plain());
        world.change_crd(|crd| {
            crd["metadata"]["labels"] = labels;
            crd["metadata"]["uid"] = "u-9".into();
        });
        world.applied = None;
        world.restart();
        world.log.clear();
        world.run();
        assert_eq!(world.condition("KindReady"), ["False", "Failed", why]);
        assert_eq!(world.served, None);
        assert!(world.log.iter().all(|write| write.subject == Subject::Status), "{:#?}", world.log);
    }
}

#[test]
fn a_refused_write_of_it_is_told() {
    let mut world = World::of(&plain());
    let crd = world.decide().writes.pop().unwrap();
    assert_eq!(crd.subject, Subject::CustomResource);
    world.step(2);
    world.memory.refused(Subject::CustomResource, crd.intent, "Forbidden", "no right".into(), 100_000, 0);
    world.step(usize::MAX);
    assert_eq!(world.condition("KindReady"), ["False", "Failed", "failed to create CRD webapps.kro.run: no right"]);
}

#[test]
fn an_empty_group_is_the_default_one() {
    let rgd =
        |schema| view(&json!({"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"schema": schema}}), false);
    let named = |schema| generated_kind(&rgd(schema)).map(|kind| crd_name(&kind, []));
    assert_eq!(named(json!({"kind": "WebApp", "group": ""})).as_deref(), Some("webapps.kro.run"));
    assert_eq!(named(json!({"kind": "WebApp", "group": "its.own"})).as_deref(), Some("webapps.its.own"));
    assert_eq!(named(json!({"kind": ""})), None);
}

#[test]
fn a_crd_that_is_there_keeps_its_plural() {
    let kind = GroupKind { kind: "WebApp".into(), group: "kro.run".into() };
    let named = |ours: &[(&'static str, bool)]| crd_name(&kind, ours.iter().copied());
    assert_eq!(named(&[]), "webapps.kro.run");
    assert_eq!(named(&[("webappz.kro.run", true)]), "webappz.kro.run");
    assert_eq!(named(&[("webappz.kro.run", false)]), "webappz.kro.run");
    assert_eq!(named(&[("webapps.kro.run", false), ("webappz.kro.run", true)]), "webappz.kro.run", "which is served");
    assert_eq!(named(&[("a.kro.run", false), ("webapps.kro.run", false)]), "webapps.kro.run");
    assert_eq!(named(&[("b.kro.run", false), ("a.kro.run", false)]), "a.kro.run", "whichever comes first");
}

#[test]
fn whoever_keeps_changing_it_is_told_of() {
    let mut world = World::settled(&plain());
    let fought = |decision: &Decision| decision.notes.iter().any(|note| note.message.contains("keeps changing"));
    for turn in 0..20 {
        world.change_crd(|crd| crd["metadata"]["annotations"] = json!({}));
        let decision = world.step(usize::MAX);
        assert!(turn > 1 || !fought(&decision));
        if fought(&decision) {
            assert!(decision.writes.iter().all(|write| write.subject != Subject::CustomResource));
            return;
        }
        for write in &decision.writes {
            world.memory.wrote(write.subject, write.intent, None, world.seconds * 1000);
        }
    }
    panic!("nobody is told");
}

#[test]
fn what_there_is_one_of_may_be_edited_back_and_forth() {
    for subject in [Subject::Marks, Subject::Revision, Subject::CustomResource, Subject::Status] {
        assert!(!is_slowed(subject), "{subject:?}");
    }
    for subject in [Subject::RevisionEnd, Subject::RevisionStatus, Subject::Instance] {
        assert!(is_slowed(subject), "another {subject:?} does not hide that one is undone");
    }
}
