//! `KindInfo`: what an API server tells of one kind, and the paths of its objects.

use kube::core::GroupVersionKind;

use crate::object::ObjectKey;

/// One kind as one API server serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Some(namespace) if self.namespaced => format!("{root}/namespaces/{namespace}/{}", self.plural),
            _ => format!("{root}/{}", self.plural),
        }
    }

    /// Path of one object.
    pub fn object_path(&self, key: &ObjectKey) -> String {
        let namespace = (!key.namespace.is_empty()).then_some(&*key.namespace);
        format!("{}/{}", self.collection_path(namespace), key.name)
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
