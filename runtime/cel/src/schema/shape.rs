//! `Shape`: what a value can hold, as far as it matters here.

use std::collections::BTreeMap;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// Anything, or nothing is known.
    Any,
    /// A text, number or bool.
    Scalar,
    /// A number with a suffix: API servers write it in a way of their own (`1000m` as `1`).
    Quantity,
    Object(Object),
    List {
        items: Box<Shape>,
        kind: ListKind,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Object {
    pub(super) fields: BTreeMap<String, Field>,
    /// What fields that are not named may hold; `None`: they are pruned.
    pub(super) others: Option<Box<Shape>>,
    /// Server-side apply replaces it as a whole.
    pub(super) atomic: bool,
}

impl Object {
    /// What a field may hold, whether it is named or not.
    pub(super) fn inner(&self, name: &str) -> &Shape {
        let field = self.fields.get(name).map(|field| &field.shape);
        field.or(self.others.as_deref()).unwrap_or(&Shape::Any)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) shape: Shape,
    pub(super) default: Option<Value>,
    pub(super) nullable: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ListKind {
    Atomic,
    Set,
    /// Elements are told apart by these fields.
    Map(Vec<String>),
}
