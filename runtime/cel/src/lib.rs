//! CEL from strangers, metered, templates with CEL in their texts, and the schemas that API servers publish. Pure: no Kubernetes client, no tokio.
//!
//! Knows nothing of what the expressions are for, nor whose the schemas are.

pub mod expression;
pub mod flaws;
pub mod graph;
pub mod pattern;
pub mod processor;
pub mod quantity;
pub mod schema;
pub mod shared;
pub mod template;
pub mod types;
