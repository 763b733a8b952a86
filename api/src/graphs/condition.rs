//! Types, reasons, fixed messages and states of RGDs, GraphRevisions and instances. Suites compare them letter by letter.

/// Type, the root of all three kinds: copies the newest of the others that is not True; last in the list.
pub const READY: &str = "Ready";

/// Type, on an RGD: its newest revision is compiled and active.
pub const GRAPH_REVISIONS_RESOLVED: &str = "GraphRevisionsResolved";
/// Type, on an RGD: its graph and schema are valid.
pub const GRAPH_ACCEPTED: &str = "GraphAccepted";
/// Type, on an RGD: its CRD is established.
pub const KIND_READY: &str = "KindReady";
/// Type, on an RGD: its instances are served.
pub const CONTROLLER_READY: &str = "ControllerReady";
/// Types of an RGD, in the order of its status, before [`READY`].
pub const RGD_TYPES: [&str; 4] = [GRAPH_REVISIONS_RESOLVED, GRAPH_ACCEPTED, KIND_READY, CONTROLLER_READY];
/// A type that earlier releases of kro wrote on RGDs; removed when met.
pub const RGD_OBSOLETE: &str = "ResourceGraphAccepted";

/// Type, on an RGD whose clusters are many: it is in all of them.
pub const DISTRIBUTED: &str = "Distributed";
/// Reason of [`DISTRIBUTED`]: all run the revision that they should.
pub const ALL_CLUSTERS: &str = "AllClusters";
/// Reason of [`DISTRIBUTED`]: some do not.
pub const PARTIAL: &str = "Partial";
/// Reason of [`DISTRIBUTED`]: they are being brought to it.
pub const PROGRESSING: &str = "Progressing";

/// Type, on a GraphRevision: it compiles.
pub const GRAPH_VERIFIED: &str = "GraphVerified";

/// Type, on an instance: it has our finalizer and labels.
pub const INSTANCE_MANAGED: &str = "InstanceManaged";
/// Type, on an instance: all of its resources could be rendered.
pub const GRAPH_RESOLVED: &str = "GraphResolved";
/// Type, on an instance: all of its children exist and are ready.
pub const RESOURCES_READY: &str = "ResourcesReady";
/// Types of an instance, in the order of its status, before [`READY`].
pub const INSTANCE_TYPES: [&str; 3] = [INSTANCE_MANAGED, GRAPH_RESOLVED, RESOURCES_READY];

/// Reason of any type that nobody has set yet, with status Unknown.
pub const AWAITING_RECONCILIATION: &str = "AwaitingReconciliation";
/// Reason of [`READY`] when it is True; its message is empty.
pub const READY_REASON: &str = "Ready";
/// Reason: it did not work; the message says why.
pub const FAILED: &str = "Failed";

/// Reason: the newest revision is compiled and active; on an instance: everything could be rendered.
pub const RESOLVED: &str = "Resolved";
/// Reason, with Unknown: the API server has not shown the newest revision yet.
pub const WAITING_FOR_SETTLEMENT: &str = "WaitingForGraphRevisionSettlement";
/// Reason, with Unknown: revisions are being read after a start.
pub const WAITING_FOR_WARMUP: &str = "WaitingForGraphRevisionWarmup";
/// Reason, with Unknown: the newest revision is being compiled.
pub const WAITING_FOR_COMPILATION: &str = "WaitingForGraphRevisionCompilation";
/// Reason: graph and schema are valid.
pub const VALID: &str = "Valid";
/// Message beside [`VALID`].
pub const VALID_MESSAGE: &str = "resource graph and schema are valid";
/// Reason: graph or schema is not valid.
pub const INVALID_RESOURCE_GRAPH: &str = "InvalidResourceGraph";
/// Reason: instances are served.
pub const RUNNING: &str = "Running";
/// Message beside [`RUNNING`].
pub const RUNNING_MESSAGE: &str = "controller is running";
/// Reason: instances cannot be served.
pub const FAILED_TO_START: &str = "FailedToStart";
/// Reason: the labels of instances cannot be made.
pub const FAILED_LABELER_SETUP: &str = "FailedLabelerSetup";

/// Reason: the revision compiles.
pub const VERIFIED: &str = "Verified";
/// Message beside [`VERIFIED`].
pub const VERIFIED_MESSAGE: &str = "graph revision compiled and verified";
/// Reason: the revision does not compile.
pub const INVALID_GRAPH: &str = "InvalidGraph";

/// Reason: the instance has our finalizer and labels.
pub const MANAGED: &str = "Managed";
/// Message beside [`MANAGED`].
pub const MANAGED_MESSAGE: &str = "instance is properly managed with finalizers and labels";
/// Reason: finalizer or labels cannot be written.
pub const MANAGEMENT_FAILED: &str = "ManagementFailed";
/// Message of [`GRAPH_RESOLVED`] beside [`RESOLVED`].
pub const GRAPH_RESOLVED_MESSAGE: &str = "runtime graph created and all resources resolved";
/// Reason: something cannot be rendered.
pub const RESOLUTION_FAILED: &str = "ResolutionFailed";
/// Reason: all children exist and are ready.
pub const ALL_RESOURCES_READY: &str = "AllResourcesReady";
/// Message beside [`ALL_RESOURCES_READY`].
pub const ALL_RESOURCES_READY_MESSAGE: &str = "all resources are created and ready";
/// Reason: not all children exist and are ready.
pub const NOT_READY: &str = "NotReady";
/// Reason: a child is being deleted, and is waited for.
pub const RESOURCE_DELETING: &str = "ResourceDeleting";
/// Reason: a person suspended the instance.
pub const RECONCILIATION_SUSPENDED: &str = "ReconciliationSuspended";
/// Message beside [`RECONCILIATION_SUSPENDED`].
pub const SUSPENDED_MESSAGE: &str = "reconciliation suspended via kro.run/reconcile annotation";
/// Reason, with Unknown: the instance is being deleted.
pub const UNDER_DELETION: &str = "UnderDeletion";

/// State of an RGD: its instances are served.
pub const ACTIVE: &str = "Active";
/// State of an RGD: they are not.
pub const INACTIVE: &str = "Inactive";

/// State of an instance: all nodes are in place.
pub const INSTANCE_ACTIVE: &str = "ACTIVE";
/// State of an instance: something is waited for.
pub const INSTANCE_IN_PROGRESS: &str = "IN_PROGRESS";
/// State of an instance: something failed.
pub const INSTANCE_ERROR: &str = "ERROR";
/// State of an instance: it is being deleted.
pub const INSTANCE_DELETING: &str = "DELETING";
