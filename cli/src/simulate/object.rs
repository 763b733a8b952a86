//! `Object`: what a person wants to make, as it would come into its cluster.

use std::{path::Path, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use broker_api::ClusterName;
use broker_core::snapshot::OriginKey;
use runtime_effect::kind::Kind;
use serde_json::Value;

use super::document::{self, Document};

/// Namespace of one that names none.
const NAMESPACE: &str = "default";

/// What an API server fills in itself.
const FILLED_IN: [&str; 7] =
    ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink", "managedFields"];

/// An object that is not there yet.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    /// As it was written.
    pub(crate) document: Document,
    /// As it would be made.
    pub(crate) value: Value,
    /// Its kind.
    pub(crate) kind: Kind,
}

impl Object {
    /// Reads the one object of a file; in a namespace where it names none, or that it names.
    pub(crate) fn read(file: &Path, namespace: Option<&str>) -> anyhow::Result<Self> {
        let mut documents = document::read(file)?;
        let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
            bail!("{}: write exactly one object into it", file.display());
        };
        Self::of(document, namespace)
    }

    /// The object of a document.
    pub(crate) fn of(document: Document, namespace: Option<&str>) -> anyhow::Result<Self> {
        let kind = kind_of(&document.value);
        ensure!(
            !kind.version.is_empty() && !kind.kind.is_empty(),
            "{}: an object has an apiVersion and a kind",
            document.file
        );
        ensure!(!document.text("/metadata/name").is_empty(), "{}: give it a metadata.name", document.file);
        let written = document.text("/metadata/namespace");
        let namespace = match (written, namespace) {
            ("", namespace) => namespace.unwrap_or(NAMESPACE),
            (written, Some(other)) if written != other => {
                bail!("{}: it is in namespace {written}, not in {other} (--namespace)", document.file)
            }
            (written, _) => written,
        };
        let mut value = document.value.clone();
        value["metadata"]["namespace"] = namespace.into();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
        }
        let metadata = value["metadata"].as_object_mut().context("metadata is no object")?;
        for name in FILLED_IN {
            metadata.remove(name);
        }
        Ok(Self { document, value, kind })
    }

    /// Its key in a consumer.
    pub(crate) fn key(&self, consumer: &ClusterName) -> OriginKey {
        key(consumer, &self.kind, &self.value)
    }
}

/// The kind of an object; parts that it does not name are empty.
pub(crate) fn kind_of(object: &Value) -> Kind {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    Kind { group: group.to_owned(), version: version.to_owned(), kind: text("kind").to_owned() }
}

/// The key of an object in a consumer.
pub(crate) fn key(consumer: &ClusterName, kind: &Kind, object: &Value) -> OriginKey {
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default().into();
    OriginKey {
        cluster: consumer.clone(),
        gvk: Arc::new(kind.clone()),
        namespace: text("namespace"),
        name: text("name"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// An object of a text.
    pub(crate) fn of(text: &str, namespace: Option<&str>) -> anyhow::Result<Object> {
        Object::of(document::documents("a.yaml", text).unwrap().remove(0), namespace)
    }

    const TEXT: &str =
        "apiVersion: x.io/v1\nkind: A\nmetadata: {name: a, uid: u, labels: {b: c}}\nspec: {}\nstatus: {}\n";

    #[test]
    fn it_is_new_and_in_its_namespace() {
        let object = of(TEXT, Some("team")).unwrap();
        assert_eq!(
            object.value["metadata"],
            serde_json::json!({ "name": "a", "namespace": "team", "labels": { "b": "c" } })
        );
        assert!(object.value["status"].is_null());
        assert_eq!(object.key(&ClusterName::consumer("homer")).to_string(), "consumer#homer A team/a");
        assert_eq!((&*object.kind.group, &*object.kind.version), ("x.io", "v1"));
        assert_eq!(of(TEXT, None).unwrap().value["metadata"]["namespace"], "default");
        let named = TEXT.replace("{name: a", "{namespace: own, name: a");
        assert_eq!(of(&named, None).unwrap().value["metadata"]["namespace"], "own");
        assert!(of(&named, Some("team")).unwrap_err().to_string().contains("in namespace own, not in team"));
    }

    #[test]
    fn what_is_no_object_is_told() {
        for text in ["kind: A", "apiVersion: v1\nkind: A\n", "[]", "apiVersion: v1\nmetadata: {name: a}\n"] {
            assert!(of(text, None).is_err(), "{text}");
        }
    }
}
