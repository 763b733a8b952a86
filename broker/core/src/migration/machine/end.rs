//! After the end: what was made goes, then the finalizer, and after a while the Migration.

use broker_api::{
    MigrationState, keys,
    migration::{SUCCEEDED, millis_of},
};
use runtime_effect::{merge, reach::Reach, write::Op};
use serde_json::json;

use super::{Pass, recording::Belief};
use crate::{memory::Subject, movement::Movement};

/// How long after the end it is still looked for what was made for it: a process that died may have sent a creation that
/// arrives minutes later.
const STRAGGLERS_MILLIS: u64 = 10 * 60 * 1000;

/// When it is looked again whether one that is at its end is needed still.
const NEEDED_MILLIS: u64 = 60_000;

impl Pass<'_> {
    /// It has ended.
    pub(super) fn finish(&mut self) {
        let object = self.observed.object;
        let stragglers = self.age().and_then(|age| STRAGGLERS_MILLIS.checked_sub(age)).filter(|left| *left > 0);
        if object.has_finalizer(keys::FINALIZER) {
            if self.belief == Belief::Unknown {
                // What it may have made is not known.
                return;
            }
            self.decided.watches = self.kinds();
        } else if let Some(left) = stragglers.filter(|_| self.belief == Belief::Yes) {
            self.decided.watches = self.kinds();
            if !self.decided.watches.is_empty() {
                self.again_in(left);
            }
        }
        // Before it is looked: of a list that comes meanwhile nothing is seen.
        let known = self.compute_is_known();
        let left = self.remove(|_| true);
        if object.has_finalizer(keys::FINALIZER) {
            if self.is_released(left, known) {
                let finalizers: Vec<&str> =
                    object.finalizers().filter(|finalizer| *finalizer != keys::FINALIZER).collect();
                self.patch_metadata(&json!({"finalizers": finalizers}));
            }
        } else if !object.deleting && !left {
            if self.is_needed() {
                // What moves it is told of Migrations that are open only.
                return self.again_in(NEEDED_MILLIS);
            }
            self.expire();
        }
    }

    /// Whether the finalizer may go. `known`: whether nothing can be `left` that was not seen.
    fn is_released(&self, left: bool, known: bool) -> bool {
        let object = self.observed.object;
        // A person's word counts where waiting does not help: a cluster that is gone, an object that does not go.
        let unreachable = matches!(self.observed.compute_reach, Reach::Unreachable(_));
        if object.annotated_true(keys::FORCE_DELETE) && (unreachable || known) {
            return true;
        }
        if !known || left {
            return false;
        }
        !self.is_needed()
    }

    /// Whether the origin goes by this Migration still, or may: without it, it would take the same move for one that has
    /// not begun.
    fn is_needed(&self) -> bool {
        match &self.observed.movement {
            Movement::Underway(_) => true,
            Movement::Unknown => self.held.state == MigrationState::CutoverCompleted && self.observed.origin.is_some(),
            Movement::Waits(_) | Movement::Refused(..) | Movement::Over(..) => false,
        }
    }

    /// For how many milliseconds it has been at its end.
    fn age(&self) -> Option<u64> {
        let ended = self.held.conditions.iter().find(|condition| condition.type_ == SUCCEEDED)?;
        Some(self.observed.now.millis.saturating_sub(millis_of(&ended.last_transition_time)))
    }

    /// It is kept for a while, for people to read.
    fn expire(&mut self) {
        let object = self.observed.object;
        let Some(age) = self.age() else { return };
        if let Some(left) = self.observed.ttl_millis.checked_sub(age).filter(|left| *left > 0) {
            return self.again_in(left);
        }
        let intent = merge::digest(&json!("expired"));
        self.write_own(Subject::Marks, intent, Op::delete(object.uid.clone()), None);
    }
}
