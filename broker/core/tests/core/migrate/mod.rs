//! The migration machine against a coordination cluster, a compute cluster and providers in memory.
// `json!` in the place of an argument reads best without a `&`.

mod book;
mod ending;
mod flow;
mod namespaces;
mod objects;
mod people;
mod property;
mod stages;
mod told;
mod world;
