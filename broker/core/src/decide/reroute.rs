//! A move that does not end where it was to: the object goes back, or on to somebody else.
//!
//! The copy that was being made is then needless, and goes. So it must be sure that the old one is there: it may have gone, at our
//! own request or its provider's, and nobody may have heard of it yet.

use broker_api::{MigrationState, keys};
use runtime_effect::{merge, note::Note, reach::Reach, write::Op};
use serde_json::json;

use super::{LOST_MILLIS, Pass, claim::Assigned, place::Choice, transfer::Transfer};
use crate::{
    acceptance::Acceptance, assignment::Seal, copy::signed_origin, memory::Subject, movement::Route, snapshot::Holder,
};

impl Transfer<'_, '_> {
    /// Whether what there is at the provider that is left cannot be seen now. Nobody goes back to it before.
    fn is_blind(&self) -> bool {
        !self.gone && self.source.is_some_and(|source| source.reachable_copy().is_none())
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
        // Nothing that was sent before can end it then: it is not what it was.
        if self.prove(transfer, Some(back.epoch)) {
            let note = format!("stays at provider {}: {why}", assigned.provider.name());
            self.mark(origin, &back, Some(Note::normal("MoveUndone", note)));
        }
    }

    /// Writes the old copy's signature once more, of this epoch or its own, in front of what will make the other copy needless:
    /// that fails where the old one is gone, or is not as it was seen. Returns whether that is written, or is not needed.
    fn prove(&mut self, transfer: &Transfer<'a, '_>, epoch: Option<u64>) -> bool {
        let Transfer { origin, source, .. } = *transfer;
        let held = source.and_then(|source| Some((source, source.reachable_copy()?)));
        let held = held.filter(|(_, copy)| !copy.deleting);
        let Some((Holder { provider, .. }, copy)) = held else { return true };
        let (key, ring) = (self.snapshot.key, self.snapshot.ring);
        // One that has lost its signature gets it with its next write.
        let Some(seal) = signed_origin(key, &origin.uid, provider, copy, ring) else { return true };
        let seal = Seal { epoch: epoch.unwrap_or(seal.epoch), ..seal };
        let signature = ring.sign_origin(&key.subject(&origin.uid), provider.name(), &seal);
        let patch = json!({"metadata": {
            "uid": &*copy.uid,
            "resourceVersion": copy.resource_version.to_string(),
            "annotations": {keys::ORIGIN: signature},
        }});
        let intent = merge::digest(&patch);
        let write = |pass: &Self| pass.copy_write(provider, Subject::Copy, Op::Merge(patch), intent, None);
        self.write(Subject::Copy, intent, &json!(null), write)
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

    /// Has the origin looked at again when it can be told what is at the provider that is left.
    fn await_source(&mut self, transfer: &Transfer<'a, '_>) {
        if transfer.source.is_some_and(|source| !matches!(source.reach, Reach::Unreachable(_))) {
            self.decision.again_in(LOST_MILLIS);
        }
    }

    fn send_to(&mut self, transfer: &Transfer<'a, '_>, best: &Acceptance, why: &str) {
        let Transfer { origin, assigned, .. } = *transfer;
        let to = best.id.provider.clone();
        let note = format!("goes on to provider {}: {why}", to.name());
        let epoch = self.next_epoch(assigned);
        self.decision.rests = false;
        // Of its own epoch: what was made for the move that is over is younger, and goes before a third is made.
        if !self.prove(transfer, None) {
            return;
        }
        let next = Assigned {
            moving_to: Some(to),
            pinned_before: assigned.pinned_before,
            ..Assigned::to(assigned.provider.clone(), epoch)
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
                self.await_source(transfer);
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
