//! `Ending`: what is there when all is quiet, without what may differ from run to run.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sim::ApiServer;

/// Objects by server, resource, namespace and name.
pub(crate) type Ending = BTreeMap<[String; 4], Value>;

/// All that these servers hold, but Events: of what went wrong some tell more.
pub(crate) fn ending(servers: impl Iterator<Item = ApiServer>) -> Ending {
    let mut ending = Ending::new();
    for server in servers {
        for ((resource, namespace, name), mut object) in server.contents() {
            if resource == "events.events.k8s.io" {
                continue;
            }
            plain(&mut object);
            if resource == "secrets" && namespace == "broker" {
                // Drawn when it is made, which may be later than in another run.
                object["data"] = json!("keys");
            }
            ending.insert([server.name().to_owned(), resource, namespace, name], object);
        }
    }
    ending
}

/// Takes out identities, versions, moments, and what is signed over them.
fn plain(value: &mut Value) {
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
            fields.values_mut().for_each(plain);
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::String(text) if text.starts_with("v1.k") => *text = "signed".to_owned(),
        Value::String(text) if is_uid(text) => *text = "uid".to_owned(),
        _ => {}
    }
}

fn is_uid(text: &str) -> bool {
    text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4
}
