//! One object as the index holds it: identity parsed, the rest as raw JSON without `managedFields`.
//!
//! A parsed tree of a 3 KB object takes ten times its size; the raw bytes take 3 KB and are parsed
//! only when a decision looks at them.

use std::{borrow::Cow, collections::BTreeMap, fmt, sync::Arc};

use broker_api::keys;
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

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
    /// Not JSON, or not of an object's shape.
    #[error("not an object: {0}")]
    Json(#[from] serde_json::Error),
    /// `metadata.resourceVersion` is not a number. Kubernetes guarantees that it is (KEP-5504).
    #[error("resourceVersion {0:?} is not a number")]
    Version(String),
}

/// An object at one resource version.
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
    let managers: Vec<Manager<'_>> =
        managed_fields.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    managers.iter().any(|entry| entry.manager == keys::MANAGER && entry.operation == "Apply")
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

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// Borrows keys where they hold no escapes.
#[derive(Deserialize, Serialize)]
#[serde(transparent)]
struct RawMap<'a>(#[serde(borrow)] Fields<'a>);

impl Object {
    /// Reads an object as the API server sent it. `type_meta` is put in where the server left it out, as it does in lists.
    pub fn parse(raw: &[u8], type_meta: Option<(&str, &str)>) -> Result<(ObjectKey, Self), ObjectError> {
        let RawMap(mut fields) = serde_json::from_slice(raw)?;
        let metadata = fields.get("metadata").map_or("{}", |raw| raw.get());
        let identity: Identity<'_> = serde_json::from_str(metadata)?;
        let resource_version = identity
            .resource_version
            .parse()
            .map_err(|_| ObjectError::Version(identity.resource_version.to_string()))?;
        let key = ObjectKey::new(identity.namespace.as_ref(), identity.name.as_ref());

        let RawMap(mut metadata) = serde_json::from_str(metadata)?;
        let applied_by_us = applied_by_us(metadata.remove("managedFields"));
        let metadata = serde_json::value::to_raw_value(&RawMap(metadata))?;
        fields.insert("metadata".into(), &metadata);
        let added = match type_meta {
            Some((api_version, kind)) if !fields.contains_key("kind") => {
                Some((serde_json::value::to_raw_value(api_version)?, serde_json::value::to_raw_value(kind)?))
            }
            _ => None,
        };
        if let Some((api_version, kind)) = &added {
            fields.insert("apiVersion".into(), api_version);
            fields.insert("kind".into(), kind);
        }
        let object = Self {
            uid: identity.uid.into(),
            resource_version,
            deleting: identity.deletion_timestamp.is_some(),
            has_finalizers: identity.finalizers.is_some_and(|finalizers| !finalizers.is_empty()),
            applied_by_us,
            body: serde_json::to_vec(&RawMap(fields))?.into_boxed_slice(),
        };
        Ok((key, object))
    }

    /// Drops everything but identity and version, for objects that no decision reads.
    pub fn forget_body(&mut self) {
        self.body = Box::default();
    }

    /// Whether this was the object's last version: it was being deleted, and nothing held it any more.
    pub fn is_gone(&self) -> bool {
        self.deleting && !self.has_finalizers
    }

    /// Whether the body is held. `value` of a forgotten body is an error.
    pub fn has_body(&self) -> bool {
        !self.body.is_empty()
    }

    /// Size of the body in bytes.
    pub fn size(&self) -> usize {
        self.body.len()
    }

    /// The whole object without `managedFields`. An error where it nests deeper than the parser allows (128), or was forgotten.
    pub fn value(&self) -> Result<Value, ObjectError> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    /// Labels and annotations, without parsing the rest into a tree. Empty where they cannot be read.
    pub fn marks(&self) -> Marks {
        #[derive(Deserialize)]
        struct Outer {
            metadata: Marks,
        }
        serde_json::from_slice::<Outer>(&self.body).map(|outer| outer.metadata).unwrap_or_default()
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
    fn deep_nesting_is_an_error_not_a_crash() {
        let raw = format!(
            r#"{{"metadata":{{"name":"a","resourceVersion":"1"}},"spec":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let parsed = Object::parse(raw.as_bytes(), None);
        if let Ok((_, object)) = parsed {
            assert!(object.value().is_err());
        }
    }

    #[test]
    fn a_version_that_is_no_number_is_an_error() {
        let raw = RAW.replace("\"7\"", "\"seven\"");
        assert!(matches!(Object::parse(raw.as_bytes(), None), Err(ObjectError::Version(_))));
    }
}
