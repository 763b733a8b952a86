//! `Ending`: what is there when all is quiet, without what may differ from run to run.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::stage::{CERTIFICATE, HUB, PROVIDERS, Stage};

/// Objects by server, resource, namespace and name.
pub(crate) type Ending = BTreeMap<[String; 4], Value>;

/// All that these servers hold, but Events: of what went wrong some tell more.
pub(crate) fn ending(stage: &Stage) -> Ending {
    let (parts, nobody) = (parts(stage), BTreeMap::new());
    let mut ending = Ending::new();
    for server in stage.servers() {
        let part = parts.get(server.name()).copied().unwrap_or(server.name());
        for ((resource, namespace, name), mut object) in server.contents() {
            if resource == "events.events.k8s.io" {
                continue;
            }
            // The hub knows them by their names.
            plain(&mut object, if part == HUB { &nobody } else { &parts });
            if resource == "secrets" && namespace == "broker" {
                // Drawn when it is made, which may be later than in another run.
                object["data"] = json!("keys");
            }
            ending.insert([part.to_owned(), resource, namespace, name], object);
        }
    }
    ending
}

/// What each provider is: which of them is chosen follows from who could be reached when the object came.
fn parts(stage: &Stage) -> BTreeMap<&'static str, &'static str> {
    let serves = |name: &&str| {
        stage.server(name).contents().keys().any(|(kind, space, _)| kind == CERTIFICATE && space == "shop")
    };
    let Some(chosen) = PROVIDERS.into_iter().find(serves) else { return BTreeMap::new() };
    PROVIDERS.into_iter().map(|name| (name, if name == chosen { "chosen" } else { "other" })).collect()
}

/// Takes out identities, versions, moments, and what is signed over them.
fn plain(value: &mut Value, parts: &BTreeMap<&str, &str>) {
    match value {
        Value::Object(fields) => {
            for name in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "lastTransitionTime",
                "managedFields",
                "generation",
                "observedGeneration",
            ] {
                fields.remove(name);
            }
            fields.values_mut().for_each(|field| plain(field, parts));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plain(item, parts)),
        Value::String(text) if text.starts_with("v1.k") => "signed".clone_into(text),
        Value::String(text) if is_uid(text) => "uid".clone_into(text),
        Value::String(text) => {
            for (name, part) in parts {
                *text = text.replace(name, part);
            }
        }
        _ => {}
    }
}

fn is_uid(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}
