//! What a graphs controller may do in the coordination cluster: the part that is the same everywhere.
//!
//! What its instances and their children need is for the cluster's owners to say, in ClusterRoles that
//! [`GRAPHS_KINDS`] takes in.

use broker_api::graphs::keys;

use super::{Aggregate, CLUSTERS_NAMESPACE, Grant, Role, Rule, SYSTEM_NAMESPACE};
use crate::roles;

/// In the hub and in spokes.
const IDENTITY: Rule = Rule {
    why: "Its uid tells one API server from another.",
    groups: &[""],
    resources: &["namespaces"],
    names: &["kube-system"],
    verbs: &["get"],
};

/// In the whole coordination cluster.
pub const GRAPHS_OWN: Role = Role {
    name: roles::GRAPHS,
    why: "In the whole coordination cluster: ResourceGraphDefinitions, their revisions, and the CRDs that they become. No \
          object that anybody makes of those.",
    namespaced: false,
    rules: &[
        Rule {
            why: "`patch` is for the finalizer. Whoever may write ResourceGraphDefinitions has the controller write whatever \
                  the role below allows: leave that to people who may do so themselves.",
            groups: &["kro.run"],
            resources: &["resourcegraphdefinitions"],
            names: &[],
            verbs: &["get", "list", "watch", "patch"],
        },
        Rule {
            why: "",
            groups: &["kro.run"],
            resources: &["resourcegraphdefinitions/status"],
            names: &[],
            verbs: &["patch"],
        },
        Rule {
            why: "A revision blocks the deletion of its ResourceGraphDefinition in the foreground; some clusters ask who \
                  may do that.",
            groups: &["kro.run"],
            resources: &["resourcegraphdefinitions/finalizers"],
            names: &[],
            verbs: &["update"],
        },
        Rule {
            why: "Revisions: made for each change of a ResourceGraphDefinition, and removed when there are too many.",
            groups: &["internal.kro.run"],
            resources: &["graphrevisions"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "",
            groups: &["internal.kro.run"],
            resources: &["graphrevisions/status"],
            names: &[],
            verbs: &["patch"],
        },
        Rule {
            why: "The kinds that ResourceGraphDefinitions define; and which other kinds there are. RBAC cannot say \"only \
                  those that it made\"; the controller does (label, checked before each write).",
            groups: &["apiextensions.k8s.io"],
            resources: &["customresourcedefinitions"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch"],
        },
        Rule {
            why: "What happened to a ResourceGraphDefinition or an instance, told on it.",
            groups: &["events.k8s.io"],
            resources: &["events"],
            names: &[],
            verbs: &["create"],
        },
        IDENTITY,
    ],
};

/// In the whole coordination cluster, with `--allow-crd-deletion`.
pub const GRAPHS_CRD_DELETION: Role = Role {
    name: roles::GRAPHS_CRD_DELETION,
    why: "For Brokers with graphs.allowCRDDeletion only: the CRD of a ResourceGraphDefinition that is deleted goes, too, \
          and with it all objects of that kind.",
    namespaced: false,
    rules: &[Rule {
        why: "",
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions"],
        names: &[],
        verbs: &["delete"],
    }],
};

/// In the namespace of the Lease.
pub const GRAPHS_LEASE: Role = Role {
    name: roles::GRAPHS_LEASE,
    why: "In the namespace of the Lease, which all graphs controllers of the cluster share.",
    namespaced: false,
    rules: &[
        Rule {
            why: "RBAC cannot bind `create` to a name.",
            groups: &["coordination.k8s.io"],
            resources: &["leases"],
            names: &[],
            verbs: &["create"],
        },
        Rule {
            why: "",
            groups: &["coordination.k8s.io"],
            resources: &["leases"],
            names: &[keys::LEASE],
            verbs: &["get", "watch", "update"],
        },
    ],
};

/// All that the controller holds by itself, with the default namespaces.
pub const GRAPHS: &[Grant] = &[
    Grant::everywhere(&GRAPHS_OWN),
    Grant::everywhere(&GRAPHS_CRD_DELETION),
    Grant::within(SYSTEM_NAMESPACE, &GRAPHS_LEASE),
];

/// In the whole coordination cluster: instances and their children.
pub const GRAPHS_KINDS: Aggregate = Aggregate {
    name: roles::GRAPHS_KINDS,
    why: "In the whole cluster: the kinds that ResourceGraphDefinitions define, and those that they are made \
          of. Empty at first: it holds the rules of all ClusterRoles with the label below. For each \
          ResourceGraphDefinition make one: get, list, watch and patch of its own kind, and patch of that kind's /status; \
          get, list, watch, create, patch and delete of the kinds in its templates; get, list and watch of those in its \
          externalRefs. Where instances are to go with their ResourceGraphDefinition it takes delete of its own kind as \
          well.",
    label: keys::AGGREGATE,
};

/// In the whole coordination cluster, with `--enable-multicluster`.
pub const GRAPHS_ROLLOUTS: Role = Role {
    name: roles::GRAPHS_ROLLOUTS,
    why: "In the whole coordination cluster: how ResourceGraphDefinitions get to spokes. Whoever may write them decides what \
          runs in all of these clusters.",
    namespaced: false,
    rules: &[
        Rule {
            why: "",
            groups: &["broker.platform-mesh.io"],
            resources: &["resourcegraphrollouts"],
            names: &[],
            verbs: &["get", "list", "watch"],
        },
        Rule {
            why: "",
            groups: &["broker.platform-mesh.io"],
            resources: &["resourcegraphrollouts/status"],
            names: &[],
            verbs: &["patch"],
        },
    ],
};

/// In the namespace of the Secrets of spokes, with `--enable-multicluster`.
pub const GRAPHS_SPOKE_SECRETS: Role = Role {
    name: roles::GRAPHS_SPOKE_SECRETS,
    why: "In the namespace of the Secrets with kubeconfigs of spokes (--cluster-secrets-namespace). Bound there, not in the \
          whole cluster: RBAC cannot say \"only those of spokes\".",
    namespaced: false,
    rules: &[Rule {
        why: "`patch` is for one annotation: which API server the spoke was when it was engaged first.",
        groups: &[""],
        resources: &["secrets"],
        names: &[],
        verbs: &["get", "list", "watch", "patch"],
    }],
};

/// All that the controller holds in the coordination cluster for spokes, beside [`GRAPHS`].
pub const DISTRIBUTION: &[Grant] =
    &[Grant::everywhere(&GRAPHS_ROLLOUTS), Grant::within(CLUSTERS_NAMESPACE, &GRAPHS_SPOKE_SECRETS)];

/// In a whole spoke.
pub const GRAPHS_SPOKE: Role = Role {
    name: roles::GRAPHS_SPOKE,
    why: "In the whole spoke: the CRDs of ResourceGraphDefinitions that are written in the hub.",
    namespaced: false,
    rules: &[
        Rule {
            why: "RBAC cannot say \"only those that it made\"; the controller does (label, checked before each write).",
            groups: &["apiextensions.k8s.io"],
            resources: &["customresourcedefinitions"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch"],
        },
        Rule {
            why: "What happened to an instance, told on it.",
            groups: &["events.k8s.io"],
            resources: &["events"],
            names: &[],
            verbs: &["create"],
        },
        IDENTITY,
    ],
};

/// All that the controller holds in a spoke, beside what its owner adds to [`GRAPHS_KINDS`] there.
pub const SPOKE: &[Grant] = &[Grant::everywhere(&GRAPHS_SPOKE)];
