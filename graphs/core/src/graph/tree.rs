//! `Tree`: a template with its expressions compiled.

use runtime_cel::graph::Program;
use serde_json::Value;

/// A piece of a template.
#[derive(Debug, Clone)]
pub enum Tree {
    /// As it stands there.
    Fixed(Value),
    /// A list.
    List(Vec<Tree>),
    /// An object; its keys are never expressions.
    Object(Vec<(String, Tree)>),
    /// The value of this one of the resource's expressions.
    Computed(usize),
}

/// An expression whose value stands in a template.
#[derive(Debug, Clone)]
pub struct Computed {
    /// Its place, such as `spec.containers[0].image`.
    pub path: String,
    /// The expression; a text with several is one.
    pub program: Program,
    /// Whether it uses an iterator, and so is evaluated for each object.
    pub iterates: bool,
    /// Whether nothing is written where it gives null: it is an empty optional, which the field does not take.
    pub optional: bool,
}
