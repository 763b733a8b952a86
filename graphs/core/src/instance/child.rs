//! A child: what is applied for a node, and whether what is there holds it.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use broker_api::graphs::keys;
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, merge, object_key::ObjectKey, view::View};
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
        marks.annotations.remove(keys::APPLIED_DIGEST);
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
        // After the digest: a new version alone is no reason to write.
        mark(&mut body, "labels", keys::VERSION, labels::version(set.version).into_owned());
        Self { key, body, digest }
    }

    /// Tells repeats of the write.
    pub(super) fn intent(&self) -> [u8; 8] {
        self.digest
    }

    /// The first place where what is there is not as wanted. `inherited`: an object without a digest is as an earlier owner
    /// applied it.
    pub(super) fn difference(&self, observed: &View, schema: Option<&Schema>, inherited: bool) -> Option<String> {
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
                let counts = name != keys::VERSION && name != keys::APPLIED_DIGEST && !value.is_null();
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
        let mut content = content(&self.body);
        if self.body.get("kind") == Some(&json!("Secret")) && self.body.get("apiVersion") == Some(&json!("v1")) {
            store(&mut content);
        }
        let any = Schema::any();
        let schema = schema.unwrap_or(&any);
        let wanted = schema.fit(Value::Object(content), &mut Vec::new());
        schema.difference(&wanted, &observed.value)
    }
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
pub(super) fn gvk_text(kind: &Kind) -> String {
    let Kind { group, version, kind } = kind;
    format!("{group}/{version}, Kind={kind}")
}
