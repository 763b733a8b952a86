//! Finalizers, annotations and labels, all under `broker.platform-mesh.io/`, and the names fixed by the contract.

/// Prefix of every key the broker owns. Keys with it are never copied from an origin to its copy.
pub const PREFIX: &str = "broker.platform-mesh.io/";

/// API group of `AcceptAPI`, `Migration` and `MigrationConfiguration`.
pub const GROUP: &str = "broker.platform-mesh.io";

/// Field manager of every server-side apply, and the value of [`MANAGED_BY`].
pub const MANAGER: &str = "resource-broker";

/// Finalizer on a consumer object; never on a copy: a provider may always delete what it runs.
pub const FINALIZER: &str = "broker.platform-mesh.io/generic-finalizer";

/// Finalizer that the Go broker put on AcceptAPIs; not needed here, removed when met.
pub const ACCEPTAPI_FINALIZER: &str = "broker.platform-mesh.io/acceptapi-finalizer";

/// Annotation on the consumer object: name of the provider that serves it. For people; believed only with [`ASSIGNMENT`].
pub const PROVIDER_CLUSTER: &str = "broker.platform-mesh.io/provider-cluster";

/// Annotation on the consumer object during a move: name of the provider it moves to.
pub const NEW_PROVIDER_CLUSTER: &str = "broker.platform-mesh.io/new-provider-cluster";

/// Annotation on the consumer object: signature over its assignment.
pub const ASSIGNMENT: &str = "broker.platform-mesh.io/assignment";

/// Annotation on a copy: name of the consumer cluster its origin lives in.
pub const CONSUMER_CLUSTER: &str = "broker.platform-mesh.io/consumer-cluster";

/// Annotation on a copy: name of its origin.
pub const CONSUMER_NAME: &str = "broker.platform-mesh.io/consumer-name";

/// Annotation on a copy: namespace of its origin.
pub const CONSUMER_NAMESPACE: &str = "broker.platform-mesh.io/consumer-namespace";

/// Annotation on a copy: uid of its origin.
pub const CONSUMER_UID: &str = "broker.platform-mesh.io/consumer-uid";

/// Annotation on a copy: signature over its origin.
pub const ORIGIN: &str = "broker.platform-mesh.io/origin";

/// Label on everything the broker makes: [`MANAGER`].
pub const MANAGED_BY: &str = "broker.platform-mesh.io/managed-by";

/// Label on a copy: the 12 hex digits of its consumer cluster's name.
pub const CONSUMER: &str = "broker.platform-mesh.io/consumer";

/// Label on copies: which of 256 slots the consumer is in, the first byte of its hash as two hex digits. Whoever is to watch
/// only a share of the copies selects by it. A copy of an earlier release gets it with its next write.
pub const SLOT: &str = "broker.platform-mesh.io/slot";

/// Label on stage objects: id of the migration.
pub const MIGRATION_ID: &str = "broker.platform-mesh.io/migration-id";

/// Label on stage objects: name of the stage.
pub const MIGRATION_STAGE: &str = "broker.platform-mesh.io/migration-stage";

/// Annotation people set on an AcceptAPI, with `cordoned`: its objects move away.
pub const DRAIN: &str = "broker.platform-mesh.io/drain";

/// Annotation people set on an AcceptAPI: objects that would now be placed here move here.
pub const REBALANCE: &str = "broker.platform-mesh.io/rebalance";

/// Annotation people set on an AcceptAPI: names of consumers, by commas, whose copies here may go although nobody was seen
/// to delete their origins.
pub const CONFIRM_DELETIONS: &str = "broker.platform-mesh.io/confirm-deletions";

/// Annotation people set on a consumer object: the broker writes nothing for it until it is removed.
pub const PAUSED: &str = "broker.platform-mesh.io/paused";

/// Label people set on a consumer object: the broker does not serve it.
pub const IGNORE: &str = "broker.platform-mesh.io/ignore";

/// Annotation people set on a consumer object: release its finalizer although its provider is gone.
pub const FORCE_DELETE: &str = "broker.platform-mesh.io/force-delete";

/// Label on a Secret of the coordination cluster that holds a kubeconfig: `consumer` or `provider`.
pub const ROLE: &str = "broker.platform-mesh.io/role";

/// Annotation of the platform on a provider's cluster Secret: AcceptAPIs of a higher priority count as this one.
pub const MAX_PRIORITY: &str = "broker.platform-mesh.io/max-priority";

/// Annotation of the platform on a provider's cluster Secret: [`REBALANCE`] has an effect there.
pub const ALLOW_REBALANCE: &str = "broker.platform-mesh.io/allow-rebalance";

/// Annotation of the platform on a provider's cluster Secret: kinds that it may serve, as `Kind.group` or
/// `Kind.version.group`, separated by commas.
pub const SERVES: &str = "broker.platform-mesh.io/serves";

/// Annotation of the platform on a provider's cluster Secret: selector over the labels of the Secrets of consumers that
/// it may serve.
pub const CONSUMERS: &str = "broker.platform-mesh.io/consumers";

/// Name of the Secret in the coordination cluster that holds the signing keys.
pub const SIGNING_KEY_SECRET: &str = "resource-broker-signing-key";

/// Name of the Secret in the coordination cluster that holds a copy of the signing keys.
pub const SIGNING_KEY_BACKUP: &str = "resource-broker-signing-key-backup";

/// The value that switches a boolean annotation or label on.
pub const TRUE: &str = "true";
