//! Any number of Kubernetes clusters: where they come from, how to reach them, what is in them, how to write to them.
//!
//! Knows nothing of brokering: what a program calls itself, how it labels things and which roles clusters have is handed
//! in ([`conventions::Conventions`]).

mod audience;
pub mod backoff;
pub mod blocking;
pub mod budget;
pub mod call;
pub mod census;
pub mod cluster;
mod connect;
mod connections;
pub mod conventions;
mod cost;
pub mod crash;
mod definition;
pub mod dial;
pub mod discover;
mod each;
pub mod error;
pub mod fleet;
pub mod hashed;
pub mod identity;
pub mod index;
mod inliner;
mod intake;
pub mod kind;
mod kinds;
pub mod kubeconfig;
pub mod lag;
pub mod lanes;
pub mod lease;
mod lines;
pub mod listener;
pub mod lock;
mod newcomers;
pub mod object;
pub mod openapi;
mod outline;
mod page;
mod query;
pub mod queue;
pub mod random;
mod served;
pub mod server;
pub mod shape;
pub mod slots;
pub mod sorted;
pub mod source;
pub mod subscription;
mod subscriptions;
mod tasks;
pub mod traffic;
pub mod wall;
pub mod watch;
mod watched;
pub mod write;

pub use kind::well_known;
pub use kube::core::GroupVersionKind;
