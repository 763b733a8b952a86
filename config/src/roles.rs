//! Names of the ClusterRoles that brokers and graphs controllers are bound to. What each allows is one list, in this crate.

/// In the whole coordination cluster: Migrations, their configurations, namespaces for them, Events.
pub const COORDINATION: &str = "resource-broker-coordination";
/// In the Broker's own namespace: signing key and lease.
pub const INSTANCE: &str = "resource-broker-instance";
/// In the namespace of the cluster Secrets.
pub const CLUSTER_SECRETS: &str = "resource-broker-cluster-secrets";
/// In the compute cluster: copies of related resources for stages. Only there once its owner applied `compute.yaml`.
pub const COMPUTE: &str = "resource-broker-compute";
/// In the compute cluster: the kinds that stages make. Only there once its owner applied `compute.yaml`.
pub const COMPUTE_STAGES: &str = "resource-broker-compute-stages";
/// In the whole coordination cluster: ResourceGraphDefinitions and rollouts, for a broker's page.
pub const DASHBOARD_GRAPHS: &str = "resource-broker-dashboard-graphs";
/// In the whole coordination cluster: whose a token is, and who may see a broker's page.
pub const DASHBOARD_REVIEWS: &str = "resource-broker-dashboard-reviews";
/// Of people who may see a broker's page. The operator does not bind it.
pub const DASHBOARD_VIEWER: &str = "resource-broker-dashboard-viewer";
/// In the whole coordination cluster: ResourceGraphDefinitions, their revisions and their CRDs.
pub const GRAPHS: &str = "resource-broker-graphs";
/// In the whole coordination cluster: the deletion of CRDs.
pub const GRAPHS_CRD_DELETION: &str = "resource-broker-graphs-crd-deletion";
/// In the whole coordination cluster: the kinds that ResourceGraphDefinitions define, and those that they are made of, as
/// far as the cluster's owners allow them.
pub const GRAPHS_KINDS: &str = "resource-broker-graphs-kinds";
/// In the namespace of the Lease of all graphs controllers.
pub const GRAPHS_LEASE: &str = "resource-broker-graphs-lease";
/// In the whole coordination cluster: rollouts.
pub const GRAPHS_ROLLOUTS: &str = "resource-broker-graphs-rollouts";
/// In the namespace of the cluster Secrets: those of spokes.
pub const GRAPHS_SPOKE_SECRETS: &str = "resource-broker-graphs-spoke-secrets";
/// In a spoke: the CRDs that a hub puts there.
pub const GRAPHS_SPOKE: &str = "resource-broker-graphs-spoke";
/// What the operator itself may do in the coordination cluster.
pub const OPERATOR: &str = "resource-broker-operator";
