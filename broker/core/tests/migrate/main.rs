//! The migration machine against a coordination cluster, a compute cluster and providers in memory.
// `json!` in the place of an argument reads best without a `&`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::needless_pass_by_value)]

mod ending;
mod flow;
mod namespaces;
mod objects;
mod people;
mod property;
mod stages;
mod world;
