//! `Desired`: an object that a Broker shall have, and the kinds of such objects.

use std::fmt;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Service, ServiceAccount},
    networking::v1::NetworkPolicy,
    policy::v1::PodDisruptionBudget,
    rbac::v1::{ClusterRoleBinding, RoleBinding},
};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{owner::Owner, program::Program};

/// Annotation with the hash of the object as it was last applied.
pub const APPLIED: &str = "operator.broker.platform-mesh.io/applied";

/// Kinds of objects that a Broker has. In the order in which they are applied: pods need their account and permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnedKind {
    /// Whom the pods are to the API server.
    ServiceAccount,
    /// What they may do in a namespace.
    RoleBinding,
    /// What they may do everywhere.
    ClusterRoleBinding,
    /// What they may reach.
    NetworkPolicy,
    /// The broker.
    Deployment,
    /// How many may be evicted at once.
    PodDisruptionBudget,
    /// Where the metrics are.
    Service,
    /// Who scrapes them. A kind of prometheus-operator, which a cluster may not have.
    ServiceMonitor,
}

impl OwnedKind {
    /// All, in the order in which they are applied.
    pub const ALL: [Self; 8] = [
        Self::ServiceAccount,
        Self::RoleBinding,
        Self::ClusterRoleBinding,
        Self::NetworkPolicy,
        Self::Deployment,
        Self::PodDisruptionBudget,
        Self::Service,
        Self::ServiceMonitor,
    ];

    /// Group, version and plural name.
    pub fn resource(self) -> ApiResource {
        match self {
            Self::ServiceAccount => ApiResource::erase::<ServiceAccount>(&()),
            Self::RoleBinding => ApiResource::erase::<RoleBinding>(&()),
            Self::ClusterRoleBinding => ApiResource::erase::<ClusterRoleBinding>(&()),
            Self::NetworkPolicy => ApiResource::erase::<NetworkPolicy>(&()),
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::PodDisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::ServiceMonitor => ApiResource {
                group: "monitoring.coreos.com".to_owned(),
                version: "v1".to_owned(),
                api_version: "monitoring.coreos.com/v1".to_owned(),
                kind: "ServiceMonitor".to_owned(),
                plural: "servicemonitors".to_owned(),
            },
        }
    }

    /// Objects of this kind in one namespace, or in all.
    pub fn api(self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) if self != Self::ClusterRoleBinding => {
                Api::namespaced_with(client.clone(), namespace, &self.resource())
            }
            _ => Api::all_with(client.clone(), &self.resource()),
        }
    }
}

/// Which object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Kind.
    pub kind: OwnedKind,
    /// None where the kind is not in namespaces.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl Key {
    /// Of an object that came from the API server.
    pub fn of(kind: OwnedKind, object: &DynamicObject) -> Self {
        let metadata = &object.metadata;
        Self { kind, namespace: metadata.namespace.clone(), name: metadata.name.clone().unwrap_or_default() }
    }

    /// Objects of its kind in its namespace.
    pub fn api(&self, client: &Client) -> Api<DynamicObject> {
        self.kind.api(client, self.namespace.as_deref())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{:?} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{:?} {}", self.kind, self.name),
        }
    }
}

/// An object as it shall be, marked with its own hash.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// Which.
    pub key: Key,
    /// Body for a server-side apply.
    pub object: Value,
    /// Of the body without the mark.
    pub hash: String,
}

impl Desired {
    /// Marks a body.
    pub fn new(kind: OwnedKind, mut object: Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &object["metadata"];
        let key =
            Key { kind, namespace: text(&metadata["namespace"]), name: text(&metadata["name"]).unwrap_or_default() };
        let hash = hash(&object);
        object["metadata"]["annotations"][APPLIED] = hash.clone().into();
        Self { key, object, hash }
    }

    /// Whether it is the Deployment of this program.
    pub fn is_deployment_of(&self, program: Program, owner: &Owner) -> bool {
        self.key.kind == OwnedKind::Deployment && self.key.name == program.name(owner)
    }
}

/// Hash of a JSON value. Its maps are sorted, so equal values have equal hashes.
pub fn hash(value: &Value) -> String {
    let mut text = hex::encode(Sha256::digest(value.to_string()));
    text.truncate(16);
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_marked_with_its_hash() {
        let body = json!({"kind": "Service", "metadata": {"name": "a", "namespace": "n", "annotations": {"x": "y"}}});
        let desired = Desired::new(OwnedKind::Service, body.clone());
        assert_eq!(desired.hash, hash(&body));
        assert_eq!(desired.object["metadata"]["annotations"], json!({"x": "y", APPLIED: desired.hash}));
        assert_eq!(desired.key.to_string(), "Service n/a");
        let other = Desired::new(OwnedKind::Service, json!({"metadata": {"name": "a", "namespace": "m"}}));
        assert_ne!(other.hash, desired.hash);
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        assert_eq!(hash(&json!({"a": 1, "b": 2})), hash(&json!({"b": 2, "a": 1})));
    }
}
