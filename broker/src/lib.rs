//! The resource broker: observe (indexes to a snapshot of one origin), decide (`broker-core`), act (writes with preconditions).
//!
//! Whose turn it is, what is sent and what is tried again is for `runtime-engine`. What is no machine has a loop of its own: tasks
//! in `signing` and `namespaces`, which write and try again by themselves, and those in `acceptance`, `migrations`, `brake`, `sync`
//! and `dashboard`, which take in or look. What is right for an object is for `broker-core` to say.

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
mod gathered;
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
