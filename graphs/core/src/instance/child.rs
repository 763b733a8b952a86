//! A child: what is applied for a node, and whether what is there holds it.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use broker_api::graphs::keys;
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, merge, note::Note, object_key::ObjectKey, view::View};
use serde_json::{Map, Value, json};

use super::{set::Set, snapshot::Resource};
use crate::labels;

/// Where an object of a node belongs: where its API server has it, or is to have it. `own_namespace` is the instance's, empty
/// for a cluster-scoped one. An error is for people, and names the node.
pub fn target(resource: &Resource, object: &Value, own_namespace: &str) -> Result<ObjectKey, String> {
    let id = &resource.id;
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    if name.is_empty() {
        return Err(format!("node {id} must resolve metadata.name: it is missing, empty or no text"));
    }
    let namespace = match (resource.namespaced, namespace) {
        (true, "") => own_namespace,
        (true, namespace) => namespace,
        (false, "") => "",
        (false, _) => return Err(format!("node {id} is cluster-scoped and must not have metadata.namespace")),
    };
    if resource.namespaced && namespace.is_empty() {
        return Err(format!(
            "node {id} is namespaced and must resolve metadata.namespace when the instance is cluster-scoped"
        ));
    }
    Ok(ObjectKey::new(namespace, name))
}

/// What an API server keeps apart in a list of a child's metadata.
static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::compile(&json!({"type": "object", "properties": {
        "finalizers": {"type": "array", "x-kubernetes-list-type": "set"},
        "ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"]},
    }}))
});

/// What is to be applied.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) key: ObjectKey,
    pub(super) body: Value,
    /// Of all that is wanted, without what is no reason to write.
    digest: [u8; 8],
}

/// Place and number of an item of a collection.
pub(super) type Place = Option<(usize, usize)>;

impl Child {
    /// The object of a node with all that is ours on it. `adopted`: it was there before us.
    pub(super) fn new(
        set: &Set<'_>,
        resource: &Resource,
        object: &Value,
        key: ObjectKey,
        place: Place,
        adopted: bool,
    ) -> Self {
        let mut body = object.as_object().cloned().unwrap_or_default();
        let mut metadata = fields(body.remove("metadata"));
        let mut marks =
            Marks { labels: fields(metadata.remove("labels")), annotations: fields(metadata.remove("annotations")) };
        marks.labels.retain(|name, _| !labels::is_mark(name));
        marks.annotations.retain(|name, _| !labels::is_mark(name));
        for (name, value) in set.labels() {
            marks.label(name, value);
        }
        marks.label(keys::NODE_ID, &resource.id);
        if let Some((index, size)) = place {
            marks.label(keys::COLLECTION_INDEX, &index.to_string());
            marks.label(keys::COLLECTION_SIZE, &size.to_string());
        }
        marks.annotate(keys::APPLY_ORDER, resource.wave.to_string());
        if adopted {
            marks.annotate(keys::ADOPTED, keys::TRUE);
        }
        metadata.insert("name".into(), json!(&*key.name));
        metadata.remove("namespace");
        if !key.namespace.is_empty() {
            metadata.insert("namespace".into(), json!(&*key.namespace));
        }
        metadata.insert("labels".into(), Value::Object(marks.labels));
        metadata.insert("annotations".into(), Value::Object(marks.annotations));
        body.insert("apiVersion".into(), json!(resource.kind.api_version()));
        body.insert("kind".into(), json!(resource.kind.kind));
        body.insert("metadata".into(), Value::Object(metadata));
        let mut body = Value::Object(body);
        let digest = merge::digest(&body);
        let mark = |body: &mut Value, map: &str, name: &str, value: String| {
            if let Some(marks) = body.pointer_mut(&format!("/metadata/{map}")).and_then(Value::as_object_mut) {
                marks.insert(name.to_owned(), Value::String(value));
            }
        };
        mark(&mut body, "annotations", keys::APPLIED_DIGEST, hex::encode(digest));
        // After the digest: a new version alone is no reason to write, and neither is this.
        if set.depth > 1 {
            mark(&mut body, "annotations", keys::NESTING, set.depth.to_string());
        }
        mark(&mut body, "labels", keys::VERSION, labels::version(set.version).into_owned());
        Self { key, body, digest }
    }

    /// Tells repeats of the write.
    pub(super) fn intent(&self) -> [u8; 8] {
        self.digest
    }

    /// The first place where what is there is not as wanted. `inherited`: an object without a digest is as an earlier owner
    /// applied it.
    pub(super) fn difference(&self, observed: &View, resource: &Resource, inherited: bool) -> Option<String> {
        match observed.annotation(keys::APPLIED_DIGEST) {
            Some(digest) if digest == hex::encode(self.digest) => {}
            None if inherited => {}
            // A field that is no longer wanted is seen by nothing else.
            Some(_) | None => return Some(format!("metadata.annotations[{}]", keys::APPLIED_DIGEST)),
        }
        for map in ["labels", "annotations"] {
            let wanted = self.body.pointer(&format!("/metadata/{map}")).and_then(Value::as_object);
            let held = observed.value.pointer(&format!("/metadata/{map}"));
            for (name, value) in wanted.into_iter().flatten() {
                let counts =
                    ![keys::VERSION, keys::APPLIED_DIGEST, keys::NESTING].contains(&name.as_str()) && !value.is_null();
                if counts && held.and_then(|held| held.get(name)) != Some(value) {
                    return Some(format!("metadata.{map}[{name}]"));
                }
            }
        }
        let metadata = |object: &Value| {
            let kept = ["finalizers", "ownerReferences"];
            let kept = kept.into_iter().filter_map(|name| Some((name, object.get("metadata")?.get(name)?.clone())));
            Value::Object(kept.map(|(name, value)| (name.to_owned(), value)).collect())
        };
        if let Some(path) = METADATA.difference(&metadata(&self.body), &metadata(&observed.value)) {
            return Some(format!("metadata.{path}"));
        }
        let any = Schema::any();
        let schema = resource.schema.as_deref().unwrap_or(&any);
        let wanted = as_stored(&self.body, schema, resource.omits_empty, &observed.value);
        schema.difference(&wanted, &observed.value)
    }
}

/// What is wanted of an object but for its metadata, as its API server stores it: a Secret's texts as its data, nothing that the
/// kind does not have, and, where none is stored with an empty value, no such field but those of `stored`.
pub fn as_stored(object: &Value, schema: &Schema, omits_empty: bool, stored: &Value) -> Value {
    let mut content = content(object);
    if object.get("kind") == Some(&json!("Secret")) && object.get("apiVersion") == Some(&json!("v1")) {
        store(&mut content);
    }
    let mut wanted = schema.fit(Value::Object(content), &mut Vec::new());
    if omits_empty {
        omit_empty(&mut wanted, stored);
    }
    wanted
}

/// Whether Go's `omitempty` leaves out a value. Of a pointer to something empty it does not: that is there when it is stored.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

/// Takes off what is wanted the empty values that were not stored. As deep as the schema that it was fitted to.
fn omit_empty(wanted: &mut Value, stored: &Value) {
    match (wanted, stored) {
        (Value::Object(wanted), Value::Object(stored)) => {
            wanted.retain(|name, value| stored.contains_key(name) || !is_empty(value));
            for (name, value) in wanted {
                omit_empty(value, stored.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(wanted), Value::Array(stored)) => {
            for (value, stored) in wanted.iter_mut().zip(stored) {
                omit_empty(value, stored);
            }
        }
        _ => {}
    }
}

/// What is applied to an object that was there before us, from what would have been applied if it was not.
pub fn adopting(mut body: Value) -> Value {
    let take = |body: &mut Value, map: &str, name: &str| {
        body.pointer_mut(&format!("/metadata/{map}"))?.as_object_mut()?.remove(name)
    };
    let put = |body: &mut Value, map: &str, name: &str, value: Value| {
        if let Some(marks) = body.pointer_mut(&format!("/metadata/{map}")).and_then(Value::as_object_mut) {
            marks.insert(name.to_owned(), value);
        }
    };
    let version = take(&mut body, "labels", keys::VERSION);
    let nesting = take(&mut body, "annotations", keys::NESTING);
    take(&mut body, "annotations", keys::APPLIED_DIGEST);
    put(&mut body, "annotations", keys::ADOPTED, json!(keys::TRUE));
    let digest = hex::encode(merge::digest(&body));
    put(&mut body, "annotations", keys::APPLIED_DIGEST, Value::String(digest));
    for (map, name, value) in [("labels", keys::VERSION, version), ("annotations", keys::NESTING, nesting)] {
        if let Some(value) = value {
            put(&mut body, map, name, value);
        }
    }
    body
}

/// Whether an object without the label of a set is one that the instance which is to make `body` has made before. It says
/// whose it is, or was last applied as `body`: a digest of that names the instance, and whoever takes all labels off leaves the
/// annotations. One that was adopted is not.
pub fn has_lost_labels(object: &View, body: &Value) -> bool {
    let wanted = |map: &str, key: &str| body["metadata"][map][key].as_str();
    let is_same = |held: Option<&str>, wanted: Option<&str>| held.is_some() && held == wanted;
    let names_us = is_same(object.label(keys::INSTANCE_ID), wanted("labels", keys::INSTANCE_ID));
    let digest = keys::APPLIED_DIGEST;
    object.annotation(keys::ADOPTED).is_none()
        && (names_us || is_same(object.annotation(digest), wanted("annotations", digest)))
}

/// What people are told of an adopted object; `what` names it.
pub fn adoption(what: &str) -> Note {
    Note::warning(
        "Adopted",
        format!(
            "{what} was there before the instance and belongs to it now: it is deleted with it, unless the instance has \
             annotation {}: {}",
            keys::ADOPTION,
            keys::RETAIN
        ),
    )
}

/// Why an object is not taken that belongs to another set; `what` is its place and its kind.
pub fn belongs_elsewhere(what: &str, other: &str, own: &str) -> String {
    format!(
        "resource belongs to a different ApplySet: {what} belongs to ApplySet {other:?}, cannot reassign to {own:?}"
    )
}

/// A Secret's texts as they are stored.
fn store(content: &mut Map<String, Value>) {
    let Some(Value::Object(texts)) = content.remove("stringData") else { return };
    let mut data = fields(content.remove("data"));
    for (name, text) in texts {
        if let Value::String(text) = text {
            data.insert(name, Value::String(STANDARD.encode(text)));
        }
    }
    content.insert("data".into(), Value::Object(data));
}

fn fields(value: Option<Value>) -> Map<String, Value> {
    if let Some(Value::Object(fields)) = value { fields } else { Map::new() }
}

/// What a template may say of a kind: not its status, which its controller says.
fn content(object: &Value) -> Map<String, Value> {
    let own = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata" | "status");
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What of a child is compared.
pub(super) fn observed(object: &Value) -> Value {
    let mut observed = content(object);
    let kept = ["labels", "annotations", "finalizers", "ownerReferences"];
    let kept = kept.into_iter().filter_map(|name| Some((name, object.get("metadata")?.get(name)?.clone())));
    let metadata = kept.map(|(name, value)| (name.to_owned(), value)).collect();
    observed.insert("metadata".into(), Value::Object(metadata));
    Value::Object(observed)
}

struct Marks {
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

impl Marks {
    fn label(&mut self, name: &str, text: &str) {
        let labels::LabelValue { value, whole } = labels::value(text);
        self.labels.insert(name.to_owned(), Value::String(value.into_owned()));
        if let Some(whole) = whole {
            self.annotate(name, whole);
        }
    }

    fn annotate(&mut self, name: &str, text: impl Into<String>) {
        self.annotations.insert(name.to_owned(), Value::String(text.into()));
    }
}

/// A kind as Go prints it.
pub fn gvk_text(kind: &Kind) -> String {
    let Kind { group, version, kind } = kind;
    format!("{group}/{version}, Kind={kind}")
}
