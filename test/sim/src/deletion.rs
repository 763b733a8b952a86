//! How an object ends.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    history::Key,
    meta::{finalizers, is_deleting, set},
    resource::Storage,
    schema::tidy_metadata,
    state::State,
};

pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizers of an object that is to be deleted in this way.
pub(crate) fn finalizers_for(object: &Value, policy: &str) -> Vec<String> {
    let collector = |name: &&str| *name != ORPHAN && *name != FOREGROUND;
    let held = finalizers(object);
    let mut left: Vec<String> =
        held.iter().filter(|name| policy.is_empty() || collector(name)).map(|name| (*name).to_owned()).collect();
    match policy {
        "Orphan" => left.push(ORPHAN.to_owned()),
        "Foreground" => left.push(FOREGROUND.to_owned()),
        _ => {}
    }
    left
}

/// Marks an object as one that is to go.
pub(crate) fn mark(object: &mut Value, now: &str) {
    if object["metadata"]["deletionGracePeriodSeconds"].is_null()
        && let Some(generation) = object["metadata"]["generation"].as_u64().filter(|generation| *generation > 0)
    {
        set(object, "generation", json!(generation + 1));
    }
    if !is_deleting(object) {
        set(object, "deletionTimestamp", json!(now));
    }
    set(object, "deletionGracePeriodSeconds", json!(0));
}

impl State {
    /// Deletes an object: at once, or, where finalizers hold it, when the last of them goes. `Some`: that is still to come, and
    /// this is what it looks like now.
    pub(crate) fn delete(&mut self, storage: &Storage, key: &Key, policy: &str) -> Option<Arc<Value>> {
        let held = Arc::clone(self.share(storage, key)?);
        let left = finalizers_for(&held, policy);
        if left.is_empty() {
            self.remove(storage, key);
            return None;
        }
        let mut object = Value::clone(&held);
        tidy_metadata(&mut object);
        set(&mut object, "finalizers", json!(left));
        mark(&mut object, &self.clock.stamp());
        Some(if object == *held { held } else { self.put(storage, object) })
    }

    /// Deletes those objects of a kind that are meant. Whether there was anything to do.
    pub(crate) fn delete_all(&mut self, storage: &Storage, meant: impl Fn(&Key) -> bool) -> bool {
        let keys: Vec<Key> = self.all(storage).map(|(key, _)| key.clone()).filter(|key| meant(key)).collect();
        let before = self.history.revision();
        for key in keys {
            if self.get(storage, &key).is_some_and(|object| !is_deleting(object)) {
                self.delete(storage, &key, "Background");
            }
        }
        self.history.revision() != before
    }
}
