//! The objects of one API server, in a map: what stands in for it where decisions are tested without requests.
//!
//! It carries out a decided write as the API server would, and knows of schemas, field ownership, preconditions, finalizers and
//! generations what that takes. `test/sim/tests/stand_ins` sends the same writes to it and to the simulator's model, which is
//! held to a real API server in turn. It knows no requests, no watches, no time.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "it is there for tests alone")]

mod fields;
mod kind_rule;
mod objects;
mod refused;
mod stored;
mod structure;

pub use self::{
    kind_rule::KindRule,
    objects::{At, Objects},
    refused::Refused,
    stored::Stored,
    structure::merge,
};
