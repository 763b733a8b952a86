//! What `runtime-cel` promises: expressions, templates, types, and what kro answered.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod expression;
mod graph;
mod template;
mod types;
