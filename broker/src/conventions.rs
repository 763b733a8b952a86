//! What this program calls itself, for the runtime.

use broker_api::{Role, keys};
use runtime_fleet::conventions::Conventions;

/// See [`Conventions`].
pub static CONVENTIONS: Conventions = Conventions {
    program: "the broker",
    manager: keys::MANAGER,
    words: WORDS,
    prefix: keys::PREFIX,
    role: keys::ROLE,
    roles: &[Role::Consumer, Role::Provider],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

/// What origins, copies and related copies have in common. It may change from version to version.
const WORDS: &[u8] = br#""apiVersion":"v1alpha1","kind":"metadata":{"annotations":{"broker.platform-mesh.io/assignment":"v1.k1
"broker.platform-mesh.io/consumer-cluster":"","broker.platform-mesh.io/consumer-name":"","broker.platform-mesh.io/consumer-namespace":"
default","broker.platform-mesh.io/consumer-uid":"","broker.platform-mesh.io/origin":"v1.k1","broker.platform-mesh.io/provider-cluster":"
"},"creationTimestamp":"2026-","finalizers":["broker.platform-mesh.io/generic-finalizer"],"generation":1,"labels":{
"broker.platform-mesh.io/consumer":"","broker.platform-mesh.io/managed-by":"resource-broker"},"name":"","namespace":"default",
"ownerReferences":[{"resourceVersion":"","uid":""},"spec":{"status":{"conditions":[{"lastTransitionTime":"2026-","message":"","observedGeneration":1,
"reason":"Ready","status":"True","type":"Ready"},{"lastTransitionTime":"2026-","message":"served by provider ","reason":"Placed","status":"True","type":"Brokered"}],
"relatedResources":{"gvk":{"group":"core","kind":"Secret","version":"v1"},"name":"","namespace":""}},"status":"Available"}}"#;

/// An object of this program, for tests.
#[cfg(test)]
pub(crate) fn object(value: &serde_json::Value) -> (runtime_fleet::object::ObjectKey, runtime_fleet::object::Object) {
    let read = runtime_fleet::object::Object::parse(value.to_string().as_bytes(), None, &CONVENTIONS);
    read.unwrap_or_else(|error| panic!("{error}: {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_made_bears_the_label_of_the_contract() {
        assert_eq!(CONVENTIONS.managed_by(), keys::MANAGED_BY);
    }

    #[test]
    fn cluster_secrets_are_selected_by_the_label_of_the_contract() {
        assert_eq!(CONVENTIONS.secrets(), "broker.platform-mesh.io/role in (consumer,provider)");
    }
}
