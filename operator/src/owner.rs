//! `Owner`: the Broker that objects are made for, and how its objects are told from others.

use broker_api::broker::Broker;
use kube::{Resource, ResourceExt, api::ObjectMeta};
use serde_json::{Value, json};

/// Label that names the Broker's uid.
pub const UID_LABEL: &str = "operator.broker.platform-mesh.io/broker-uid";
/// Label of everything that this operator makes.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Label that names the Broker.
pub const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";

/// A Broker's identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
}

impl Owner {
    /// Of an object that came from an API server. None: it lacks what every object there has.
    pub fn of(object: &impl ResourceExt) -> Option<Self> {
        Some(Self { name: object.name_any(), namespace: object.namespace()?, uid: object.uid()? })
    }

    /// Selector of all that carries its label.
    pub fn selector(&self) -> String {
        format!("{UID_LABEL}={}", self.uid)
    }

    /// For objects in its namespace. Without blockOwnerDeletion, which would need a permission on Brokers' finalizers
    /// and only matters to who deletes in the foreground.
    pub fn reference(&self) -> Value {
        json!({
            "apiVersion": Broker::api_version(&()),
            "kind": Broker::kind(&()),
            "name": self.name,
            "uid": self.uid,
            "controller": true,
        })
    }

    /// Whether an object is controlled by a Broker of this name that is no more: the garbage collector is about to delete
    /// it.
    pub fn is_heir_of(&self, metadata: &ObjectMeta) -> bool {
        let mut references = metadata.owner_references.iter().flatten();
        references.any(|reference| {
            reference.controller == Some(true)
                && reference.kind == Broker::kind(&())
                && reference.name == self.name
                && reference.uid != self.uid
                && metadata.namespace.as_ref().is_none_or(|namespace| *namespace == self.namespace)
        })
    }

    /// Whether an object is this Broker's: it is controlled by it or, where nobody controls it, carries its label.
    pub fn owns(&self, metadata: &ObjectMeta) -> bool {
        let mut references = metadata.owner_references.iter().flatten();
        match references.find(|reference| reference.controller == Some(true)) {
            Some(controller) => controller.uid == self.uid,
            None => metadata.labels.as_ref().and_then(|labels| labels.get(UID_LABEL)) == Some(&self.uid),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    pub(crate) fn owner() -> Owner {
        Owner { name: "b".into(), namespace: "n".into(), uid: "u-1".into() }
    }

    fn metadata(value: Value) -> ObjectMeta {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_controller_goes_before_a_label() {
        let reference =
            |uid: &str| json!([{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": uid, "controller": true}]);
        let ours = json!({UID_LABEL: "u-1"});
        for (value, expected) in [
            (json!({}), false),
            (json!({"labels": ours}), true),
            (json!({"labels": {UID_LABEL: "u-2"}}), false),
            (json!({"ownerReferences": reference("u-1")}), true),
            (json!({"ownerReferences": reference("u-2"), "labels": ours}), false),
        ] {
            assert_eq!(owner().owns(&metadata(value.clone())), expected, "{value}");
        }
    }
}
