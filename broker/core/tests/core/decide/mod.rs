//! Tests of `decide` in a small world: clusters in memory that behave as API servers do, a shell that carries out
//! decisions as the binary does, and people, providers and attackers who change things.

mod accepting;
mod attacks;
mod brief;
mod clocks;
mod deletion;
mod ends;
mod explained;
mod fights;
mod flow;
mod held;
mod lanes;
mod leftovers;
mod marks;
mod migrated;
mod moves;
mod paced;
mod patience;
mod policies;
mod property;
mod refusals;
mod related;
mod retries;
mod silence;
mod stays;
mod steady;
mod switched;
mod turns;
mod underway;
mod unknown;
mod unread;
pub(crate) mod world;
