//! API servers for the tests, the demo and the bench, without containers: real ones, or, where tests say that it will do, the
//! model of `test/sim` as a program ([`Servers`]).
//!
//! A [`Lab`] is any number of [`Cluster`]s (API servers), each with its own users, certificates and audit log, and one etcd for
//! those that are real. [`Lab::start_process`] runs further programs, such as the broker, beside them. Everything a lab
//! started ends with it, also when the process that holds it is killed ([`Lab`] says how).
//!
//! ```no_run
//! # async fn example() -> anyhow::Result<()> {
//! use harness::{Lab, LabOptions};
//!
//! let lab = Lab::start(LabOptions::default()).await?;
//! let homer = lab.cluster("homer").await?;
//! homer.apply("person", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}").await?;
//!
//! let mark = homer.audit().settle().await?;
//! // ... what is to be counted ...
//! let requests = homer.audit().settled_since(mark).await?;
//! assert_eq!(requests.of("broker").len(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! The binaries come from `test/controlplane/build.sh`, or from `$KUBEBUILDER_ASSETS` where that is set; the model is one of
//! this workspace's.
//! This crate knows nothing of brokering.

mod apiserver;
mod apply;
mod audit;
mod binaries;
mod certificate;
mod clock;
mod cluster;
mod controller_manager;
mod dice;
mod etcd;
mod lab;
mod obituary;
mod port;
mod process;
mod reaper;
mod users;
mod wait;

pub use apply::{FIELD_MANAGER, apply, parse_objects};
pub use audit::{AuditEvent, AuditEvents, AuditLog, Mark};
pub use binaries::{binary, broker_binary, kubectl_binary, node_binary};
pub use clock::WallClock;
pub use cluster::{Cluster, ClusterOptions};
pub use dice::Dice;
pub use lab::{Lab, LabOptions, Servers};
pub use obituary::last_words;
pub use port::{Port, free_address};
pub use process::{Process, Program};
pub use users::PREDEFINED_USERS;
pub use wait::{Observation, wait_for};

/// Installs the process's TLS provider (rustls with ring). Calling it again does nothing, and [`Lab::start`] calls it.
pub fn install_tls() {
    // An error means that a provider is installed already, which is all that is wanted.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
}
