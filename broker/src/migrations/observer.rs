//! From what happens in clusters to the Migrations that it concerns.

use std::sync::Arc;

use broker_api::ClusterName;
use broker_core::{assignment::KeyRing, migration::known::Known};
use runtime_effect::kind::Kind;
use runtime_engine::view::view;
use runtime_fleet::{
    cluster::ClusterState,
    index::{Change, Lookup},
    listener::ClusterSelector,
    object::{Object, ObjectError, ObjectKey},
    watch::WatchSpec,
};
use tracing::warn;

use super::{listen::StageObjects, stages::ids};
use crate::broker::Broker;

impl Broker {
    /// A Migration came, changed or went: by its watch, or by the answer to a write.
    pub(crate) fn migration_changed(&self, hub: &ClusterName, change: &Change) {
        let keys = self.migrations.keys();
        let ring = self.signing.ring.load_full();
        let change = &Change { key: change.key.clone(), old: change.old.clone(), new: self.latest(change) };
        let read = self.read_migration(hub, change, ring.as_deref());
        drop(keys);
        let gone = change.new.is_none();
        if gone && read.is_ok() {
            self.want_stages(&change.key, &std::collections::BTreeSet::new());
            // One of its name may have come meanwhile.
            self.migrations.enqueue(change.key.clone());
        }
        match read {
            // Another may have waited for what this one would have made.
            Ok(Some(last)) if gone || last.view.has_ended() => self.migrations.copy_moved(&last.from.key),
            Ok(_) => {}
            // The CRD does not let such through.
            Err(why) => warn!(migration = %change.key, %why, "a Migration that cannot be read is left alone"),
        }
    }

    /// What there is by now: what a watch tells and what answers to writes say comes in any order.
    fn latest(&self, change: &Change) -> Option<Arc<Object>> {
        let index = self.hub().and_then(|hub| hub.index(&self.watches.migrations));
        match index.map_or(Lookup::Unknown, |index| index.get(&change.key)) {
            Lookup::Found(object) => Some(object),
            Lookup::Absent => None,
            Lookup::Unknown => change.new.clone(),
        }
    }

    /// Takes in what a Migration is now, as these keys prove it. Returns what it is, or was the last time.
    fn read_migration(
        &self,
        hub: &ClusterName,
        change: &Change,
        ring: Option<&KeyRing>,
    ) -> Result<Option<Known>, String> {
        self.migrations.set_hub(hub);
        let before = self.migrations.get(&change.key).map(|(known, ..)| known);
        let read = |object: &Object| {
            let object = view(object).ok_or_else(|| ObjectError::Forgotten.to_string())?;
            Known::parse(&change.key, &object, ring, before.as_deref())
        };
        let known = change.new.as_deref().map(read).transpose()?;
        let last = known.clone().or_else(|| change.old.as_deref().and_then(|object| read(object).ok()));
        let after = known.map(|known| {
            let about = self.about(&known, ring);
            (known, about)
        });
        for origin in self.migrations.update(&change.key, after) {
            self.origins.enqueue(origin);
        }
        self.migrations.enqueue(change.key.clone());
        Ok(last)
    }

    /// There are keys, or other ones. What Migrations say of themselves is looked at again before anything is decided with
    /// them: an origin whose Migration is not known to be its own would take its move for one that nobody wants.
    pub(crate) fn set_ring(&self, ring: KeyRing) {
        let keys = self.migrations.keys();
        if let Some(index) = self.hub().and_then(|hub| hub.index(&self.watches.migrations)) {
            for (key, object) in index.snapshot() {
                let change = Change { key, old: Some(Arc::clone(&object)), new: Some(object) };
                if let Err(why) = self.read_migration(index.cluster(), &change, Some(&ring)) {
                    warn!(migration = %change.key, %why, "a Migration that cannot be read is left alone");
                }
            }
        }
        self.signing.ring.store(Some(Arc::new(ring)));
        drop(keys);
        self.migrations.enqueue_all();
    }

    /// Starts the watches that a Migration needs, and ends those that nobody needs any more. Returns whether any is new to it.
    pub(crate) fn want_stages(&self, key: &ObjectKey, kinds: &std::collections::BTreeSet<Kind>) -> bool {
        let Some(compute) = self.compute() else { return false };
        let start = |spec: &Arc<WatchSpec>| {
            let (selector, listener) = (ClusterSelector::Name(compute.name().clone()), StageObjects(self.itself()));
            self.fleet().listen(&selector, spec, &Arc::new(listener))
        };
        self.stages.want(key, kinds, start)
    }

    /// A stage object came, changed or went.
    pub(crate) fn stage_changed(&self, change: &Change) {
        for id in ids(change) {
            self.migrations.stage_moved(&id);
        }
    }

    /// The coordination or the compute cluster changed its state.
    pub(crate) fn hub_state(&self, state: &ClusterState) {
        if matches!(state, ClusterState::Ready | ClusterState::Unreachable { .. }) {
            self.migrations.enqueue_open();
        }
    }
}
