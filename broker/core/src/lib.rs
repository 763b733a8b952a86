//! Decisions of the resource broker: from observed state to writes. No Kubernetes client, no tokio, no clock of its own.

pub mod acceptance;
pub mod assignment;
pub mod copy;
pub mod decide;
pub mod decision;
pub mod expression;
pub mod filter;
pub mod glob;
pub mod memory;
pub mod merge;
pub mod migration;
pub mod migration_object;
pub mod movement;
pub mod naming;
pub mod path;
mod pattern;
pub mod placement;
pub mod quantity;
pub mod readiness;
pub mod related;
pub mod schema;
pub mod size;
pub mod snapshot;
pub mod status;
