//! What an object says of itself, as it was read.

use serde_json::Value;

/// A text in it; empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The value of an annotation.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(key)?.as_str()
}

/// The value of a label.
pub(crate) fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["labels"].get(key)?.as_str()
}

/// `team/shop`; the name alone where it is in no namespace.
pub(crate) fn called(object: &Value) -> String {
    path(text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}

/// The same of a namespace and a name.
pub(crate) fn path(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}
