//! What an RGD says, compiled: its resources in the order in which they are made, with every expression parsed, checked and
//! ready to be evaluated. Immutable and shared; instances are rendered from it ([`crate::render`]).
//!
//! ```text
//! ids, kind ──► each resource: kind, template ──► names ──► edges ──► order, waves ──► types ──► status ──► Graph
//! ```

mod compile;
mod conditions;
mod draft;
mod error;
mod expression;
mod external;
mod kinds;
mod object;
mod order;
mod path;
mod resource;
mod schema;
mod status;
mod template;
mod tree;

use broker_api::{Gvk, graphs::GeneratedScope};
use runtime_cel::graph::ValueType;
use serde_json::Value;

pub use self::{
    compile::compile,
    conditions::AuthoredCondition,
    error::{GraphError, MissingKind},
    kinds::{Found, Kinds, ServedKind},
    resource::{Dimension, Resource, Role},
    status::{StatusField, StatusTree},
    tree::{Computed, Tree},
};

/// Name by which expressions know the instance.
pub const SCHEMA: &str = "schema";

/// Name by which `readyWhen` of a collection knows one of its objects.
pub const EACH: &str = "each";

/// Name by which conditions are made and read.
pub const RUNTIME: &str = "runtime";

/// How far a graph may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Expressions of the whole RGD; a text with several is one.
    pub expressions: usize,
    /// Resources of the whole RGD.
    pub resources: usize,
    /// Dimensions of one `forEach`.
    pub dimensions: usize,
    /// Objects of one collection.
    pub collection: usize,
    /// Steps of evaluation in one pass over one instance.
    pub steps: u64,
    /// Bytes of JSON of one rendered object.
    pub object: usize,
    /// Bytes of JSON of all that is rendered in one pass over one instance.
    pub pass: usize,
    /// What belongs to a namespaced instance stays in its namespace, unless a template names another in fixed text: who
    /// writes instances does not choose.
    pub own_namespace: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            expressions: 512,
            resources: 512,
            dimensions: 10,
            collection: 1000,
            steps: 2_000_000,
            object: 1024 * 1024,
            pass: 64 * 1024 * 1024,
            own_namespace: false,
        }
    }
}

/// A compiled RGD.
#[derive(Debug)]
pub struct Graph {
    /// The kind that is generated.
    pub kind: Gvk,
    /// Whether its instances are in namespaces.
    pub scope: GeneratedScope,
    /// The plural that its name makes; a CRD that defines the kind already keeps its own.
    pub plural: String,
    /// The schema of an instance's `spec`.
    pub spec_schema: Value,
    /// The schema of an instance's `status`, without `state` and `conditions`.
    pub status_schema: Value,
    /// Its resources, each behind those it depends on.
    pub resources: Vec<Resource>,
    /// The fields of an instance's status.
    pub status: StatusTree,
    /// The conditions that the author makes; with any, only these are written.
    pub conditions: Vec<AuthoredCondition>,
    /// How far rendering may go.
    pub bounds: Bounds,
    /// Whether what is rendered may be another once an instance's status is written.
    pub reads_version: bool,
    /// As what an instance is seen by expressions.
    pub(crate) instance_type: ValueType,
}

impl Graph {
    /// Ids of the resources, each behind those it depends on.
    pub fn topological_order(&self) -> impl Iterator<Item = &str> {
        self.resources.iter().map(|resource| resource.id.as_str())
    }

    /// Name of the CRD that is generated.
    pub fn crd_name(&self) -> String {
        format!("{}.{}", self.plural, self.kind.group)
    }

    /// The resource of this id.
    pub fn resource(&self, id: &str) -> Option<&Resource> {
        self.resources.iter().find(|resource| resource.id == id)
    }

    /// Whether instances are in no namespace.
    pub fn is_cluster_scoped(&self) -> bool {
        self.scope == GeneratedScope::Cluster
    }
}
