//! What must be so once nothing fails any more: every acknowledged edit is where it belongs, and nothing else exists.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use e2e::{
    Kind, Object, Place,
    kind::{CONFIG_MAP, NAMESPACE, SECRET},
};
use kube::api::ListParams;
use serde_json::json;

use crate::{
    foreign::{self, Foreign},
    graph::{self, TALE},
    ledger::Ledger,
    meddler,
    stage::{NAMESPACES, Stage, WIDGET, takes},
};

/// Prefix of our marks.
const MARKS: &str = "broker.platform-mesh.io";

/// One thing that is not as it should be.
#[derive(Debug, Clone)]
pub(crate) struct Mismatch {
    /// Namespace and name of the object that a person knows, by which edits and logs tell of it.
    pub(crate) about: String,
    /// What is wrong, and what was found.
    pub(crate) what: String,
}

/// What people were told of all that is theirs.
pub(crate) struct Acknowledged {
    /// By consumer.
    pub(crate) widgets: BTreeMap<String, Ledger>,
    pub(crate) tales: Ledger,
    pub(crate) foreign: Foreign,
}

/// Objects by namespace and name, without those of others.
type Found = BTreeMap<(String, String), Object>;

async fn found(place: &Place, kind: &Kind, namespace: &str) -> anyhow::Result<Found> {
    let listed = place.api(kind, namespace).list(&ListParams::default()).await?;
    let all = listed.items.into_iter().map(Object::from).filter(|object| !foreign::is(object.name()));
    Ok(all.map(|object| ((object.namespace().to_owned(), object.name().to_owned()), object)).collect())
}

/// What a provider holds.
struct Held {
    provider: String,
    copies: Found,
    secrets: Found,
}

/// All that is not as it should be.
pub(crate) async fn mismatches(stage: &Stage, acknowledged: &Acknowledged) -> anyhow::Result<Vec<Mismatch>> {
    let mut held = Vec::new();
    for place in stage.providers() {
        let (copies, secrets) = (found(place, &WIDGET, "").await?, found(place, &SECRET, "").await?);
        held.push(Held { provider: place.name().to_owned(), copies, secrets });
    }
    let mut wrong = Vec::new();
    for consumer in stage.consumers() {
        if let Some(ledger) = acknowledged.widgets.get(consumer.name()) {
            wrong.extend(consumer_mismatches(consumer, ledger, &mut held).await?);
        }
    }
    for Held { provider, copies, secrets } in &held {
        wrong.extend(left("is a copy without an origin", provider, copies));
        wrong.extend(left("is a Secret without a copy", provider, secrets));
    }
    wrong.extend(tale_mismatches(stage.hub(), &acknowledged.tales).await?);
    wrong.extend(empty_namespaces(stage).await?);
    let touched = acknowledged.foreign.touched().await?;
    wrong.extend(touched.into_iter().map(|what| Mismatch { about: "theirs".to_owned(), what }));
    Ok(wrong)
}

fn left(what: &str, place: &str, objects: &Found) -> Vec<Mismatch> {
    let tell = |((namespace, name), object): (&(String, String), &Object)| Mismatch {
        // Without the prefix of copies.
        about: format!("{namespace}/{}", name.find("web-").map_or(&**name, |at| &name[at..])),
        what: format!("{namespace}/{name} in {place} {what}: {object}"),
    };
    objects.iter().map(tell).collect()
}

async fn consumer_mismatches(consumer: &Place, ledger: &Ledger, held: &mut [Held]) -> anyhow::Result<Vec<Mismatch>> {
    let (mut origins, mut secrets) = (found(consumer, &WIDGET, "").await?, found(consumer, &SECRET, "").await?);
    let mut wrong = Vec::new();
    for (key, uid, spec) in ledger.there() {
        let about = format!("{}/{}", key.0, key.1);
        let at = format!("{about} in {}", consumer.name());
        let mut tell = |what: String| wrong.push(Mismatch { about: about.clone(), what: format!("{at} {what}") });
        let Some(origin) = origins.remove(key) else {
            tell(format!("is gone; acknowledged as {spec}"));
            continue;
        };
        if origin.uid() != uid || origin.at("/spec") != spec || origin.is_deleting() {
            tell(format!("is not as it was acknowledged, {uid} {spec}: {origin}"));
        }
        let secret = secrets.remove(&(key.0.clone(), format!("{}-key", key.1)));
        let copy = (key.0.clone(), consumer.copy_name(&key.1));
        let key_of_copy = (key.0.clone(), format!("{}-key", copy.1));
        let mut copies = Vec::new();
        for held in &mut *held {
            let there = held.copies.remove(&copy);
            let secret = held.secrets.remove(&key_of_copy).filter(|_| there.is_some());
            copies.extend(there.map(|there| (held.provider.clone(), there, secret)));
        }
        let [(provider, copy, theirs)] = &copies[..] else {
            tell(format!("has {} copies: {copies:?}: {origin}", copies.len()));
            continue;
        };
        for fact in unmet(consumer, &origin, provider, copy) {
            tell(format!("does not meet {fact:?}; its copy at {provider} is {copy}, it is {origin}"));
        }
        let data = |secret: &Option<Object>| secret.as_ref().map(|secret| secret.at("/data").clone());
        let expected = json!({"provider": BASE64.encode(provider), "round": BASE64.encode(spec["round"].to_string())});
        if data(&secret).as_ref() != Some(&expected) || data(theirs).as_ref() != Some(&expected) {
            tell(format!("has the Secret {secret:?}, the copy at {provider} {theirs:?}, expected {expected}"));
        }
    }
    wrong.extend(left("was deleted, or never made", consumer.name(), &origins));
    wrong.extend(left("is a Secret without an object", consumer.name(), &secrets));
    Ok(wrong)
}

/// What does not hold of an origin and its only copy.
fn unmet(consumer: &Place, origin: &Object, provider: &str, copy: &Object) -> Vec<&'static str> {
    let mark = |name: &str| copy.annotation(&format!("{MARKS}/{name}")).unwrap_or_default();
    let assigned = |name: &str| origin.annotation(&format!("{MARKS}/{name}"));
    let placed = origin.condition("Brokered").is_some_and(|told| told.status == "True");
    let round = copy.at("/spec/round");
    // What others add at a provider is theirs, and stays.
    let mut spec = copy.at("/spec").clone();
    spec.as_object_mut().map(|fields| fields.remove(meddler::THEIRS));
    let facts = [
        ("the copy has the spec", &spec == origin.at("/spec")),
        ("the copy is not being deleted", !copy.is_deleting()),
        ("the copy is where its region is", takes(provider, origin.text("/spec/region"))),
        (
            "the copy's marks name the origin",
            mark("consumer-uid") == origin.uid() && mark("consumer-name") == origin.name(),
        ),
        ("the copy's marks name the consumer", mark("consumer-cluster") == consumer.name()),
        ("the copy's origin is signed", !mark("origin").is_empty()),
        ("the finalizer is there", origin.finalizers() == [format!("{MARKS}/generic-finalizer")]),
        ("the copy has no finalizer", copy.finalizers().is_empty()),
        ("the provider is told", assigned("provider-cluster") == Some(provider)),
        ("no move is under way", assigned("new-provider-cluster").is_none()),
        (
            "the provider has done its part",
            copy.text("/status/status") == "Available" && copy.at("/status/round") == round,
        ),
        ("the status is back", origin.text("/status/status") == "Available" && origin.at("/status/round") == round),
        ("it is Brokered", placed),
    ];
    facts.iter().filter(|(_, holds)| !holds).map(|(fact, _)| *fact).collect()
}

async fn tale_mismatches(hub: &Place, ledger: &Ledger) -> anyhow::Result<Vec<Mismatch>> {
    let mut instances = found(hub, &TALE, graph::NAMESPACE).await?;
    let configs = found(hub, &CONFIG_MAP, graph::NAMESPACE).await?;
    let mut configs: BTreeMap<String, Object> = configs.into_iter().map(|((_, name), object)| (name, object)).collect();
    let mut wrong = Vec::new();
    for (key, uid, spec) in ledger.there() {
        let about = format!("{}/{}", key.0, key.1);
        let mut tell = |what: String| wrong.push(Mismatch { about: about.clone(), what: format!("{about} {what}") });
        let Some(instance) = instances.remove(key) else {
            tell(format!("is gone; acknowledged as {spec}"));
            continue;
        };
        if instance.uid() != uid || instance.at("/spec") != spec || instance.is_deleting() {
            tell(format!("is not as it was acknowledged, {uid} {spec}: {instance}"));
        }
        for what in graph::judge(&instance, spec, &mut configs) {
            tell(format!("{what}: {instance}"));
        }
    }
    let configs = configs.into_iter().map(|(name, object)| ((graph::NAMESPACE.to_owned(), name), object)).collect();
    wrong.extend(left("was deleted, or never made", hub.name(), &instances));
    wrong.extend(left("belongs to no instance", hub.name(), &configs));
    Ok(wrong)
}

/// Namespaces at providers that the broker made and nothing is in.
async fn empty_namespaces(stage: &Stage) -> anyhow::Result<Vec<Mismatch>> {
    let mut wrong = Vec::new();
    for place in stage.providers() {
        for ((_, name), namespace) in found(place, &NAMESPACE, "").await? {
            let ours = namespace.label(&format!("{MARKS}/managed-by")).is_some();
            if ours && found(place, &WIDGET, &name).await?.is_empty() {
                let what = format!("namespace {name} in {} is empty: {namespace}", place.name());
                wrong.push(Mismatch { about: name, what });
            } else if namespace.is_deleting() || (ours && !NAMESPACES.contains(&&*name)) {
                let what = format!("namespace {name} in {} is of nobody: {namespace}", place.name());
                wrong.push(Mismatch { about: name, what });
            }
        }
    }
    Ok(wrong)
}
