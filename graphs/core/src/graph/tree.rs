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

impl Tree {
    /// Whether the text at these keys is there and is no expression.
    pub(crate) fn is_fixed(&self, path: &[&str]) -> bool {
        match (self, path) {
            (Self::Fixed(value), _) => {
                path.iter().try_fold(value, |value, key| value.get(key)).is_some_and(Value::is_string)
            }
            (Self::Object(fields), [key, rest @ ..]) => {
                fields.iter().any(|(name, field)| name == key && field.is_fixed(rest))
            }
            _ => false,
        }
    }
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
