//! An origin that is being deleted: its copies go first, the finalizer leaves only once they are really gone.

use broker_api::{condition, keys};
use serde_json::json;

use super::{LOST_MILLIS, Pass, claim::unknown_copy};
use crate::{
    decision::{Note, State},
    snapshot::{Holder, Reach, View},
    status::Own,
};

impl<'a> Pass<'a> {
    pub(super) fn leave(&mut self, origin: &'a View) {
        self.state(State::Deleting);
        let annotated = self.annotated(origin);
        self.decision.provider = annotated.as_ref().map(|(provider, _)| provider.clone());
        let mut remaining = false;
        for holder in &self.snapshot.holders {
            let Some(copy) = holder.copy.present() else { continue };
            if !self.is_ours(origin, holder, copy) {
                continue;
            }
            remaining = true;
            if !copy.deleting {
                self.delete_copy(&holder.provider, copy, None);
            }
        }
        if !origin.has_finalizer() || remaining {
            return;
        }
        if let Some(why) = self.unknown_holder(annotated.map(|(provider, _)| provider.name().to_owned())) {
            if origin.annotated_true(keys::FORCE_DELETE) {
                self.decision
                    .notes
                    .push(Note::warning("ForceDeleted", format!("released by annotation although {why}")));
            } else if self
                .snapshot
                .holders
                .iter()
                .any(|holder| matches!(holder.reach, Reach::Lost(_) | Reach::Settling))
            {
                // It may be back in a moment: nothing to tell yet.
                return self.decision.again_in(LOST_MILLIS);
            } else {
                let message = format!(
                    "deletion waits: {why}; if the provider is gone for good, set the annotation {}=\"true\"",
                    keys::FORCE_DELETE
                );
                self.decision.notes.push(Note::warning(condition::PROVIDER_UNREACHABLE, message.clone()));
                return self.show(origin, None, false, &[Own::not_brokered(condition::PROVIDER_UNREACHABLE, message)]);
            }
        }
        for (kind, held) in self.snapshot.related.owned(&origin.uid) {
            if !held.deleting {
                self.delete_related(&kind, &held);
            }
        }
        let finalizers: Vec<&str> = origin.finalizers().filter(|finalizer| *finalizer != keys::FINALIZER).collect();
        self.patch_origin(origin, json!({"metadata": {"finalizers": finalizers}}), None);
    }

    /// Why we cannot be sure that no copy is left. Only the assigned provider can hold one; without a proven
    /// assignment, any.
    fn unknown_holder(&self, assigned: Option<String>) -> Option<String> {
        let describe = |holder: &Holder| match &holder.reach {
            Reach::Unreachable(why) => format!("provider {} is unreachable ({why})", holder.provider.name()),
            _ => format!("it is not known what provider {} holds", holder.provider.name()),
        };
        match assigned {
            Some(name) => match self.snapshot.holder(&name) {
                None => Some(format!("provider {name} is not engaged (any more)")),
                Some(holder) => unknown(holder).then(|| describe(holder)),
            },
            None => self.snapshot.holders.iter().find(|holder| unknown_copy(holder)).map(describe),
        }
    }
}

/// The provider that the origin is assigned to must say itself that the copy is gone; a missing CRD says nothing.
fn unknown(holder: &Holder) -> bool {
    holder.copy == crate::snapshot::Seen::Unknown || holder.reach != Reach::Ready
}
