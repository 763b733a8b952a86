//! Secrets that are to make a cluster, and lead nowhere, or where another leads.

use broker_api::keys;
use e2e::{Place, kind::SECRET};
use serde_json::{Value, json};

use crate::{
    diagnosis::symptom,
    installation::{CLUSTERS, HOMER, NOWHERE, Way, kubeconfig},
    rounds::Rounds,
};

/// A JSON Web Token (RFC 7519) of nobody: `{}`, then `{"exp":1}`.
const EXPIRED: &str = "e30.eyJleHAiOjF9.c2ln";

/// A Secret with this label and this kubeconfig, if any.
async fn put(hub: &Place, name: &str, role: &str, kubeconfig: Option<&str>) {
    let mut body = json!({"metadata": {"labels": {keys::ROLE: role}}});
    if let Some(text) = kubeconfig {
        body["stringData"] = json!({"kubeconfig": text});
    }
    hub.create(&SECRET, CLUSTERS, name, body).await;
}

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let (hub, theseus) = (&at.hub, &at.theseus);
    let remove = async |name: &str| hub.delete(&SECRET, CLUSTERS, name).await;
    let place = |name: &str| format!("coordination#coordination Secret {CLUSTERS}/{name}");
    rounds
        .fault(
            "a cluster's Secret has no kubeconfig",
            &[symptom("cluster-secret", &place("empty"), "its Secret has no kubeconfig")],
            async || put(hub, "empty", "consumer", None).await,
            async || remove("empty").await,
        )
        .await;
    rounds
        .fault(
            "a cluster's Secret has something else in place of a kubeconfig",
            &[symptom("cluster-secret", &place("garbage"), "it cannot be used")],
            async || put(hub, "garbage", "provider", Some("clusters: [")).await,
            async || remove("garbage").await,
        )
        .await;

    let to = |server, token| kubeconfig(&[Way { name: "it", to: theseus, server, token }]);
    let nowhere = to(Some(NOWHERE), "nobody");
    rounds
        .fault(
            "a cluster's Secret has a label that is no role",
            &[symptom("cluster-secret", &place("misnamed"), "\"consumers\", which is no role")],
            async || put(hub, "misnamed", "consumers", Some(&nowhere)).await,
            async || remove("misnamed").await,
        )
        .await;
    rounds
        .fault(
            "a cluster does not answer",
            &[symptom("reach", "consumer#silent", "does not answer")],
            async || put(hub, "silent", "consumer", Some(&nowhere)).await,
            async || remove("silent").await,
        )
        .await;
    let expired = to(None, EXPIRED);
    rounds
        .fault(
            "a cluster's token has expired",
            &[
                symptom("credentials", &place("late"), "its token has expired"),
                symptom("reach", "consumer#late", "does not accept the credentials"),
            ],
            async || put(hub, "late", "consumer", Some(&expired)).await,
            async || remove("late").await,
        )
        .await;

    let first = hub.get(&SECRET, CLUSTERS, HOMER).await;
    let again = json!({"metadata": {"labels": first.at("/metadata/labels")}, "data": first.at("/data")});
    rounds
        .fault(
            "two Secrets lead to one API server",
            &[
                symptom("cluster-secret", "coordination#coordination", "homer-again lead to one API server"),
                symptom("reach", "coordination#coordination", "homer and homer-again are one API server"),
            ],
            async || create(hub, "homer-again", again).await,
            async || remove("homer-again").await,
        )
        .await;
}

async fn create(hub: &Place, name: &str, body: Value) {
    hub.create(&SECRET, CLUSTERS, name, body).await;
}
