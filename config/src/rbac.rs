//! The files of `config/rbac/`, and `config/operator/role.yaml`.

use std::collections::BTreeMap;

use crate::{
    document::{account, aggregate, aggregate_binding, binding, comment, namespace, role, token, viewer},
    permissions::{
        BROKER_ACCOUNT, CLUSTERS_NAMESPACE, GRAPHS_ACCOUNT, Grant, OPERATOR_ACCOUNT, SYSTEM_NAMESPACE, broker,
        graphs::{DISTRIBUTION, GRAPHS, GRAPHS_KINDS, SPOKE},
        operator::OPERATOR,
    },
};

/// First line of every file that is generated here.
pub const HEADER: &str = "# Generated from config/src/permissions with `make manifests`.\n";

const CONSUMER: &str = "\
What the broker may do in a consumer cluster. Copy this file, edit what is marked EDIT, and apply it there:
  kubectl apply -f config/rbac/consumer.yaml
The broker runs elsewhere and comes with the token of its ServiceAccount: `kubectl broker join` applies all of this and \
brings it that token; docs/operations.md has it by kubectl alone.";

const PROVIDER: &str = "\
What the broker may do in a provider cluster. Copy this file, edit what is marked EDIT, and apply it there, after the \
CRD of AcceptAPI:
  kubectl apply -f config/rbac/provider.yaml
The broker runs elsewhere and comes with the token of its ServiceAccount: `kubectl broker join` applies all of this and \
brings it that token; docs/operations.md has it by kubectl alone.";

const PROVIDER_NAMESPACES: &str = "\
Optional, in a provider cluster, in addition to provider.yaml: lets the broker remove a namespace that it made once \
nothing is left in it. To know that, it has to list every kind there is, so this is a wide permission to read, and the \
only wildcard in this folder. Without it such namespaces stay; the broker asks, and takes no for an answer.";

const COMPUTE: &str = "\
What the broker may do in the compute cluster, where stages of migrations run: the cluster of --compute-kubeconfig. \
Only needed where a MigrationConfiguration has stages. Copy this file, edit what is marked EDIT, and apply it there:
  kubectl apply -f config/rbac/compute.yaml
Without that flag stages run in the coordination cluster. Where the operator is, apply compute-roles.yaml there, not \
this file: the operator binds those roles to its brokers by itself, and the ServiceAccount below would be in the way of \
a Broker of its name.";

const COMPUTE_ROLES: &str = "\
The same roles as in compute.yaml, and nothing else: for stages of migrations in the coordination cluster, where the \
operator binds them to its brokers. Copy this file, edit what is marked EDIT, and apply it there:
  kubectl apply -f config/rbac/compute-roles.yaml
Until then those bindings grant nothing. Give stages a cluster of their own where you can: RBAC cannot confine the \
broker to Secrets with a label, so in the coordination cluster these rules reach the signing key and the kubeconfigs of \
all clusters. Or name the namespaces where migrations run (--migration-namespace in the Broker's extraArgs): then the \
operator binds these roles there, not in the whole cluster.";

const COORDINATION: &str = "\
What the broker may do in the coordination cluster when it runs elsewhere, without the operator: nothing outside two \
namespaces but Migrations. Apply it there, after config/crd:
  kubectl apply -f config/rbac/coordination.yaml
Where the operator is, leave this file out: config/default brings the same roles, and the operator binds them. A Broker \
named resource-broker would find the ServiceAccount below in its way.
Stages of migrations run in the compute cluster. Where that is this cluster, apply compute.yaml here, too. Give stages \
a cluster of their own where you can: RBAC cannot confine the broker to Secrets with a label, so here the rules of \
compute.yaml reach the signing key and the kubeconfigs of all clusters.
With --dashboard-bind-address apply dashboard.yaml here, too.
Never `kubectl delete -f` this file: the namespaces go with all that is in them, the signing key included.";

const ROLES: &str = "\
The roles that the operator binds to its brokers in the coordination cluster. Part of config/default. Those of \
compute-roles.yaml come on top where stages of migrations run in this cluster; to grant them is its owner's decision. \
Those for the page are bound where a Broker has --dashboard-bind-address in its extraArgs.";

const DASHBOARD: &str = "\
Optional, in the coordination cluster, in addition to coordination.yaml: what a broker with --dashboard-bind-address needs \
for its page. Apply it there:
  kubectl apply -f config/rbac/dashboard.yaml
Without it the page does not know of graphs, and says so; on another than a loopback address it answers nobody, because it \
cannot ask who somebody is. The broker does all else as before.
Where the operator is, leave this file out: config/default brings the same roles, and the operator binds them to a Broker \
that has that flag in its extraArgs.";

const GRAPHS_ROLES: &str = "\
The roles that the operator binds to graphs controllers, where a Broker asks for one. Part of config/default. The \
operator makes none of them: to make roles it would have to be allowed to give itself any permission.";

const GRAPHS_DISTRIBUTION: &str = "\
What a graphs controller with --enable-multicluster may do in the coordination cluster, in addition to graphs-roles.yaml. \
The operator binds these roles where a Broker has graphs.distribution.enabled. Part of config/default. Without the operator \
bind them to the controller's ServiceAccount: the second in the namespace of --cluster-secrets-namespace only.";

const SPOKE_ROLES: &str = "\
What a graphs controller may do in a spoke. Apply it there:
  kubectl apply -f config/rbac/spoke.yaml
The controller runs in the hub and comes with the token of this ServiceAccount: `kubectl broker join` applies all of \
this and brings it that token; docs/operations.md has it by kubectl alone. It may do nothing with any object until the \
spoke's owner says with which: in ClusterRoles with the label below, as for the hub. What an RGD names in a namespace \
that its instance's author chooses, that author reaches with these rights. A rollout with `offboarding: Delete` takes \
delete of the RGD's kind and of customresourcedefinitions in one of these.";

const OPERATOR_ROLE: &str = "\
What the operator may do. Part of config/default.";

fn file(about: &str, documents: impl IntoIterator<Item = String>) -> String {
    let documents: String = documents.into_iter().collect();
    format!("{HEADER}{}{documents}", comment(about, 0))
}

/// What the owner of a cluster applies for a broker that comes from elsewhere.
fn for_owner(about: &str, namespaces: &[&str], grants: &[Grant]) -> String {
    let namespaces = namespaces.iter().map(|name| namespace(name));
    let account = [account(BROKER_ACCOUNT, SYSTEM_NAMESPACE), token(BROKER_ACCOUNT, SYSTEM_NAMESPACE)];
    file(about, namespaces.chain(account).chain(granted(BROKER_ACCOUNT, grants)))
}

/// Roles, then their bindings.
fn granted(account: &str, grants: &[Grant]) -> Vec<String> {
    let bindings = grants.iter().map(|grant| binding(grant, account, SYSTEM_NAMESPACE));
    grants.iter().map(role).chain(bindings).collect()
}

/// All files by their path in `config/`.
pub fn files() -> BTreeMap<String, String> {
    let system = &[SYSTEM_NAMESPACE];
    let hub = &[SYSTEM_NAMESPACE, CLUSTERS_NAMESPACE];
    let files = [
        ("rbac/consumer.yaml", for_owner(CONSUMER, system, broker::CONSUMER)),
        ("rbac/provider.yaml", for_owner(PROVIDER, system, broker::PROVIDER)),
        (
            "rbac/provider-namespaces.yaml",
            file(PROVIDER_NAMESPACES, granted(BROKER_ACCOUNT, broker::PROVIDER_NAMESPACES)),
        ),
        ("rbac/compute.yaml", for_owner(COMPUTE, system, broker::COMPUTE)),
        ("rbac/compute-roles.yaml", file(COMPUTE_ROLES, broker::COMPUTE.iter().map(role))),
        ("rbac/coordination.yaml", for_owner(COORDINATION, hub, broker::COORDINATION)),
        (
            "rbac/dashboard.yaml",
            file(DASHBOARD, granted(BROKER_ACCOUNT, broker::DASHBOARD).into_iter().chain(people())),
        ),
        (
            "rbac/roles.yaml",
            file(ROLES, broker::COORDINATION.iter().chain(broker::DASHBOARD).map(role).chain(people())),
        ),
        ("rbac/graphs-roles.yaml", file(GRAPHS_ROLES, GRAPHS.iter().map(role).chain([aggregate(&GRAPHS_KINDS)]))),
        ("rbac/graphs-distribution.yaml", file(GRAPHS_DISTRIBUTION, DISTRIBUTION.iter().map(role))),
        ("rbac/spoke.yaml", spoke()),
        ("rbac/kustomization.yaml", kustomization()),
        ("operator/role.yaml", file(OPERATOR_ROLE, granted(OPERATOR_ACCOUNT, OPERATOR))),
    ];
    files.into_iter().map(|(path, text)| (path.to_owned(), text)).collect()
}

/// The role of people who may see the page.
fn people() -> [String; 1] {
    [viewer(&broker::DASHBOARD_VIEWER)]
}

/// What the owner of a spoke applies.
fn spoke() -> String {
    let start = [
        namespace(SYSTEM_NAMESPACE),
        account(GRAPHS_ACCOUNT, SYSTEM_NAMESPACE),
        token(GRAPHS_ACCOUNT, SYSTEM_NAMESPACE),
    ];
    let kinds = [aggregate(&GRAPHS_KINDS), aggregate_binding(&GRAPHS_KINDS, GRAPHS_ACCOUNT, SYSTEM_NAMESPACE)];
    file(SPOKE_ROLES, start.into_iter().chain(granted(GRAPHS_ACCOUNT, SPOKE)).chain(kinds))
}

fn kustomization() -> String {
    let about = "What config/default needs of this folder. The other files are applied where they belong: README, \
                 \"Install on your clusters\".";
    let body = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - graphs-distribution.yaml\n  - graphs-roles.yaml\n  - roles.yaml\n";
    file(about, [format!("---\n{body}")])
}
