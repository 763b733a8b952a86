//! Sequences by what they are about.

pub(crate) mod applies;
pub(crate) mod apply_lists;
pub(crate) mod config_maps;
pub(crate) mod creation;
pub(crate) mod definitions;
pub(crate) mod deletion;
pub(crate) mod discovery;
pub(crate) mod events;
pub(crate) mod forgetting;
pub(crate) mod kinds;
pub(crate) mod leases;
pub(crate) mod lists;
pub(crate) mod merges;
pub(crate) mod metadata;
pub(crate) mod namespaces;
pub(crate) mod owners;
pub(crate) mod roles;
pub(crate) mod schemas;
pub(crate) mod secrets;
pub(crate) mod statuses;
pub(crate) mod updates;
pub(crate) mod watches;
