//! Decisions about ResourceGraphDefinitions and their instances: pure functions from observed state to writes.
//!
//! No Kubernetes client, no tokio, no clock of its own.

pub mod applyset;
pub mod canonical;
pub mod crd;
pub mod definition;
pub mod distribution;
pub mod graph;
pub mod instance;
pub mod labels;
pub mod limits;
pub mod naming;
pub mod node;
pub mod plural;
pub mod render;
pub mod revision;
pub mod rollout;
pub mod simple_schema;
