//! From what happens in clusters to the Migrations that it concerns.

use std::sync::Arc;

use broker_api::ClusterName;
use broker_core::migration::known::Known;
use runtime_effect::kind::Kind;
use runtime_engine::view::view;
use runtime_fleet::{
    cluster::ClusterState,
    index::Change,
    listener::Selector,
    object::{Object, ObjectError, ObjectKey},
    watch::WatchSpec,
};
use tracing::warn;

use super::{listen::StageObjects, stages::ids};
use crate::broker::Broker;

impl Broker {
    /// A Migration came, changed or went: by its watch, or by the answer to a write.
    pub(crate) fn migration_changed(&self, hub: &ClusterName, change: &Change) {
        self.migrations.set_hub(hub);
        let ring = self.ring.load_full();
        let before = self.migrations.get(&change.key).map(|(known, ..)| known);
        let read = |object: &Object| {
            let object = view(object).ok_or_else(|| ObjectError::Forgotten.to_string())?;
            Known::parse(&change.key, &object, ring.as_deref(), before.as_deref())
        };
        let known = change.new.as_deref().map(read).transpose();
        match known {
            Ok(known) => {
                let after = known.map(|known| {
                    let about = self.about(&known);
                    (known, about)
                });
                let gone = after.is_none();
                let last = change.new.as_deref().or(change.old.as_deref());
                let last = last.and_then(|object| read(object).ok());
                let ended = last.filter(|last| gone || last.view.has_ended());
                for origin in self.migrations.update(&change.key, after) {
                    self.enqueue(origin);
                }
                if gone {
                    self.want_stages(&change.key, &std::collections::BTreeSet::new());
                }
                self.migrations.enqueue(change.key.clone());
                if let Some(ended) = ended {
                    // Another may have waited for what this one would have made.
                    self.migrations.copy_moved(&ended.from.key);
                }
            }
            // The CRD does not let such through.
            Err(why) => warn!(migration = %change.key, %why, "a Migration that cannot be read is left alone"),
        }
    }

    /// There are keys, or other ones: what Migrations say of themselves is looked at again.
    pub(crate) fn judge_migrations(&self) {
        let Some(hub) = self.hub() else { return };
        let Some(index) = hub.index(&self.watches.migrations) else { return };
        for (key, object) in index.snapshot() {
            let change = Change { key, old: Some(Arc::clone(&object)), new: Some(object) };
            self.migration_changed(hub.name(), &change);
        }
    }

    /// Starts the watches that a Migration needs, and ends those that nobody needs any more. Returns whether any is new to it.
    pub(crate) fn want_stages(&self, key: &ObjectKey, kinds: &std::collections::BTreeSet<Kind>) -> bool {
        let Some(compute) = self.compute() else { return false };
        let start = |spec: &Arc<WatchSpec>| {
            let (selector, listener) = (Selector::Name(compute.name().clone()), StageObjects(self.itself()));
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
