//! What the end-to-end tests share: a world of API servers with a broker, and words to say what should be so.
//!
//! - [`World`]: one lab with a hub, consumers and providers, their CRDs, and a broker that serves them.
//! - [`Place`]: one cluster of it, as a person (and as the provider's controller) acts there.
//! - [`Broker`]: one broker process: ready, killed, started again, its log, health and metrics.
//! - [`Scene`]: what one test has for itself in a world that it shares: a namespace, a domain, AcceptAPIs.
//! - [`Shared`]: a world for all tests of a binary.
//! - [`Tally`]: what brokers asked API servers for, counted from the audit logs.
//! - [`Controller`]: what runs at a provider, and brings copies up.
//! - [`Recording`]: all that happens to objects of a kind in a namespace.
//! - [`Traveller`]: an object that moves between providers.
//! - [`Neighbour`]: a tenant who is served while somebody else attacks.
//! - [`Listed`]: what a provider lists as related to an object.
//! - [`Liar`]: an API server that answers as a test wants it to.
//! - [`Said`]: what a command of `kubectl broker` said, and what of it is kept.
//! - [`graphs`]: ResourceGraphDefinitions, and the controller that serves them.
//! - [`Kind`], [`Object`]: a kind, and an object as JSON with the questions that tests ask.
//!
//! Helpers panic when what they are asked for does not come to be: they are the assertions of the tests. Nothing here
//! uses the broker's own code to say what is right; names and hashes are computed from the contract's words.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

pub mod broker;
mod clear;
pub mod controller;
pub mod graphs;
pub mod kind;
pub mod liar;
pub mod listed;
pub mod neighbour;
pub mod object;
pub mod place;
pub mod recording;
pub mod said;
pub mod scene;
pub mod schema;
mod selection;
pub mod shared;
pub mod tally;
pub mod traveller;
pub mod world;

use std::time::Duration;

pub use broker::{Broker, BrokerSetup};
pub use controller::Controller;
pub use kind::Kind;
pub use liar::{Liar, Lie};
pub use listed::Listed;
pub use neighbour::Neighbour;
pub use object::{Object, Told};
pub use place::Place;
pub use recording::{Change, Recording};
pub use said::Said;
pub use scene::Scene;
pub use shared::Shared;
pub use tally::{Request, Requests, Tally, until_quiet};
pub use traveller::Traveller;
pub use world::World;

/// How long a fact may take to come to be on a machine that is busy with other tests, in which debug builds run. Never a
/// measure of speed.
pub const DEADLINE: Duration = Duration::from_mins(2);
