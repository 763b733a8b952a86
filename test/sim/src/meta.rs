//! What all objects have in common, and what of it is refused.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::{
    builtin::NAMESPACES,
    deletion::{FOREGROUND, ORPHAN},
    failure::Cause,
    resource::Resource,
};

/// Most bytes of all annotations.
const ANNOTATIONS: usize = 256 << 10;

/// A pattern of ours that is known to be one.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| pattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"));
static SUBDOMAIN: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"));
static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| pattern("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"));

fn fits(regex: &LazyLock<Option<Regex>>, text: &str, most: usize) -> bool {
    text.len() <= most && regex.as_ref().is_some_and(|regex| regex.is_match(text))
}

pub(crate) fn is_label(name: &str) -> bool {
    fits(&LABEL, name, 63)
}

pub(crate) fn is_subdomain(name: &str) -> bool {
    fits(&SUBDOMAIN, name, 253)
}

/// `name`, or `prefix/name`.
pub(crate) fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && fits(&WORD, name, 63),
        None => fits(&WORD, key, 63),
    }
}

/// A text in the metadata; empty where it is not said.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

pub(crate) fn finalizers(object: &Value) -> Vec<&str> {
    object["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Sets a field of the metadata; null takes it out.
pub(crate) fn set(object: &mut Value, name: &str, value: Value) {
    if !object["metadata"].is_object() {
        object["metadata"] = Value::Object(serde_json::Map::new());
    }
    let Some(metadata) = object["metadata"].as_object_mut() else { return };
    if value.is_null() {
        metadata.remove(name);
    } else {
        metadata.insert(name.to_owned(), value);
    }
}

/// What is wrong with the metadata of an object.
pub(crate) fn validate(resource: &Resource, object: &Value) -> Vec<Cause> {
    let name = text(object, "name");
    let mut causes = Vec::new();
    let good = if resource.is("", NAMESPACES) { is_label(name) } else { is_subdomain(name) };
    if name.is_empty() {
        causes.push(Cause::required("metadata.name"));
    } else if !good {
        causes.push(Cause::invalid("metadata.name", "it is no name"));
    }
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        if !is_qualified(key) {
            causes.push(Cause::invalid("metadata.labels", "it is no key"));
        }
        if !value.is_empty() && !fits(&WORD, value, 63) {
            causes.push(Cause::invalid("metadata.labels", "it is no value"));
        }
    }
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if !is_qualified(&key.to_lowercase()) {
            causes.push(Cause::invalid("metadata.annotations", "it is no key"));
        }
    }
    if size > ANNOTATIONS {
        causes.push(Cause::new("FieldValueTooLong", "metadata.annotations", "they are too long"));
    }
    for (at, finalizer) in finalizers(object).into_iter().enumerate() {
        if !is_qualified(finalizer) {
            causes.push(Cause::invalid("metadata.finalizers", "it is no name"));
        }
        // Kubernetes' own kinds are stricter.
        let known = finalizer.contains('/') || [ORPHAN, FOREGROUND, "kubernetes"].contains(&finalizer);
        if resource.group.is_empty() && (!known || !is_qualified(finalizer)) {
            causes.push(Cause::invalid(format!("metadata.finalizers[{at}]"), "it is no name"));
        }
    }
    validate_owners(object, &mut causes);
    causes
}

fn validate_owners(object: &Value, causes: &mut Vec<Cause>) {
    let mut controllers = 0;
    for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
        let field = |name: &str| format!("metadata.ownerReferences.{name}");
        let said = |name: &str| owner[name].as_str().unwrap_or_default();
        for name in ["apiVersion", "kind", "name", "uid"].into_iter().filter(|name| said(name).is_empty()) {
            causes.push(Cause::invalid(field(name), "it must not be empty"));
        }
        controllers += u32::from(owner["controller"] == true);
    }
    if controllers > 1 {
        causes.push(Cause::invalid("metadata.ownerReferences", "only one of them can be the controller"));
    }
}

/// What must not change.
pub(crate) fn validate_change(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for name in ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if old["metadata"][name] != new["metadata"][name] {
            causes.push(Cause::invalid(format!("metadata.{name}"), "field is immutable"));
        }
    }
    let before = finalizers(old);
    if is_deleting(old) && finalizers(new).iter().any(|finalizer| !before.contains(finalizer)) {
        causes.push(Cause::forbidden("metadata.finalizers", "no new finalizers can be added to what is being deleted"));
    }
    causes
}
