//! `Step`: something to do.

use crate::{interest::Interest, write::Write};

/// Something to do. `S` says what a write may be about.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<S> {
    /// Write.
    Write(Box<Write<S>>),
    /// Write these, at one API server, in any order: none waits for another, and one that fails keeps no other from going out.
    /// After several that do, the API server is left alone.
    Together(Vec<Write<S>>),
    /// Read an object from its API server before anything is given up on the word of a cache, then decide again with the
    /// answer: see [`Confirmed`].
    Confirm(Box<Interest>),
}

impl<S> From<Write<S>> for Step<S> {
    fn from(write: Write<S>) -> Self {
        Self::Write(Box::new(write))
    }
}

impl<S> Step<S> {
    /// What is written.
    pub fn writes(&self) -> &[Write<S>] {
        match self {
            Self::Write(write) => std::slice::from_ref(write),
            Self::Together(writes) => writes,
            Self::Confirm(_) => &[],
        }
    }
}

/// What a live read said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Of which object.
    pub object: Interest,
    /// What it said.
    pub live: Live,
}

/// What an API server said of an object when it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Live {
    /// There is none.
    Absent,
    /// There is one.
    Present {
        /// Its uid.
        uid: Box<str>,
        /// Whether it is on its way out.
        deleting: bool,
    },
    /// None that could be understood: nobody can tell.
    Unknown,
}

impl Live {
    /// Whether the one with this uid is there.
    pub fn is_of(&self, uid: &str) -> bool {
        matches!(self, Self::Present { uid: there, .. } if **there == *uid)
    }
}
