//! `KindRule`: what an API server knows of a kind.

use serde_json::Value;

/// See the module.
#[derive(Debug, Clone)]
pub struct KindRule {
    /// As a CRD has it. Null: any field, and nothing is told apart in lists.
    pub schema: Value,
    /// Whether `status` is a subresource; such kinds count generations, too.
    pub has_status: bool,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether whoever decides has read the schema.
    pub published: bool,
    /// What webhooks and defaults make of everything that is written.
    pub webhook: Option<fn(&mut Value)>,
}

impl KindRule {
    /// A kind that holds anything.
    pub fn free() -> Self {
        Self { schema: Value::Null, has_status: false, namespaced: true, published: false, webhook: None }
    }
}
