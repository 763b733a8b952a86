//! `Decision`: what to do about one origin now.

use std::time::Duration;

use broker_api::ClusterName;
use runtime_effect::{interest::Interest, note::Note};

use crate::{
    acceptance::AcceptId,
    memory::Subject,
    movement::{Moving, Request, Route},
};

/// One write about an origin or a Migration.
pub type Write = runtime_effect::write::Write<Subject>;

/// Something to do about an origin.
pub type Step = runtime_effect::step::Step<Subject>;

/// How it stands with an origin: what metrics count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum State {
    /// Not enough is known.
    #[default]
    Unknown,
    /// There is no such object, or it is none of our business.
    Gone,
    /// No provider accepts it.
    Waiting,
    /// Marks or copy are being written.
    Placing,
    /// Its copy is in place.
    Served,
    /// Its provider no longer accepts it.
    NotAccepted,
    /// It is on its way to another provider.
    Moving,
    /// Something keeps it from being served; the condition says what.
    Blocked,
    /// It is being deleted.
    Deleting,
    /// A person has paused it.
    Paused,
    /// A person has told us to ignore it.
    Ignored,
}

impl State {
    /// All states, for metrics.
    pub const ALL: [Self; 11] = [
        Self::Unknown,
        Self::Gone,
        Self::Waiting,
        Self::Placing,
        Self::Served,
        Self::NotAccepted,
        Self::Moving,
        Self::Blocked,
        Self::Deleting,
        Self::Paused,
        Self::Ignored,
    ];

    /// Its name in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "Unknown",
            Self::Gone => "Gone",
            Self::Waiting => "Waiting",
            Self::Placing => "Placing",
            Self::Served => "Served",
            Self::NotAccepted => "NotAccepted",
            Self::Moving => "Moving",
            Self::Blocked => "Blocked",
            Self::Deleting => "Deleting",
            Self::Paused => "Paused",
            Self::Ignored => "Ignored",
        }
    }
}

/// What to do about one origin now.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing to the shell, and any may be said with any")]
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// In this order; after the first failure no more.
    pub steps: Vec<Step>,
    /// How it stands.
    pub state: State,
    /// Which provider it is assigned to.
    pub provider: Option<ClusterName>,
    /// Which AcceptAPI it counts for.
    pub counted: Option<AcceptId>,
    /// To tell now, whether or not anything is written.
    pub notes: Vec<Note>,
    /// For the log: refusals in full where people are told less.
    pub unabridged: Vec<String>,
    /// Look again after this time, even if nothing changes.
    pub again: Option<Duration>,
    /// Once its steps went through there is nothing left to decide until something changes.
    pub complete: bool,
    /// What is left to do, now or when it is to be looked at again, can wait until nobody else waits.
    pub when_idle: bool,
    /// Related objects to listen to.
    pub interests: Vec<Interest>,
    /// The move that is under way.
    pub moving: Option<Moving>,
    /// What it counts for while it moves, or would count for, if its turn came: whoever has one and is not moving waits for
    /// its turn, and for nothing else.
    pub route: Option<Route>,
    /// What is to be said of Migrations (`namespace/name`) about this origin that are not under way.
    pub requests: Vec<(String, Request)>,
    /// It takes room or a turn that it did not have: where that has just gone to another, it is decided again.
    pub begins: bool,
    /// It should leave its provider and cannot now: whatever changes at any provider concerns it.
    pub restless: bool,
    /// Since when copies have been on their way out without going, in milliseconds since 1970.
    pub held_since: Option<u64>,
    /// It takes part in nothing now: others may have its turn to move.
    pub rests: bool,
    /// A move to this provider is given up: it is to be last in line.
    pub gave_up: Option<ClusterName>,
}

impl Decision {
    /// Nothing to do in this state.
    pub fn state(state: State) -> Self {
        Self { state, ..Self::default() }
    }

    /// Look again after so many milliseconds, or sooner if that was already wanted.
    pub fn again_in(&mut self, millis: u64) {
        let wait = Duration::from_millis(millis);
        self.again = Some(self.again.map_or(wait, |held| held.min(wait)));
    }

    /// Whether something keeps the origin from being looked at: what was so before is so still.
    pub fn is_held_up(&self) -> bool {
        matches!(self.state, State::Unknown | State::Paused | State::Ignored | State::Blocked)
    }

    /// Whether the origin is gone, and nothing is left to do about it: then nothing is remembered of it either.
    pub fn forgets(&self) -> bool {
        self.state == State::Gone && self.steps.is_empty()
    }

    /// Writes that are wanted.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.steps.iter().flat_map(Step::writes)
    }
}

#[cfg(test)]
mod tests {
    use runtime_effect::kind::Kind;

    use super::*;

    #[test]
    fn what_is_gone_is_forgotten_once_nothing_is_left_to_do() {
        assert!(Decision::state(State::Gone).forgets());
        let place = Interest {
            cluster: ClusterName::consumer("homer"),
            kind: Kind { group: String::new(), version: "v1".into(), kind: "K".into() },
            namespace: "n".into(),
            name: "a".into(),
        };
        let confirm = Step::Confirm(Box::new(place));
        assert!(!Decision { steps: vec![confirm], ..Decision::state(State::Gone) }.forgets());
        assert!(!Decision::state(State::Deleting).forgets());
    }
}
