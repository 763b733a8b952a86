//! AcceptAPIs that do not count, are full, cordoned, or for what nobody can ask for.

use e2e::{
    kind::{ACCEPT_API, CERTIFICATE, VM},
    scene::ACCEPT_NAMESPACE,
};
use serde_json::{Value, json};

use crate::{
    diagnosis::symptom,
    installation::{ACCEPTS, THESEUS},
    rounds::Rounds,
};

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let theseus = &at.theseus;
    let place = |name: &str| format!("provider#theseus AcceptAPI {ACCEPT_NAMESPACE}/{name}");
    let create = async |name: &str, spec: Value| {
        theseus.create(&ACCEPT_API, ACCEPT_NAMESPACE, name, json!({"spec": spec})).await;
    };
    let remove = async |name: &str| theseus.delete(&ACCEPT_API, ACCEPT_NAMESPACE, name).await;
    let capacity = async |capacity: Value| {
        theseus.edit(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, json!({"spec": {"capacity": capacity}})).await;
    };
    let asked = async |what: &str| {
        let said = at.command(&[what, THESEUS]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
    };

    rounds
        .fault(
            "an AcceptAPI's expression cannot be read",
            &[symptom("acceptapi", &place("invalid"), "it does not count")],
            async || create("invalid", json!({"gvr": CERTIFICATE.gvr(), "expression": "self."})).await,
            async || remove("invalid").await,
        )
        .await;
    rounds
        .fault(
            "an AcceptAPI is for what no consumer serves",
            &[
                symptom("acceptapi", &place("unheard-of"), "it does not count: no cluster serves vms.v1alpha1"),
                symptom("acceptapi", &place("unheard-of"), "no consumer serves vms.v1alpha1.example.platform-mesh.io"),
            ],
            async || create("unheard-of", json!({"gvr": VM.gvr()})).await,
            async || remove("unheard-of").await,
        )
        .await;
    rounds
        .fault(
            "an AcceptAPI is full",
            &[symptom("acceptapi", &place(ACCEPTS), "it is full: 1 of 1")],
            async || capacity(json!(1)).await,
            async || capacity(Value::Null).await,
        )
        .await;
    rounds
        .fault(
            "a provider is cordoned",
            &[symptom("acceptapi", &place(ACCEPTS), "it is cordoned, and takes nothing new")],
            async || asked("cordon").await,
            async || asked("uncordon").await,
        )
        .await;
}
