//! `Node`: one entry of an RGD's resources, as one pass over one instance found it. What rendering says, and what decisions
//! are made of.

use serde_json::Value;

/// What a pass found of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What is wanted of it.
    pub wanted: Wanted,
    /// Whether what is there is enough for those that depend on it.
    pub ready: Ready,
}

/// What is wanted of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// It is not included, or depends on one that is not: what is there of it goes.
    Skipped,
    /// Data that it needs is not there yet; for people, without the node's id.
    Waiting(String),
    /// It cannot be rendered until somebody sets a field of the instance; for people, without the node's id.
    Unset(String),
    /// It cannot be rendered; for people, without the node's id.
    Failed(String),
    /// These objects, in the order of expansion, without the labels that are ours: one, or those of a collection. Of an
    /// external reference: what is referred to, which is read and never written.
    Objects(Vec<Value>),
}

/// Whether a node is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// It is, or is skipped.
    Yes,
    /// Not yet; for people, without the node's id.
    No(String),
    /// Nobody can tell, for this error; for people, without the node's id.
    Failed(String),
}
