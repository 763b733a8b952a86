//! What the operator may do in the coordination cluster.
//!
//! It binds the roles of brokers and graphs controllers without holding what they allow (`bind` by their names), and has no `escalate`, no
//! `impersonate`.

use super::{CLUSTERS_NAMESPACE, Grant, Role, Rule, SYSTEM_NAMESPACE};
use crate::roles;

/// In the whole coordination cluster.
pub const OPERATOR_OWN: Role = Role {
    name: roles::OPERATOR,
    why: "In the whole coordination cluster: Brokers are in any namespace. Whoever makes Deployments in any namespace can run \
          pods as any ServiceAccount: keep the operator's token to the operator. Whoever may write Brokers has it run any \
          image with a broker's permissions, which once compute-roles.yaml is applied are those to the Secrets of the \
          whole cluster, or with a graphs controller's: leave that to the cluster's owners.",
    namespaced: false,
    rules: &[
        Rule {
            why: "Brokers. `patch` is for the finalizer.",
            groups: &["operator.broker.platform-mesh.io"],
            resources: &["brokers"],
            names: &[],
            verbs: &["get", "list", "watch", "patch"],
        },
        Rule {
            why: "",
            groups: &["operator.broker.platform-mesh.io"],
            resources: &["brokers/status"],
            names: &[],
            verbs: &["patch"],
        },
        Rule {
            why: "What a Broker becomes. Before anything is written for the first time the operator looks whether somebody \
                  else's object has the name. What has an owner in its namespace goes with the Broker.",
            groups: &[""],
            resources: &["serviceaccounts", "services"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["apps"],
            resources: &["deployments"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["networking.k8s.io"],
            resources: &["networkpolicies"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["policy"],
            resources: &["poddisruptionbudgets"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["rbac.authorization.k8s.io"],
            resources: &["rolebindings", "clusterrolebindings"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "It may bind the roles of brokers and graphs controllers, and no others, without holding what they allow.",
            groups: &["rbac.authorization.k8s.io"],
            resources: &["clusterroles"],
            names: &[
                roles::COORDINATION,
                roles::INSTANCE,
                roles::COMPUTE,
                roles::COMPUTE_STAGES,
                roles::DASHBOARD_GRAPHS,
                roles::DASHBOARD_REVIEWS,
                roles::GRAPHS,
                roles::GRAPHS_CRD_DELETION,
                roles::GRAPHS_KINDS,
                roles::GRAPHS_LEASE,
                roles::GRAPHS_ROLLOUTS,
            ],
            verbs: &["bind"],
        },
        Rule {
            why: "ServiceMonitors, where the kind exists; and whether it does.",
            groups: &["monitoring.coreos.com"],
            resources: &["servicemonitors"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["apiextensions.k8s.io"],
            resources: &["customresourcedefinitions"],
            names: &["servicemonitors.monitoring.coreos.com"],
            verbs: &["list", "watch"],
        },
        Rule {
            why: "Which pods are a broker's own: those of its Deployment's ReplicaSets.",
            groups: &["apps"],
            resources: &["replicasets"],
            names: &[],
            verbs: &["list"],
        },
        Rule {
            why: "Why a broker does not run, told in the Broker's conditions.",
            groups: &[""],
            resources: &["pods"],
            names: &[],
            verbs: &["list", "watch"],
        },
        Rule {
            why: "What happened, told on the Broker.",
            groups: &["events.k8s.io"],
            resources: &["events"],
            names: &[],
            verbs: &["create"],
        },
    ],
};

/// In its own namespace.
pub const OPERATOR_LEASE: Role = Role {
    name: roles::OPERATOR,
    why: "Its lease.",
    namespaced: true,
    rules: &[Rule {
        why: "RBAC cannot bind `create` to a name.",
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        names: &[],
        verbs: &["get", "watch", "create", "update"],
    }],
};

/// In the namespace of the cluster Secrets.
pub const OPERATOR_CLUSTER_SECRETS: Role = Role {
    name: roles::OPERATOR,
    why: "In the namespace of the cluster Secrets, and in no other: a Broker cannot reach the Secrets of another \
          namespace by naming it in clusterSecretsNamespace or graphs.distribution.secretsNamespace. To allow one more, \
          copy this Role and its binding there.",
    namespaced: true,
    rules: &[
        Rule {
            why: "Whether there are cluster Secrets, for the condition NoClusterSecrets.",
            groups: &[""],
            resources: &["secrets"],
            names: &[],
            verbs: &["list"],
        },
        Rule {
            why: "It may let brokers read them, and graphs controllers read and mark them.",
            groups: &["rbac.authorization.k8s.io"],
            resources: &["clusterroles"],
            names: &[roles::CLUSTER_SECRETS, roles::GRAPHS_SPOKE_SECRETS],
            verbs: &["bind"],
        },
    ],
};

/// All that the operator holds.
pub const OPERATOR: &[Grant] = &[
    Grant::everywhere(&OPERATOR_OWN),
    Grant::within(SYSTEM_NAMESPACE, &OPERATOR_LEASE),
    Grant::within(CLUSTERS_NAMESPACE, &OPERATOR_CLUSTER_SECRETS),
];
