//! What is done about an RGD: its revisions, its CRD, which revision its instances are served from, its status, its end.
//!
//! One pass gives the writes that can be made on what is known now. After them the shell observes and decides again, until a
//! pass wants nothing: so a crash between any two writes leaves a state that [`decide`] goes on from. It remembers nothing.

mod condition;
mod custom_resource;
mod decide;
mod decision;
mod depart;
mod history;
mod instance;
mod issue;
mod revision_status;
mod serve;
mod snapshot;
mod status;

pub(crate) use self::{
    custom_resource::{crd_kind, names_taken},
    instance::{crd_deletion, deletion},
};
pub use self::{
    custom_resource::{crd_name, generated_kind, is_established},
    decide::decide,
    decision::{Decision, Serve, Subject, Write},
    history::says_the_same,
    instance::{AT_ONCE, Instance},
    snapshot::{
        Compilation, Controller, Distributed, Elsewhere, Flags, Graph, Instances, Revision, Revisions, Snapshot,
    },
};
