//! When a revision is issued, and which number it has.

use graphs_core::definition::Subject;
use serde_json::json;

use crate::definition::world::*;

#[test]
fn a_revision_holds_what_the_rgd_says() {
    let world = World::settled(&plain());
    let object = &world.revisions["web-r00001"];
    let rgd = world.rgd.as_ref().unwrap();
    assert_eq!(object["spec"], json!({"revision": 1, "snapshot": {"name": NAME, "generation": 1, "spec": plain()}}));
    let metadata = &object["metadata"];
    assert_eq!(metadata["finalizers"], json!(["kro.run/finalizer"]));
    let owner = &metadata["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&rgd["metadata"]["uid"], &json!(true)));
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("ResourceGraphDefinition"), &json!(NAME)));
    assert_eq!(metadata["labels"]["kro.run/owned"], "true");
    assert_eq!(metadata["labels"]["kro.run/kro-version"], "v1");
    assert_eq!(metadata["labels"]["kro.run/resource-graph-definition-name"], NAME);
    assert_eq!(text(&metadata["labels"]["kro.run/graph-revision-hash"]).len(), 16);
    assert_eq!(metadata.get("annotations"), None, "the name was not cut");
}

#[test]
fn an_edit_issues_exactly_one() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1, 2], Some(2)));
    assert_eq!(world.status()["lastIssuedRevision"], 2);
    assert_eq!(world.condition("GraphRevisionsResolved")[2], "revision 2 compiled and active");
}

#[test]
fn what_comes_to_the_same_issues_none() {
    let mut world = World::settled(&plain());
    let mut same = plain();
    same["resources"].as_array_mut().unwrap().reverse();
    same["schema"]["group"] = "kro.run".into();
    world.edit(same);
    world.run();
    assert_eq!(world.issued.len(), 1);
}

#[test]
fn going_back_issues_one() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.run();
    world.edit(plain());
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1, 2, 3], Some(3)));
}

#[test]
fn going_back_before_anybody_looked_issues_none() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.edit(plain());
    world.run();
    assert_eq!(world.numbers(), [1]);
}

#[test]
fn a_write_that_failed_is_made_again_with_the_same_number() {
    let mut world = World::of(&plain());
    world.step(1);
    world.restart();
    world.run();
    assert_eq!(world.issued.len(), 1);
    world.edit(other());
    world.step(0);
    world.run();
    assert_eq!(world.numbers(), [1, 2]);
}

#[test]
fn a_revision_whose_number_was_not_recorded_counts_after_a_restart() {
    let mut world = World::of(&plain());
    world.step(2);
    assert_eq!((world.numbers(), world.status()), (vec![1], &json!(null)));
    world.restart();
    world.edit(other());
    world.run();
    assert_eq!(world.numbers(), [1, 2]);
}

#[test]
fn numbering_goes_on_from_what_was_recorded() {
    let mut world = World::settled(&plain());
    world.change_rgd(|rgd| rgd["status"]["lastIssuedRevision"] = 41.into());
    world.edit(other());
    world.run();
    assert_eq!(world.numbers(), [1, 42]);
    assert_eq!(world.status()["lastIssuedRevision"], 42);
}

#[test]
fn a_number_that_was_recorded_and_is_not_there_is_not_issued_again() {
    let mut world = World::settled(&plain());
    world.edit(other());
    world.run();
    // By force: without the finalizer.
    world.revisions.remove("web-r00002");
    world.run();
    assert_eq!(world.numbers(), [1, 3]);
    assert_eq!(world.status()["lastIssuedRevision"], 3);
}

#[test]
fn there_is_an_end_to_numbers() {
    let mut world = World::settled(&plain());
    world.change_rgd(|rgd| rgd["status"]["lastIssuedRevision"] = i64::MAX.into());
    world.edit(other());
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1], Some(1)));
    assert_eq!(world.condition("GraphRevisionsResolved")[..2], ["False", "Failed"]);
}

#[test]
fn a_refused_revision_is_told_and_its_crd_is_not_written() {
    let mut world = World::settled(&plain());
    world.edit(wider());
    let decision = world.decide();
    let [revision, crd] = &decision.writes[..] else { panic!("{decision:#?}") };
    assert_eq!((revision.subject, crd.subject), (Subject::Revision, Subject::CustomResource));
    let now = (world.seconds + 1) * 1000;
    world.memory.refused(Subject::Revision, revision.intent, "Forbidden", "no right".into(), now, 0);
    let generation = world.crd.as_ref().unwrap()["metadata"]["generation"].clone();
    let decision = world.step(usize::MAX);
    assert!(decision.again.is_some());
    assert_eq!(world.crd.as_ref().unwrap()["metadata"]["generation"], generation);
    assert_eq!(
        world.condition("GraphRevisionsResolved"),
        ["False", "Failed", "revision 2 cannot be written: no right"]
    );
    assert_eq!(world.served, Some(1));
    world.seconds += 10;
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![1, 2], Some(2)));
}

#[test]
fn an_rgd_made_anew_begins_anew_beside_what_the_earlier_one_left() {
    let mut world = World::settled(&plain());
    world.make(&plain());
    let first = world.step(usize::MAX);
    assert!(first.writes.iter().any(|write| write.subject == Subject::Revision), "what is left is not its own");
    world.run();
    assert_eq!((world.numbers(), world.served), (vec![2], Some(2)));
    assert_eq!(world.crd.as_ref().unwrap()["metadata"]["labels"]["kro.run/resource-graph-definition-id"], "u-4");
}
