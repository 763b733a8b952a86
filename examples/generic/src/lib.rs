//! One provider for three of the generic kinds: `VirtualMachine`, `KubernetesCluster` and `SQL`.
//!
//! `generic-provider` runs no machines and no databases; what it hands out looks as if it did. What each kind gets is in
//! [`product`] (pure): an address for a machine, a kubeconfig for a cluster, connection data for a database. One
//! [`controller`] serves all of them, and [`status`] is what the broker brings to the consumer.
//!
//! `README.md` of this folder tells what the demo does with it. Nothing here but [`demo`] knows how the broker works.

pub mod controller;
pub mod demo;
pub mod generic_provider;
pub mod product;
pub mod status;
