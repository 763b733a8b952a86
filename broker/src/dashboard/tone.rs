//! `Tone`: in which colour a word is shown. The word says it all; the colour is for the eye.

use broker_api::{MigrationState, migration::StageState};
use broker_core::decision::State;

use super::{health::Health, html::Html};

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// As it should be.
    Good,
    /// On its way.
    Busy,
    /// Not as it should be.
    Bad,
    /// None of these.
    Plain,
}

impl Tone {
    /// The class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Busy => "busy",
            Self::Bad => "bad",
            Self::Plain => "plain",
        }
    }

    /// A word in this colour.
    pub(super) fn badge(self, html: &mut Html, word: &str) {
        html.raw("<span class=\"badge ").raw(self.class()).raw("\">").cut(word, 60).raw("</span>");
    }
}

impl From<State> for Tone {
    fn from(state: State) -> Self {
        match state {
            State::Served => Self::Good,
            State::Placing | State::Moving | State::Deleting => Self::Busy,
            State::Waiting | State::NotAccepted | State::Blocked => Self::Bad,
            State::Unknown | State::Gone | State::Paused | State::Ignored => Self::Plain,
        }
    }
}

impl From<MigrationState> for Tone {
    fn from(state: MigrationState) -> Self {
        match state {
            MigrationState::CutoverCompleted => Self::Good,
            MigrationState::InitialInProgress
            | MigrationState::InitialCompleted
            | MigrationState::CutoverInProgress => Self::Busy,
            MigrationState::Failed => Self::Bad,
            MigrationState::Unknown | MigrationState::Pending => Self::Plain,
        }
    }
}

impl From<StageState> for Tone {
    fn from(state: StageState) -> Self {
        match state {
            StageState::Succeeded => Self::Good,
            StageState::Running => Self::Busy,
            StageState::Failed => Self::Bad,
            StageState::Pending => Self::Plain,
        }
    }
}

impl From<Health> for Tone {
    fn from(health: Health) -> Self {
        match health {
            Health::Ready => Self::Good,
            Health::Connecting | Health::Leaving => Self::Busy,
            Health::Unreachable | Health::Lagging => Self::Bad,
        }
    }
}
