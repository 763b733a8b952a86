//! Any number of Kubernetes clusters: where they come from, how to reach them, what is in them, how to write to them.
//!
//! Knows nothing of brokering: what a program calls itself, how it labels things and which roles clusters have is handed
//! in ([`conventions::Conventions`]).

pub mod backoff;
pub mod budget;
pub mod call;
pub mod cluster;
mod connect;
pub mod conventions;
pub mod discover;
mod each;
pub mod error;
pub mod fleet;
pub mod identity;
pub mod index;
mod intake;
pub mod kind;
mod kinds;
pub mod kubeconfig;
pub mod lag;
pub mod lanes;
pub mod lease;
mod lines;
pub mod object;
mod outline;
mod page;
pub mod queue;
pub mod shape;
pub mod source;
pub mod watch;
pub mod write;

pub use kinds::well_known;
pub use kube::core::GroupVersionKind;
