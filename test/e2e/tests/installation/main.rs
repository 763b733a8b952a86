//! Installation: `kubectl apply -k config/default`, the Helm chart, and what else people apply from `config/`.
//!
//! With the real kubectl and the real helm (test/helm/build.sh), against real API servers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bill;
mod clusters;
mod objects;
mod rendered;
mod restricted;
mod tool;
