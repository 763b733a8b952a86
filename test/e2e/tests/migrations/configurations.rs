//! MigrationConfigurations: which one is in force, and what is wrong with one.

use e2e::{Object, kind::MIGRATION_CONFIGURATION};
use serde_json::{Value, json};

use crate::trip::{at_home, configure, on_its_way, stage};

#[test]
fn what_was_in_force_at_the_start_stays_in_force() {
    let name = "mig-snapshot";
    on_its_way(name, json!([stage("copy", Value::Null)]), async |trip| {
        let migration = trip.migration("InitialInProgress").await;
        let configurations = &MIGRATION_CONFIGURATION;
        let never = json!([stage("copy", json!({"successConditions": ["false"]})), stage("more", Value::Null)]);
        trip.hub.edit(configurations, "default", name, json!({"spec": {"stages": never}})).await;
        let known = |seen: &Object| seen.at("/status/observedGeneration") == seen.at("/metadata/generation");
        trip.hub.until(configurations, "default", name, "to be judged again", known).await;
        trip.hub.delete(configurations, "default", name).await;
        trip.hub.until_gone(configurations, "default", name).await;
        trip.say(&migration, "copy", "done").await;
        let migration = trip.until_ended(&migration, "CutoverCompleted", "Completed").await;
        assert_eq!(migration.at("/status/configurationGeneration"), &json!(1));
        assert_eq!(migration.text("/status/configuration/name"), name);
        trip.until_arrived().await;
        trip.until_swept(&migration).await;
    });
}

#[test]
fn of_two_for_one_pair_of_kinds_the_older_is_in_force() {
    at_home("mig-older", json!([stage("copy", Value::Null)]), async |trip| {
        // Of the same second the first by name counts.
        configure(trip.hub, &trip.kind, "mig-younger", json!([stage("other", Value::Null)])).await;
        let told = |seen: &Object| {
            seen.condition("Ready").is_some_and(|told| told.reason == "Conflict" && told.message.contains("mig-older"))
        };
        trip.hub.until(&MIGRATION_CONFIGURATION, "default", "mig-younger", "to say who is older", told).await;
        trip.leave().await;
        let migration = trip.migration("InitialInProgress").await;
        assert_eq!(migration.text("/status/configuration/name"), "mig-older");
        trip.say(&migration, "copy", "done").await;
        trip.until_arrived().await;
    });
}

#[test]
fn an_expression_that_does_not_compile_is_told_and_holds_the_move() {
    let stages = json!([{"name": "copy", "successConditions": ["true", "to.spec.size =="]}]);
    at_home("mig-broken", stages, async |trip| {
        let seen = trip.hub.get(&MIGRATION_CONFIGURATION, "default", "mig-broken").await;
        let told = seen.condition("Ready").unwrap();
        assert!(told.status == "False" && told.reason == "Invalid", "{seen}");
        for word in ["stages[0]", "successConditions[1]", "column", "to.spec.size =="] {
            assert!(told.message.contains(word), "{word}: {}", told.message);
        }
        trip.leave().await;
        let waits = |seen: &Object| {
            seen.condition("Moving").is_some_and(|told| told.status == "True" && told.message.contains("mig-broken"))
        };
        trip.item.until("to wait for a valid configuration", waits).await;
        assert_eq!(trip.item.copy(trip.ariadne).await.uid(), trip.old.uid());
        let right = json!({"spec": {"stages": [{"name": "copy", "successConditions": ["to.spec.size == 3"]}]}});
        trip.hub.edit(&MIGRATION_CONFIGURATION, "default", "mig-broken", right).await;
        trip.until_arrived().await;
    });
}
