//! What the broker may do, cluster by cluster.

use super::{CLUSTERS_NAMESPACE, Grant, Role, Rule, SYSTEM_NAMESPACE, Viewer};
use crate::roles;

/// Its uid tells API servers apart.
const CLUSTER_IDENTITY: Rule = Rule {
    why: "Its uid tells one API server from another, so that none is engaged twice.",
    groups: &[""],
    resources: &["namespaces"],
    names: &["kube-system"],
    verbs: &["get"],
};

/// Kinds come and go with their CRDs.
const KINDS_THAT_COME: Rule = Rule {
    why: "Notices a CRD as soon as it comes or goes.",
    groups: &["apiextensions.k8s.io"],
    resources: &["customresourcedefinitions"],
    names: &[],
    verbs: &["list", "watch"],
};

/// Events, about something.
const fn events(why: &'static str) -> Rule {
    Rule { why, groups: &["events.k8s.io"], resources: &["events"], names: &[], verbs: &["create"] }
}

/// In a consumer cluster: the brokered kinds.
pub const CONSUMER_KINDS: Role = Role {
    name: "resource-broker-consumer-kinds",
    why: "EDIT: the brokered kinds, one pair of rules per --watch-kind. Origins are read and patched (finalizer, \
          annotations, status), never created, never deleted.",
    namespaced: false,
    rules: &[
        Rule {
            why: "",
            groups: &["example.platform-mesh.io"],
            resources: &["certificates"],
            names: &[],
            verbs: &["get", "list", "watch", "patch"],
        },
        Rule {
            why: "",
            groups: &["example.platform-mesh.io"],
            resources: &["certificates/status"],
            names: &[],
            verbs: &["patch"],
        },
    ],
};

/// In a consumer cluster: all but the brokered kinds.
pub const CONSUMER_OWN: Role = Role {
    name: "resource-broker-consumer",
    why: "",
    namespaced: false,
    rules: &[
        Rule {
            why: "EDIT: related resources that providers return, written next to the object that they belong to: one \
                  entry per --related-kind. RBAC cannot say \"only those the broker made\"; the broker does (label and \
                  owner, checked before each write). With `--related-kind ConfigMap.v1.core` the broker needs no access \
                  to Secrets at all.",
            groups: &[""],
            resources: &["secrets", "configmaps"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        events("What happened to an object, told on it."),
        KINDS_THAT_COME,
        CLUSTER_IDENTITY,
    ],
};

/// All that the broker holds in a consumer cluster.
pub const CONSUMER: &[Grant] = &[Grant::everywhere(&CONSUMER_KINDS), Grant::everywhere(&CONSUMER_OWN)];

/// In a provider cluster: the kinds that it serves.
pub const PROVIDER_KINDS: Role = Role {
    name: "resource-broker-provider-kinds",
    why: "EDIT: the kinds that this provider serves, one rule per kind that its AcceptAPIs name. The status belongs to \
          the provider's own controller; the broker only reads it.",
    namespaced: false,
    rules: &[Rule {
        why: "",
        groups: &["example.platform-mesh.io"],
        resources: &["certificates"],
        names: &[],
        verbs: &["list", "watch", "create", "patch", "delete"],
    }],
};

/// In a provider cluster: all but the kinds that it serves.
pub const PROVIDER_OWN: Role = Role {
    name: "resource-broker-provider",
    why: "",
    namespaced: false,
    rules: &[
        Rule {
            why: "What this provider accepts. `patch` removes the finalizer that the Go broker left on AcceptAPIs.",
            groups: &["broker.platform-mesh.io"],
            resources: &["acceptapis"],
            names: &[],
            verbs: &["list", "watch", "patch"],
        },
        Rule {
            why: "",
            groups: &["broker.platform-mesh.io"],
            resources: &["acceptapis/status"],
            names: &[],
            verbs: &["patch"],
        },
        Rule {
            why: "Copies live in the namespace of their origin, which is made where it is missing. Without this rule \
                  objects of namespaces that are not there wait with reason Forbidden. Removing them again needs more: \
                  provider-namespaces.yaml.",
            groups: &[""],
            resources: &["namespaces"],
            names: &[],
            verbs: &["create"],
        },
        Rule {
            why: "EDIT: related resources that are brought to consumers: one entry per --related-kind. Read only.",
            groups: &[""],
            resources: &["secrets", "configmaps"],
            names: &[],
            verbs: &["get", "list", "watch"],
        },
        events("That an object has the name that a copy needs, told on it."),
        KINDS_THAT_COME,
        CLUSTER_IDENTITY,
    ],
};

/// All that the broker holds in a provider cluster, but for what its owner may add.
pub const PROVIDER: &[Grant] = &[Grant::everywhere(&PROVIDER_KINDS), Grant::everywhere(&PROVIDER_OWN)];

/// In a provider cluster whose owner wants namespaces to go when nothing is left in them.
pub const PROVIDER_NAMESPACES_ROLE: Role = Role {
    name: "resource-broker-provider-namespaces",
    why: "",
    namespaced: false,
    rules: &[
        Rule {
            why: "Whether anything is left in a namespace, and which namespaces an earlier process made.",
            groups: &["*"],
            resources: &["*"],
            names: &[],
            verbs: &["list"],
        },
        Rule { why: "", groups: &[""], resources: &["namespaces"], names: &[], verbs: &["get", "delete"] },
    ],
};

/// What the owner of a provider cluster may add to [`PROVIDER`].
pub const PROVIDER_NAMESPACES: &[Grant] = &[Grant::everywhere(&PROVIDER_NAMESPACES_ROLE)];

/// In the compute cluster: the kinds that stages make.
pub const COMPUTE_STAGES: Role = Role {
    name: roles::COMPUTE_STAGES,
    why: "EDIT: the kinds that templates of MigrationConfigurations make, one rule per kind. Without it the stage waits, \
          and the Migration's condition Stalled says what to grant. Never Roles, RoleBindings or webhooks: whoever writes \
          a MigrationConfiguration would have the broker's permissions.",
    namespaced: false,
    rules: &[Rule {
        why: "",
        groups: &["batch"],
        resources: &["jobs"],
        names: &[],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    }],
};

/// In the compute cluster: all but the kinds that stages make.
pub const COMPUTE_OWN: Role = Role {
    name: roles::COMPUTE,
    why: "",
    namespaced: false,
    rules: &[
        Rule {
            why: "EDIT: copies of both sides' related resources, for the stages to read: one entry per --related-kind. \
                  Only those with the label broker.platform-mesh.io/migration-id are looked at; RBAC cannot say so.",
            groups: &[""],
            resources: &["secrets", "configmaps"],
            names: &[],
            verbs: &["get", "list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "Stages run in the namespace of their Migration, which is made where it is missing.",
            groups: &[""],
            resources: &["namespaces"],
            names: &[],
            verbs: &["create"],
        },
        KINDS_THAT_COME,
        CLUSTER_IDENTITY,
    ],
};

/// All that the broker holds in the compute cluster.
pub const COMPUTE: &[Grant] = &[Grant::everywhere(&COMPUTE_STAGES), Grant::everywhere(&COMPUTE_OWN)];

/// In the whole coordination cluster.
pub const COORDINATION_OWN: Role = Role {
    name: roles::COORDINATION,
    why: "In the whole coordination cluster: Migrations, and nothing else that anybody keeps.",
    namespaced: false,
    rules: &[
        CLUSTER_IDENTITY,
        Rule {
            why: "The broker makes a Migration per move for which there is a MigrationConfiguration, and removes it after \
                  --migration-ttl; it puts a finalizer and the origin on those that people make. Whoever may write \
                  Migrations here can move any tenant's object.",
            groups: &["broker.platform-mesh.io"],
            resources: &["migrations"],
            names: &[],
            verbs: &["list", "watch", "create", "patch", "delete"],
        },
        Rule {
            why: "Whoever may write MigrationConfigurations has the broker make objects in the compute cluster.",
            groups: &["broker.platform-mesh.io"],
            resources: &["migrationconfigurations"],
            names: &[],
            verbs: &["list", "watch"],
        },
        Rule {
            why: "",
            groups: &["broker.platform-mesh.io"],
            resources: &["migrations/status", "migrationconfigurations/status"],
            names: &[],
            verbs: &["patch"],
        },
        Rule {
            why: "A Migration is in the namespace of the object that moves, which is made where it is missing.",
            groups: &[""],
            resources: &["namespaces"],
            names: &[],
            verbs: &["create"],
        },
        events("What goes on, told on Migrations; why a kubeconfig is not used, told on its Secret."),
        KINDS_THAT_COME,
    ],
};

/// In the namespace of a Broker (`--namespace`).
pub const INSTANCE: Role = Role {
    name: roles::INSTANCE,
    why: "In the broker's own namespace (--namespace). Whoever reads the signing key can forge assignments: keep it to \
          the broker.",
    namespaced: false,
    rules: &[
        Rule {
            why: "The broker makes the signing key at its first start, and a copy of it; RBAC cannot bind `create` to a name.",
            groups: &[""],
            resources: &["secrets"],
            names: &[],
            verbs: &["create"],
        },
        Rule {
            why: "The signing key, and the copy of it that the broker keeps and brings up to date.",
            groups: &[""],
            resources: &["secrets"],
            names: &["resource-broker-signing-key", "resource-broker-signing-key-backup"],
            verbs: &["list", "watch"],
        },
        Rule {
            why: "",
            groups: &[""],
            resources: &["secrets"],
            names: &["resource-broker-signing-key-backup"],
            verbs: &["patch"],
        },
        Rule {
            why: "For --leader-elect. The lease's name is --lease-name, another one for each broker.",
            groups: &["coordination.k8s.io"],
            resources: &["leases"],
            names: &[],
            verbs: &["get", "watch", "create", "update"],
        },
    ],
};

/// In the namespace of the cluster Secrets (`--cluster-secrets-namespace`).
pub const CLUSTER_SECRETS: Role = Role {
    name: roles::CLUSTER_SECRETS,
    why: "In the namespace of the cluster Secrets (--cluster-secrets-namespace). Whoever writes Secrets there decides \
          which clusters are served.",
    namespaced: false,
    rules: &[Rule {
        why: "The kubeconfigs of consumers and providers.",
        groups: &[""],
        resources: &["secrets"],
        names: &[],
        verbs: &["list", "watch"],
    }],
};

/// All that the broker holds in the coordination cluster, with the default namespaces.
pub const COORDINATION: &[Grant] = &[
    Grant::everywhere(&COORDINATION_OWN),
    Grant::within(SYSTEM_NAMESPACE, &INSTANCE),
    Grant::within(CLUSTERS_NAMESPACE, &CLUSTER_SECRETS),
];

/// In the whole coordination cluster, with `--dashboard-bind-address`.
pub const DASHBOARD_GRAPHS: Role = Role {
    name: roles::DASHBOARD_GRAPHS,
    why: "For brokers with --dashboard-bind-address: ResourceGraphDefinitions and their rollouts, for the page to show.",
    namespaced: false,
    rules: &[
        Rule {
            why: "",
            groups: &["kro.run"],
            resources: &["resourcegraphdefinitions"],
            names: &[],
            verbs: &["list", "watch"],
        },
        Rule {
            why: "",
            groups: &["broker.platform-mesh.io"],
            resources: &["resourcegraphrollouts"],
            names: &[],
            verbs: &["list", "watch"],
        },
    ],
};

/// In the whole coordination cluster, with `--dashboard-bind-address` on an address that others reach.
pub const DASHBOARD_REVIEWS: Role = Role {
    name: roles::DASHBOARD_REVIEWS,
    why: "For brokers with --dashboard-bind-address on another than a loopback address: whose a token is, and whether that \
          person may see the page (get on the non-resource URL /dashboard).",
    namespaced: false,
    rules: &[
        Rule {
            why: "",
            groups: &["authentication.k8s.io"],
            resources: &["tokenreviews"],
            names: &[],
            verbs: &["create"],
        },
        Rule {
            why: "",
            groups: &["authorization.k8s.io"],
            resources: &["subjectaccessreviews"],
            names: &[],
            verbs: &["create"],
        },
    ],
};

/// What a broker that serves the page holds in the coordination cluster beside [`COORDINATION`].
pub const DASHBOARD: &[Grant] = &[Grant::everywhere(&DASHBOARD_GRAPHS), Grant::everywhere(&DASHBOARD_REVIEWS)];

/// What people hold there who may see the page with a token.
pub const DASHBOARD_VIEWER: Viewer = Viewer {
    name: roles::DASHBOARD_VIEWER,
    why: "For people: to see the page of a broker on another than a loopback address. The cluster's owner binds it:\n  \
          kubectl create clusterrolebinding see-the-page --clusterrole resource-broker-dashboard-viewer --group GROUP",
    paths: &["/dashboard"],
};
