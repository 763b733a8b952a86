//! Deletion, orphans and recreated objects.

use std::time::Duration;

use broker_api::{ClusterName, keys};
use broker_core::{decision::State, snapshot::Brake};
use runtime_effect::reach::Reach;
use serde_json::json;

use crate::decide::world::{World, key, web};

#[test]
fn the_copy_goes_first_and_the_finalizer_only_when_it_is_really_gone() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.delete(&web());
    let decision = world.settle_briefly(&web());
    assert_eq!(decision.state, State::Deleting);
    assert_eq!(world.writes(), [format!("delete p1/{}", World::copy_at(&web()).2)]);
    assert!(world.origin(&web()).is_some());
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
    world.assert_steady(&web());
}

#[test]
fn finalizers_of_others_are_kept() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["finalizers"] = json!([keys::FINALIZER, "theirs/one"]));
    world.delete(&web());
    world.settle(&web());
    assert_eq!(world.origin(&web()).unwrap()["metadata"]["finalizers"], json!(["theirs/one"]));
    assert!(world.copy("p1", &web()).is_none());
    world.assert_steady(&web());
}

#[test]
fn an_unreachable_provider_holds_the_finalizer_and_says_so() {
    // The cache may still show the copy, or nothing at all.
    for listed in [true, false] {
        let mut world = World::served();
        world.provider("p1").reach = Reach::Unreachable("no route".into());
        world.provider("p1").listed = listed;
        world.delete(&web());
        let decision = world.settle(&web());
        assert_eq!(decision.state, State::Deleting);
        let words = world.condition(&web(), "Brokered").unwrap();
        assert!(words.starts_with("False/ProviderUnreachable"), "{words}");
        assert!(words.contains("no route") && words.contains(keys::FORCE_DELETE), "{words}");
        world.assert_steady(&web());
        world.provider("p1").reach = Reach::Ready;
        world.provider("p1").listed = true;
        world.settle(&web());
        assert_eq!((world.origin(&web()), world.copy("p1", &web())), (None, None));
    }
}

#[test]
fn an_object_stays_while_a_copy_may_have_been_made_that_nobody_sees() {
    for known_in_time in [true, false] {
        let mut world = World::served();
        world.provider("p1").delete(&World::copy_at(&web()));
        // Wherever that is.
        world.engage(ClusterName::provider("p2"));
        world.oddities.hidden = vec![ClusterName::provider("p2")];
        world.delete(&web());
        world.settle_briefly(&web());
        assert_eq!(world.writes(), Vec::<String>::new(), "not worth a word");
        if !known_in_time {
            world.settle(&web());
            let words = world.condition(&web(), "Brokered").unwrap();
            assert!(words.starts_with("False/ProviderUnreachable"), "{words}");
            assert!(words.contains("p2 has not said whether a copy") && words.contains(keys::FORCE_DELETE), "{words}");
            world.assert_steady(&web());
        }
        world.oddities.hidden = Vec::new();
        world.settle(&web());
        assert_eq!(world.origin(&web()), None);
    }
    let mut world = World::served();
    world.provider("p1").delete(&World::copy_at(&web()));
    world.oddities.hidden = vec![ClusterName::provider("p1")];
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true"));
    world.delete(&web());
    world.settle(&web());
    assert_eq!(world.origin(&web()), None, "a person has released it");
}

#[test]
fn a_blip_during_a_deletion_is_not_worth_a_word() {
    for reach in [Reach::Lost("blip".into()), Reach::Settling] {
        // The last that was seen of the copy is that it was there, or that it was gone.
        for there in [true, false] {
            let mut world = World::served();
            if !there {
                world.provider("p1").delete(&World::copy_at(&web()));
            }
            world.provider("p1").reach = reach.clone();
            world.delete(&web());
            world.assert_holds_still(&web());
        }
    }
}

#[test]
fn force_delete_releases_the_finalizer_and_the_copy_goes_when_the_provider_is_back() {
    for listed in [true, false] {
        let mut world = World::served();
        world.provider("p1").reach = Reach::Unreachable("gone for good".into());
        world.provider("p1").listed = listed;
        world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true"));
        assert_ne!(world.settle(&web()).state, State::Deleting, "the annotation alone deletes nothing");
        world.delete(&web());
        world.settle(&web());
        assert!(world.origin(&web()).is_none());
        world.provider("p1").reach = Reach::Ready;
        world.provider("p1").listed = true;
        world.settle(&web());
        assert!(world.copy("p1", &web()).is_none(), "an orphan");
    }
}

#[test]
fn a_provider_that_is_not_engaged_holds_the_finalizer() {
    let mut world = World::served();
    world.servers.remove(&ClusterName::provider("p1"));
    world.delete(&web());
    world.settle(&web());
    assert!(world.condition(&web(), "Brokered").unwrap().contains("p1 is not engaged"));
    world.edit(&web(), |origin| origin["metadata"]["annotations"][keys::FORCE_DELETE] = json!("true"));
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
}

/// Nobody tells that a provider has been away for long enough.
#[test]
fn a_deletion_is_looked_at_again_when_its_provider_counts_as_gone() {
    let mut world = World::served();
    world.servers.remove(&ClusterName::provider("p1"));
    world.moves.left.insert(ClusterName::provider("p1"), world.millis);
    world.delete(&web());
    for _ in 0..3 {
        world.pass(&web());
    }
    world.moves.left.insert(ClusterName::provider("p1"), world.millis - 45_000);
    assert_eq!(world.look(&web()).again, Some(Duration::from_secs(15)));
    world.millis += 15_000;
    assert_eq!(world.look(&web()).again, None);
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
}

#[test]
fn another_unreachable_provider_does_not_hold_a_deletion() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.provider("p2").reach = Reach::Unreachable("down".into());
    world.provider("p2").listed = false;
    world.delete(&web());
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
}

#[test]
fn an_origin_that_was_never_placed_goes_at_once() {
    let mut world = World::new(&["p1"]);
    world.create(&web(), json!({}));
    world.settle(&web());
    world.delete(&web());
    world.settle(&web());
    assert!(world.origin(&web()).is_none());
}

#[test]
fn a_deletion_after_the_annotations_were_stripped_still_deletes_the_copy() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["metadata"]["annotations"] = json!({}));
    world.delete(&web());
    world.settle(&web());
    assert_eq!((world.origin(&web()), world.copy("p1", &web())), (None, None));
}

#[test]
fn related_copies_go_with_their_origin() {
    let mut world = World::served();
    let reference = json!({"gvk": {"version": "v1", "kind": "Secret"}, "name": "web-tls"});
    world.put_secret(&ClusterName::provider("p1"), "web-tls", json!({"metadata": {}, "data": {"a": "1"}}));
    world.provider_status("p1", &web(), json!({"relatedResources": {"tls": reference}}));
    world.settle(&web());
    world.delete(&web());
    world.settle(&web());
    assert!(world.secret(&ClusterName::consumer("homer"), "web-tls").is_none());
}

#[test]
fn an_origin_that_went_without_its_finalizer_leaves_an_orphan_that_is_deleted() {
    let mut world = World::served();
    world.force_remove(&web());
    world.restart();
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn an_orphan_whose_marks_were_stripped_is_still_known_to_whoever_made_it() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| {
        copy["metadata"]["annotations"] = json!({});
        copy["metadata"]["labels"] = json!({});
    });
    world.force_remove(&web());
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}

/// World 14043653: the deletion was sent, and nobody answered.
#[test]
fn an_orphan_that_is_to_go_is_known_to_whoever_sent_for_it_when_its_marks_are_stripped() {
    let mut world = World::served();
    world.force_remove(&web());
    world.restart();
    assert_eq!(world.pass_within(&web(), 0).writes().count(), 1);
    world.edit_copy("p1", &web(), |copy| {
        copy["metadata"]["annotations"] = json!({});
        copy["metadata"]["labels"] = json!({});
    });
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}

/// One whose deletion was sent is no claim to an object that was made anew.
#[test]
fn what_is_to_go_claims_nothing_when_its_marks_are_stripped() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.restart();
    world.accept_no_more("p1");
    world.pass(&web());
    world.edit_copy("p1", &web(), |copy| {
        copy["metadata"]["annotations"] = json!({});
        copy["metadata"]["labels"] = json!({});
    });
    let decision = world.pass(&web());
    assert_eq!((decision.provider, decision.state), (None, State::Waiting));
}

#[test]
fn a_recreated_object_is_another_object() {
    let mut world = World::served();
    let old = world.copy("p1", &web()).unwrap()["metadata"]["uid"].clone();
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.settle(&web());
    let copy = world.copy("p1", &web()).unwrap();
    assert_ne!(copy["metadata"]["uid"], old, "the old copy went, a new one was made");
    assert_eq!(copy["spec"]["fqdn"], "new.corp");
    assert!(world.signed("p1", &web()).is_some());
    assert_eq!(world.origin(&web()).unwrap()["status"].get("phase"), None, "no status of the old one");
}

#[test]
fn the_old_copys_place_is_taken_only_once_it_is_gone() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "new.corp");
}

#[test]
fn a_cache_older_than_the_copy_does_not_make_it_a_predecessor() {
    let mut world = World::served();
    let older = world.consumer().objects.clone();
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.settle(&web());
    // The cache still shows the first object; the copy is the second one's.
    world.consumer().stale = Some(older);
    world.assert_holds_still(&web());
    world.consumer().stale = None;
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "new.corp");
}

/// What the cache still shows is assigned to another provider, which would have it.
#[test]
fn nothing_is_made_for_an_object_whose_name_a_newer_one_has() {
    let mut world = World::served();
    let older = world.consumer().objects.clone();
    world.force_remove(&web());
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 9}));
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none() && world.copy("p2", &web()).is_some());
    world.consumer().stale = Some(older);
    assert_eq!(world.assert_holds_still(&web()), State::Placing);
}

#[test]
fn a_predecessor_at_an_unreachable_provider_does_not_hold_the_new_object() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({}));
    world.provider("p1").reach = Reach::Unreachable("down".into());
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "new.corp"}));
    world.settle(&web());
    assert_eq!(world.copy("p2", &web()).unwrap()["spec"]["fqdn"], "new.corp");
    world.provider("p1").reach = Reach::Ready;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert!(world.copy("p2", &web()).is_some());
    world.assert_steady(&web());
}

#[test]
fn deleting_one_leaves_its_neighbours_alone() {
    let mut world = World::served();
    world.create(&key("homer", "other"), json!({}));
    world.settle_all();
    world.delete(&web());
    world.settle_all();
    assert!(world.copy("p1", &key("homer", "other")).is_some());
}

#[test]
fn an_orphan_is_kept_while_the_brake_holds_and_is_not_forgotten() {
    let mut world = World::served();
    world.force_remove(&web());
    for (brake, state) in [(Brake::Unknown, State::Deleting), (Brake::Held, State::Blocked)] {
        world.brake = brake;
        let decision = world.look(&web());
        assert_eq!((decision.state, decision.steps.len()), (state, 0), "{brake:?}");
        assert_eq!(decision.provider, Some(ClusterName::provider("p1")));
        assert_eq!(decision.again.is_some(), brake == Brake::Unknown, "what is held waits for a person");
    }
    assert!(world.copy("p1", &web()).is_some());
    world.brake = Brake::Free;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn an_object_made_anew_waits_for_the_brake_and_says_so() {
    let mut world = World::served();
    world.force_remove(&web());
    world.create(&web(), json!({"fqdn": "x", "size": 1}));
    let old = world.copy("p1", &web()).unwrap()["metadata"]["uid"].clone();
    world.brake = Brake::Held;
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Blocked);
    assert_eq!(world.copy("p1", &web()).unwrap()["metadata"]["uid"], old);
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.starts_with("False/OriginsVanished") && words.contains("provider p1"), "{words}");
    world.assert_steady(&web());
    world.brake = Brake::Free;
    world.settle(&web());
    assert_ne!(world.copy("p1", &web()).unwrap()["metadata"]["uid"], old);
}
