//! A move that does not end where it was to: the object goes back, or on to somebody else.
//!
//! The old copy may have gone by then, at our own request or its provider's, and nobody may have heard of it yet. What was made for
//! the move is the only copy then: it is found by its epoch, which is the one before that of the assignment in force.

use broker_api::{ClusterName, MigrationState};
use runtime_effect::{note::Note, reach::Reach, view::View};

use super::{LOST_MILLIS, Pass, claim::Assigned, place::Choice, progress::Progress, transfer::Transfer};
use crate::{acceptance::Acceptance, movement::Route, snapshot::Holder};

impl Transfer<'_, '_> {
    /// Whether somebody can tell in a moment if the old copy is still there. It may have gone, and by the broker's own doing:
    /// nobody goes back to it before. While stages run it is left alone.
    fn is_blind(&self) -> bool {
        let soon = |source: &Holder| matches!(source.reach, Reach::Lost(_) | Reach::Settling);
        !self.gone && self.progress != Progress::Staged && self.source.is_some_and(soon)
    }
}

impl<'a> Pass<'a> {
    /// Why the move is not wanted any more, if that is so.
    pub(super) fn moot(&mut self, transfer: &Transfer<'a, '_>) -> Option<String> {
        let Transfer { origin, assigned, to, ref accepted, migration, .. } = *transfer;
        if let Some(failed) = migration.filter(|migration| migration.state == MigrationState::Failed) {
            return Some(format!("Migration {failed} has failed"));
        }
        let wanted = self.reason(origin, assigned, accepted, Some(to)).is_some();
        (!wanted && accepted.is_some() && !transfer.is_blind())
            .then(|| format!("provider {} accepts the object again", assigned.provider.name()))
    }

    /// The object stays where it is. What was made at the other provider goes as a superseded copy does.
    pub(super) fn undo(&mut self, transfer: &Transfer<'a, '_>, why: &str) {
        let Transfer { origin, assigned, .. } = *transfer;
        let back = assigned.taken_back();
        self.decision.moving = None;
        self.decision.route = None;
        let note = format!("stays at provider {}: {why}", assigned.provider.name());
        self.mark(origin, &back, Some(Note::normal("MoveUndone", note)));
    }

    /// There is no copy (any more) where the object is assigned to. What was made for the move before is all there is of it then:
    /// it is on its way from there. `to`: where to. Returns whether that was written.
    pub(super) fn found_elsewhere(&mut self, origin: &'a View, assigned: &Assigned, to: &ClusterName) -> bool {
        let Some(from) = self.left_by_move_before(origin, assigned, to) else { return false };
        let note =
            format!("the only copy is at provider {}: on its way from there to provider {}", from.name(), to.name());
        let next = Assigned {
            moving_to: Some(to.clone()),
            pinned: assigned.pinned,
            ..Assigned::to(from, self.next_epoch(assigned))
        };
        self.decision.rests = false;
        self.mark(origin, &next, Some(Note::warning("CopyFound", note)))
    }

    /// Sends the object to another provider than the one it was on its way to, or back. Returns whether that was written.
    pub(super) fn redirect(&mut self, transfer: &Transfer<'a, '_>, why: &str) -> bool {
        let Transfer { origin, assigned, to, gone, .. } = *transfer;
        let held = self.snapshot.holder(to.name()).and_then(|holder| Some((holder, holder.reachable_copy()?)));
        if gone && held.is_some_and(|(holder, copy)| self.is_ours(origin, holder, copy)) {
            // Nobody else serves it: it leaves from there as from any provider.
            self.arrive(origin, assigned, to);
            return true;
        }
        let choice = if assigned.pinned { None } else { Some(self.choose(origin, &[&assigned.provider, to])) };
        match choice {
            Some(Choice::Best(best)) => {
                self.send_to(transfer, best, why);
                true
            }
            Some(Choice::Later(wait)) => {
                self.decision.again_in(wait);
                false
            }
            Some(Choice::None { .. }) | None if transfer.is_blind() => {
                self.decision.again_in(LOST_MILLIS);
                false
            }
            Some(Choice::None { .. }) | None => {
                self.undo(transfer, why);
                true
            }
        }
    }

    fn send_to(&mut self, transfer: &Transfer<'a, '_>, best: &Acceptance, why: &str) {
        let Transfer { origin, assigned, .. } = *transfer;
        let to = best.id.provider.clone();
        let note = format!("goes on to provider {}: {why}", to.name());
        self.decision.rests = false;
        // A person's choice of the provider that takes over is never left for another.
        let next = Assigned {
            moving_to: Some(to),
            pinned: false,
            pinned_before: assigned.pinned_before,
            ..assigned.taken_back()
        };
        self.begin(origin, &next, Some(best), note);
    }

    /// The new copy has had its time to become ready: if there is somebody else, the object goes there.
    pub(super) fn times_out(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, to, .. } = *transfer;
        let timeout = self.snapshot.moves.patience.ready_timeout;
        let passed = self.snapshot.memory.moving_for(assigned.epoch, self.snapshot.now.millis);
        if let Some(left) = timeout.checked_sub(passed).filter(|left| *left > 0) {
            self.decision.again_in(left);
            return false;
        }
        // It may take for ever: others move meanwhile.
        self.decision.rests = true;
        if assigned.pinned {
            return false;
        }
        if matches!(self.decision.route, Some(Route::Rebalance { .. })) {
            if transfer.is_blind() {
                self.decision.again_in(LOST_MILLIS);
                return false;
            }
            self.undo(transfer, &format!("provider {} was not ready in time", to.name()));
            self.decision.gave_up = Some(to.clone());
            return true;
        }
        let Choice::Best(best) = self.choose(origin, &[&assigned.provider, to]) else { return false };
        self.send_to(transfer, best, &format!("provider {} was not ready in time", to.name()));
        self.decision.gave_up = Some(to.clone());
        true
    }
}
