//! `Record`: what is remembered of an instance between decisions.

use graphs_core::instance::{Memory, State};
use runtime_engine::recorder::Told;

/// What is remembered of an instance.
#[derive(Default)]
pub struct Record {
    /// Of its writes.
    pub memory: Memory,
    /// What people were told.
    pub told: Told,
    /// How it stands.
    pub state: State,
    /// Whether its status says ERROR; `None`: it is not read.
    pub fails: Option<bool>,
    /// Its status was written, and what is made of the version that it has since is looked at.
    pub reviewed: bool,
    /// It needs watches of its own.
    pub needs: bool,
}
