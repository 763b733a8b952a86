//! A deletion, and what is left of the object: what is known for ours goes, what is not stays, and who holds it is named.

use broker_api::{ClusterName, keys};
use serde_json::{Value, json};

use crate::decide::world::{At, World, secret, web};

/// An object without any of our marks.
fn strip(copy: &mut Value) {
    copy["metadata"]["annotations"] = json!({});
    copy["metadata"]["labels"] = json!({});
}

#[test]
fn a_copy_without_its_marks_goes_from_where_the_object_is_assigned_to_and_from_nowhere_else() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    let stored = world.provider("p1").objects.stored(&World::copy_at(&web())).unwrap().clone();
    world.provider("p2").objects.restore(World::copy_at(&web()), stored);
    world.edit_copy("p1", &web(), strip);
    world.edit_copy("p2", &web(), strip);
    world.provider("p2").objects.corrupt(&World::copy_at(&web()), |copy| copy["metadata"]["uid"] = json!("another"));
    world.restart();
    world.delete(&web());
    world.settle_briefly(&web());
    assert!(world.origin(&web()).is_none() && world.copy("p1", &web()).is_none());
    assert!(world.copy("p2", &web()).is_some(), "nothing says that it is this object's");
}

#[test]
fn of_related_objects_those_that_are_ours_go_once() {
    let mut world = World::served();
    let homer = ClusterName::consumer("homer");
    let uid = world.origin(&web()).unwrap()["metadata"]["uid"].clone();
    let owner =
        json!([{"apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate", "name": "web", "uid": uid}]);
    let ours = |finalizers: &Value| {
        let labels = json!({keys::MANAGED_BY: keys::MANAGER});
        json!({"metadata": {"ownerReferences": owner, "labels": labels, "finalizers": finalizers}})
    };
    world.put_secret(&homer, "ours", ours(&json!([])));
    world.put_secret(&homer, "going", ours(&json!(["theirs/one"])));
    world.put_secret(&homer, "theirs", json!({"metadata": {"ownerReferences": owner}}));
    let going: At = (secret(), crate::decide::world::NAMESPACE.to_owned(), "going".to_owned());
    world.consumer().delete(&going);
    world.delete(&web());
    world.settle_briefly(&web());
    let deleted: Vec<String> = world.writes().into_iter().filter(|write| write.starts_with("delete homer")).collect();
    assert_eq!(deleted, ["delete homer/ours"]);
}

#[test]
fn a_copy_that_only_its_api_server_holds_is_waited_for_without_a_word() {
    let mut world = World::served();
    world.delete(&web());
    let gone = |copy: &mut Value| copy["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    world.provider("p1").objects.corrupt(&World::copy_at(&web()), gone);
    world.log.clear();
    for _ in 0..3 {
        let decision = world.pass(&web());
        assert_eq!((decision.steps.len(), decision.notes.len()), (0, 0));
        world.millis += 60_000;
    }
    assert!(world.origin(&web()).is_some());
}

#[test]
fn one_finalizer_is_one_and_several_are_several() {
    let so_many = |count: usize| json!((0..count).map(|one| format!("a/{one}")).collect::<Vec<_>>());
    for (finalizers, told) in [
        (json!(["theirs/one"]), "by finalizer theirs/one"),
        (json!(["a/b", "c/d"]), "by finalizers a/b, c/d"),
        (so_many(5), "by finalizers a/0, a/1, a/2, a/3, a/4"),
        (so_many(6), "by 6 finalizers, among them a/0, a/1, a/2, a/3, a/4"),
    ] {
        let mut world = World::served();
        world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = finalizers);
        world.delete(&web());
        world.settle(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert!(words.contains(told), "{words}");
    }
}
