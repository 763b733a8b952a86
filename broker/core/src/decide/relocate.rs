//! An origin that is placed anew without a move: there is nothing to move from.

use runtime_effect::{note::Note, seen::Seen, view::View};

use super::{LOST_MILLIS, Pass, claim::Assigned, place::Choice};
use crate::{
    acceptance::Acceptance,
    snapshot::{Holder, Live},
};

impl<'a> Pass<'a> {
    /// Assigns the origin to another provider without a move: there is nothing to move from. Else says why not.
    pub(super) fn relocate(&mut self, origin: &'a View, assigned: &Assigned, why: &str) -> Result<(), Vec<String>> {
        match self.choose(origin, &[&assigned.provider]) {
            Choice::Best(best) => {
                self.relocate_to(origin, assigned, best, why);
                Ok(())
            }
            Choice::None { refusals, .. } => Err(refusals),
            Choice::Later(wait) => {
                self.decision.again_in(wait);
                Err(Vec::new())
            }
        }
    }

    fn relocate_to(&mut self, origin: &'a View, assigned: &Assigned, best: &Acceptance, why: &str) {
        let next = Assigned::to(best.id.provider.clone(), self.next_epoch(assigned));
        let note = format!("{why}; assigned to provider {} by AcceptAPI {}", next.provider.name(), best.id);
        self.assign(origin, best, &next, Note::normal("Placed", note));
    }

    /// The provider holds no copy (any more). What was seen may be old, and the copy would serve beside the next one: its API
    /// server is asked right before, and until it says so, too, all stays as it is.
    pub(super) fn has_left(&mut self, origin: &'a View, assigned: &Assigned, holder: &Holder, best: &Acceptance) {
        let live = self.confirm(self.copy_at(&assigned.provider));
        let so = live.is_some_and(|live| match &holder.copy {
            Seen::Unknown => false,
            Seen::Absent => matches!(live, Live::Absent),
            Seen::Present(other) => live.is_of(&other.uid),
        });
        if so {
            let why = format!("provider {} holds no copy any more", assigned.provider.name());
            return self.relocate_to(origin, assigned, best, &why);
        }
        self.stand_still();
        if live.is_some() {
            self.decision.again_in(LOST_MILLIS);
        }
    }
}
