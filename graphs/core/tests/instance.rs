//! The decision on one instance, told as stories of a small world.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "instance/apply.rs"]
mod apply;
#[path = "instance/conditions.rs"]
mod conditions;
#[path = "instance/conflict.rs"]
mod conflict;
#[path = "instance/deletion.rs"]
mod deletion;
#[path = "instance/manage.rs"]
mod manage;
#[path = "instance/properties.rs"]
mod properties;
#[path = "instance/prune.rs"]
mod prune;
#[path = "instance/rendered.rs"]
mod rendered;
#[path = "rgd/mod.rs"]
mod rgd;
#[path = "instance/server.rs"]
mod server;
#[path = "instance/stories.rs"]
mod stories;
#[path = "instance/toy.rs"]
mod toy;
#[path = "instance/world.rs"]
mod world;
