//! `Snapshot`: all that is known of one instance at one moment.

use std::sync::Arc;

use broker_api::ClusterName;
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, now::Now, object_key::ObjectKey, seen::Seen, view::View};
use serde_json::{Map, Value};

use super::subject::Memory;
use crate::{applyset::GroupKind, node::Node};

/// All that is known of one instance at one moment.
pub struct Snapshot<'a> {
    /// The cluster that the instance, its children and what they refer to are in.
    pub cluster: &'a ClusterName,
    /// Kind of the instance.
    pub kind: &'a Kind,
    /// Its namespace, empty when it is cluster-scoped, and its name.
    pub key: &'a ObjectKey,
    /// The instance itself.
    pub instance: &'a Seen,
    /// What its kind can hold, where that is known: its status is compared by it.
    pub schema: Option<&'a Schema>,
    /// What it is made of.
    pub graph: Graph<'a>,
    /// What is there with the label of its set, of every kind that its inventory or its graph names. A kind that is missing
    /// here is unknown.
    pub members: &'a [Members],
    /// What is remembered of its writes.
    pub memory: &'a Memory,
    /// The moment.
    pub now: &'a Now,
    /// Version of the controller, for labels and tooling.
    pub version: &'a str,
    /// Whether each change of a condition is told.
    pub tells_conditions: bool,
}

/// What an instance is made of.
pub enum Graph<'a> {
    /// Nobody serves its kind.
    None,
    /// The revision that serves it cannot be used; for people.
    Failed(&'a str),
    /// This revision serves it.
    Served(Served<'a>),
}

/// One instance of one revision, as it was rendered from what was seen.
pub struct Served<'a> {
    /// Name of the RGD.
    pub rgd_name: &'a str,
    /// Its uid.
    pub rgd_uid: &'a str,
    /// The revision was issued by an earlier owner and has not changed since: its children without a digest of ours are
    /// as that owner applied them.
    pub inherited: bool,
    /// All nodes, in topological order.
    pub nodes: &'a [NodeView],
    /// Two nodes are one object: nothing is applied. For people.
    pub conflict: Option<&'a str>,
    /// The status that the RGD says.
    pub status: Rendered<'a>,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One object that is applied.
    Single,
    /// A collection of such.
    Collection,
    /// One object that is only read.
    Reference,
    /// Objects that are only read, by selector.
    Selection,
}

impl Form {
    pub(super) fn is_external(self) -> bool {
        matches!(self, Self::Reference | Self::Selection)
    }
}

/// What a graph says of a node, whatever the instance.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Its id.
    pub id: String,
    /// Kind of its objects.
    pub kind: Kind,
    /// Whether these live in namespaces.
    pub namespaced: bool,
    /// What it is.
    pub form: Form,
    /// Wave in which its children are deleted, from 1; the highest goes first.
    pub wave: u32,
    /// Ids of the nodes that its expressions name.
    pub dependencies: Vec<String>,
    /// What its kind can hold, where that is known.
    pub schema: Option<Arc<Schema>>,
    /// It is one of Kubernetes' own: its API server stores no field with an empty value, as Go's `omitempty` has it.
    pub omits_empty: bool,
}

/// A node in one pass.
#[derive(Debug, Clone)]
pub struct NodeView {
    /// What the graph says of it.
    pub resource: Arc<Resource>,
    /// What rendering says of it.
    pub node: Node,
    /// What is there at the key of each object that is wanted, in the same order: see [`super::target`]. What is missing
    /// here is unknown.
    pub observed: Vec<Seen>,
    /// Why what is there cannot be seen and will not be soon; for people.
    pub trouble: Option<String>,
}

/// The objects of a kind with the label of the instance's set.
#[derive(Debug, Clone)]
pub struct Members {
    /// The kind.
    pub group_kind: GroupKind,
    /// What is there.
    pub found: Found,
}

/// What is there of a kind.
#[derive(Debug, Clone)]
pub enum Found {
    /// Not listed. With why, where that will not change soon; for people.
    Unknown(Option<String>),
    /// The cluster does not serve the kind (any more): there are no objects of it.
    NotServed,
    /// All that there is, in all namespaces.
    Listed {
        /// The kind, in a version that is served.
        kind: Kind,
        /// The objects; the label need not have been compared.
        objects: Vec<View>,
    },
}

/// Given the built-in conditions of this pass, as they would be written: the author's.
pub type Author<'a> = dyn Fn(&[Value]) -> Vec<Authored> + 'a;

/// The status that an RGD says of an instance.
#[derive(Default)]
pub struct Rendered<'a> {
    /// Its fields, of which `state` and `conditions` are never among.
    pub fields: Map<String, Value>,
    /// Fields that failed, each with its path and why; for people.
    pub errors: Vec<String>,
    /// Conditions of the RGD's author, in the place of the built-in ones.
    pub conditions: Option<&'a Author<'a>>,
}

/// One condition of an author.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authored {
    /// This one.
    Condition {
        /// `type`.
        kind: String,
        /// `True`, `False` or `Unknown`.
        status: String,
        /// `reason`.
        reason: String,
        /// `message`.
        message: String,
    },
    /// Its data is not there yet: the one that was written before stays. Its type, where that can be told; else all stay
    /// that no other names.
    Pending(Option<String>),
    /// It cannot be told; for people.
    Failed(String),
}
