//! A move that does not end where it was to: the object goes back, or on to somebody else.
//!
//! What was made for the move is needless when the object goes back, and goes. So it must be known that the old copy is there: it may
//! have gone, at our own request or its provider's, while nobody could see it. What was seen may be old: its provider's API server
//! is asked right before.

use broker_api::MigrationState;
use runtime_effect::{note::Note, reach::Reach};

use super::{LOST_MILLIS, Pass, claim::Assigned, place::Choice, transfer::Transfer};
use crate::{
    acceptance::Acceptance,
    movement::Route,
    snapshot::{Holder, Live},
};

impl<'a> Pass<'a> {
    /// What a live read has said of the copy of who is left.
    pub(super) fn live_copy(&self, source: &Holder) -> Option<&'a Live> {
        self.live(&self.copy_at(&source.provider))
    }

    /// Whether the old copy is there, as far as anybody has said.
    pub(super) fn is_seen(&self, source: Option<&Holder>) -> bool {
        let Some((source, copy)) = source.and_then(|source| Some((source, source.reachable_copy()?))) else {
            return false;
        };
        // Another one of its name: the watch will tell.
        self.live_copy(source).is_none_or(|live| live.is_of(&copy.uid))
    }

    /// Whether the old copy is on its way out.
    pub(super) fn is_dying(&self, source: &Holder) -> bool {
        let live = self.live_copy(source);
        source.copy.present().is_some_and(|copy| copy.deleting)
            || matches!(live, Some(Live::Present { deleting: true, .. }))
    }

    /// Whether the provider that is left has been asked about the old copy, where something hangs on its being there. If not, it
    /// is asked now.
    fn has_confirmed(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { assigned, gone, blind, .. } = *transfer;
        gone || blind || self.confirm(self.copy_at(&assigned.provider)).is_some()
    }

    /// Takes the move back where it is not wanted any more. Returns whether that is written, or asked for.
    pub(super) fn take_back(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, to, ref accepted, migration, .. } = *transfer;
        // It has failed before the switch: nobody has touched the old copy.
        if let Some(failed) = migration.filter(|migration| migration.state == MigrationState::Failed) {
            self.undo(transfer, &format!("Migration {failed} has failed"));
            return true;
        }
        if accepted.is_none() || self.reason(origin, assigned, accepted, Some(to)).is_some() || transfer.blind {
            return false;
        }
        self.undo(transfer, &format!("provider {} accepts the object again", assigned.provider.name()));
        true
    }

    /// The object stays where it is. What was made at the other provider goes as a superseded copy does.
    /// Returns whether that was written; if not, it is asked whether the old copy is there.
    fn undo(&mut self, transfer: &Transfer<'a, '_>, why: &str) -> bool {
        let Transfer { origin, assigned, .. } = *transfer;
        if !self.has_confirmed(transfer) {
            return false;
        }
        // As it was: a person's choice of this provider is not undone with the move.
        let back = Assigned {
            pinned: assigned.pinned_before,
            ..Assigned::to(assigned.provider.clone(), self.next_epoch(assigned))
        };
        let note = format!("stays at provider {}: {why}", assigned.provider.name());
        self.decision.moving = None;
        self.decision.route = None;
        self.mark(origin, &back, Some(Note::normal("MoveUndone", note)));
        true
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
            Some(Choice::None { .. }) | None if transfer.blind => self.await_source(transfer),
            Some(Choice::None { .. }) | None => {
                self.undo(transfer, why);
                true
            }
        }
    }

    /// Waits until it can be told what is at the provider that is left. Where that has been silent for longer than its AcceptAPI
    /// allows, the object is placed anew; returns whether that was written.
    fn await_source(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, source, ref accepted, .. } = *transfer;
        match source {
            // It is asked again when it counts as gone.
            None => false,
            Some(source) if matches!(source.reach, Reach::Unreachable(_)) => {
                self.silent(origin, assigned, source, accepted)
            }
            Some(_) => {
                self.decision.again_in(LOST_MILLIS);
                false
            }
        }
    }

    /// Sends the object on to somebody else. Returns as [`Self::undo`] does.
    fn send_to(&mut self, transfer: &Transfer<'a, '_>, best: &Acceptance, why: &str) -> bool {
        let Transfer { origin, assigned, .. } = *transfer;
        if !self.has_confirmed(transfer) {
            return false;
        }
        let to = best.id.provider.clone();
        let note = format!("goes on to provider {}: {why}", to.name());
        self.decision.rests = false;
        let epoch = self.next_epoch(assigned);
        let next = Assigned {
            moving_to: Some(to),
            pinned_before: assigned.pinned_before,
            ..Assigned::to(assigned.provider.clone(), epoch)
        };
        self.begin(origin, &next, Some(best), note);
        true
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
            if transfer.blind {
                return self.await_source(transfer);
            }
            let written = self.undo(transfer, &format!("provider {} was not ready in time", to.name()));
            self.decision.gave_up = written.then(|| to.clone());
            return true;
        }
        let Choice::Best(best) = self.choose(origin, &[&assigned.provider, to]) else { return false };
        let written = self.send_to(transfer, best, &format!("provider {} was not ready in time", to.name()));
        self.decision.gave_up = written.then(|| to.clone());
        true
    }
}
