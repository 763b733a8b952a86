//! Tests of `decide` in a small world: clusters in memory that behave as API servers do, a shell that carries out
//! decisions as the binary does, and people, providers and attackers who change things.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accepting;
mod attacks;
mod deletion;
mod fights;
mod flow;
mod held;
mod marks;
mod migrated;
mod moves;
mod paced;
mod property;
mod related;
mod steady;
mod switched;
mod unknown;
mod world;
