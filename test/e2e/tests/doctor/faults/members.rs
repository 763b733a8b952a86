//! What the broker's credentials do not allow in a cluster, and what the cluster does not serve. The remedies are those that
//! `doctor` names.

use e2e::kind::{SECRET, VM};
use serde_json::json;

use crate::{
    diagnosis::symptom,
    installation::{HOMER, SYSTEM},
    rights::CLUSTER_ROLE,
    rounds::Rounds,
};

/// The consumer's role for the brokered kinds.
const KINDS: &str = "resource-broker-consumer-kinds";

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let homer = &at.homer;

    let mut rules = homer.get(&CLUSTER_ROLE, "", KINDS).await.at("/rules").clone();
    rules[0]["verbs"] = json!(["get", "list", "watch"]);
    rounds
        .fault(
            "a verb is missing in a role of the consumer",
            &[symptom("permissions", "consumer#homer", "patch certificates.example.platform-mesh.io")],
            async || drop(homer.edit(&CLUSTER_ROLE, "", KINDS, json!({"rules": rules})).await),
            async || {
                // Somebody else's rules are not taken over by the way.
                let said = at.join(HOMER, "consumer", &[]).await;
                assert!(said.code == Some(2) && said.err.contains("--force-conflicts"), "{said:?}");
                let said = at.join(HOMER, "consumer", &["--force-conflicts"]).await;
                assert_eq!(said.code, Some(0), "{said:?}");
            },
        )
        .await;
    rounds
        .fault(
            "the consumer does not accept the broker's token any more",
            &[symptom("reach", "consumer#homer", "does not accept the credentials")],
            async || homer.delete(&SECRET, SYSTEM, "resource-broker-token").await,
            async || {
                let said = at.join(HOMER, "consumer", &[]).await;
                assert_eq!(said.code, Some(0), "{said:?}");
            },
        )
        .await;
    let all = ["coordination#coordination", "consumer#homer", "provider#theseus"];
    for (ours, seconds, theirs) in [("ahead of", 60, "behind the one here"), ("behind", -60, "ahead of the one here")] {
        let symptoms = all.map(|place| symptom("clock", place, theirs));
        rounds
            .fault(
                &format!("the clock of this machine is {ours} all others"),
                &symptoms,
                async || at.clock.set(seconds).unwrap(),
                async || at.clock.set(0).unwrap(),
            )
            .await;
    }
    let another = format!("--watch-kind={}", VM.flag());
    rounds
        .fault(
            "the broker brokers a kind that nobody serves and nobody offers",
            &[
                symptom("kind", "consumer#homer", "it does not serve VM of example.platform-mesh.io/v1alpha1"),
                symptom("kind", "providers", "none has an AcceptAPI for VM of example.platform-mesh.io/v1alpha1"),
            ],
            async || at.deploy(&[&another]).await,
            async || at.deploy(&[]).await,
        )
        .await;
}
