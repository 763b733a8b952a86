//! `Step`: something to do.

use crate::write::Write;

/// Something to do. `S` says what a write may be about.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<S> {
    /// Write.
    Write(Box<Write<S>>),
    /// Write these, at one API server, in any order: none waits for another, and one that fails keeps no other from going out.
    /// After several that do, the API server is left alone.
    Together(Vec<Write<S>>),
    /// Read the object that is decided on from its API server before anything is deleted on the word of a cache, then decide
    /// again with the answer: see [`Confirmed`].
    Confirm,
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
            Self::Confirm => &[],
        }
    }
}

/// What a live read said of the object that is decided on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confirmed {
    /// Nobody has read it.
    #[default]
    Unread,
    /// Its API server says that there is none.
    Absent,
    /// Its API server has one with this uid.
    Present(Box<str>),
}
