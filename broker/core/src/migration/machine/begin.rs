//! Before the first stage, and between the stages before and after the switch.

use broker_api::{MigrationState, migration::StageState};

use super::{Pass, recording};
use crate::{
    migration::{
        configuration::Configuration,
        observed::{Applicable, Observed},
    },
    movement::{Movement, Phase},
};

/// Reason: the MigrationConfiguration is not valid.
const INVALID_CONFIGURATION: &str = "InvalidConfiguration";

impl Pass<'_> {
    /// Seen for the first time.
    pub(super) fn admit(&mut self) {
        self.next.state = MigrationState::Pending;
        self.next.id = Some(self.id.clone());
        self.advance("Pending", "it has not begun");
        self.say_what_it_waits_for();
    }

    /// The move itself comes first: stages run when the new copy is ready.
    pub(super) fn await_movement(&mut self) {
        match &self.observed.movement {
            Movement::Underway(moving) if moving.phase != Phase::Copying => self.start(),
            _ => self.say_what_it_waits_for(),
        }
    }

    fn say_what_it_waits_for(&mut self) {
        match &self.observed.movement {
            Movement::Waits(why) => self.advance("Waiting", why),
            Movement::Underway(moving) if moving.phase == Phase::Copying => {
                let why = if moving.waits_for.is_empty() { "the new copy is being made" } else { &moving.waits_for };
                self.advance("Copying", why);
            }
            Movement::Underway(_) | Movement::Unknown | Movement::Refused(..) | Movement::Over(..) => {}
        }
    }

    fn start(&mut self) {
        match self.observed.applicable {
            Applicable::Unknown => {}
            Applicable::Invalid(why) => {
                let message = format!("{why}; correct the MigrationConfiguration, or abort");
                self.stall(INVALID_CONFIGURATION, &message);
            }
            Applicable::None => self.complete_initial(),
            Applicable::Found(configuration) => self.start_with(configuration),
        }
    }

    fn start_with(&mut self, configuration: &Configuration) {
        let Observed { object, ring, .. } = self.observed;
        self.next.configuration_generation = Some(configuration.generation);
        self.next.configuration = Some(recording::record(configuration, &object.uid, ring));
        match configuration.source.first() {
            None => self.complete_initial(),
            Some(stage) => {
                self.next.state = MigrationState::InitialInProgress;
                self.begin_stage(&stage.name);
            }
        }
    }

    /// The consumer is to be switched to the new copy.
    pub(super) fn complete_initial(&mut self) {
        self.next.state = MigrationState::InitialCompleted;
        self.advance("Switching", "the consumer is being switched to the new copy");
    }

    /// The stages after the switch begin when the consumer is served by the new copy.
    pub(super) fn await_switch(&mut self) {
        if !self.has_switched() {
            return self.advance("Switching", "the consumer is being switched to the new copy");
        }
        // The cursor is on a stage that has not begun, or on the last one of all.
        let begun = self.entry().is_some_and(|entry| entry.state != StageState::Pending);
        match self.cursor().filter(|_| !begun).map(|(_, stage)| stage.name.clone()) {
            Some(name) => {
                self.next.state = MigrationState::CutoverInProgress;
                self.begin_stage(&name);
            }
            None => self.complete("the consumer is served by the new copy"),
        }
    }

    /// Deleted after the switch: there is no way back, and nobody to run the rest for.
    pub(super) fn complete_early(&mut self) {
        let cursor = self.cursor().map(|(index, _)| index);
        let stages = self.configuration().map_or(&[][..], |configuration| &configuration.stages[..]);
        let done = |name: &str| {
            self.held.stages.iter().any(|entry| entry.name == name && entry.state == StageState::Succeeded)
        };
        let left = stages.iter().skip(cursor.unwrap_or(stages.len())).filter(|stage| !done(&stage.name));
        let skipped: Vec<&str> = left.map(|stage| stage.name.as_str()).collect();
        let message = if skipped.is_empty() {
            "the Migration is deleted; the consumer is served by the new copy".to_owned()
        } else {
            format!("the Migration is deleted; the consumer is served by the new copy; skipped: {}", skipped.join(", "))
        };
        self.complete(&message);
    }
}
