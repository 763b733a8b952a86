//! Decisions of the resource broker: from observed state to writes. No Kubernetes client, no tokio, no clock of its own.

pub mod acceptance;
pub mod allowance;
pub mod assignment;
pub mod copy;
pub mod decide;
pub mod decision;
pub mod filter;
pub mod glob;
pub mod memory;
pub mod migration;
pub mod migration_object;
pub mod movement;
pub mod namespaces;
pub mod naming;
pub mod path;
pub mod placement;
pub mod policy;
pub mod readiness;
pub mod related;
pub mod snapshot;
pub mod status;
pub mod turns;
