//! A move that does not end where it was to: the object goes back, or on to somebody else.
//!
//! What was made for the move is needless then, and goes. So the old copy must be there: it may have gone, at our own request or
//! its provider's, and nobody may have heard of it yet. Where it cannot be seen it is waited for; where it can, it is read once more.

use std::sync::Arc;

use broker_api::MigrationState;
use runtime_effect::{note::Note, object_key::ObjectKey, reach::Reach, step::Expected};

use super::{LOST_MILLIS, Pass, claim::Assigned, place::Choice, progress::Progress, transfer::Transfer};
use crate::{acceptance::Acceptance, copy, decision::Step, movement::Route, snapshot::Holder};

impl Transfer<'_, '_> {
    /// Whether it cannot be told now if the old copy is still there. Nobody goes back to it before. While stages run it is left
    /// alone.
    fn is_blind(&self) -> bool {
        let seen = |source: &Holder| source.reachable_copy().is_some();
        !self.gone && self.progress != Progress::Staged && !self.source.is_some_and(seen)
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
        // As it was: a person's choice of this provider is not undone with the move.
        let back = Assigned {
            pinned: assigned.pinned_before,
            ..Assigned::to(assigned.provider.clone(), self.next_epoch(assigned))
        };
        let note = format!("stays at provider {}: {why}", assigned.provider.name());
        let asks = self.if_there(transfer, |pass| {
            pass.mark(origin, &back, Some(Note::normal("MoveUndone", note)));
        });
        if !asks {
            self.decision.moving = None;
            self.decision.route = None;
        }
    }

    /// Decides on writes that are made only if the old copy, where one is seen, is still there. Returns whether that is asked: until
    /// then the move is under way.
    fn if_there(&mut self, transfer: &Transfer<'a, '_>, decide: impl FnOnce(&mut Self)) -> bool {
        let before = self.decision.steps.len();
        decide(self);
        let seen = transfer.source.and_then(|source| Some((source, source.reachable_copy()?)));
        let Some((Holder { provider, .. }, old)) = seen.filter(|_| self.decision.steps.len() > before) else {
            return false;
        };
        let key = self.snapshot.key;
        let expected = Expected {
            cluster: provider.clone(),
            kind: (*key.gvk).clone(),
            object: ObjectKey::new(Arc::clone(&key.namespace), copy::name(key)),
            uid: old.uid.clone(),
        };
        self.decision.steps.insert(before, Step::Expect(Box::new(expected)));
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
            Some(Choice::None { .. }) | None if transfer.is_blind() => {
                self.await_source(transfer);
                false
            }
            Some(Choice::None { .. }) | None => {
                self.undo(transfer, why);
                true
            }
        }
    }

    /// Has the origin looked at again where it may be told in a moment what is at the provider that is left. Whoever cannot be
    /// reached for longer tells of it himself.
    fn await_source(&mut self, transfer: &Transfer<'a, '_>) {
        if transfer.source.is_some_and(|source| !matches!(source.reach, Reach::Unreachable(_))) {
            self.decision.again_in(LOST_MILLIS);
        }
    }

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
        self.if_there(transfer, |pass| pass.begin(origin, &next, Some(best), note));
    }

    /// The new copy has had its time to become ready: if there is somebody else, the object goes there.
    pub(super) fn times_out(&mut self, transfer: &Transfer<'a, '_>) -> bool {
        let Transfer { origin, assigned, to, source, ref accepted, .. } = *transfer;
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
                self.await_source(transfer);
                let silent = source.filter(|source| matches!(source.reach, Reach::Unreachable(_)));
                return silent.is_some_and(|source| self.silent(origin, assigned, source, accepted));
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
