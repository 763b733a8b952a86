//! A model of Kubernetes API servers, in one process: no sockets, no files, no time but the runtime's, and the same answers
//! for the same seed and the same requests.
//!
//! It stands behind the runtime's [`Dial`](runtime_fleet::dial::Dial), so that all that is above it runs as in production. It
//! knows what controllers here use of an API server, and nothing of brokering. `tests/conformance` sends the same requests to
//! it and to a real API server, and compares all that they say.

mod answer;
mod builtin;
mod changes;
mod clock;
mod controllers;
mod core_event;
mod crd;
mod definitions;
mod deletion;
mod discovery;
mod failure;
mod fields;
mod history;
mod journal;
mod kinds;
mod likeness;
mod media;
mod meta;
mod openapi;
mod query;
mod read;
mod recall;
mod request;
mod resource;
mod saved;
mod schema;
mod selector;
mod server;
mod state;
mod strategy;
mod uids;
mod verbs;
mod wire;
mod world;

pub use clock::Clock;
pub use definitions::Definitions;
pub use journal::{Change, Deed, Entry, Journal};
pub use query::watches;
pub use request::Target;
pub use server::ApiServer;
pub use wire::{AFTER_ALL, UNGUARDED, UNLED, Weather, Wire};
pub use world::{Outage, World};
