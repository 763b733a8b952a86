//! Moves with Migrations, the broker's and people's: what they gate, and what becomes of both when one ends.

use std::time::Duration;

use broker_api::{ClusterName, MigrationState};
use broker_core::movement::{Configured, Phase, Request};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use crate::decide::{
    moves::{assigned, begin, corp, next, phase, ready, rename},
    world::{NAMESPACE, World, certificate, secret, web},
};

#[test]
fn a_migration_is_made_when_the_new_copy_is_ready_and_gates_the_switch_and_the_end() {
    let mut world = corp();
    world.moves.configured = Configured::Yes;
    rename(&mut world, "a.com");
    begin(&mut world);
    assert!(world.moves.migrations.is_empty(), "the new copy is not ready yet");
    world.provider_status("p2", &web(), ready("new"));
    let decision = world.settle_briefly(&web());
    assert_eq!(world.moves.migrations.len(), 1);
    assert_eq!(decision.moving.unwrap().phase, Phase::Ready);
    let view = world.moves.migrations[0].1.clone();
    assert!(view.name.starts_with("certificate-") && view.namespace == "team" && view.to.name() == "p2");
    world.millis += 2000;
    world.settle_briefly(&web());
    assert_eq!(phase(&world), "old");
    assert!(world.condition(&web(), "Moving").unwrap().starts_with("True/Migrating"));

    world.moves.reach(MigrationState::InitialCompleted, world.millis);
    let decision = world.settle_briefly(&web());
    assert_eq!(decision.moving.unwrap().phase, Phase::Switched);
    assert_eq!(phase(&world), "new");
    assert!(world.copy("p1", &web()).is_some());
    // The broker forgets all; nothing goes back.
    world.restart();
    world.settle_briefly(&web());
    assert_eq!(phase(&world), "new");

    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    world.assert_steady(&web());
}

#[test]
fn a_migration_that_fails_leaves_all_as_it_was_and_is_tried_again_later() {
    let mut world = corp();
    world.moves.configured = Configured::Yes;
    rename(&mut world, "a.com");
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    world.moves.reach(MigrationState::Failed, world.millis);
    for _ in 0..5 {
        world.pass(&web());
    }
    assert_eq!((assigned(&world), next(&world)), (json!("p1"), Value::Null));
    assert!(world.copy("p2", &web()).is_none());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert!(world.condition(&web(), "Accepted").unwrap().contains("failed; it is tried again"));
    world.millis += 61_000;
    for _ in 0..3 {
        world.pass(&web());
    }
    assert_eq!(next(&world), "p2");

    // An aborted one is not tried again while it is there.
    world.moves.migrations.truncate(1);
    world.moves.migrations[0].1.aborted = true;
    rename(&mut world, "a.corp");
    world.settle(&web());
    rename(&mut world, "a.com");
    world.millis += 7_200_000;
    world.settle(&web());
    assert_eq!(next(&world), Value::Null);
    assert!(world.condition(&web(), "Accepted").unwrap().contains("was aborted"));
    // A process that starts hears of Migrations after it has heard of all else: nobody is told that they are not there.
    let (migrations, before) = (std::mem::take(&mut world.moves.migrations), world.origin(&web()).cloned());
    world.moves.migrations_known = false;
    world.settle(&web());
    assert_eq!(world.origin(&web()).cloned(), before);
    (world.moves.migrations, world.moves.migrations_known) = (migrations, true);
    world.assert_steady(&web());
    world.moves.migrations.clear();
    begin(&mut world);
    assert_eq!(next(&world), "p2");
}

#[test]
fn an_invalid_configuration_holds_the_move_and_says_so() {
    let mut world = corp();
    world.moves.configured = Configured::Invalid("broken: line 1".into());
    rename(&mut world, "a.com");
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    world.millis += 2000;
    world.settle_briefly(&web());
    assert!(world.moves.migrations.is_empty());
    assert!(world.condition(&web(), "Moving").unwrap().contains("broken: line 1"));
    assert!(world.copy("p1", &web()).is_some());
}

fn request(world: &World) -> Option<Request> {
    world.moves.requests(&web()).first().map(|(_, request)| request.clone())
}

/// `web` at p1, which a person brings to p2, who is ready.
fn asked() -> World {
    let mut world = corp();
    world.accept("p1", &json!({"priority": 9}));
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    world
}

#[test]
fn a_persons_migration_moves_the_object_and_it_stays_there() {
    let mut world = asked();
    assert_eq!(next(&world), "p2");
    assert_eq!(world.moves.migrations.len(), 1, "the person's is the Migration of this move");
    world.moves.reach(MigrationState::CutoverCompleted, world.millis);
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    assert!(world.copy("p1", &web()).is_none());
    // Whatever the priorities are, and whoever asks for its share.
    world.annotate("p1/all", false, true);
    world.assert_steady(&web());
    world.accept_no_more("p2");
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p1");
}

#[test]
fn a_persons_migration_that_cannot_be_is_refused_with_the_reason() {
    let refused = |from: &str, to: &str| {
        let mut world = corp();
        world.moves.left.insert(ClusterName::provider("p9"), 0);
        world.moves.ask(&web(), "mine", from, to, world.millis);
        world.settle(&web());
        assert_eq!(next(&world), Value::Null);
        match request(&world) {
            Some(Request::Refused(reason, _)) => reason,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(refused("p2", "p1"), "FromIsNoCopy");
    assert_eq!(refused("p1", "p1"), "SameProvider");
    assert_eq!(refused("p1", "p2"), "NotAccepted");
    assert_eq!(refused("p1", "p9"), "ProviderUnknown");

    let mut world = corp();
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    world.moves.migrations[0].1.force = true;
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    assert_eq!(next(&world), "p2");
}

/// Nobody tells when it has passed.
#[test]
fn a_persons_migration_waits_for_what_passes_and_is_looked_at_again() {
    let asked = || {
        let mut world = corp();
        world.accept("p1", &json!({"priority": 9}));
        world.accept("p2", &json!({"expression": "self.spec.fqdn != ''"}));
        world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
        world
    };
    let mut lost = asked();
    lost.provider("p2").reach = Reach::Lost("blip".into());
    let waits = |world: &mut World| {
        let decision = world.look(&web());
        assert!(matches!(decision.requests[..], [(_, Request::Waits(_))]), "{:?}", decision.requests);
        decision.again
    };
    assert_eq!(waits(&mut lost), Some(Duration::from_secs(2)));
    let mut silent = asked();
    silent.run_out_of_time();
    let waited: Vec<_> = (0..5).map(|_| waits(&mut silent)).collect();
    assert_eq!(waited.last(), Some(&Some(Duration::from_mins(1))), "{waited:?}");
}

#[test]
fn a_migration_that_is_heard_of_before_the_accept_api_is_not_refused_for_it() {
    // The hub's clock may be ahead of ours.
    for ahead in [0, 2_000] {
        let mut world = corp();
        world.millis += 3_600_000;
        world.moves.ask(&web(), "mine", "p1", "p2", world.millis + ahead);
        let decision = world.settle_briefly(&web());
        assert!(matches!(request(&world), Some(Request::Waits(_))) && decision.again.is_some(), "{ahead}");
        world.accept("p2", &json!({}));
        for _ in 0..4 {
            world.pass(&web());
            world.serve("p2", &web());
        }
        assert_eq!(next(&world), "p2");
    }
}

#[test]
fn two_migrations_of_one_object_take_turns() {
    let mut world = corp();
    world.accept("p1", &json!({}));
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "second", "p2", "p1", world.millis + 1);
    world.moves.migrations[0].1.state = MigrationState::CutoverCompleted;
    world.moves.migrations[0].1.ended = Some(0);
    world.moves.ask(&web(), "first", "p1", "p2", world.millis);
    world.moves.ask(&web(), "third", "p1", "p2", world.millis + 2);
    begin(&mut world);
    assert_eq!(next(&world), "p2");
    assert!(matches!(request(&world), Some(Request::Waits(_))));
}

#[test]
fn a_migration_holds_back_a_younger_one_between_the_same_providers_until_it_has_ended() {
    let mut world = corp();
    world.moves.ask(&web(), "first", "p1", "p2", world.millis);
    world.moves.ask(&web(), "second", "p1", "p2", world.millis);
    world.moves.migrations[1].1.force = true;
    world.settle_briefly(&web());
    assert_eq!((request(&world).is_some(), next(&world)), (true, Value::Null), "it waits");
    world.settle(&web());
    assert!(matches!(request(&world), Some(Request::Refused("NotAccepted", _))));
    assert_eq!(next(&world), Value::Null, "the first would be taken for the Migration of the move");
    world.moves.migrations.remove(0);
    world.pass(&web());
    assert_eq!(next(&world), "p2");
}

/// `web` on its way to p2, whose copy is ready, with a Migration in this state.
pub(crate) fn migrating(state: MigrationState) -> World {
    let mut world = corp();
    world.moves.configured = Configured::Yes;
    rename(&mut world, "a.com");
    begin(&mut world);
    world.provider_status("p2", &web(), ready("new"));
    world.settle_briefly(&web());
    let now = world.millis;
    world.moves.reach(state, now);
    world.settle_briefly(&web());
    world
}

#[test]
fn the_old_copy_stays_while_the_new_one_is_not_ready_also_when_all_stages_are_done() {
    let mut world = migrating(MigrationState::CutoverInProgress);
    world.provider_status("p2", &web(), json!({"phase": "down again"}));
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    world.settle_briefly(&web());
    assert!(world.copy("p1", &web()).is_some());
    assert_eq!(phase(&world), "down again", "the consumer has been switched");
    // Unless a person forces it.
    world.moves.migrations[0].1.force = true;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_none());
}

#[test]
fn while_migrations_are_not_known_a_move_neither_goes_on_nor_back() {
    for state in [MigrationState::InitialInProgress, MigrationState::CutoverInProgress] {
        let mut world = migrating(state);
        let migrations = std::mem::take(&mut world.moves.migrations);
        world.moves.migrations_known = false;
        world.moves.configured = Configured::No;
        rename(&mut world, "a.corp");
        world.restart();
        let before = (phase(&world), world.log.len());
        world.settle_briefly(&web());
        assert_eq!((phase(&world), world.log.len()), before, "{state:?}");
        assert_eq!(next(&world), "p2");
        world.moves.migrations = migrations;
        world.moves.migrations_known = true;
        world.settle_served(&web());
        let expected = if state == MigrationState::InitialInProgress { Value::Null } else { json!("p2") };
        assert_eq!(next(&world), expected, "after the switch it only goes forward");
    }
}

#[test]
fn a_migration_begins_only_when_what_the_new_copy_lists_is_there() {
    let mut world = corp();
    world.moves.configured = Configured::Yes;
    rename(&mut world, "a.com");
    begin(&mut world);
    let mut status = ready("new");
    status["relatedResources"] =
        json!({"tls": {"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": "web-tls"}});
    world.provider_status("p2", &web(), status);
    world.settle_briefly(&web());
    assert!(world.moves.migrations.is_empty());
    // Neither what is on its way out nor what belongs to another copy.
    let owner = json!([{"apiVersion": certificate().api_version(), "kind": "Certificate", "name": "x", "uid": "x"}]);
    let p2 = ClusterName::provider("p2");
    world.put_secret(&p2, "web-tls", json!({"metadata": {"ownerReferences": owner}, "data": {}}));
    world.settle_briefly(&web());
    assert!(world.moves.migrations.is_empty());
    world.put_secret(&p2, "web-tls", json!({"metadata": {"finalizers": ["theirs/one"]}, "data": {}}));
    let at = (secret(), NAMESPACE.to_owned(), "web-tls".to_owned());
    world.provider("p2").delete(&at);
    world.settle_briefly(&web());
    assert!(world.moves.migrations.is_empty());
    world.provider("p2").objects.remove(&at);
    world.put_secret(&p2, "web-tls", json!({"metadata": {}, "data": {}}));
    world.settle_briefly(&web());
    assert_eq!(world.moves.migrations.len(), 1);
}

#[test]
fn what_a_person_forced_stays_while_its_migration_is_kept() {
    let mut world = corp();
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    world.moves.migrations[0].1.force = true;
    for _ in 0..4 {
        world.pass(&web());
        world.serve("p2", &web());
    }
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    assert!(world.copy("p1", &web()).is_none(), "p1 accepts it still");
    world.assert_steady(&web());
    // One that is being deleted is not kept.
    world.moves.migrations[0].1.deleting = true;
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p1");
}

/// `web`, which a person has brought to p2; p1 asks for its share of what is placed.
fn brought() -> World {
    let mut world = asked();
    world.moves.reach(MigrationState::CutoverCompleted, world.millis);
    world.settle_served(&web());
    world.annotate("p1/all", false, true);
    world.assert_steady(&web());
    world
}

#[test]
fn a_pin_survives_a_move_that_is_undone() {
    let mut world = brought();
    world.accept("p2", &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    rename(&mut world, "a.com");
    begin(&mut world);
    assert_eq!(next(&world), "p1");
    rename(&mut world, "a.corp");
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null), "p1 attracts it no more than before");
    world.restart();
    world.assert_steady(&web());
}

#[test]
fn a_pin_survives_a_move_that_is_sent_on_and_then_undone() {
    let mut world = brought();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({}));
    world.accept("p2", &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    rename(&mut world, "a.com");
    begin(&mut world);
    world.accept_no_more("p1");
    begin(&mut world);
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), json!("p3")));
    rename(&mut world, "a.corp");
    world.accept("p1", &json!({"priority": 9}));
    world.annotate("p1/all", false, true);
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
}

#[test]
fn a_pin_survives_another_persons_migration_that_fails() {
    let mut world = brought();
    world.engage(ClusterName::provider("p3"));
    world.accept("p3", &json!({}));
    world.moves.ask(&web(), "again", "p2", "p3", world.millis);
    begin(&mut world);
    assert_eq!(next(&world), "p3");
    world.moves.reach(MigrationState::Failed, world.millis);
    world.settle_served(&web());
    assert_eq!((assigned(&world), next(&world)), (json!("p2"), Value::Null));
    world.assert_steady(&web());
}

#[test]
fn a_move_of_an_unpinned_object_that_is_undone_pins_nothing() {
    let mut world = corp();
    world.accept("p2", &json!({}));
    world.moves.ask(&web(), "mine", "p1", "p2", world.millis);
    begin(&mut world);
    assert_eq!(next(&world), "p2");
    world.moves.reach(MigrationState::Failed, world.millis);
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p1");
    world.accept("p2", &json!({"priority": 9}));
    world.annotate("p2/all", false, true);
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2", "whoever asks for its share gets it");
}
