//! `resource-broker-operator`: makes of each `Broker` object a Deployment and what belongs to it.
//!
//! [`reconcile`] is a short driver over `dereference → validate → build → apply → update_status`. What decides takes no
//! client: [`invocation`], [`validate`], [`build`], [`apply::decision`], [`status`]. The status is made of what was
//! applied, never of what was meant. Knows nothing of brokering but the flags of the two programs that it deploys.

pub mod app;
pub mod apply;
pub mod arguments;
pub mod build;
pub mod call;
pub mod cleanup;
pub mod compare;
pub mod context;
pub mod controller;
pub mod defaults;
pub mod dereference;
pub mod desired;
pub mod events;
pub mod failures;
pub mod finalizer;
pub mod graphs;
pub mod image;
pub mod invocation;
pub mod metrics;
#[cfg(test)]
mod monitoring;
pub mod monitors;
pub mod options;
pub mod owner;
pub mod program;
pub mod reconcile;
pub mod server;
pub mod status;
pub mod trouble;
pub mod update_status;
pub mod validate;

/// Name of this program where Kubernetes wants one: field manager, reporter of Events, `app.kubernetes.io/managed-by`.
pub const NAME: &str = "resource-broker-operator";
