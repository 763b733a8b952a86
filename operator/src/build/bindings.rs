//! What the pods may do: bindings to ClusterRoles that the operator may bind, but does not hold.

use std::collections::BTreeSet;

use manifests::roles;
use serde_json::{Value, json};

use super::metadata::labelled;
use crate::{
    desired::{Desired, Kind},
    invocation::Invocation,
    owner::Owner,
};

/// Name of a binding outside the Broker's own namespace. Namespaces and names hold no colon, so no two are alike.
fn name(owner: &Owner, what: &str) -> String {
    format!("resource-broker:{}:{}:{what}", owner.namespace, owner.name)
}

/// Namespace and name of the Broker that a binding of [`name`] is for.
pub fn broker_of(binding: &str) -> Option<(&str, &str)> {
    let mut parts = binding.strip_prefix("resource-broker:")?.split(':');
    Some((parts.next()?, parts.next()?))
}

/// For pods that run as `account`, and those that still run as another one: until they are replaced, they work.
pub(super) fn build(owner: &Owner, account: &str, running: &BTreeSet<String>, invocation: &Invocation) -> Vec<Desired> {
    let accounts = std::iter::once(account).chain(running.iter().map(String::as_str).filter(|name| *name != account));
    let subject = |name| json!({"kind": "ServiceAccount", "name": name, "namespace": owner.namespace});
    let subjects: Vec<Value> = accounts.map(subject).collect();
    let bind = |kind: Kind, name: &str, namespace: Option<&str>, role: &str| {
        let api = "rbac.authorization.k8s.io";
        let object: Value = json!({
            "apiVersion": format!("{api}/v1"),
            "kind": format!("{kind:?}"),
            "metadata": labelled(owner, name, namespace),
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        });
        Desired::new(kind, object)
    };
    let everywhere = |what: &str, role: &str| bind(Kind::ClusterRoleBinding, &name(owner, what), None, role);

    let mut bindings = vec![bind(Kind::RoleBinding, &owner.name, Some(&owner.namespace), roles::INSTANCE)];
    for namespace in invocation.secrets_namespaces() {
        let name = name(owner, "cluster-secrets");
        bindings.push(bind(Kind::RoleBinding, &name, Some(&namespace), roles::CLUSTER_SECRETS));
    }
    bindings.push(everywhere("coordination", roles::COORDINATION));
    if invocation.options.compute_kubeconfig.is_none() {
        // These roles are only there where the cluster's owner wants stages of migrations to run. Until then the
        // bindings grant nothing.
        let scope = invocation.options.stage_scope(&owner.namespace);
        for (what, role) in [("compute", roles::COMPUTE), ("compute-stages", roles::COMPUTE_STAGES)] {
            if scope.is_empty() {
                bindings.push(everywhere(what, role));
            }
            let within = |namespace: &String| bind(Kind::RoleBinding, &name(owner, what), Some(namespace), role);
            bindings.extend(scope.iter().map(within));
        }
    }
    bindings
}
