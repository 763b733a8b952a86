//! `Ending`: what is there when all is quiet, without what may differ from run to run.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use broker_api::graphs::keys;
use regex::Regex;
use serde_json::{Value, json};

use super::{
    act::identity,
    stage::{DEFINITIONS, HUB, RIVAL, Stage},
};
use crate::furnished::Furnished;

/// Objects by server, resource, namespace and name.
pub(crate) type Ending = BTreeMap<[String; 4], Arc<Value>>;

/// What some tell more of than others: of what went wrong, and of who leads.
pub(crate) const UNTOLD: [&str; 2] = ["events.events.k8s.io", "leases.coordination.k8s.io"];

const UID_LENGTH: usize = 36;

static UID: LazyLock<Regex> = LazyLock::new(|| Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap());

static FURNISHED: LazyLock<Furnished> = LazyLock::new(|| Furnished::of(&DEFINITIONS, |crd| plain(crd, &[])));

static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new("revision [0-9]+").unwrap());

/// Takes out the numbers of revisions.
pub(crate) fn without_numbers(ending: &mut Ending) {
    ending.retain(|[_, resource, ..], _| resource != "graphrevisions.internal.kro.run");
    for object in ending.values_mut() {
        unnumber(Arc::make_mut(object));
    }
}

/// Takes out whether a child was there before its instance, where somebody takes its labels off: if what is wanted of it changes
/// before that is seen, nobody can tell.
pub(crate) fn without_adoption(ending: &mut Ending, is_disowned: impl Fn(&[String; 4]) -> bool) {
    for (place, object) in ending.iter_mut() {
        if object["metadata"]["annotations"][keys::ADOPTED].is_string() && is_disowned(place) {
            let annotations = Arc::make_mut(object)["metadata"]["annotations"].as_object_mut();
            annotations.and_then(|annotations| annotations.remove(keys::ADOPTED));
        }
    }
}

fn unnumber(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("lastIssuedRevision");
            fields.values_mut().for_each(unnumber);
        }
        Value::Array(items) => items.iter_mut().for_each(unnumber),
        Value::String(text) if NUMBER.is_match(text) => *text = NUMBER.replace_all(text, "revision N").into_owned(),
        _ => {}
    }
}

/// All that the servers hold.
pub(crate) fn ending(stage: &Stage) -> Ending {
    let mut ending = Ending::new();
    let hubs = stage.servers().filter(|server| [HUB, RIVAL].contains(&server.name()));
    let hubs: Vec<(String, String)> = hubs.map(|hub| (identity(&hub), format!("identity of {}", hub.name()))).collect();
    for server in stage.servers() {
        for ((resource, namespace, name), object) in server.contents() {
            if UNTOLD.contains(&&*resource) {
                continue;
            }
            let object = FURNISHED.plain(&object).unwrap_or_else(|| {
                let mut object = Arc::unwrap_or_clone(object);
                plain(&mut object, &hubs);
                Arc::new(object)
            });
            ending.insert([server.name().to_owned(), resource, namespace, name], object);
        }
    }
    let unserved: Vec<String> = ending.values().filter_map(|object| unserved_kind(object)).collect();
    for ([_, resource, ..], object) in &mut ending {
        if unserved.contains(resource) {
            Arc::make_mut(object)["status"] = Value::Null;
        }
    }
    ending
}

/// The resource of which an RGD serves nothing any more, for want of a kind. Whether its instances were looked at once more
/// before that is chance: what they say is their last word.
fn unserved_kind(rgd: &Value) -> Option<String> {
    let mut conditions = rgd["status"]["conditions"].as_array()?.iter();
    conditions.find(|entry| entry["type"] == "ControllerReady" && entry["message"] == "no revision compiles")?;
    let schema = &rgd["spec"]["schema"];
    let group = schema["group"].as_str().unwrap_or("kro.run");
    Some(format!("{}s.{group}", schema["kind"].as_str()?.to_lowercase()))
}

/// Takes out identities, of these hubs too, versions and moments, and what is made of them.
fn plain(value: &mut Value, hubs: &[(String, String)]) {
    match value {
        Value::Object(fields) => {
            for name in [
                "resourceVersion",
                "creationTimestamp",
                "deletionTimestamp",
                "lastTransitionTime",
                "since",
                "managedFields",
                "generation",
                "observedGeneration",
            ] {
                fields.remove(name);
            }
            for digest in [keys::APPLIED_DIGEST, keys::CRD_DIGEST, keys::HUB] {
                if let Some(held) = fields.get_mut(digest) {
                    *held = json!("digest");
                }
            }
            // How many were in ERROR, or could not be judged, at the moment when a revision began.
            if let Some(held) = fields.get_mut(keys::ROLLOUT)
                && let Some(mut said) = held.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok())
            {
                said["errors"].take();
                *held = json!(said.to_string());
            }
            fields.values_mut().for_each(|field| plain(field, hubs));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, hubs)),
        Value::String(text) => {
            if text.len() >= UID_LENGTH && UID.is_match(text) {
                *text = UID.replace_all(text, "uid").into_owned();
            }
            // Where a cluster is lost, it depends on the moment how a request fails.
            if ["outcome unknown: ", "throttled: "].iter().any(|how| text.starts_with(how)) {
                "it fails".clone_into(text);
            }
            for (identity, said) in hubs {
                if text.contains(identity) {
                    *text = text.replace(identity, said);
                }
            }
        }
        _ => {}
    }
}
