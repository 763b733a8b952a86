//! What the pods may do: bindings to ClusterRoles that the operator may bind, but does not hold.

use std::collections::BTreeSet;

use manifests::roles;
use resource_broker::options::Disabled;
use serde_json::{Value, json};

use super::metadata::labelled;
use crate::{
    desired::{Desired, Key, OwnedKind},
    graphs::Graphs,
    invocation::Invocation,
    owner::Owner,
    program::Program,
};

/// Bindings of graphs controllers, and their roles.
const GRAPHS: [(&str, &str); 6] = [
    ("graphs-lease", roles::GRAPHS_LEASE),
    ("graphs", roles::GRAPHS),
    ("graphs-kinds", roles::GRAPHS_KINDS),
    ("graphs-crd-deletion", roles::GRAPHS_CRD_DELETION),
    ("graphs-rollouts", roles::GRAPHS_ROLLOUTS),
    ("graphs-spoke-secrets", roles::GRAPHS_SPOKE_SECRETS),
];

/// Name of a binding outside the Broker's own namespace. Namespaces and names hold no colon, so no two are alike.
fn name(owner: &Owner, what: &str) -> String {
    format!("resource-broker:{}:{}:{what}", owner.namespace, owner.name)
}

/// Namespace and name of the Broker that a binding of [`name`] is for.
pub fn broker_of(binding: &str) -> Option<(&str, &str)> {
    let mut parts = binding.strip_prefix("resource-broker:")?.split(':');
    Some((parts.next()?, parts.next()?))
}

/// What one account, or some, may do.
struct Binder<'a> {
    owner: &'a Owner,
    program: Program,
    subjects: Vec<Value>,
}

impl Binder<'_> {
    fn bind(&self, kind: OwnedKind, name: &str, namespace: Option<&str>, role: &str) -> Desired {
        let api = "rbac.authorization.k8s.io";
        let object: Value = json!({
            "apiVersion": format!("{api}/v1"),
            "kind": format!("{kind:?}"),
            "metadata": labelled(self.owner, self.program, name, namespace),
            "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": role},
            "subjects": self.subjects,
        });
        Desired::new(kind, object)
    }

    fn everywhere(&self, what: &str, role: &str) -> Desired {
        self.bind(OwnedKind::ClusterRoleBinding, &name(self.owner, what), None, role)
    }

    fn within(&self, what: &str, namespace: &str, role: &str) -> Desired {
        self.bind(OwnedKind::RoleBinding, &name(self.owner, what), Some(namespace), role)
    }
}

fn subject(owner: &Owner, account: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": account, "namespace": owner.namespace})
}

/// Of the graphs controller, whose account has no other name and runs nothing else.
pub(super) fn build_graphs(owner: &Owner, graphs: &Graphs) -> Vec<Desired> {
    let program = Program::Graphs;
    let binder = Binder { owner, program, subjects: vec![subject(owner, &program.name(owner))] };
    let bind = |(what, role): (&str, &str)| match role {
        roles::GRAPHS_LEASE => Some(binder.within(what, &graphs.lease_namespace, role)),
        roles::GRAPHS_SPOKE_SECRETS => {
            graphs.secrets_namespace.as_deref().map(|namespace| binder.within(what, namespace, role))
        }
        roles::GRAPHS_CRD_DELETION if !graphs.deletes_crds => None,
        roles::GRAPHS_ROLLOUTS if !graphs.distributes => None,
        role => Some(binder.everywhere(what, role)),
    };
    GRAPHS.into_iter().filter_map(bind).collect()
}

/// The program that an account or a binding of a Broker is for.
pub fn program_of(owner: &Owner, key: &Key) -> Program {
    let is_graphs = match key.kind {
        OwnedKind::RoleBinding | OwnedKind::ClusterRoleBinding => {
            key.name.rsplit_once(':').is_some_and(|(_, what)| GRAPHS.iter().any(|(name, _)| *name == what))
        }
        _ => key.name == Program::Graphs.name(owner),
    };
    if is_graphs { Program::Graphs } else { Program::Broker }
}

/// For pods that run as `account`, and those that still run as another one: until they are replaced, they work.
pub(super) fn build(owner: &Owner, account: &str, running: &BTreeSet<String>, invocation: &Invocation) -> Vec<Desired> {
    let accounts = std::iter::once(account).chain(running.iter().map(String::as_str).filter(|name| *name != account));
    let subjects = accounts.map(|account| subject(owner, account)).collect();
    let binder = Binder { owner, program: Program::Broker, subjects };

    let mut bindings = vec![binder.bind(OwnedKind::RoleBinding, &owner.name, Some(&owner.namespace), roles::INSTANCE)];
    for namespace in invocation.secrets_namespaces() {
        bindings.push(binder.within("cluster-secrets", &namespace, roles::CLUSTER_SECRETS));
    }
    bindings.push(binder.everywhere("coordination", roles::COORDINATION));
    if let Disabled::On(address) = invocation.options.dashboard_bind_address {
        bindings.push(binder.everywhere("dashboard-graphs", roles::DASHBOARD_GRAPHS));
        // On a loopback address nobody is asked who he is.
        if !address.ip().is_loopback() {
            bindings.push(binder.everywhere("dashboard-reviews", roles::DASHBOARD_REVIEWS));
        }
    }
    if invocation.options.compute_kubeconfig.is_none() {
        // These roles are only there where the cluster's owner wants stages of migrations to run. Until then the
        // bindings grant nothing.
        let scope = invocation.options.stage_scope(&owner.namespace);
        for (what, role) in [("compute", roles::COMPUTE), ("compute-stages", roles::COMPUTE_STAGES)] {
            if scope.is_empty() {
                bindings.push(binder.everywhere(what, role));
            }
            bindings.extend(scope.iter().map(|namespace| binder.within(what, namespace, role)));
        }
    }
    bindings
}
