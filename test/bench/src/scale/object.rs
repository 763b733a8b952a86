//! Objects as API servers keep them: what they add to what is sent, and what counts as a change.

use serde_json::{Value, json};

use super::kind::Kind;

/// When all objects of stubs were made.
const CREATED: &str = "2026-01-01T00:00:00Z";

/// Metadata that no write changes.
const KEPT: [&str; 5] = ["uid", "creationTimestamp", "generation", "deletionTimestamp", "resourceVersion"];

/// Takes a field out of the metadata.
pub(super) fn take(object: &mut Value, field: &str) -> Option<String> {
    let taken = object.get_mut("metadata")?.as_object_mut()?.remove(field)?;
    taken.as_str().map(str::to_owned)
}

/// Who holds which fields: the one entry of the one who has sent all of them. Lists are somebody's as a whole here.
pub(super) fn manage(kind: Kind, object: &mut Value, manager: &str, operation: &str) {
    let mut fields = fields_of(object);
    if let Some(fields) = fields.as_object_mut() {
        for unmanaged in ["f:apiVersion", "f:kind"] {
            fields.remove(unmanaged);
        }
    }
    object["metadata"]["managedFields"] = json!([{
        "manager": manager, "operation": operation, "apiVersion": kind.api_version(), "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }]);
}

fn fields_of(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    Value::Object(fields.map(|(name, inner)| (format!("f:{name}"), fields_of(inner))).collect())
}

/// What an API server gives an object that is new.
pub(super) fn begin(object: &mut Value, uid: String) {
    object["metadata"]["uid"] = uid.into();
    object["metadata"]["creationTimestamp"] = CREATED.into();
    object["metadata"]["generation"] = json!(1);
}

/// What stays of `old` where another state of it is applied.
pub(super) fn keep(old: &Value, new: &mut Value) {
    for field in KEPT {
        if let Some(held) = old["metadata"].get(field) {
            new["metadata"][field] = held.clone();
        }
    }
    if let Some(status) = old.get("status") {
        new["status"] = status.clone();
    }
}

/// Counts a change of anything but metadata and status.
pub(super) fn count(old: &Value, new: &mut Value) {
    if content(old) != content(new) {
        new["metadata"]["generation"] = json!(generation(old) + 1);
    }
}

fn content(object: &Value) -> Vec<(&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status")).collect()
}

/// `metadata.generation`.
pub(super) fn generation(object: &Value) -> u64 {
    object["metadata"]["generation"].as_u64().unwrap_or_default()
}

/// Whether something holds an object that is to go.
pub(super) fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty())
}

/// Whether it is to go.
pub(super) fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// It is to go.
pub(super) fn delete(object: &mut Value) {
    object["metadata"]["deletionTimestamp"] = CREATED.into();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_applied_has_one_manager_and_keeps_what_is_not_applied() {
        let mut object = json!({"kind": "Widget", "metadata": {"labels": {"a": "b"}}, "spec": {"x": [1]}});
        manage(Kind::Widget, &mut object, "me", "Apply");
        let entry = &object["metadata"]["managedFields"][0];
        assert_eq!((&entry["manager"], &entry["operation"]), (&json!("me"), &json!("Apply")));
        assert_eq!(entry["fieldsV1"], json!({"f:metadata": {"f:labels": {"f:a": {}}}, "f:spec": {"f:x": {}}}));

        let old = json!({"metadata": {"uid": "u", "generation": 3}, "spec": {"x": 1}, "status": {"y": 2}});
        let mut new = json!({"metadata": {"labels": {}}, "spec": {"x": 2}});
        keep(&old, &mut new);
        count(&old, &mut new);
        assert_eq!(
            new,
            json!({"metadata": {"uid": "u", "generation": 4, "labels": {}}, "spec": {"x": 2}, "status": {"y": 2}})
        );
        let mut status = old.clone();
        status["status"]["y"] = json!(3);
        count(&old, &mut status);
        assert_eq!(generation(&status), 3);
    }
}
