//! An origin that is being deleted: its copies go first, the finalizer leaves only once they are really gone.

use broker_api::{ClusterName, condition, keys};
use runtime_effect::{note::Note, reach::Reach, seen::Seen, view::View};
use serde_json::json;

use super::{LOST_MILLIS, Pass, claim::unknown_copy, held::held_by};
use crate::{copy, decision::State, related, snapshot::Holder, status::Own};

impl<'a> Pass<'a> {
    pub(super) fn leave(&mut self, origin: &'a View) {
        self.state(State::Deleting);
        let annotated = self.annotated(origin);
        // Where it is, and where it moves to: both may hold a copy.
        let assigned: Vec<ClusterName> = annotated
            .into_iter()
            .flat_map(|annotated| [Some(annotated.provider), annotated.moving_to])
            .flatten()
            .collect();
        self.decision.provider = assigned.first().cloned();
        for provider in assigned.iter().filter(|provider| self.snapshot.holder(provider.name()).is_none()) {
            // Nobody tells that one has been away for long enough.
            self.await_departure(provider);
        }
        let name = copy::name(self.snapshot.key);
        let mut remaining = false;
        let mut held: Vec<String> = Vec::new();
        let mut unknown: Option<String> = None;
        for holder in &self.snapshot.holders {
            let assigned_here = assigned.contains(&holder.provider);
            let ours = |copy: &&View| {
                self.is_proven(origin, holder, copy) || assigned_here && self.is_ours(origin, holder, copy)
            };
            let Some(copy) = holder.copy.present().filter(ours) else { continue };
            if holder.reach != Reach::Ready {
                // What is known of it is old, and nothing can be deleted there now.
                unknown = Some(describe(holder));
                continue;
            }
            match held_by(copy).filter(|_| copy.deleting) {
                Some(who) => {
                    held.push(format!("provider {} holds the copy {name} by {who}", holder.provider.name()));
                }
                None if copy.deleting || self.delete_copy(&holder.provider, copy) => remaining = true,
                // Nobody knows when it will let that be done.
                None => {
                    let why = self.refused_removal(copy);
                    held.push(format!(
                        "provider {} does not let the copy {name} be deleted{why}",
                        holder.provider.name()
                    ));
                }
            }
        }
        if !origin.has_finalizer(keys::FINALIZER) || remaining {
            return;
        }
        if !held.is_empty() && !self.let_go(origin, &held.join("; ")) {
            return;
        }
        if let Some(why) = unknown.or_else(|| self.unknown_holder(&assigned))
            && !self.released(origin, &why, &assigned)
        {
            return;
        }
        if let Some(provider) = self.snapshot.hidden.first() {
            let why = format!("provider {} has not said whether a copy was made there", provider.name());
            // Mostly somebody knows in a moment, and says so.
            if !self.outlasts() || !self.released(origin, &why, &assigned) {
                return;
            }
        }
        // Mostly they are known in a moment. Where they are not, what is left is the garbage collector's: the object is its owner.
        if !self.snapshot.related.owned_known() && !self.outlasts() {
            return;
        }
        let mut refused = false;
        for (kind, held) in self.snapshot.related.owned(&origin.uid) {
            if !held.deleting && related::belongs(&origin.uid, &held) {
                refused |= !self.delete_related(&kind, &held);
            }
        }
        // Likewise where the consumer does not let them be deleted.
        if refused && !self.outlasts() {
            return;
        }
        let finalizers: Vec<&str> = origin.finalizers().filter(|finalizer| *finalizer != keys::FINALIZER).collect();
        self.patch_origin(origin, json!({"metadata": {"finalizers": finalizers}}), None);
    }

    /// Whether a person has released the origin although providers hold its copies, which go once those let go of them.
    /// Else says who holds them, if that lasts.
    fn let_go(&mut self, origin: &'a View, who: &str) -> bool {
        if !self.outlasts() {
            return false;
        }
        if origin.annotated_true(keys::FORCE_DELETE) {
            let message = format!("released by annotation although {who}; it goes when that is taken off");
            self.decision.notes.push(Note::warning("ForceDeleted", message));
            return true;
        }
        let message = format!(
            "deletion waits: {who}; it is up to the provider to finish and to take that off; if it never will, set the annotation {}=\"true\"",
            keys::FORCE_DELETE
        );
        self.decision.notes.push(Note::warning(condition::HELD_BY_PROVIDER, message.clone()));
        self.show(origin, None, false, &[Own::not_brokered(condition::HELD_BY_PROVIDER, message)]);
        false
    }

    /// Whether a person has released the origin although a copy may be left. Says what deletion waits for, if not.
    fn released(&mut self, origin: &'a View, why: &str, assigned: &[ClusterName]) -> bool {
        if origin.annotated_true(keys::FORCE_DELETE) {
            let message = format!("released by annotation although {why}");
            self.decision.notes.push(Note::warning("ForceDeleted", message));
            return true;
        }
        let soon = |holder: &Holder| match holder.reach {
            Reach::Settling => true,
            // Nobody waits for one that is known to hold nothing of it.
            Reach::Lost(_) => holder.copy != Seen::Absent || assigned.contains(&holder.provider),
            _ => false,
        };
        if self.snapshot.holders.iter().any(soon) {
            // It may be back in a moment: nothing to tell yet.
            self.decision.again_in(LOST_MILLIS);
            return false;
        }
        let message = format!(
            "deletion waits: {why}; if the provider is gone for good, set the annotation {}=\"true\"",
            keys::FORCE_DELETE
        );
        self.decision.notes.push(Note::warning(condition::PROVIDER_UNREACHABLE, message.clone()));
        self.show(origin, None, false, &[Own::not_brokered(condition::PROVIDER_UNREACHABLE, message)]);
        false
    }

    /// Why we cannot be sure that no copy is left. Only an assigned provider can hold one; without a proven
    /// assignment, any.
    fn unknown_holder(&self, assigned: &[ClusterName]) -> Option<String> {
        if assigned.is_empty() {
            return self.snapshot.holders.iter().find(|holder| unknown_copy(holder)).map(describe);
        }
        assigned.iter().map(ClusterName::name).find_map(|name| match self.snapshot.holder(name) {
            // What a provider that was taken out for good still holds goes if it ever returns.
            None if self.is_given_up(name) => None,
            None => Some(format!("provider {name} is not engaged (any more)")),
            Some(holder) => unknown(holder).then(|| describe(holder)),
        })
    }
}

/// The provider that the origin is assigned to must say itself that the copy is gone; a missing CRD says nothing.
fn unknown(holder: &Holder) -> bool {
    holder.copy == Seen::Unknown || holder.reach != Reach::Ready
}

fn describe(holder: &Holder) -> String {
    match &holder.reach {
        Reach::Unreachable(why) => format!("provider {} is unreachable ({why})", holder.provider.name()),
        _ => format!("it is not known what provider {} holds", holder.provider.name()),
    }
}
