//! `Bounds`: how much of an origin's kind, consumer and route may be under way.

use broker_api::ClusterName;
use runtime_fleet::object::ObjectKey;

/// How much may be under way at once.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// Objects that an AcceptAPI which the origin would newly count for holds at the most.
    pub capacity: Option<u64>,
    /// The same of one consumer's objects.
    pub share: Option<u64>,
    /// Objects of one consumer that are placed.
    pub objects: Option<u64>,
    /// Moves between two providers.
    pub moves: usize,
    /// How often origins had been looked for when it was observed; see [`Remembered`](super::Remembered).
    pub searches: u64,
    /// Whether a provider holds the origin's copy now.
    pub holds: &'a dyn Fn(&ClusterName, &ObjectKey) -> bool,
}

#[cfg(test)]
impl Bounds<'static> {
    /// One move at a time, and nothing else is bounded.
    pub(crate) const ONE_MOVE: Self =
        Self { capacity: None, share: None, objects: None, moves: 1, searches: u64::MAX, holds: &|_, _| false };
}
