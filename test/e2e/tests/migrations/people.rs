//! What people do: pause, abort, delete, and move objects by hand.

use e2e::{
    Object,
    kind::{ACCEPT_API, MIGRATION},
    scene::ACCEPT_NAMESPACE,
    traveller::{PROVIDER, settled_at},
};
use serde_json::{Value, json};

use crate::{
    state,
    trip::{at_home, on_its_way, stage},
};

#[test]
fn a_pause_holds_each_state_and_is_over_when_it_is_over() {
    let stages = json!([stage("copy", json!({"progress": true})), stage("check", Value::Null)]);
    on_its_way("mig-pause", stages, async |trip| {
        let paused = |seen: &Object| seen.has("Progressing", "False", "Paused");
        for (wanted, key) in [("InitialInProgress", "copy"), ("CutoverInProgress", "check")] {
            let migration = trip.migration(wanted).await;
            trip.object(&migration, &e2e::kind::CONFIG_MAP, key).await;
            trip.edit(&migration, json!({"paused": true})).await;
            trip.until(&migration, "to say that it is paused", paused).await;
            trip.say(&migration, key, "done").await;
            trip.scene.barrier(trip.homer, trip.theseus).await;
            let held = trip.until(&migration, "to be paused", paused).await;
            assert!(state(wanted)(&held) && held.text("/status/stage") == key, "{held}");
            trip.edit(&migration, json!({"paused": false})).await;
        }
        let migration = trip.migration("CutoverCompleted").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn what_a_person_aborted_is_not_tried_again_until_its_migration_is_deleted() {
    on_its_way("mig-abort", json!([stage("copy", Value::Null)]), async |trip| {
        let aborted = trip.migration("InitialInProgress").await;
        trip.edit(&aborted, json!({"abort": true})).await;
        let aborted = trip.until_ended(&aborted, "Failed", "Aborted").await;
        trip.until_back().await;
        trip.until_swept(&aborted).await;
        let says = |seen: &Object| {
            ["Moving", "Accepted"]
                .iter()
                .any(|kind| seen.condition(kind).is_some_and(|told| told.message.contains("aborted")))
        };
        trip.item.until("to say that the move was aborted", says).await;
        trip.scene.barrier(trip.homer, trip.theseus).await;
        assert!(trip.item.find_copy(trip.theseus).await.is_none(), "it is not tried again");
        trip.hub.delete(&MIGRATION, trip.scene.ns(), aborted.name()).await;
        let next = trip.migration("InitialInProgress").await;
        assert_ne!(next.name(), aborted.name());
        trip.say(&next, "copy", "done").await;
        trip.until_arrived().await;
        trip.until_swept(&next).await;
    });
}

#[test]
fn a_migration_that_is_deleted_leaves_nothing() {
    on_its_way("mig-delete", json!([stage("copy", Value::Null)]), async |trip| {
        let deleted = trip.migration("InitialInProgress").await;
        trip.object(&deleted, &e2e::kind::CONFIG_MAP, "copy").await;
        trip.hub.delete(&MIGRATION, trip.scene.ns(), deleted.name()).await;
        trip.hub.until_gone(&MIGRATION, trip.scene.ns(), deleted.name()).await;
        trip.until_swept(&deleted).await;
        // The object still has to leave: its next move is another.
        let next = trip.migration("InitialInProgress").await;
        assert_ne!(next.name(), deleted.name());
        assert_eq!(trip.item.copy(trip.ariadne).await.uid(), trip.old.uid());
        trip.say(&next, "copy", "done").await;
        trip.until_arrived().await;
        trip.until_swept(&next).await;
    });
}

#[test]
fn a_migration_that_is_deleted_after_the_switch_ends_well() {
    let stages = json!([{"name": "first", "progress": true}, stage("check", Value::Null)]);
    on_its_way("mig-delete-late", stages, async |trip| {
        let deleted = trip.migration("CutoverInProgress").await;
        trip.object(&deleted, &e2e::kind::CONFIG_MAP, "check").await;
        trip.hub.delete(&MIGRATION, trip.scene.ns(), deleted.name()).await;
        trip.until_arrived().await;
        trip.hub.until_gone(&MIGRATION, trip.scene.ns(), deleted.name()).await;
        trip.until_swept(&deleted).await;
        let course = trip.states(&deleted).await;
        assert_eq!(course.last().unwrap(), "CutoverCompleted", "it says so before it goes");
    });
}

#[test]
fn an_object_that_is_deleted_during_its_migration_leaves_nothing() {
    on_its_way("mig-origin", json!([stage("copy", Value::Null)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        trip.item.delete().await;
        trip.item.until_gone().await;
        for provider in [trip.ariadne, trip.theseus] {
            assert!(trip.item.find_copy(provider).await.is_none(), "the finalizer goes last");
        }
        trip.until(&migration, "to fail", state("Failed")).await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn an_accept_api_that_is_deleted_during_a_migration_undoes_it() {
    at_home("mig-target", json!([stage("copy", Value::Null)]), async |trip| {
        let accept = trip.theseus_accepts().await;
        trip.ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &trip.accept).await;
        let migration = trip.migration("InitialInProgress").await;
        trip.object(&migration, &e2e::kind::CONFIG_MAP, "copy").await;
        trip.theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
        trip.until(&migration, "to fail", state("Failed")).await;
        trip.until_back().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn a_person_moves_it_through_the_stages_and_it_stays_there() {
    at_home("mig-hand", json!([stage("copy", Value::Null)]), async |trip| {
        trip.theseus_accepts().await;
        // As the Go broker wrote names of clusters.
        let spec = trip.by_hand("provider#ariadne", "provider#theseus");
        let migration = trip.create("by-hand", spec).await;
        let migration = trip.until(&migration, "its stage", state("InitialInProgress")).await;
        trip.say(&migration, "copy", "done").await;
        trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
        // Ariadne is better, and even asks for its share, as the platform lets it.
        let policy = trip.scene.world.lab.directory().join("broker/provider/ariadne.policy.yaml");
        std::fs::write(policy, "allowRebalance: true\n").unwrap();
        let ask = json!({"metadata": {"annotations": {"broker.platform-mesh.io/rebalance": "true"}}});
        trip.ariadne.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &trip.accept, ask).await;
        trip.scene.barrier(trip.homer, trip.ariadne).await;
        assert_eq!(trip.item.get().await.annotation(PROVIDER), Some("theseus"));
    });
}

#[test]
fn two_migrations_of_one_object_run_in_turn() {
    at_home("mig-turn", json!([stage("copy", Value::Null)]), async |trip| {
        trip.theseus_accepts().await;
        let first = trip.create("first", trip.by_hand("ariadne", "theseus")).await;
        let first = trip.until(&first, "its stage", state("InitialInProgress")).await;
        let second = trip.create("second", trip.by_hand("ariadne", "theseus")).await;
        let waits = |seen: &Object| {
            state("Pending")(seen) && seen.condition("Progressing").is_some_and(|told| told.message.contains("first"))
        };
        trip.until(&second, "to wait for the first", waits).await;
        trip.say(&first, "copy", "done").await;
        trip.until_ended(&first, "CutoverCompleted", "Completed").await;
        // There is no such copy any more.
        trip.until_ended(&second, "Failed", "FromIsNoCopy").await;
        trip.until_arrived().await;
        let back = trip.create("back", trip.by_hand("theseus", "ariadne")).await;
        let back = trip.until(&back, "its stage", state("InitialInProgress")).await;
        trip.say(&back, "copy", "done").await;
        trip.until_ended(&back, "CutoverCompleted", "Completed").await;
        trip.item.until_served_by(trip.ariadne).await;
        trip.item.until_copy_gone(trip.theseus).await;
    });
}

#[test]
fn what_cannot_be_is_refused_and_force_goes_on() {
    at_home("mig-refuse", Value::Null, async |trip| {
        // Nobody at theseus accepts it.
        let refused = trip.create("refused", trip.by_hand("ariadne", "theseus")).await;
        let refused = trip.until_ended(&refused, "Failed", "NotAccepted").await;
        trip.until_swept(&refused).await;
        let unknown = trip.create("unknown", trip.by_hand("ariadne", "nobody")).await;
        trip.until_ended(&unknown, "Failed", "ProviderUnknown").await;
        let wrong = trip.create("wrong", trip.by_hand("theseus", "ariadne")).await;
        trip.until_ended(&wrong, "Failed", "FromIsNoCopy").await;
        let same = MIGRATION.object(trip.scene.ns(), "same", &json!({"spec": trip.by_hand("ariadne", "ariadne")}));
        let error = trip.hub.try_create(&MIGRATION, &same).await.unwrap_err().to_string();
        assert!(error.contains("from and to are the same copy"), "{error}");
        assert!(settled_at(trip.ariadne)(&trip.item.get().await), "nothing moved");
        assert!(trip.item.find_copy(trip.theseus).await.is_none(), "nothing was made");

        let mut spec = trip.by_hand("ariadne", "theseus");
        spec["force"] = json!(true);
        let forced = trip.create("forced", spec).await;
        trip.until_ended(&forced, "CutoverCompleted", "Completed").await;
        trip.item.until_copy_gone(trip.ariadne).await;
        let there = |seen: &Object| {
            seen.annotation(PROVIDER) == Some("theseus") && seen.has("Accepted", "False", "NotAccepted")
        };
        trip.item.until("to stay at theseus, which does not accept it", there).await;
    });
}

#[test]
fn what_a_consumer_makes_of_these_kinds_is_ignored() {
    at_home("mig-consumer", Value::Null, async |trip| {
        trip.theseus_accepts().await;
        let (homer, ns) = (trip.homer, trip.scene.ns());
        homer.apply(&format!("{}\n---\n{}", MIGRATION.crd(), ACCEPT_API.crd())).await;
        homer.create(&MIGRATION, ns, "mine", json!({"spec": trip.by_hand("ariadne", "theseus")})).await;
        let accept = json!({"spec": {"gvr": trip.kind.gvr(), "priority": 99}});
        homer.create(&ACCEPT_API, ns, "mine", accept).await;
        trip.scene.barrier(homer, trip.theseus).await;
        assert!(settled_at(trip.ariadne)(&trip.item.get().await));
        for kind in [MIGRATION, ACCEPT_API] {
            let mine = homer.get(&kind, ns, "mine").await;
            assert!(mine.at("/status").is_null() && mine.finalizers().is_empty(), "{mine}");
        }
    });
}
