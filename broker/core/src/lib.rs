//! Decisions of the resource broker: from observed state to writes. No Kubernetes client, no tokio, no clock of its own.

pub mod acceptance;
pub mod assignment;
pub mod expression;
pub mod filter;
pub mod naming;
pub mod placement;
