//! What the broker remembers of one origin.

use broker_api::ClusterName;
use broker_core::{
    acceptance::AcceptId,
    decision::{Decision, State},
    memory::OriginMemory,
    migration::standing,
    movement::{Moving, Request},
    turns::Place,
};
use runtime_effect::interest::Interest;
use runtime_engine::{clock, recorder::Told};
use tokio::time::Instant;

use super::index::Facts;

/// One origin.
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of an origin, and any may be so with any")]
#[derive(Debug, Clone, Default)]
pub struct Record {
    /// For the next decision.
    pub memory: OriginMemory,
    /// How it stood after the last decision.
    pub(super) state: State,
    /// That may be old: what there is of its consumer is not known any more, and it was not decided on since.
    pub(super) doubted: bool,
    /// Which provider it is assigned to.
    pub(super) provider: Option<ClusterName>,
    /// Which AcceptAPI it counts for.
    pub(super) counted: Option<AcceptId>,
    /// The move that is under way, as of the last decision.
    pub(super) moving: Option<Box<Moving>>,
    /// It should leave its provider and cannot now.
    pub(super) restless: bool,
    /// The last decision wanted something done.
    pub(super) owed: bool,
    /// What it said of Migrations (`namespace/name`) that are not under way.
    pub requests: Vec<(String, Request)>,
    /// Its turn to move.
    pub(super) place: Place,
    /// It is one of those that its consumer may have so many of.
    pub(super) occupies: bool,
    pub(super) interests: Vec<Interest>,
    /// Digests of what was told as Events, and when.
    pub told: Told,
    /// When it was first seen; taken once its copy is made.
    pub seen_at: Option<Instant>,
    /// Whether it is among the objects that are counted by state.
    pub(super) listed: bool,
}

/// The provider where an origin's copy is accounted for: it counts for an AcceptAPI there, or is there although none
/// accepts it.
pub(super) fn accounts_at<'a>(
    counted: Option<&'a AcceptId>,
    state: State,
    provider: Option<&'a ClusterName>,
) -> Option<&'a ClusterName> {
    counted.map(|id| &id.provider).or(provider.filter(|_| state == State::NotAccepted))
}

impl Record {
    /// Whether how it stood may be old.
    pub fn is_doubted(&self) -> bool {
        self.doubted
    }

    /// How it stood after the last decision.
    pub fn state(&self) -> State {
        self.state
    }

    /// Which provider it is assigned to, as of the last decision.
    pub fn provider(&self) -> Option<&ClusterName> {
        self.provider.as_ref()
    }

    /// Which AcceptAPI it counts for, as of the last decision.
    pub fn counts_at(&self) -> Option<&AcceptId> {
        self.counted.as_ref()
    }

    /// The move that is under way, as of the last decision.
    pub fn moving(&self) -> Option<&Moving> {
        self.moving.as_deref()
    }

    /// What it is found by.
    pub(super) fn facts(&self) -> Facts {
        Facts {
            state: self.state,
            provider: self.provider.clone(),
            moves_to: self.moving().map(|moving| moving.to.clone()),
            restless: self.restless,
            owed: self.owed,
        }
    }

    pub(super) fn accounts_at(&self) -> Option<&ClusterName> {
        accounts_at(self.counted.as_ref(), self.state, self.provider.as_ref())
    }

    /// The AcceptAPI that the origin counts for after this decision. One that is only held up keeps its room.
    pub(super) fn counts_for<'a>(&'a self, decision: &'a Decision) -> Option<&'a AcceptId> {
        let held_up = decision.is_held_up() || matches!(decision.state, State::Deleting | State::NotAccepted);
        decision.counted.as_ref().or(self.counted.as_ref().filter(|_| held_up))
    }

    /// Whether a provider serves the origin, or is to, after this decision.
    pub(super) fn occupies(&self, decision: &Decision) -> bool {
        decision.provider.is_some() || self.occupies && decision.is_held_up()
    }

    /// Takes in a decision, but for what `Room` gives and whom the origin listens to. Whether what its Migrations are
    /// told has changed. `missed`: see [`Absorbed`](super::Absorbed): what was doubted meanwhile stays so, and of one that was not
    /// there nobody could say that.
    pub(super) fn absorb(&mut self, decision: &Decision, missed: bool) -> bool {
        let doubted = self.doubted;
        self.doubted = missed && (doubted || !self.listed);
        let moved = self.moving.as_deref() != decision.moving.as_ref() || self.requests != decision.requests;
        self.memory.absorb(decision, self.moving.as_deref(), clock::now().millis);
        self.restless = decision.restless;
        self.owed = !decision.steps.is_empty();
        if moved {
            standing::take_in(decision, &mut self.moving, &mut self.requests);
        }
        if !self.listed {
            self.seen_at = Some(Instant::now());
        }
        self.listed = true;
        // What a Migration is told depends on the state as well.
        let restated = self.state != decision.state;
        self.state = decision.state;
        self.provider.clone_from(&decision.provider);
        moved || restated || doubted
    }
}
