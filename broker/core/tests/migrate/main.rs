//! The migration machine against a coordination cluster, a compute cluster and providers in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod ending;
mod flow;
mod objects;
mod people;
mod property;
mod stages;
mod world;
