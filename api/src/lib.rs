//! Kinds, keys and names of the resource broker: what users write and what the broker writes for them to read.
//!
//! This crate knows the shapes, not the behaviour. The CRDs in `config/crd/` are generated from it (`make crds`).

pub mod accept_api;
pub mod cluster_name;
pub mod keys;

pub use accept_api::{AcceptApi, AcceptApiSpec, AcceptApiStatus, Boundary, Filter, Gvr, Missing};
pub use cluster_name::{ClusterName, Role};
