//! `Outcome`: how work on a key ended.

use std::{sync::Arc, time::Duration};

use crate::slots::Slots;

/// How work on a key ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something changes.
    Done,
    /// Look again after this time, without this being a failure.
    After(Duration),
    /// Look again once nobody else waits, or something changes.
    WhenIdle,
    /// The same, and not before this time is over.
    IdleAfter(Duration),
    /// It failed: again after a wait that grows with the failures in a row.
    Failed,
    /// The next write needs one of these slots, of which none was free.
    Park(Arc<Slots>),
}
