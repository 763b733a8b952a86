//! Tests of `decide` in a small world: clusters in memory that behave as API servers do, a shell that carries out
//! decisions as the binary does, and people, providers and attackers who change things.

mod accepting;
mod attacks;
mod brief;
mod clocks;
mod deletion;
mod fights;
mod flow;
mod held;
mod lanes;
mod marks;
mod migrated;
mod moves;
mod paced;
mod policies;
mod property;
mod related;
mod silence;
mod steady;
mod switched;
mod unknown;
mod unread;
pub(crate) mod world;
