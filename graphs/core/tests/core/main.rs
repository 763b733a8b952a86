//! What `graphs-core` promises: its parts one by one, the machines' decisions in small worlds, and what kro answered.
#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, clippy::format_collect, clippy::struct_excessive_bools)]
#![allow(missing_docs)]

mod applyset;
mod back_and_forth;
mod crd;
mod definition;
mod distribution;
mod graph;
mod instance;
mod revision;
mod rgd;
mod rollout;
mod simple_schema;
mod vectors;
