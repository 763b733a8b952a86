//! `migrate`: from what was seen of one Migration to what to do about it. Pure, as `decide` is.
//!
//! One pass writes the status at most once, and last: a state, the cursor and all that goes with them change together.
//! What follows from a state is done by later passes, which read it from the object, so that a crash between any two
//! writes leaves what the next pass goes on from.

mod begin;
mod end;
mod names;
mod objects;
mod record;
mod recording;
mod related;
mod stage;
mod trial;

use broker_api::{Migration, MigrationSpec, MigrationState, MigrationStatus, condition, keys, migration};
use runtime_effect::note::Note;
use serde::Deserialize;

use self::recording::Belief;
use super::observed::{Decided, Observed};
use crate::movement::{Movement, Phase};

/// What to do about the Migration.
pub fn migrate(observed: &Observed<'_>) -> Decided {
    let Migration { spec, status, .. } = match Migration::deserialize(&*observed.object.value) {
        Ok(migration) => migration,
        Err(error) => {
            let message = format!("the Migration cannot be read: {error}; is its CRD that of this release?");
            let notes = vec![Note::warning(condition::INVALID, message)];
            return Decided { notes, ..Decided::default() };
        }
    };
    let held = status.unwrap_or_default();
    let mut pass = Pass {
        observed,
        spec,
        next: held.clone(),
        belief: recording::judge(held.configuration.as_ref(), observed),
        id: names::id(&observed.object.uid),
        decided: Decided { state: held.state, ..Decided::default() },
        held,
        note: None,
    };
    pass.run();
    pass.decided.distrusts = pass.belief == Belief::No;
    pass.decided
}

/// One pass over one Migration.
struct Pass<'a> {
    observed: &'a Observed<'a>,
    spec: MigrationSpec,
    /// The status as it is.
    held: MigrationStatus,
    /// The status as it should be.
    next: MigrationStatus,
    /// Whether the configuration in it counts.
    belief: Belief,
    /// From the uid, never from the status: nobody can have us touch what belongs to another Migration.
    id: String,
    decided: Decided,
    /// To tell once the status is written.
    note: Option<Note>,
}

impl Pass<'_> {
    fn run(&mut self) {
        if self.has_ended() {
            return self.finish();
        }
        self.decided.watches = self.kinds();
        if let Some((reason, why)) = self.cannot_go_on() {
            self.fail(reason, &why);
            return self.flush();
        }
        if !self.observed.object.deleting {
            if self.mark() {
                return;
            }
            self.sweep();
            self.go_on();
        } else if self.may_have_switched() {
            // It is not known whether the consumer is served by the new copy.
            self.sweep();
        } else {
            self.complete_early();
        }
        self.flush();
    }

    fn go_on(&mut self) {
        if self.distrusts() {
            return;
        }
        if self.spec.paused {
            return self.pause();
        }
        if self.resume() {
            return;
        }
        match self.held.state {
            MigrationState::Unknown => self.admit(),
            MigrationState::Pending => self.await_movement(),
            MigrationState::InitialInProgress | MigrationState::CutoverInProgress => self.run_stage(),
            MigrationState::InitialCompleted => self.await_switch(),
            MigrationState::CutoverCompleted | MigrationState::Failed => {}
        }
    }

    fn has_ended(&self) -> bool {
        matches!(self.held.state, MigrationState::CutoverCompleted | MigrationState::Failed)
    }

    fn is_before_switch(&self) -> bool {
        self.held.state.is_before_switch()
    }

    fn has_switched(&self) -> bool {
        matches!(&self.observed.movement, Movement::Underway(moving) if moving.phase == Phase::Switched)
    }

    /// A deleted Migration that waits to be told whether the origin has switched. Without an origin nobody will tell, and
    /// a person may know that nobody will.
    fn may_have_switched(&self) -> bool {
        self.held.state == MigrationState::InitialCompleted
            && self.observed.movement == Movement::Unknown
            && self.observed.origin.is_some()
            && !self.observed.object.annotated_true(keys::FORCE_DELETE)
    }

    /// Why the Migration fails now, whatever its stages do.
    fn cannot_go_on(&self) -> Option<(&'static str, String)> {
        match &self.observed.movement {
            // A pause holds every state; that its origin is gone is told when it ends.
            Movement::Refused(reason, why) | Movement::Over(reason, why) if !self.spec.paused => {
                return Some((reason, why.clone()));
            }
            _ => {}
        }
        if self.spec.abort && self.is_before_switch() {
            return Some((ABORTED, "spec.abort is set: the move is undone, the old copy stays as it was".into()));
        }
        let undone = match self.held.state {
            MigrationState::InitialCompleted => !self.has_switched() && !self.may_have_switched(),
            _ => self.is_before_switch(),
        };
        (self.observed.object.deleting && undone)
            .then(|| (DELETED, "the Migration is deleted: the move is undone, the old copy stays as it was".into()))
    }

    /// `spec.paused`: no state changes, nothing is made. What is to be removed goes.
    fn pause(&mut self) {
        let message = match self.abort_is_late() {
            Some(late) => format!("spec.paused is set; {late}"),
            None => "spec.paused is set: it goes on once that is false".to_owned(),
        };
        self.set(migration::PROGRESSING, false, condition::PAUSED, message);
    }

    /// A stage that was paused gets the time back. Returns whether that has to be written first.
    fn resume(&mut self) -> bool {
        let held = &self.held.conditions;
        let Some(progressing) = held.iter().find(|held| held.type_ == migration::PROGRESSING) else { return false };
        if progressing.reason != condition::PAUSED {
            return false;
        }
        let now = self.observed.now.millis;
        let paused_for = now.saturating_sub(migration::millis_of(&progressing.last_transition_time));
        let Some(entry) = self.entry_mut().filter(|entry| entry.state == migration::StageState::Running) else {
            return false;
        };
        let started = entry.started.as_ref().map_or(now, migration::millis_of);
        // A clock that was set back since must not put the start into the future.
        entry.started = Some(migration::time_of(started.saturating_add(paused_for).min(now.max(started))));
        self.running();
        true
    }

    /// Why `spec.abort` has no effect (any more), if it is set.
    fn abort_is_late(&self) -> Option<&'static str> {
        (self.spec.abort && !self.is_before_switch()).then_some(
            "spec.abort has no effect: the consumer is served by the new copy, and the move can only go forward",
        )
    }
}

/// Reason: a person set `spec.abort`.
const ABORTED: &str = "Aborted";
/// Reason: the Migration was deleted.
const DELETED: &str = "Deleted";
