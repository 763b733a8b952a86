//! `Resource`: a node of a graph, compiled.

use std::sync::Arc;

use runtime_cel::graph::{Program, ValueType};

use super::{
    kinds::ServedKind,
    tree::{Computed, Tree},
};

/// What a resource is to its graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// One object.
    One,
    /// The objects that `forEach` makes.
    Collection,
    /// One object that is only read.
    External,
    /// All objects that a selector matches, which are only read.
    Selected,
}

impl Role {
    /// Whether its value is a list.
    pub fn is_list(self) -> bool {
        matches!(self, Self::Collection | Self::Selected)
    }

    /// Whether its objects are read and never written.
    pub fn is_external(self) -> bool {
        matches!(self, Self::External | Self::Selected)
    }
}

/// A list that `forEach` goes through.
#[derive(Debug, Clone)]
pub struct Dimension {
    /// Name of the iterator.
    pub iterator: String,
    /// The list.
    pub list: Program,
    /// As what an element is seen.
    pub(crate) element: ValueType,
}

/// A node of a graph.
#[derive(Debug, Clone)]
pub struct Resource {
    /// Name by which expressions know it.
    pub id: String,
    /// The kind of its objects.
    pub kind: Arc<ServedKind>,
    /// What it is to the graph.
    pub role: Role,
    /// What an object is to be, or what is referred to: `{apiVersion, kind, metadata: {name, namespace} | {selector,
    /// namespace}}`.
    pub template: Tree,
    /// The expressions of the template.
    pub expressions: Vec<Computed>,
    /// All of them must be true, or the resource is skipped.
    pub include_when: Vec<Program>,
    /// All of them must be true of it, or it is not ready.
    pub ready_when: Vec<Program>,
    /// What is combined for a collection; the first is the outermost.
    pub dimensions: Vec<Dimension>,
    /// Ids of the resources it uses, sorted.
    pub dependencies: Vec<String>,
    /// Its `apply-order`, from 1: deletion goes from the highest down.
    pub wave: usize,
    /// As what one of its objects is seen by expressions.
    pub(crate) object_type: ValueType,
}
