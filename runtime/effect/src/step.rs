//! `Step`: something to do.

use crate::write::Write;

/// Something to do. `S` says what a write may be about.
#[derive(Debug, Clone, PartialEq)]
pub enum Step<S> {
    /// Write.
    Write(Box<Write<S>>),
    /// Read the object that is decided on from its API server before anything is deleted on the word of a cache, then decide
    /// again with the answer: see [`Confirmed`].
    Confirm,
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
