//! One object as the index holds it: identity parsed, the rest as compressed JSON without `managedFields`.
//!
//! A parsed tree of a 3 KB object takes ten times its size, the raw bytes 3 KB, compressed ones a half or less. They
//! are unpacked, in a microsecond or two, and parsed only when a decision looks at them.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use broker_api::keys;
use serde::{Deserialize, Serialize, de::DeserializeSeed as _};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use crate::{
    each::{self, Each},
    shape::{Excess, Shape},
};

/// Namespace and name. The namespace is empty for cluster-scoped objects. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Namespace, or empty.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key of these two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() { f.write_str(&self.name) } else { write!(f, "{}/{}", self.namespace, self.name) }
    }
}

/// Why bytes from an API server are not an object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// The body was not kept.
    #[error("the object's body was not kept")]
    Forgotten,
    /// Not JSON, or not of an object's shape.
    #[error("not an object: {0}")]
    Json(#[from] serde_json::Error),
    /// Its metadata alone is too much.
    #[error("its metadata holds too many values or nests too deep")]
    Metadata,
    /// `metadata.resourceVersion` is not a number. Kubernetes guarantees that it is (KEP-5504).
    #[error("resourceVersion {0:?} is not a number")]
    Version(String),
}

/// An object at one resource version.
#[expect(
    clippy::struct_excessive_bools,
    reason = "there are hundreds of thousands of them: each says its one thing in a byte"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`; larger is newer within one API server and kind.
    pub resource_version: u64,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// Whether it has finalizers.
    pub has_finalizers: bool,
    /// Whether [`keys::MANAGER`] is among those who applied it (`metadata.managedFields`).
    pub applied_by_us: bool,
    /// What it has too much of. Of such an object only metadata is held, and of its status what is small.
    pub excess: Option<Excess>,
    /// Whether `status.conditions` is held as it is; it may be too much where there is [`Object::excess`].
    pub holds_conditions: bool,
    /// What its parsed tree takes in memory, in bytes, at the most about 200 MiB; held or not.
    pub weight: u32,
    body: Box<[u8]>,
}

#[derive(Deserialize)]
struct Manager<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(borrow, default)]
    operation: Cow<'a, str>,
}

fn applied_by_us(managed_fields: Option<&RawValue>) -> bool {
    let Some(managed_fields) = managed_fields else { return false };
    let mut found = false;
    let each = Each::new(|entry: Manager<'_>| found |= entry.manager == keys::MANAGER && entry.operation == "Apply");
    let read = each.deserialize(&mut serde_json::Deserializer::from_str(managed_fields.get()));
    found && read.is_ok()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    uid: Cow<'a, str>,
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(default)]
    deletion_timestamp: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    finalizers: Option<Vec<serde::de::IgnoredAny>>,
}

impl Identity<'_> {
    fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace.as_ref(), self.name.as_ref())
    }

    fn version(&self) -> Result<u64, ObjectError> {
        self.resource_version.parse().map_err(|_| ObjectError::Version(self.resource_version.to_string()))
    }
}

/// Labels and annotations of an object.
#[derive(Debug, Default, Deserialize)]
pub struct Marks {
    /// `metadata.labels`.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// What most objects have in common, so that each need not hold it again. Not stored anywhere but in memory: it may change
/// from version to version.
const WORDS: &[u8] = br#""apiVersion":"v1alpha1","kind":"metadata":{"annotations":{"broker.platform-mesh.io/assignment":"v1.k1
"broker.platform-mesh.io/consumer-cluster":"","broker.platform-mesh.io/consumer-name":"","broker.platform-mesh.io/consumer-namespace":"
default","broker.platform-mesh.io/consumer-uid":"","broker.platform-mesh.io/origin":"v1.k1","broker.platform-mesh.io/provider-cluster":"
"},"creationTimestamp":"2026-","finalizers":["broker.platform-mesh.io/generic-finalizer"],"generation":1,"labels":{
"broker.platform-mesh.io/consumer":"","broker.platform-mesh.io/managed-by":"resource-broker"},"name":"","namespace":"default",
"ownerReferences":[{"resourceVersion":"","uid":""},"spec":{"status":{"conditions":[{"lastTransitionTime":"2026-","message":"","observedGeneration":1,
"reason":"Ready","status":"True","type":"Ready"},{"lastTransitionTime":"2026-","message":"served by provider ","reason":"Placed","status":"True","type":"Brokered"}],
"relatedResources":{"gvk":{"group":"core","kind":"Secret","version":"v1"},"name":"","namespace":""}},"status":"Available"}}"#;

fn pack(json: &[u8]) -> Box<[u8]> {
    lz4_flex::block::compress_prepend_size_with_dict(json, WORDS).into_boxed_slice()
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Borrows keys where they hold no escapes.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
struct RawMap<'a>(#[serde(borrow)] Fields<'a>);

/// An object that may be too much: what is held of it even then.
struct Outline<'a> {
    /// `apiVersion`, `kind` and the whole `metadata`.
    fields: Fields<'a>,
    /// What Kubernetes knows in `metadata`.
    metadata: Fields<'a>,
    /// The fields of `status` that are small.
    status: Fields<'a>,
    /// Whether `status.conditions` is among them, if there is one.
    holds_conditions: bool,
    /// The measure of all but `metadata.managedFields`.
    shape: Shape,
}

/// What is held of the status of an object that is too much: bytes, values and levels of each field.
const SMALL: Shape = Shape { depth: 60, values: 20_000, objects: usize::MAX, bytes: 256 << 10 };

impl<'a> Outline<'a> {
    fn read(raw: &'a [u8]) -> Result<Self, ObjectError> {
        let mut outline = Self {
            fields: Fields::new(),
            metadata: Fields::new(),
            status: Fields::new(),
            holds_conditions: true,
            shape: Shape { values: 1, bytes: raw.len(), ..Shape::default() },
        };
        let mut status = None;
        each_field(raw, |name, value| {
            match &*name {
                "metadata" => {}
                "status" => status = Some(value),
                _ => outline.shape.add(value, 1),
            }
            if matches!(&*name, "apiVersion" | "kind" | "metadata") {
                outline.fields.insert(name, value);
            }
        })?;
        if let Some(metadata) = outline.fields.get("metadata").copied() {
            each_field(metadata.get().as_bytes(), |name, value| {
                if name != "managedFields" {
                    outline.shape.add(value, 2);
                }
                if METADATA.contains(&&*name) {
                    outline.metadata.insert(name, value);
                }
            })?;
        }
        if let Some(status) = status {
            outline.shape.add(status, 1);
            let mut room = SMALL.values;
            // A status that is no object is nothing that anybody reads.
            let _ = each_field(status.get().as_bytes(), |name, value| {
                let shape = Shape::of(value.get().as_bytes());
                if shape.depth <= SMALL.depth && shape.values <= room && shape.bytes <= SMALL.bytes {
                    room -= shape.values;
                    outline.status.insert(name, value);
                } else if name == "conditions" {
                    outline.holds_conditions = false;
                }
            });
        }
        Ok(outline)
    }
}

/// The fields of `metadata` (meta/v1, ObjectMeta).
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

fn each_field<'a>(json: &'a [u8], mut take: impl FnMut(Cow<'a, str>, &'a RawValue)) -> Result<(), serde_json::Error> {
    each::fields(json, |name, value| {
        take(name, value);
        true
    })
}

/// An object of which nothing but its identity is read.
#[derive(Deserialize)]
struct Identified<'a> {
    #[serde(borrow)]
    metadata: Identity<'a>,
}

impl Object {
    /// Which object the API server sent, and its version: what can be told without taking it in.
    pub fn identify(raw: &[u8]) -> Option<(ObjectKey, u64)> {
        let Identified { metadata } = serde_json::from_slice(raw).ok()?;
        Some((metadata.key(), metadata.version().ok()?))
    }

    /// Reads an object as the API server sent it. `type_meta` is put in where the server left it out, as it does in lists.
    pub fn parse(raw: &[u8], type_meta: Option<(&str, &str)>) -> Result<(ObjectKey, Self), ObjectError> {
        let whole = Shape::bound(raw);
        // Field managers' entries are not held and do not count; they nest deeper than the object itself.
        let outline = whole.excess().map(|_| Outline::read(raw)).transpose()?;
        let excess = outline.as_ref().and_then(|outline| outline.shape.excess());
        let (mut fields, outline) = match (outline, excess) {
            (Some(outline), Some(_)) => (outline.fields.clone(), Some(outline)),
            _ => (serde_json::from_slice::<RawMap<'_>>(raw)?.0, None),
        };
        let metadata = fields.get("metadata").map_or("{}", |raw| raw.get());
        let identity: Identity<'_> = serde_json::from_str(metadata)?;
        let (key, resource_version) = (identity.key(), identity.version()?);

        let RawMap(mut metadata) = match &outline {
            Some(outline) => RawMap(outline.metadata.clone()),
            None => serde_json::from_str(metadata)?,
        };
        let applied_by_us = applied_by_us(metadata.remove("managedFields"));
        let metadata = to_raw_value(&RawMap(metadata))?;
        fields.insert("metadata".into(), &metadata);
        let status = outline.as_ref().map(|outline| to_raw_value(&RawMap(outline.status.clone()))).transpose()?;
        if let Some(status) = &status {
            fields.insert("status".into(), status);
        }
        let added = match type_meta {
            Some((api_version, kind)) if !fields.contains_key("kind") => {
                Some((to_raw_value(api_version)?, to_raw_value(kind)?))
            }
            _ => None,
        };
        if let Some((api_version, kind)) = &added {
            fields.insert("apiVersion".into(), api_version);
            fields.insert("kind".into(), kind);
        }
        let body = serde_json::to_vec(&RawMap(fields))?;
        let shape = if excess.is_some() { Shape::of(&body) } else { whole };
        if excess.is_some() && shape.excess().is_some() {
            return Err(ObjectError::Metadata);
        }
        let object = Self {
            uid: identity.uid.into(),
            resource_version,
            deleting: identity.deletion_timestamp.is_some(),
            has_finalizers: identity.finalizers.is_some_and(|finalizers| !finalizers.is_empty()),
            applied_by_us,
            excess,
            holds_conditions: outline.is_none_or(|outline| outline.holds_conditions),
            weight: u32::try_from(shape.tree()).unwrap_or(u32::MAX),
            body: pack(&body),
        };
        Ok((key, object))
    }

    /// Drops everything but identity and version, for objects that no decision reads.
    pub fn forget_body(&mut self) {
        self.body = Box::default();
    }

    /// The same without its body.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { uid: self.uid.clone(), body: Box::default(), ..*self }
    }

    /// Whether this was the object's last version: it was being deleted, and nothing held it any more.
    pub fn is_gone(&self) -> bool {
        self.deleting && !self.has_finalizers
    }

    /// Whether the body is held. `value` of a forgotten body is an error.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// Size of the body in bytes, as it is held.
    pub fn size(&self) -> usize {
        self.body.len()
    }

    fn unpacked(&self) -> Result<Vec<u8>, ObjectError> {
        // What we packed ourselves can be unpacked; an empty body was forgotten.
        lz4_flex::block::decompress_size_prepended_with_dict(&self.body, WORDS).map_err(|_| ObjectError::Forgotten)
    }

    /// The whole object without `managedFields`. An error where it nests deeper than the parser allows (128), or was forgotten.
    pub fn value(&self) -> Result<Value, ObjectError> {
        Ok(serde_json::from_slice(&self.unpacked()?)?)
    }

    /// Labels and annotations, without parsing the rest into a tree. Empty where they cannot be read.
    pub fn marks(&self) -> Marks {
        #[derive(Deserialize)]
        struct Outer {
            metadata: Marks,
        }
        let body = self.unpacked().unwrap_or_default();
        serde_json::from_slice::<Outer>(&body).map(|outer| outer.metadata).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAW: &str = r#"{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","labels":{"l":"1"},
        "annotations":{"k\"q":"v"},"managedFields":[{"manager":"m"}]},"spec":{"x":1}}"#;

    #[test]
    fn keeps_all_but_managed_fields() {
        let (key, object) = Object::parse(RAW.as_bytes(), Some(("v1", "ConfigMap"))).unwrap();
        assert_eq!(key, ObjectKey::new("n", "a"));
        assert_eq!((&*object.uid, object.resource_version, object.deleting), ("u", 7, false));
        let value = object.value().unwrap();
        assert_eq!(value["kind"], "ConfigMap");
        assert_eq!(value["spec"]["x"], 1);
        assert!(value["metadata"].get("managedFields").is_none());
        assert_eq!(object.marks().annotations["k\"q"], "v");
    }

    #[test]
    fn a_body_is_held_smaller_than_it_is_and_comes_back_the_same() {
        let raw = RAW.replace("\"x\":1", &format!("\"x\":\"{}\"", "lorem ipsum ".repeat(200)));
        let (_, mut object) = Object::parse(raw.as_bytes(), None).unwrap();
        assert!(object.size() < raw.len() / 2, "{} of {}", object.size(), raw.len());
        assert_eq!(object.value().unwrap()["spec"]["x"], "lorem ipsum ".repeat(200));
        object.forget_body();
        assert!(matches!(object.value(), Err(ObjectError::Forgotten)));
        assert!(object.marks().labels.is_empty());
    }

    fn with(spec: &str, status: &str) -> Object {
        let metadata = r#"{"name":"a","resourceVersion":"1","finalizers":["theirs"],"annotations":{"a":"b"}}"#;
        let raw = format!(r#"{{"kind":"K","metadata":{metadata},"spec":{spec},"status":{status}}}"#);
        Object::parse(raw.as_bytes(), None).unwrap().1
    }

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn of_what_is_too_much_metadata_and_a_small_status_are_held() {
        let beads = format!("[{}]", vec![r#"{"":0}"#; 180_000].join(","));
        for (spec, excess) in [(nested(100_000), Excess::Depth), (nested(127), Excess::Depth), (beads, Excess::Values)]
        {
            let object = with(&spec, r#"{"phase":"Up","conditions":[]}"#);
            assert_eq!(object.excess, Some(excess));
            assert!(object.holds_conditions && object.has_finalizers);
            assert!(object.size() < 1000 && object.weight < 10_000);
            let value = object.value().unwrap();
            assert_eq!(value["metadata"]["finalizers"][0], "theirs");
            assert_eq!((&value["status"]["phase"], value.get("spec")), (&serde_json::json!("Up"), None));
            assert_eq!(object.marks().annotations["a"], "b");
        }
        let object = with(&nested(126), "{}");
        assert!(object.excess.is_none() && object.value().is_ok());
        let object = with("{}", &format!(r#"{{"phase":"Up","conditions":{}}}"#, nested(200)));
        assert!(object.excess.is_some() && !object.holds_conditions);
        assert_eq!(object.value().unwrap()["status"], serde_json::json!({"phase": "Up"}));
    }

    #[test]
    fn field_managers_do_not_count() {
        let deep = format!(r#"[{{"manager":"resource-broker","operation":"Apply","fieldsV1":{}}}]"#, nested(500));
        let raw =
            format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1","managedFields":{deep}}},"spec":{{"x":1}}}}"#);
        let (_, object) = Object::parse(raw.as_bytes(), None).unwrap();
        assert!(object.excess.is_none() && object.applied_by_us);
        assert_eq!(object.value().unwrap()["spec"]["x"], 1);
    }

    #[test]
    fn metadata_that_is_too_much_is_an_error() {
        let raw = format!(r#"{{"metadata":{{"name":"a","resourceVersion":"1","labels":{}}}}}"#, nested(300));
        assert!(matches!(Object::parse(raw.as_bytes(), None), Err(ObjectError::Metadata)));
    }

    #[test]
    fn a_version_that_is_no_number_is_an_error() {
        let raw = RAW.replace("\"7\"", "\"seven\"");
        assert!(matches!(Object::parse(raw.as_bytes(), None), Err(ObjectError::Version(_))));
    }
}
