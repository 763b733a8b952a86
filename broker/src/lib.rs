//! The resource broker: observe (indexes to a snapshot of one origin), decide (`broker-core`), act (writes with preconditions).

pub mod accept_apis;
pub mod act;
pub mod app;
pub mod broker;
pub mod command_line;
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
pub mod quotas;
pub mod records;
pub mod registry;
pub mod server;
pub mod signing;
pub mod sources;
pub mod turns;
pub mod watch_kind;
pub mod worker;
