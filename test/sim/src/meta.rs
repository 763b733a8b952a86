//! What all objects have in common, and what of it is refused.

use serde_json::Value;

use crate::{
    builtin::NAMESPACES,
    deletion::{FOREGROUND, ORPHAN},
    failure::Cause,
    resource::Resource,
};

/// Most bytes of all annotations.
const ANNOTATIONS: usize = 256 << 10;

/// Whether it begins and ends with one of `outer`, and between has these and `inner` only. Whatever is written is asked that
/// for each of its keys, and regular expressions take their time.
fn is_word(text: &str, outer: fn(u8) -> bool, inner: &[u8]) -> bool {
    let text = text.as_bytes();
    let ends = [text.first(), text.last()];
    ends.into_iter().all(|end| end.is_some_and(|end| outer(*end)))
        && text.iter().all(|letter| outer(*letter) || inner.contains(letter))
}

fn is_part(text: &str) -> bool {
    is_word(text, |letter| letter.is_ascii_lowercase() || letter.is_ascii_digit(), b"-")
}

/// A name behind a prefix, or the value of a label.
fn is_name(text: &str) -> bool {
    text.len() <= 63 && is_word(text, |letter| letter.is_ascii_alphanumeric(), b"-_.")
}

pub(crate) fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_part(name)
}

pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_part)
}

/// `name`, or `prefix/name`.
pub(crate) fn is_qualified(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(key),
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
        if !value.is_empty() && !is_name(value) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for good in ["a", "a1", "a-b", "0"] {
            assert!(is_label(good) && is_subdomain(good) && is_qualified(good), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "ä", "a\n", &long] {
            assert!(!is_label(bad), "{bad}");
        }
        assert!(is_subdomain("a.b-c.d") && is_subdomain(&long) && is_qualified("A_b.C") && is_qualified("a.b/C-d"));
        for bad in ["", "a..b", ".a", "a.", "a.-b", "A.b", &"a".repeat(254)] {
            assert!(!is_subdomain(bad), "{bad}");
        }
        for bad in ["", "/a", "a/", "a/b/c", "A/b", "a b", "_a", "a_", &long] {
            assert!(!is_qualified(bad), "{bad}");
        }
    }
}
