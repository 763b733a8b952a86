//! The resource broker: observe (indexes to a snapshot of one origin), decide (`broker-core`), act (writes with preconditions).
//!
//! Knows no loop, no sender and no retry: those are `runtime-engine`'s. What is right for an object is for `broker-core` to say.

pub mod acceptance;
pub mod app;
pub mod brake;
pub mod broker;
mod changes;
pub mod cluster_secrets;
pub mod clusters;
pub mod command_line;
pub mod conventions;
pub mod dashboard;
mod intake;
pub mod listen;
pub mod metrics;
pub mod migrations;
pub mod namespaces;
pub mod observer;
pub mod options;
pub mod origins;
pub mod reach;
pub mod secrets_namespace;
pub mod server;
pub mod signing;
pub mod sources;
mod sync;
pub mod watch_kind;
pub mod watches;
