//! Names of the ClusterRoles that brokers are bound to. What each allows is one list, in this crate.

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
/// What the operator itself may do in the coordination cluster.
pub const OPERATOR: &str = "resource-broker-operator";
