//! The rights that `join` gives: those of `config/rbac` and no verb more. That it is not one less, `doctor` says: see
//! [`crate::look`].

use std::{collections::BTreeSet, fs, path::Path};

use e2e::{Kind, Place};
use kube::api::DynamicObject;
use manifests::permissions::SYSTEM_NAMESPACE;

use crate::alone;

/// `ClusterRole`.
pub(crate) const CLUSTER_ROLE: Kind = rbac("ClusterRole", "clusterroles");
pub(crate) const CLUSTER_ROLE_BINDING: Kind = rbac("ClusterRoleBinding", "clusterrolebindings");
pub(crate) const ROLE_BINDING: Kind = rbac("RoleBinding", "rolebindings");

/// The broker's ServiceAccount in a cluster that has joined.
const ACCOUNT: &str = "resource-broker";

const fn rbac(kind: &'static str, plural: &'static str) -> Kind {
    Kind { group: "rbac.authorization.k8s.io", version: "v1", kind, plural }
}

/// Names of what binds the broker's ServiceAccount to anything.
async fn bindings(place: &Place) -> BTreeSet<String> {
    let mut bindings = place.list(&CLUSTER_ROLE_BINDING, "").await;
    bindings.extend(place.list(&ROLE_BINDING, "").await);
    bindings.retain(|binding| {
        let mut subjects = binding.at("/subjects").as_array().into_iter().flatten();
        subjects.any(|subject| subject["name"] == ACCOUNT && subject["namespace"] == SYSTEM_NAMESPACE)
    });
    bindings.iter().map(|binding| binding.name().to_owned()).collect()
}

fn named(object: &DynamicObject) -> &str {
    object.metadata.name.as_deref().unwrap()
}

#[test]
fn a_cluster_that_joins_grants_what_its_file_says_and_no_more() {
    alone(async |at| {
        for (place, file) in [(&at.homer, "consumer.yaml"), (&at.theseus, "provider.yaml")] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/rbac").join(file);
            let listed = harness::parse_objects(&fs::read_to_string(path).unwrap()).unwrap();
            let of_kind = |kind: Kind| {
                listed.iter().filter(move |object| object.types.as_ref().is_some_and(|types| types.kind == kind.kind))
            };
            for role in of_kind(CLUSTER_ROLE) {
                let there = place.get(&CLUSTER_ROLE, "", named(role)).await;
                assert_eq!(there.at("/rules"), &role.data["rules"], "{} in {}", named(role), place.name());
            }
            let wanted: BTreeSet<String> =
                of_kind(CLUSTER_ROLE_BINDING).map(|binding| named(binding).to_owned()).collect();
            assert_eq!(bindings(place).await, wanted, "in {}", place.name());
        }
    });
}
