//! What belongs to others is never touched.

use std::collections::BTreeSet;

use broker_api::keys;
use serde_json::{Value, json};

use super::{Step, annotation, is_foreign, is_leaving};
use crate::stage::{CERTIFICATE, FOREIGN, HUB, MIGRATIONS, PRIVATE, PROVIDERS};

/// Whether a write of the broker is to what is its own, or to what it may write to.
pub(super) fn check_stranger(step: &Step<'_>) -> Result<(), String> {
    let change = step.change;
    if change.namespace == PRIVATE {
        return Err("this is none of its business".to_owned());
    }
    let Some(before) = &change.before else { return Ok(()) };
    if is_foreign(before) {
        return Err("this is somebody else's".to_owned());
    }
    let holds =
        |object: &Value| object["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&json!(FOREIGN)));
    if holds(before) && !change.after.as_deref().is_some_and(holds) {
        return Err("somebody else holds this".to_owned());
    }
    let server = step.server();
    let fine = match &*change.resource {
        CERTIFICATE if PROVIDERS.contains(&server) => is_ours(before) || has_been_stripped(&change.name),
        CERTIFICATE | "events.events.k8s.io" | "leases.coordination.k8s.io" => true,
        "acceptapis.broker.platform-mesh.io" => same_but_status(before, change.after.as_deref()),
        MIGRATIONS | "migrationconfigurations.broker.platform-mesh.io" => server == HUB,
        "secrets" if change.namespace == "clusters" => false,
        "secrets" if server == HUB && change.namespace == "broker" => true,
        "secrets" | "configmaps" | "namespaces" => is_ours(before),
        _ => false,
    };
    if fine { Ok(()) } else { Err("it has not made this".to_owned()) }
}

/// What others have in providers, by the namespaces that it is in.
#[derive(Default)]
pub(super) struct Neighbours(BTreeSet<[String; 4]>);

impl Neighbours {
    /// Whether a namespace goes with what others have in it. Where requests are long on their way, it may have come meanwhile.
    pub(super) fn check(&self, step: &Step<'_>) -> Result<(), String> {
        let goes = step.change.resource == "namespaces" && step.after().is_none_or(is_leaving);
        let is_in_it =
            |[server, namespace, _, _]: &[String; 4]| server == step.server() && *namespace == step.change.name;
        if goes && self.0.iter().any(is_in_it) {
            return Err("what somebody else has in it goes with it".to_owned());
        }
        Ok(())
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        let change = step.change;
        let key = [step.server(), &change.namespace, &change.resource, &change.name].map(str::to_owned);
        if step.after().is_some_and(is_foreign) {
            self.0.insert(key);
        } else {
            self.0.remove(&key);
        }
    }
}

fn is_ours(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[keys::MANAGED_BY] == keys::MANAGER
        || labels[keys::MIGRATION_ID].is_string()
        || !annotation(object, keys::ORIGIN).is_empty()
}

/// A copy that somebody took the marks off: its name says whose it is.
fn has_been_stripped(name: &str) -> bool {
    name.split_once('-').is_some_and(|(hash, _)| hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Of what a provider says of itself the broker writes the status only, and takes away its finalizer of old.
fn same_but_status(before: &Value, after: Option<&Value>) -> bool {
    after.is_some_and(|after| before["spec"] == after["spec"])
}
