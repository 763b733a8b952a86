//! The decision on one instance, told as stories of a small world.

mod apply;
mod conditions;
mod conflict;
mod deletion;
mod manage;
mod nesting;
mod properties;
mod prune;
mod rendered;
mod server;
mod stories;
mod toy;
mod world;
