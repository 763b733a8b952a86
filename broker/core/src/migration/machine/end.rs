//! After the end: what was made goes, then the finalizer, and after a while the Migration.

use broker_api::{
    MigrationState, keys,
    migration::{SUCCEEDED, millis_of},
};
use runtime_effect::{
    merge,
    question::{Labelled, Question},
    reach::Reach,
    serving::Serving,
    step::Live,
    write::Op,
};
use serde_json::json;

use super::{Pass, names, recording::Belief};
use crate::{memory::Subject, movement::Movement};

/// How long after the end it is still looked for what was made for it: a process that died may have sent a creation that
/// arrives minutes later.
const STRAGGLERS_MILLIS: u64 = 10 * 60 * 1000;

/// When it is asked again whether what no watch has shown is gone.
const UNSEEN_MILLIS: u64 = 5000;

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
            if self.is_released(left, known) && self.is_nothing_left() {
                let finalizers: Vec<&str> =
                    object.finalizers().filter(|finalizer| *finalizer != keys::FINALIZER).collect();
                self.patch_metadata(&json!({"finalizers": finalizers}));
            }
        } else if !object.deleting && !left && !self.is_needed() {
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

    /// Whether the compute cluster holds nothing that was made for it. That nothing was seen may be old, where another leader
    /// made it a moment ago: its API server is asked.
    fn is_nothing_left(&mut self) -> bool {
        let observed = self.observed;
        let mut places = self.places();
        places.retain(|(kind, namespace)| {
            observed.stage.reaches(namespace) && !matches!(observed.stage.serving(kind), Serving::Missing)
        });
        if places.is_empty() || observed.object.annotated_true(keys::FORCE_DELETE) {
            return true;
        }
        let question = Question::Labelled(Labelled {
            cluster: observed.compute.clone(),
            label: (keys::MIGRATION_ID, self.id.clone()),
            prefix: names::prefix(&self.id),
            places: places.into_iter().collect(),
        });
        let Some(said) = observed.confirmed.filter(|said| said.question == question) else {
            self.decided.asks = Some(question);
            return false;
        };
        if let Live::Present { .. } = said.live {
            // The watch will tell of it.
            self.again_in(UNSEEN_MILLIS);
        }
        said.live == Live::Absent
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
