//! Finalizers, labels, annotations, field managers and names that kro fixed. Whoever takes over from it, or gives back to
//! it, needs all of them letter by letter.

/// API group of `ResourceGraphDefinition`, and of the kinds they generate when they name none.
pub const GROUP: &str = "kro.run";

/// API group of `GraphRevision`.
pub const INTERNAL_GROUP: &str = "internal.kro.run";

/// Prefix of keys that no template may set.
pub const PREFIX: &str = "kro.run/";

/// Prefix of keys that no template may set, for what no person is to rely on.
pub const INTERNAL_PREFIX: &str = "internal.kro.run/";

/// Finalizer on RGDs, GraphRevisions and instances; never on a child nor on a CRD.
pub const FINALIZER: &str = "kro.run/finalizer";

/// Annotation people set on an RGD: with [`TRUE`] a breaking change of the schema goes through.
pub const ALLOW_BREAKING_CHANGES: &str = "kro.run/allow-breaking-changes";

/// Annotation people set on an instance, `suspended` or `disabled` in any case: nothing is applied or pruned.
pub const RECONCILE: &str = "kro.run/reconcile";
/// A value of [`RECONCILE`], in any case.
pub const SUSPENDED: &str = "suspended";
/// A value of [`RECONCILE`], in any case.
pub const DISABLED: &str = "disabled";

/// Annotation people set on an instance, with [`RETAIN`]: adopted objects are released when it goes, not deleted.
pub const ADOPTION: &str = "kro.run/adoption";
/// The value of [`ADOPTION`].
pub const RETAIN: &str = "Retain";

/// Label on CRDs, GraphRevisions, instances and children, with [`TRUE`]: ours.
pub const OWNED: &str = "kro.run/owned";
/// Label beside [`OWNED`]: version of the controller that wrote it.
pub const VERSION: &str = "kro.run/kro-version";

/// Label on CRDs and instances, not on children: uid of the RGD.
pub const RGD_ID: &str = "kro.run/resource-graph-definition-id";
/// Label on CRDs, instances and GraphRevisions, not on children: name of the RGD.
pub const RGD_NAME: &str = "kro.run/resource-graph-definition-name";

/// Label on a GraphRevision: hash of its snapshot, for people.
pub const REVISION_HASH: &str = "kro.run/graph-revision-hash";

/// Label on a child: uid of its instance.
pub const INSTANCE_ID: &str = "kro.run/instance-id";
/// Label on a child: name of its instance.
pub const INSTANCE_NAME: &str = "kro.run/instance-name";
/// Label on a child of a namespaced instance: the instance's namespace.
pub const INSTANCE_NAMESPACE: &str = "kro.run/instance-namespace";
/// Label on a child: API group of its instance.
pub const INSTANCE_GROUP: &str = "kro.run/instance-group";
/// Label on a child: API version of its instance.
pub const INSTANCE_VERSION: &str = "kro.run/instance-version";
/// Label on a child: kind of its instance.
pub const INSTANCE_KIND: &str = "kro.run/instance-kind";
/// Label on a child: id of its node.
pub const NODE_ID: &str = "kro.run/node-id";
/// Label on a child of a collection: its place, from 0.
pub const COLLECTION_INDEX: &str = "kro.run/collection-index";
/// Label on a child of a collection: how many there are.
pub const COLLECTION_SIZE: &str = "kro.run/collection-size";

/// Label on a child: [`MANAGED_BY_VALUE`].
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const MANAGED_BY_VALUE: &str = "kro";

/// Label on a child: id of the set it belongs to.
pub const APPLYSET_PART_OF: &str = "applyset.kubernetes.io/part-of";
/// Label on an instance: id of its set of children.
pub const APPLYSET_ID: &str = "applyset.kubernetes.io/id";
/// Annotation on an instance: [`TOOLING_PREFIX`] and a version.
pub const APPLYSET_TOOLING: &str = "applyset.kubernetes.io/tooling";
/// Annotation on an instance: the kinds its children may have.
pub const APPLYSET_GROUP_KINDS: &str = "applyset.kubernetes.io/contains-group-kinds";
/// Annotation on an instance: the namespaces its children may be in, without its own.
pub const APPLYSET_NAMESPACES: &str = "applyset.kubernetes.io/additional-namespaces";
/// Annotation on an instance: hash over the id and the two texts of the inventory.
pub const APPLYSET_HASH: &str = "internal.kro.run/applyset-inventory-hash";
/// How the value of [`APPLYSET_TOOLING`] begins, whichever version wrote it.
pub const TOOLING_PREFIX: &str = "kro/";

/// Annotation on a child: its wave when the instance is deleted, from 1; the highest goes first.
pub const APPLY_ORDER: &str = "internal.kro.run/apply-order";
/// Annotation on a child that was there before we applied it.
pub const ADOPTED: &str = "internal.kro.run/adopted";
/// Annotation on a child: digest of what was last applied. Absent on children that an earlier owner applied.
pub const APPLIED_DIGEST: &str = "internal.kro.run/applied-digest";
/// Annotation on a child of an instance that is itself a child: how many instances are above it.
pub const NESTING: &str = "internal.kro.run/nesting";
/// Annotation on a generated CRD: digest of what we want it to be.
pub const CRD_DIGEST: &str = "internal.kro.run/crd-digest";

/// Label on a ClusterRole whose rules the controller's own role takes in.
pub const AGGREGATE: &str = "rbac.kro.run/aggregate-to-controller";

/// Field manager of children.
pub const CHILD_MANAGER: &str = "kro.run/applyset";
/// Field manager of the finalizer and the labels of an instance.
pub const LABEL_MANAGER: &str = "kro.run/labeller";
/// Field manager of the inventory on an instance.
pub const INVENTORY_MANAGER: &str = "kro.run/applyset-parent";

/// Name of the Lease: kro's own, so that the two never work side by side.
pub const LEASE: &str = "controller.kro.run";

/// The value that switches a boolean annotation or label on.
pub const TRUE: &str = "true";

/// Label on the CRDs that a hub has put into a spoke: 12 hexadecimal digits of the hub's identity.
pub const HUB: &str = "broker.platform-mesh.io/hub";
/// Annotation that the owner of a spoke sets on such a CRD, with the value that [`HUB`] is to have: that hub takes it over.
pub const CLAIM: &str = "broker.platform-mesh.io/claim";
/// Annotation on such a CRD: the number of the revision that the spoke runs.
pub const GRAPH_REVISION: &str = "broker.platform-mesh.io/graph-revision";
/// Annotation on such a CRD: how the spoke came to that revision, as JSON.
pub const ROLLOUT: &str = "broker.platform-mesh.io/rollout";
/// Field manager of such CRDs.
pub const DISTRIBUTOR: &str = "kro.run/distributor";

/// Annotation on the Secret of a spoke: uid of the `kube-system` namespace that it led to first.
pub const CLUSTER_UID: &str = "broker.platform-mesh.io/cluster-uid";
/// Label on the Secret of a spoke that is to be let go, with the value [`TRUE`].
pub const OFFBOARD: &str = "broker.platform-mesh.io/offboard";
/// Label on a Secret that makes it that of a spoke, with the value [`TRUE`], unless a flag names another.
pub const KRO_CLUSTER: &str = "kro.run/cluster";
