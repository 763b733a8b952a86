//! What the broker, the graphs controller and the operator may do: one list. `config/rbac` and `config/operator/role.yaml` are written from it,
//! and the end-to-end tests judge the audit logs by it: see [`crate::usage`].
//!
//! A word goes here when a request needs it, and away when none does any more.

pub mod broker;
pub mod graphs;
pub mod operator;

/// Namespace of the operator, of Brokers by default, and of ServiceAccounts for brokers that run elsewhere.
pub const SYSTEM_NAMESPACE: &str = "resource-broker-system";
/// Namespace of the cluster Secrets by default.
pub const CLUSTERS_NAMESPACE: &str = "resource-broker-clusters";
/// ServiceAccount of brokers that come from elsewhere.
pub const BROKER_ACCOUNT: &str = "resource-broker";
/// ServiceAccount of graphs controllers that come from elsewhere.
pub const GRAPHS_ACCOUNT: &str = "resource-graphs";
/// ServiceAccount of the operator.
pub const OPERATOR_ACCOUNT: &str = "resource-broker-operator";

/// One rule of a role.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// What for, in words for the people who grant it; empty where the rule above says it.
    pub why: &'static str,
    /// API groups; empty text for the core group.
    pub groups: &'static [&'static str],
    /// Plural names, with `/status` and the like.
    pub resources: &'static [&'static str],
    /// Names of objects; none means all.
    pub names: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
}

/// Rules under one name.
#[derive(Debug, Clone, Copy)]
pub struct Role {
    /// Its name in the cluster.
    pub name: &'static str,
    /// What for; may be empty.
    pub why: &'static str,
    /// Whether it is a `Role` in the namespace that its [`Grant`] names; else a `ClusterRole`.
    pub namespaced: bool,
    /// What it allows.
    pub rules: &'static [Rule],
}

/// A ClusterRole that holds the rules of all others with a label: people add to it without editing it.
#[derive(Debug, Clone, Copy)]
pub struct Aggregate {
    /// Its name in the cluster.
    pub name: &'static str,
    /// What for.
    pub why: &'static str,
    /// The label of those whose rules it holds, with the value `true`.
    pub label: &'static str,
}

/// A ClusterRole that lets people `get` paths that are no resources. Whom it is bound to is for the cluster's owner to say.
#[derive(Debug, Clone, Copy)]
pub struct Viewer {
    /// Its name in the cluster.
    pub name: &'static str,
    /// What for.
    pub why: &'static str,
    /// The paths.
    pub paths: &'static [&'static str],
}

/// A role, and where it holds.
#[derive(Debug, Clone, Copy)]
pub struct Grant {
    /// The role.
    pub role: &'static Role,
    /// The namespace; none means the whole cluster.
    pub within: Option<&'static str>,
}

impl Grant {
    /// A role in the whole cluster.
    pub const fn everywhere(role: &'static Role) -> Self {
        Self { role, within: None }
    }

    /// A role in one namespace.
    pub const fn within(namespace: &'static str, role: &'static Role) -> Self {
        Self { role, within: Some(namespace) }
    }
}
