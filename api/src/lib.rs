//! Kinds, keys and names of the resource broker: what users write and what the broker writes for them to read.
//!
//! This crate knows the shapes, not the behaviour. The CRDs in `config/crd/` and `config/crd-graphs/` are generated from
//! it (`make manifests`).

// `KubeSchema` copies a struct, with its `pub`, into a function body; clippy takes the keys of two columns for one.
#![allow(unreachable_pub, clippy::duplicated_attributes)]

pub mod accept_api;
pub mod broker;
pub mod brokered_status;
pub mod cluster_name;
pub mod condition;
pub mod crds;
pub mod example;
pub mod generic;
pub mod graphs;
pub mod gvk;
pub mod keys;
pub mod migration;
pub mod migration_configuration;

pub use accept_api::{AcceptApi, AcceptApiSpec, AcceptApiStatus, Boundary, Filter, Gvr, Missing, NamespaceRules};
pub use broker::{Broker, BrokerSpec, BrokerStatus};
pub use brokered_status::{Availability, BrokeredStatus, RelatedResource};
pub use cluster_name::{ClusterName, Role};
pub use condition::{condition, set_condition};
pub use crds::crds;
pub use gvk::Gvk;
pub use migration::{Migration, MigrationRef, MigrationSpec, MigrationState, MigrationStatus};
pub use migration_configuration::{
    MigrationConfiguration, MigrationConfigurationSpec, MigrationConfigurationStatus, MigrationStage,
};
