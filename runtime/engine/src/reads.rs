//! `Reads`: which objects are being read now. Many keys may listen to one object, and it need be read only once.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex, PoisonError},
};

use broker_api::ClusterName;
use runtime_fleet::{hashed::HashMap, object::ObjectKey, watch::WatchSpec};
use tokio_util::sync::CancellationToken;

/// Where an object is seen.
pub(crate) type Place = (ClusterName, Arc<WatchSpec>, ObjectKey);

/// The objects that are being read, each with what ends when that does.
#[derive(Default)]
pub(crate) struct Reads(Mutex<HashMap<Place, CancellationToken>>);

/// Who reads an object.
pub(crate) enum Reader<'a> {
    /// Whoever asked, until this is dropped.
    Us(Read<'a>),
    /// Somebody else; the token is cancelled when that is over, however it went.
    Others(CancellationToken),
}

/// An object is being read.
pub(crate) struct Read<'a> {
    reads: &'a Reads,
    place: Place,
}

impl Reads {
    /// An object is to be read, unless somebody does so already.
    pub(crate) fn begin(&self, place: &Place) -> Reader<'_> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(place.clone()) {
            Entry::Occupied(read) => Reader::Others(read.get().clone()),
            Entry::Vacant(free) => {
                free.insert(CancellationToken::new());
                Reader::Us(Read { reads: self, place: place.clone() })
            }
        }
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        let over = self.reads.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
        if let Some(over) = over {
            over.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::GroupVersionKind;

    use super::*;

    #[test]
    fn an_object_is_read_by_one_at_a_time() {
        let reads = Reads::default();
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "Secret")));
        let place = |name: &str| (ClusterName::provider("p"), Arc::clone(&spec), ObjectKey::new("n", name));
        let Reader::Us(ours) = reads.begin(&place("a")) else { panic!("nobody reads it") };
        assert!(matches!(reads.begin(&place("b")), Reader::Us(_)), "another object");
        let Reader::Others(over) = reads.begin(&place("a")) else { panic!("it is being read") };
        assert!(!over.is_cancelled());
        drop(ours);
        assert!(over.is_cancelled() && matches!(reads.begin(&place("a")), Reader::Us(_)));
        assert!(reads.0.lock().unwrap().is_empty());
    }
}
