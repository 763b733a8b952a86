//! Objects that nobody takes or that people have set aside, and copies that belong to nobody.

use broker_api::keys;
use e2e::{Object, kind::CERTIFICATE, place::consumer_hash};
use serde_json::{Value, json};

use super::LONG_AGO;
use crate::{
    diagnosis::symptom,
    installation::{HOMER, SHOP, WEB},
    rounds::Rounds,
};

/// Namespace that every cluster has.
const DEFAULT: &str = "default";

/// The body of a copy of an object of a consumer, but for the broker's signature, as another broker may have left it.
fn copy_of(consumer: &str, name: &str) -> Value {
    json!({
        "metadata": {
            "labels": {keys::MANAGED_BY: keys::MANAGER, keys::CONSUMER: consumer_hash(consumer)},
            "annotations": {
                keys::CONSUMER_CLUSTER: consumer,
                keys::CONSUMER_NAMESPACE: DEFAULT,
                keys::CONSUMER_NAME: name,
                keys::CONSUMER_UID: "00000000-0000-4000-8000-000000000000",
            },
        },
        "spec": {"fqdn": format!("{name}.doctor.test")},
    })
}

pub(crate) async fn faults(rounds: &mut Rounds<'_>) {
    let at = rounds.at;
    let (homer, theseus) = (&at.homer, &at.theseus);
    let pause = async |paused: Value| {
        let annotations = json!({keys::PAUSED: paused});
        homer.edit(&CERTIFICATE, SHOP, WEB, json!({"metadata": {"annotations": annotations}})).await;
    };
    rounds
        .fault(
            "a person has paused an object",
            &[symptom("set-aside", "consumer#homer Certificate shop/web", "a person has paused it")],
            async || pause(json!("true")).await,
            async || pause(Value::Null).await,
        )
        .await;
    rounds
        .fault(
            "no provider takes an object, for a long time",
            &[symptom("not-brokered", "consumer#homer Certificate shop/lost", "(NoProvider)")],
            async || {
                homer.create(&CERTIFICATE, SHOP, "lost", json!({"spec": {"fqdn": "lost.example.org"}})).await;
                let waits = |seen: &Object| seen.has("Brokered", "False", "NoProvider");
                let waiting = homer.until(&CERTIFICATE, SHOP, "lost", "to wait", waits).await;
                // The broker leaves the time as it is for as long as it says the same.
                let mut conditions = waiting.at("/status/conditions").clone();
                for condition in conditions.as_array_mut().unwrap() {
                    condition["lastTransitionTime"] = json!(LONG_AGO);
                }
                homer.set_status(&CERTIFICATE, SHOP, "lost", json!({"conditions": conditions})).await;
            },
            async || {
                homer.delete(&CERTIFICATE, SHOP, "lost").await;
                homer.until_gone(&CERTIFICATE, SHOP, "lost").await;
            },
        )
        .await;

    let copy = async |consumer: &str, name: &str| {
        let copy = format!("{}-{name}", consumer_hash(consumer));
        theseus.create(&CERTIFICATE, DEFAULT, &copy, copy_of(consumer, name)).await;
    };
    let remove = async |consumer: &str, name: &str| {
        let copy = format!("{}-{name}", consumer_hash(consumer));
        theseus.delete(&CERTIFICATE, DEFAULT, &copy).await;
    };
    rounds
        .fault(
            "a provider holds a copy of a consumer that is not among the clusters",
            &[symptom("orphans", "provider#theseus", "1 copies of consumer marge, which is not among the clusters")],
            async || copy("marge", "old").await,
            async || remove("marge", "old").await,
        )
        .await;
    let place = format!("provider#theseus Certificate {DEFAULT}/{}", homer.copy_name("gone"));
    rounds
        .fault(
            "a copy has lost its origin",
            &[symptom("orphans", &place, "its origin default/gone in consumer homer is not there")],
            async || copy(HOMER, "gone").await,
            async || remove(HOMER, "gone").await,
        )
        .await;
}
