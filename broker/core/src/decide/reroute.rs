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
    decision::State,
    movement::{Phase, Route},
    snapshot::{Holder, Live},
};

/// What is known of the old copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    /// It is there, or gone, and all say so.
    Sure,
    /// It cannot be told now whether it is there. Nobody goes back to it before.
    Blind,
    /// What was seen of it is not what is there, or nobody has answered.
    Old,
    /// It is being asked for.
    Asked,
}

impl<'a> Pass<'a> {
    /// What a live read has said of the copy of who is left.
    pub(super) fn live_copy(&self, source: &Holder) -> Option<&'a Live> {
        // Hardly ever is anything read: its name need not be made then.
        self.snapshot.confirmed.as_ref()?;
        self.live(&self.copy_at(&source.provider))
    }

    /// Whether the old copy is on its way out.
    pub(super) fn is_dying(&self, source: &Holder) -> bool {
        let live = self.live_copy(source);
        source.copy.present().is_some_and(|copy| copy.deleting)
            || matches!(live, Some(Live::Present { deleting: true, .. }))
    }

    /// What is known of the old copy, where something hangs on it: what was seen is asked for before.
    fn sight(&mut self, transfer: &Transfer<'a, '_>) -> Sight {
        let Transfer { source, gone, .. } = *transfer;
        let told = source.and_then(|source| self.live_copy(source));
        let seen = source.and_then(|source| Some((source, source.reachable_copy()?)));
        match seen.filter(|_| !gone || told.is_some()) {
            None if gone => Sight::Sure,
            None => Sight::Blind,
            Some((source, copy)) => match self.confirm(self.copy_at(&source.provider)) {
                Some(live @ Live::Present { deleting, .. }) if live.is_of(&copy.uid) && *deleting == copy.deleting => {
                    Sight::Sure
                }
                Some(_) => Sight::Old,
                None => {
                    self.stand_still();
                    Sight::Asked
                }
            },
        }
    }

    /// Takes the move back where it is not wanted any more. Returns whether that is written, or asked for.
    pub(super) fn take_back(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, to, source, ref accepted, migration, .. } = *transfer;
        // It has failed before the switch: no stage has touched the old copy. The broker may have, before there were stages, so that it
        // has to be seen.
        if let Some(failed) = migration.filter(|migration| migration.state == MigrationState::Failed) {
            return match self.sight(transfer) {
                Sight::Asked => true,
                Sight::Old => self.await_answer(transfer),
                Sight::Blind => self.await_source(transfer) || self.await_answer(transfer),
                Sight::Sure => {
                    self.undo(transfer, &format!("Migration {failed} has failed"));
                    true
                }
            };
        }
        let dying = source.is_some_and(|source| self.is_dying(source));
        if dying || accepted.is_none() || self.reason(origin, assigned, accepted, Some(to)).is_some() {
            return false;
        }
        match self.sight(transfer) {
            Sight::Asked => true,
            Sight::Old => self.await_answer(transfer),
            Sight::Blind => false,
            Sight::Sure => {
                self.undo(transfer, &format!("provider {} accepts the object again", assigned.provider.name()));
                true
            }
        }
    }

    /// The object would go back, and nobody says whether there is something to go back to: all stays as it is.
    fn await_answer(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let why = format!("provider {} to say whether the old copy is there", transfer.assigned.provider.name());
        self.hold(transfer, Phase::Copying, why);
        self.stand_still();
        self.decision.again_in(LOST_MILLIS);
        true
    }

    /// What was so before is so until it is known what is there: nobody gets its room, or its turn.
    pub(super) fn stand_still(&mut self) {
        self.state(State::Unknown);
        self.decision.moving = None;
        self.decision.route = None;
    }

    /// The object stays where it is. What was made at the other provider goes as a superseded copy does.
    fn undo(&mut self, transfer: &Transfer<'a, '_>, why: &str) {
        let Transfer { origin, assigned, .. } = *transfer;
        // As it was: a person's choice of this provider is not undone with the move.
        let back = Assigned {
            pinned: assigned.pinned_before,
            ..Assigned::to(assigned.provider.clone(), self.next_epoch(assigned))
        };
        let note = format!("stays at provider {}: {why}", assigned.provider.name());
        self.decision.moving = None;
        self.decision.route = None;
        self.mark(origin, &back, Some(Note::normal("MoveUndone", note)));
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
        let best = match choice {
            Some(Choice::Later(wait)) => {
                self.decision.again_in(wait);
                return false;
            }
            Some(Choice::Best(best)) => Some(best),
            Some(Choice::None { .. }) | None => None,
        };
        match (self.sight(transfer), best) {
            (Sight::Asked, _) => true,
            (Sight::Old, _) | (Sight::Blind, None) => self.await_source(transfer),
            (Sight::Sure | Sight::Blind, Some(best)) => {
                self.send_to(transfer, best, why);
                true
            }
            (Sight::Sure, None) => {
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

    /// Sends the object on to somebody else.
    fn send_to(&mut self, transfer: &Transfer<'a, '_>, best: &Acceptance, why: &str) {
        let Transfer { origin, assigned, .. } = *transfer;
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
    }

    /// A move that has had its time, whatever it waits for, may take for ever: others move meanwhile. Else it is looked at again
    /// when it has. Returns whether it has.
    pub(super) fn rest_if_late(&mut self, assigned: &Assigned) -> bool {
        let timeout = self.snapshot.moves.patience.ready_timeout;
        let passed = self.snapshot.memory.moving_for(assigned.epoch, self.snapshot.now.millis);
        if let Some(left) = timeout.checked_sub(passed).filter(|left| *left > 0) {
            self.decision.again_in(left);
            return false;
        }
        self.decision.rests = true;
        true
    }

    /// The new copy has had its time to become ready: if there is somebody else, the object goes there.
    pub(super) fn times_out(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, to, gone, .. } = *transfer;
        if !self.rest_if_late(assigned) || assigned.pinned {
            return false;
        }
        let why = format!("provider {} was not ready in time", to.name());
        let rebalances = matches!(self.decision.route, Some(Route::Rebalance { .. }));
        // It is well where it is, unless there is nothing any more.
        let choice = if rebalances && !gone { None } else { Some(self.choose(origin, &[&assigned.provider, to])) };
        let best = match choice {
            Some(Choice::Best(best)) => Some(best),
            Some(Choice::Later(wait)) => {
                self.decision.again_in(wait);
                return false;
            }
            Some(Choice::None { .. }) => return false,
            None => None,
        };
        match (self.sight(transfer), best) {
            (Sight::Asked, _) => return true,
            (Sight::Old, _) | (Sight::Blind, None) => return self.await_source(transfer),
            (Sight::Sure | Sight::Blind, Some(best)) => self.send_to(transfer, best, &why),
            (Sight::Sure, None) => self.undo(transfer, &why),
        }
        self.decision.gave_up = Some(to.clone());
        true
    }
}
