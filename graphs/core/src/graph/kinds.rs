//! `Kinds`: what a cluster serves, as far as it is known.

use std::sync::Arc;

use broker_api::Gvk;
use serde_json::Value;

/// A kind that is served.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedKind {
    /// Its group (empty for the core group), version and name.
    pub name: Gvk,
    /// Name of its collection, such as `deployments`.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// OpenAPI v3 schema of an object, its references resolved.
    pub schema: Value,
}

/// What is known of a kind.
#[derive(Debug, Clone)]
pub enum Found {
    /// It is served.
    Served(Arc<ServedKind>),
    /// It is not.
    NotServed,
    /// Nobody has looked yet.
    Unknown,
}

/// What a cluster serves.
pub trait Kinds {
    /// What is known of this kind.
    fn find(&self, name: &Gvk) -> Found;
}

/// The group and version of an `apiVersion`; `None` for one of more than two parts.
pub(super) fn group_version(api_version: &str) -> Option<(&str, &str)> {
    match api_version.split_once('/') {
        None => Some(("", api_version)),
        Some((_, version)) if version.contains('/') => None,
        Some(parts) => Some(parts),
    }
}

/// An `apiVersion` of a group and version.
pub(crate) fn api_version(name: &Gvk) -> String {
    if name.group.is_empty() { name.version.clone() } else { format!("{}/{}", name.group, name.version) }
}
