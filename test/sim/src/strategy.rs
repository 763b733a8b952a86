//! What API servers do with the objects of a kind when they come and when they change.

use serde_json::{Value, json};

use crate::{
    builtin::NAMESPACES,
    crd,
    failure::Cause,
    likeness::alike_but_for,
    meta::{self, set},
    resource::Resource,
    schema,
};

fn drop_field(object: &mut Value, name: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(name);
    }
}

/// Before an object is created.
pub(crate) fn prepare_new(resource: &Resource, object: &mut Value) {
    if resource.has_generation() {
        set(object, "generation", json!(1));
    }
    if resource.rules.custom && resource.status {
        drop_field(object, "status");
    }
    if resource.is("", NAMESPACES) {
        object["status"] = json!({"phase": "Active"});
        let finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
        let kubernetes = json!("kubernetes");
        if !finalizers.contains(&kubernetes) {
            object["spec"]["finalizers"] = finalizers.into_iter().chain([kubernetes]).collect();
        }
    }
    if resource.is_crd() {
        crd::prepare_new(object);
    }
}

/// Before an object is replaced by another state of it.
pub(crate) fn prepare_change(resource: &Resource, subresource: &str, old: &Value, new: &mut Value) {
    set(new, "generation", old["metadata"]["generation"].clone());
    if subresource == "status" {
        let (status, managed) = (new["status"].take(), new["metadata"]["managedFields"].clone());
        let metadata = new["metadata"].take();
        *new = old.clone();
        if resource.is("", NAMESPACES) {
            new["metadata"] = metadata;
        } else {
            set(new, "managedFields", managed);
        }
        if status.is_null() {
            drop_field(new, "status");
        } else {
            new["status"] = status;
        }
        return;
    }
    if resource.status {
        match old.get("status") {
            Some(status) => new["status"] = status.clone(),
            None => drop_field(new, "status"),
        }
    }
    if resource.is("", NAMESPACES) {
        new["spec"]["finalizers"] = old["spec"]["finalizers"].clone();
    }
    if resource.is_crd() {
        crd::prepare_change(old, new);
    }
    let changed = || if resource.is_crd() { old["spec"] != new["spec"] } else { !alike_but_for("metadata", old, new) };
    if resource.has_generation() && changed() {
        let generation = old["metadata"]["generation"].as_u64().unwrap_or_default();
        set(new, "generation", json!(generation + 1));
    }
}

/// What is wrong with an object.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let mut causes = meta::validate(resource, object);
    if resource.rules.custom {
        causes.extend(schema::validate(resource.schema(), object));
    }
    for data in ["data", "binaryData"] {
        for key in object[data].as_object().into_iter().flatten().map(|(key, _)| key).filter(|_| holds_data(resource)) {
            let letters = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            if key.is_empty() || key.len() > 253 || !key.chars().all(letters) || key == "." || key.starts_with("..") {
                causes.push(Cause::invalid(format!("{data}[{key}]"), "it is no key"));
            }
        }
    }
    if resource.is("coordination.k8s.io", "leases") {
        let positive = |name: &str, least: i64| object["spec"][name].as_i64().is_some_and(|number| number < least);
        for (name, least) in [("leaseDurationSeconds", 1), ("leaseTransitions", 0)] {
            if positive(name, least) {
                causes.push(Cause::invalid(format!("spec.{name}"), "it is too small"));
            }
        }
    }
    if resource.is_crd() {
        causes.extend(crd::validate(object));
    }
    causes
}

fn holds_data(resource: &Resource) -> bool {
    resource.is("", "secrets") || resource.is("", "configmaps")
}

/// What is wrong with a change.
pub(crate) fn validate_change(resource: &Resource, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = meta::validate_change(old, new);
    if resource.is("", "secrets") && old["type"] != new["type"] {
        causes.push(Cause::invalid("type", "field is immutable"));
    }
    if holds_data(resource) && old["immutable"] == true {
        for name in ["immutable", "data", "binaryData"].into_iter().filter(|name| old[*name] != new[*name]) {
            causes.push(Cause::forbidden(name, "field is immutable when `immutable` is set"));
        }
    }
    if resource.is_crd() {
        causes.extend(crd::validate_change(old, new));
    }
    causes
}
