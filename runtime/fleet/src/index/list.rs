//! Whole lists: how one takes the place of what is held.

use std::sync::Arc;

use super::{Change, Doubt, Index, State};
use crate::{
    hashed::HashMap,
    object::{Object, ObjectKey},
};

impl Index {
    /// A finished list of objects of which none is in memory yet: see [`Index::take_list`].
    pub fn replace(&self, listed: Vec<(ObjectKey, Object)>, resource_version: u64) -> Vec<Change> {
        let listed = listed.into_iter().map(|(key, object)| (key, Arc::new(object))).collect();
        self.take_list(listed, resource_version, self.losses())
    }

    /// A finished list at `resource_version`. Returns what changed, also the deletes that no event told of.
    ///
    /// Lists may be long, so the new state is made beside the old one and then takes its place. Only the watch itself
    /// calls this: what comes in meanwhile are answers to our own requests, which are carried over. One that was begun after
    /// other `losses` than there are by now says nothing of what there is.
    pub(crate) fn take_list(
        &self,
        listed: Vec<(ObjectKey, Arc<Object>)>,
        resource_version: u64,
        losses: u64,
    ) -> Vec<Change> {
        let (before, sorts, restored, unknown, redefined) = {
            let mut state = self.write();
            state.learned = Some(Vec::new());
            // Versions only run backwards where etcd was restored from a backup: then the list alone is true.
            let restored = state.doubt == Doubt::Restored || resource_version < state.progress;
            let unknown = state.doubt != Doubt::None;
            (state.objects.clone(), !state.sorted.is_empty(), restored, unknown, state.redefined)
        };
        let edition_since = self.edition_since();
        let mut new = State { complete: true, progress: resource_version, edition_since, ..State::default() };
        let (mut changes, mut values) = (Vec::new(), HashMap::default());
        new.objects.reserve(listed.len());
        for (key, object) in listed {
            let old = before.get(&key);
            // Where its kind has changed, an object that nobody has touched is shown with other defaults.
            // Nobody can tell of one whose content is not at hand.
            let has_both = |old: &Object| old.has_body() && object.has_body();
            let shows = |old: &Object| if has_both(old) { *old == *object } else { !redefined };
            let is_same = |old: &Object| old.resource_version == object.resource_version && old.uid == object.uid;
            let same = old.is_some_and(|old| is_same(old) && shows(old));
            let newer = |held: &&Arc<Object>| !restored && held.resource_version > object.resource_version;
            // What was unknown is news, although it is the same.
            let known = !unknown && old.is_some_and(|old| same || newer(&old));
            let held = match old.filter(|old| newer(old) || same && (old.has_body() || !object.has_body())) {
                // What we hold already need not be held anew.
                Some(old) => Arc::clone(old),
                None => object,
            };
            let key = new.insert(key, Arc::clone(&held));
            if sorts && old.is_none_or(|old| !Arc::ptr_eq(old, &held)) {
                values.insert(key.clone(), self.values(&held));
            }
            if !known {
                changes.push(Change { key, old: old.cloned(), new: Some(held) });
            }
        }
        for (key, old) in &before {
            if new.objects.contains_key(key) {
                continue;
            }
            if !restored && old.resource_version > resource_version {
                let key = new.insert(key.clone(), Arc::clone(old));
                if unknown {
                    changes.push(Change { key, old: Some(Arc::clone(old)), new: Some(Arc::clone(old)) });
                }
            } else {
                changes.push(Change { key: key.clone(), old: Some(Arc::clone(old)), new: None });
            }
        }
        let mut state = self.write();
        for key in state.learned.take().unwrap_or_default() {
            let held = state.objects.get(&key).filter(|held| {
                let listed = new.objects.get(&key).map_or(resource_version, |listed| listed.resource_version);
                !restored && held.resource_version > listed
            });
            if let Some(held) = held.cloned() {
                let key = new.insert(key, Arc::clone(&held));
                changes.retain(|change| change.key != key);
                if unknown {
                    changes.push(Change { key, old: Some(Arc::clone(&held)), new: Some(held) });
                }
            }
        }
        if self.losses() != losses {
            (new.complete, new.doubt) = (false, state.doubt);
        }
        let sorted = state.sorted.cost();
        new.sorted = std::mem::take(&mut state.sorted);
        new.sort(&state.objects, values);
        self.share.charge(new.cost());
        if let Some(seat) = self.seat.get() {
            let come = new.objects.keys().filter(|key| !state.objects.contains_key(key));
            seat.changed(come, state.objects.keys().filter(|key| !new.objects.contains_key(key)));
        }
        let old = std::mem::replace(&mut *state, new);
        drop(state);
        self.share.release(old.cost() + sorted);
        changes
    }
}
