//! CRDs: what an API server makes of them.

use serde_json::{Value, json};

use crate::{
    failure::Cause,
    fields::Writer,
    kinds::has_condition,
    meta::{finalizers, is_deleting, is_label, is_subdomain, set, text},
    resource::Storage,
    state::{CRDS, State},
};

/// Holds a CRD until none of its objects is left.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// What a CRD says where nothing is said.
pub(crate) fn complete(crd: &mut Value) {
    let names = &mut crd["spec"]["names"];
    let kind = names["kind"].as_str().unwrap_or_default().to_owned();
    let missing = |value: &Value| value.as_str().unwrap_or_default().is_empty();
    if missing(&names["singular"]) {
        names["singular"] = json!(kind.to_lowercase());
    }
    if missing(&names["listKind"]) && !kind.is_empty() {
        names["listKind"] = json!(format!("{kind}List"));
    }
    if crd["spec"]["conversion"].is_null() {
        crd["spec"]["conversion"] = json!({"strategy": "None"});
    }
}

fn storage_version(crd: &Value) -> Option<&Value> {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    versions.into_iter().find(|version| version["storage"] == true).map(|version| &version["name"])
}

pub(crate) fn prepare_new(crd: &mut Value) {
    let stored: Vec<Value> = storage_version(crd).cloned().into_iter().collect();
    crd["status"] = json!({"conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored});
}

pub(crate) fn prepare_change(old: &Value, new: &mut Value) {
    let mut status = old["status"].clone();
    if let Some(version) = storage_version(new)
        && let Some(stored) = status["storedVersions"].as_array_mut()
        && !stored.contains(version)
    {
        stored.push(version.clone());
    }
    new["status"] = status;
}

/// What is wrong with a CRD.
pub(crate) fn validate(crd: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let spec = &crd["spec"];
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, plural) = (said(&spec["group"]), said(&spec["names"]["plural"]));
    let required = |causes: &mut Vec<Cause>, field: &str, value: &str| {
        if value.is_empty() {
            causes.push(Cause::required(field));
        }
        !value.is_empty()
    };
    if text(crd, "name") != format!("{plural}.{group}") {
        causes.push(Cause::invalid("metadata.name", "it must be spec.names.plural, a dot and spec.group"));
    }
    if required(&mut causes, "spec.group", &group) && !(is_subdomain(&group) && group.contains('.')) {
        causes.push(Cause::invalid("spec.group", "it is no group"));
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        let value = said(&spec["names"][name]);
        let field = format!("spec.names.{name}");
        if required(&mut causes, &field, &value) && !is_label(&value.to_lowercase()) {
            causes.push(Cause::invalid(field, "it is no name"));
        }
    }
    match &*said(&spec["scope"]) {
        "" => causes.push(Cause::required("spec.scope")),
        "Namespaced" | "Cluster" => {}
        _ => causes.push(Cause::new("FieldValueNotSupported", "spec.scope", "it is no scope")),
    }
    let versions: Vec<&Value> = spec["versions"].as_array().into_iter().flatten().collect();
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        causes.push(Cause::invalid("spec.versions", "exactly one version must be the storage version"));
        causes.push(Cause::invalid("status.storedVersions", "there must be one"));
    }
    for (at, version) in versions.iter().enumerate() {
        let field = format!("spec.versions[{at}].schema.openAPIV3Schema");
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_null() {
            causes.push(Cause::required(field));
        } else if schema["type"] != "object" {
            causes.push(Cause::invalid(format!("{field}.type"), "must be object at the root"));
        }
    }
    causes
}

pub(crate) fn validate_change(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let established = has_condition(old, "Established");
    let fixed = [("spec.scope", "/spec/scope"), ("spec.names.kind", "/spec/names/kind")];
    for (field, pointer) in fixed {
        if established && old.pointer(pointer) != new.pointer(pointer) {
            causes.push(Cause::invalid(field, "field is immutable"));
        }
    }
    for (field, pointer) in [("spec.group", "/spec/group"), ("spec.names.plural", "/spec/names/plural")] {
        if old.pointer(pointer) != new.pointer(pointer) {
            causes.push(Cause::invalid(field, "field is immutable"));
        }
    }
    let has =
        |name: &Value| new["spec"]["versions"].as_array().into_iter().flatten().any(|version| version["name"] == *name);
    for (at, stored) in new["status"]["storedVersions"].as_array().into_iter().flatten().enumerate() {
        if !has(stored) {
            causes.push(Cause::invalid(format!("status.storedVersions[{at}]"), "it must remain in spec.versions"));
        }
    }
    causes
}

fn condition(crd: &mut Value, name: &str, reason: &str, message: &str, now: &str) {
    let mut conditions: Vec<Value> = crd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition =
        json!({"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now});
    match conditions.iter_mut().find(|held| held["type"] == name) {
        Some(held) if held["status"] == "True" && held["reason"] == reason => {}
        Some(held) => *held = condition,
        None => conditions.push(condition),
    }
    crd["status"]["conditions"] = json!(conditions);
}

/// Where the objects are kept that a CRD defines.
pub(crate) fn defined(crd: &Value) -> Storage {
    let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Storage { group: said(&crd["spec"]["group"]), plural: said(&crd["spec"]["names"]["plural"]) }
}

/// Whether its names are accepted as they are, and its kind is served: then [`State::establish`] has nothing to do.
fn is_established(crd: &Value) -> bool {
    let reasons = [("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted")];
    let holds = |(name, reason): (&str, &str)| {
        let held = crd["status"]["conditions"].as_array().into_iter().flatten().find(|held| held["type"] == name);
        held.is_some_and(|held| held["status"] == "True" && held["reason"] == reason)
    };
    crd["status"]["acceptedNames"] == crd["spec"]["names"] && reasons.into_iter().all(holds)
}

/// A CRD on its way out.
pub(crate) fn terminate(crd: &mut Value, now: &str) {
    let mut held: Vec<&str> = finalizers(crd);
    if !held.contains(&CLEANUP) {
        held.push(CLEANUP);
    }
    let held = json!(held);
    set(crd, "finalizers", held);
    set(crd, "deletionTimestamp", json!(now));
    condition(crd, "Terminating", "InstanceDeletionPending", "CustomResource deletion will begin soon", now);
}

impl State {
    /// One step of the controllers of CRDs: names are accepted, kinds established, objects of what is to go removed. Whether
    /// there was anything to do.
    pub(crate) fn settle_definitions(&mut self) -> bool {
        let storage = Storage::new(CRDS[0], CRDS[1]);
        // Almost always there is nothing to do, and CRDs are long.
        let unsettled = |crd: &&Value| is_deleting(crd) || !is_established(crd);
        let crds: Vec<Value> = self.all(&storage).map(|(_, crd)| crd).filter(unsettled).cloned().collect();
        let mut busy = false;
        for crd in crds {
            busy |= if is_deleting(&crd) { self.clean_up(&storage, crd) } else { self.establish(&storage, crd) };
        }
        busy
    }

    fn establish(&mut self, storage: &Storage, mut crd: Value) -> bool {
        let before = crd.clone();
        let now = self.clock.stamp();
        crd["status"]["acceptedNames"] = crd["spec"]["names"].clone();
        condition(&mut crd, "NamesAccepted", "NoConflicts", "no conflicts found", &now);
        if crd == before {
            condition(&mut crd, "Established", "InitialNamesAccepted", "the initial names have been accepted", &now);
        }
        if crd == before {
            return false;
        }
        if let Some(resource) = self.resource(CRDS[0], "v1", CRDS[1]) {
            let writer = Writer { resource: &resource, manager: "kube-apiserver", subresource: "status", time: &now };
            writer.update(&before, &mut crd);
        }
        self.put(storage, crd);
        true
    }

    fn clean_up(&mut self, storage: &Storage, mut crd: Value) -> bool {
        let objects = defined(&crd);
        let mut busy = self.delete_all(&objects, |_| true);
        if self.all(&objects).next().is_none() && finalizers(&crd).contains(&CLEANUP) {
            let left: Vec<&str> = finalizers(&crd).into_iter().filter(|finalizer| *finalizer != CLEANUP).collect();
            let left = if left.is_empty() { Value::Null } else { json!(left) };
            let gone = left.is_null();
            let key = crate::history::Key::of(&crd);
            set(&mut crd, "finalizers", left);
            if gone {
                self.remove(storage, &key);
            } else {
                self.put(storage, crd);
            }
            busy = true;
        }
        busy
    }
}
