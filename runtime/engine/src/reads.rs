//! `Reads`: which objects are being read now. Many keys may listen to one object, and it need be read only once.

use std::{
    collections::hash_map::Entry,
    sync::{Arc, Mutex, PoisonError},
};

use broker_api::ClusterName;
use runtime_fleet::{hashed::HashMap, object::ObjectKey, watch::WatchSpec};
use tokio::sync::watch;

/// Where an object is seen.
pub(crate) type Place = (ClusterName, Arc<WatchSpec>, ObjectKey);

/// Whether an object that is listened to is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// As it was when the decision began; or what is there is not what was seen, which the watch will say.
    Before,
    Now,
    Not,
}

/// What came of a read, once that is known.
type Said = watch::Receiver<Option<Known>>;

/// The objects that are being read, each with where it is said what came of that.
#[derive(Default)]
pub(crate) struct Reads(Mutex<HashMap<Place, Said>>);

/// Who reads an object.
pub(crate) enum Reader<'a> {
    /// Whoever asked, until this is dropped.
    Us(Read<'a>),
    /// Somebody else. Who has given up says nothing.
    Others(Said),
}

/// An object is being read.
pub(crate) struct Read<'a> {
    reads: &'a Reads,
    place: Place,
    says: watch::Sender<Option<Known>>,
}

impl Read<'_> {
    /// Tells all who wait for it.
    pub(crate) fn says(&self, known: Known) {
        self.says.send_replace(Some(known));
    }
}

impl Reads {
    /// An object is to be read, unless somebody does so already.
    pub(crate) fn begin(&self, place: &Place) -> Reader<'_> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(place.clone()) {
            Entry::Occupied(read) => Reader::Others(read.get().clone()),
            Entry::Vacant(free) => {
                let (says, said) = watch::channel(None);
                free.insert(said);
                Reader::Us(Read { reads: self, place: place.clone(), says })
            }
        }
    }
}

impl Drop for Read<'_> {
    fn drop(&mut self) {
        self.reads.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
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
        let Reader::Others(said) = reads.begin(&place("a")) else { panic!("it is being read") };
        assert!(said.borrow().is_none() && said.has_changed().is_ok());
        ours.says(Known::Before);
        assert_eq!(*said.borrow(), Some(Known::Before), "all who wait hear it");
        drop(ours);
        assert!(said.has_changed().is_err() && matches!(reads.begin(&place("a")), Reader::Us(_)));
        assert!(reads.0.lock().unwrap().is_empty());
    }
}
