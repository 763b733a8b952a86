//! Migrations that go no further, and a configuration that is not used.

use e2e::{
    kind::{CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION},
    place::consumer_hash,
};
use serde_json::json;

use crate::{
    diagnosis::symptom,
    installation::{HOMER, SHOP, SYSTEM, THESEUS, WEB},
    rounds::Rounds,
};

/// Namespace of Migrations that people make.
const TEAM: &str = "default";

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    let hub = &rounds.at.hub;
    let name = format!("{}-{WEB}", consumer_hash(HOMER));
    let side =
        |provider: &str| json!({"gvk": CERTIFICATE.gvk(), "name": name, "namespace": SHOP, "clusterName": provider});
    // There is no such provider: it fails, as soon as it may.
    let create = async |migration: &str, paused: bool| {
        let spec = json!({"from": side(THESEUS), "to": side("nobody"), "paused": paused});
        hub.create(&MIGRATION, TEAM, migration, json!({"spec": spec})).await;
    };
    let remove = async |migration: &str| {
        hub.delete(&MIGRATION, TEAM, migration).await;
        hub.until_gone(&MIGRATION, TEAM, migration).await;
    };
    rounds
        .fault(
            "a person has paused a Migration",
            &[symptom("migration", "coordination#coordination Migration default/held", "a person has paused it")],
            async || create("held", true).await,
            async || remove("held").await,
        )
        .await;
    rounds
        .fault(
            "a Migration has failed",
            &[symptom("migration", "coordination#coordination Migration default/failed", "it has failed")],
            async || create("failed", false).await,
            async || remove("failed").await,
        )
        .await;

    let stages = json!([{"name": "check", "successConditions": ["1 +"]}]);
    let spec = json!({"from": CERTIFICATE.gvk(), "to": CERTIFICATE.gvk(), "stages": stages});
    let place = format!("coordination#coordination MigrationConfiguration {SYSTEM}/broken");
    rounds
        .fault(
            "a MigrationConfiguration cannot be read",
            &[symptom("migrationconfiguration", &place, "it is not used")],
            async || drop(hub.create(&MIGRATION_CONFIGURATION, SYSTEM, "broken", json!({"spec": spec})).await),
            async || {
                hub.delete(&MIGRATION_CONFIGURATION, SYSTEM, "broken").await;
                hub.until_gone(&MIGRATION_CONFIGURATION, SYSTEM, "broken").await;
            },
        )
        .await;
}
