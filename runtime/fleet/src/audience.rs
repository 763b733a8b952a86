//! `Audience`: for whom a stream is read.
//!
//! Who reads a stream ([`crate::watch`]) knows its API server and its audience, and no cluster. So one stream may come to
//! feed many clusters: its audience would be whoever knows by which mark of an object its cluster is found.

use crate::{
    index::{Change, Index},
    object::ObjectKey,
};

/// Hears of what a stream has put into an index.
pub(crate) trait Audience: Send + Sync + 'static {
    /// Below which path its API server serves what is asked for; empty: at the root.
    fn path(&self) -> &str;

    /// Whether anybody wants to read an object.
    fn keeps(&self, index: &Index, key: &ObjectKey) -> bool;

    /// A list is about to be put into an index: until all of it has been told, what listeners keep is older than the index.
    fn listing(&self, index: &Index);

    /// An object came, changed or went. `first`: it was there when the stream began.
    fn changed(&self, index: &Index, change: &Change, first: bool);

    /// All that is there has been seen, for the first time since that was not known.
    fn completed(&self, index: &Index);

    /// All that a later list says has been told.
    fn caught_up(&self, index: &Index);

    /// What is there is not known any more, until it is completed again.
    fn incomplete(&self, index: &Index);
}
