//! A worked example of a migration: key-value stores that move between providers with all that is in them.
//!
//! - `keyvalue-provider` serves `KeyValue` objects. [`provider`] makes what belongs to one: a ConfigMap that keeps the
//!   data ([`content`]) and a Secret with its address and token ([`access`]); [`server`] answers its users over HTTP.
//! - `keyvalue-migrate` is the program in the Jobs of a migration: [`remote`] speaks to both stores, [`transfer`] copies,
//!   compares and seals.
//!
//! `README.md` of this folder tells the story. Nothing here but [`demo`] knows how the broker works.

pub mod access;
pub mod content;
pub mod demo;
pub mod keyvalue_migrate;
pub mod keyvalue_provider;
pub mod provider;
pub mod remote;
pub mod server;
pub mod transfer;
