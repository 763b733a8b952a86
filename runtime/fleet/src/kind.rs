//! `KindInfo`: what an API server tells of one kind, and the paths of its objects.

use kube::core::GroupVersionKind;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{object::ObjectKey, query::segment};

/// Whether a group may be one of Kubernetes' own: such kinds need no CRD, though some of these groups have CRDs, too.
pub fn may_be_built_in(group: &str) -> bool {
    !group.contains('.') || group.ends_with(".k8s.io")
}

/// One kind as one API server serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KindInfo {
    /// Group, version and kind.
    pub gvk: GroupVersionKind,
    /// Plural resource name.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether `status` is a subresource.
    pub has_status: bool,
}

impl KindInfo {
    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> String {
        if self.gvk.group.is_empty() {
            self.gvk.version.clone()
        } else {
            format!("{}/{}", self.gvk.group, self.gvk.version)
        }
    }

    /// Path of all its objects, in one namespace or everywhere.
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = group_version_path(&self.gvk.group, &self.gvk.version);
        match namespace {
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{}/{}", segment(namespace), self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }

    /// Path of one object.
    pub fn object_path(&self, key: &ObjectKey) -> String {
        let namespace = (!key.namespace.is_empty()).then_some(&*key.namespace);
        format!("{}/{}", self.collection_path(namespace), segment(&key.name))
    }
}

/// `/api/v1`, or `/apis/group/version`.
pub fn group_version_path(group: &str, version: &str) -> String {
    if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") }
}

/// What is known of a kind in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum KindState {
    /// Not asked yet, or the cluster cannot be reached.
    #[default]
    Unknown,
    /// The API server does not serve it (yet).
    Missing,
    /// It is served.
    Found(std::sync::Arc<KindInfo>),
}

impl KindState {
    /// The kind, if it is served.
    pub fn found(&self) -> Option<&std::sync::Arc<KindInfo>> {
        match self {
            Self::Found(info) => Some(info),
            Self::Unknown | Self::Missing => None,
        }
    }
}

/// SHA-256 of a schema.
pub type SchemaDigest = [u8; 32];

/// What objects of a kind may look like, as an API server publishes it in OpenAPI v3, with references resolved and without
/// descriptions.
#[derive(Debug, Clone, PartialEq)]
pub struct KindSchema {
    json: Value,
    digest: SchemaDigest,
}

impl KindSchema {
    /// A schema, and its digest.
    pub fn new(json: Value) -> Self {
        // The fields of an object have one order: what is equal is written equally.
        let digest = Sha256::digest(json.to_string()).into();
        Self { json, digest }
    }

    /// The schema itself.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Tells schemas apart, whichever cluster and kind they are of.
    pub fn digest(&self) -> &SchemaDigest {
        &self.digest
    }
}

/// What is told of a kind's schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SchemaNews<'a> {
    /// Nothing: it is as it was.
    Same,
    /// None is published: anything may fit.
    Unpublished,
    /// Nobody has asked for it.
    Unasked,
    /// It could not be read, and is asked for again: nobody can tell what fits.
    Unread,
    /// It is this now.
    New(&'a KindSchema),
}

/// Kinds that every API server serves: no need to ask.
pub fn well_known(gvk: &GroupVersionKind) -> Option<KindInfo> {
    let (plural, namespaced) = match (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str()) {
        ("", "v1", "Secret") => ("secrets", true),
        ("", "v1", "ConfigMap") => ("configmaps", true),
        ("", "v1", "Namespace") => ("namespaces", false),
        ("apiextensions.k8s.io", "v1", "CustomResourceDefinition") => ("customresourcedefinitions", false),
        _ => return None,
    };
    Some(KindInfo { gvk: gvk.clone(), plural: plural.into(), namespaced, has_status: gvk.kind == "Namespace" })
}
