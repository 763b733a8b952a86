//! The broker itself, as the coordination cluster has it: its Deployment, its Lease, its keys, its kinds.

use broker_api::keys::{SIGNING_KEY_BACKUP, SIGNING_KEY_SECRET};
use e2e::kind::{CRD, MIGRATION_CONFIGURATION, SECRET};
use serde_json::{Map, Value, json};

use super::LONG_AGO;
use crate::{
    diagnosis::symptom,
    installation::{BROKER, CLUSTERS, DEPLOYED, RIGHTS, SYSTEM},
    program::LEASE,
    rights::ROLE_BINDING,
    rounds::Rounds,
};

/// Name of the broker's Lease.
const LEASE_NAME: &str = "resource-broker";

/// As long as a key has to be.
const KEY: &str = "0123456789012345678901234567890123456789";

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    deployment(rounds).await;
    rights(rounds).await;
    lease(rounds).await;
    signing_keys(rounds).await;
    kinds(rounds).await;
}

async fn deployment(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let hub = &at.hub;
    let namespace = format!("coordination#coordination namespace {SYSTEM}");
    let place = format!("coordination#coordination Deployment {SYSTEM}/{DEPLOYED}");
    rounds
        .fault(
            "the broker's Deployment is missing",
            &[symptom("deployment", &namespace, "there is no broker's Deployment")],
            async || BROKER.remove(hub).await,
            async || at.deploy(&[]).await,
        )
        .await;
    rounds
        .fault(
            "no instance of the broker works",
            &[symptom("deployment", &place, "none of its 1 instances works")],
            async || BROKER.work(hub, 0).await,
            async || BROKER.work(hub, 1).await,
        )
        .await;
    rounds
        .fault(
            "a flag of the broker cannot be read",
            &[symptom("deployment", &place, "--colour")],
            async || at.deploy(&["--colour=blue"]).await,
            async || at.deploy(&[]).await,
        )
        .await;
    rounds
        .fault(
            "the broker is of another release",
            &[symptom("version", &place, "its image is of release 0.0.1")],
            async || at.deploy_tagged("v0.0.1", &[]).await,
            async || at.deploy(&[]).await,
        )
        .await;
}

async fn rights(rounds: &mut Rounds<'_>) {
    let hub = &rounds.at.hub;
    let place = format!("coordination#coordination Deployment {SYSTEM}/{DEPLOYED}");
    rounds
        .fault(
            "the broker's ServiceAccount has lost a role in the coordination cluster",
            &[symptom(
                "permissions",
                &place,
                "is not allowed: list, watch secrets in namespace resource-broker-clusters",
            )],
            async || hub.delete(&ROLE_BINDING, CLUSTERS, "resource-broker-cluster-secrets").await,
            async || drop(hub.apply(RIGHTS).await),
        )
        .await;
}

/// The leader would renew it within two seconds.
async fn lease(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let place = format!("coordination#coordination Lease {SYSTEM}/{LEASE_NAME}");
    rounds
        .fault(
            "the leader has stopped",
            &[symptom("lease", &place, "has not renewed it for")],
            async || {
                at.freeze().await;
                let renewed = LONG_AGO.replace('Z', ".000000Z");
                at.hub.edit(&LEASE, SYSTEM, LEASE_NAME, json!({"spec": {"renewTime": renewed}})).await;
            },
            async || at.thaw().await,
        )
        .await;
}

async fn signing_keys(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let hub = &at.hub;
    let place = |name: &str| format!("coordination#coordination Secret {SYSTEM}/{name}");
    let second = async |key: Value| {
        hub.edit(&SECRET, SYSTEM, SIGNING_KEY_SECRET, key).await;
    };
    rounds
        .fault(
            "there are two signing keys, and none is named that signs",
            &[symptom("signing-key", &place(SIGNING_KEY_SECRET), "the signing keys cannot be used")],
            async || second(json!({"stringData": {"second": KEY}})).await,
            async || second(json!({"data": {"second": null}})).await,
        )
        .await;

    // The leader would put it right at once: it does when it goes on.
    let kept = hub.get(&SECRET, SYSTEM, SIGNING_KEY_BACKUP).await;
    let names = kept.at("/data").as_object().unwrap().keys();
    let without: Map<String, Value> = names.map(|name| (name.clone(), Value::Null)).collect();
    rounds
        .fault(
            "the copy of the signing keys is another",
            &[symptom("signing-key", &place(SIGNING_KEY_BACKUP), "is not what the Secret is now")],
            async || {
                at.freeze().await;
                let another = json!({"data": without, "stringData": {"other": KEY}});
                hub.edit(&SECRET, SYSTEM, SIGNING_KEY_BACKUP, another).await;
            },
            async || at.thaw().await,
        )
        .await;
}

async fn kinds(rounds: &mut Rounds<'_>) {
    let hub = &rounds.at.hub;
    let crd = MIGRATION_CONFIGURATION.crd();
    let name = crd["metadata"]["name"].as_str().unwrap();
    rounds
        .fault(
            "a CRD is missing",
            &[symptom(
                "crd",
                "coordination#coordination",
                "kind MigrationConfiguration of broker.platform-mesh.io is not served",
            )],
            async || {
                hub.delete(&CRD, "", name).await;
                hub.until_gone(&CRD, "", name).await;
            },
            async || drop(hub.apply(&crd.to_string()).await),
        )
        .await;
}
