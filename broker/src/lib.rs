//! The resource broker: observe (indexes to a snapshot of one origin), decide (`broker-core`), act (writes with preconditions).

pub mod accept_apis;
pub mod accept_changes;
pub mod act;
pub mod app;
mod bodies;
pub mod broker;
pub mod clock;
pub mod command_line;
pub mod decisions;
pub mod departures;
pub mod events;
pub mod logs;
pub mod metrics;
pub mod migrations;
pub mod namespaces;
pub mod observe;
pub mod observer;
pub mod options;
pub mod owned;
pub mod records;
pub mod registry;
pub mod secrets_namespace;
pub mod server;
pub mod signing;
pub mod sources;
pub mod watch_kind;
pub mod worker;
