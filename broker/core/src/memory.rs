//! What the broker remembers of an origin between decisions. All of it may be lost: see [`runtime_effect::memory`].

use broker_api::ClusterName;
use runtime_effect::{memory, write::Op};

use crate::{
    decision::{Decision, Write},
    movement::Moving,
};

/// What a write is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// Finalizer and annotations of the origin.
    Marks,
    /// The copy.
    Copy,
    /// The origin's status.
    Status,
    /// A related copy.
    Related,
    /// The copy at the provider that takes over, while the origin moves.
    Successor,
    /// A Migration.
    Migration,
    /// A copy that is to go.
    Removal,
}

impl memory::Subject for Subject {
    /// As many related copies as are brought.
    const MOST: usize = crate::related::MOST;

    fn is_many(self) -> bool {
        !matches!(self, Self::Marks | Self::Copy | Self::Status)
    }

    /// What is written to the consumer because of what a provider says.
    fn is_paced(self) -> bool {
        matches!(self, Self::Status | Self::Related)
    }
}

/// What is remembered of writes.
pub type Memory = memory::Memory<Subject>;

/// What is remembered of one origin.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OriginMemory {
    /// Of what was written.
    pub writes: Memory,
    /// Providers that a move to was given up, and when, in milliseconds since 1970: they are last in line.
    gave_up: Vec<(ClusterName, u64)>,
    /// Since when copies have been on their way out without going, in milliseconds since 1970.
    pub held_since: Option<u64>,
    /// uid of the copy that we wrote last.
    pub copy_uid: Option<Box<str>>,
    /// uid of the copy that was last to go: its provider may take the marks off before it is gone.
    pub removed_uid: Option<Box<str>>,
    /// When the copy was created by us, in milliseconds since 1970.
    pub created_at: Option<u64>,
    /// The move that is under way.
    moving: Option<Box<Underway>>,
}

/// What is remembered of a move.
#[derive(Debug, Clone, PartialEq)]
struct Underway {
    epoch: u64,
    /// When it was first seen here, in milliseconds since 1970: its epoch says nothing of how long ago it was, for it may be
    /// another process's.
    since: u64,
    /// The person's Migration (`namespace/name`) that it is made for.
    migration: Option<String>,
}

impl OriginMemory {
    /// Keeps what a decision says of moves. `before`: the move that was under way when it was taken; `now`: when that was, in
    /// milliseconds since 1970.
    pub fn absorb(&mut self, decision: &Decision, before: Option<&Moving>, now: u64) {
        let removes = |write: &Write| match &write.op {
            Op::Delete { uid, .. } if write.subject == Subject::Removal => Some(uid.clone()),
            _ => None,
        };
        if let Some(uid) = decision.writes().find_map(removes) {
            self.removed_uid = Some(uid);
        }
        if let Some(provider) = &decision.gave_up {
            self.gave_up.retain(|(held, _)| held != provider);
            self.gave_up.push((provider.clone(), now));
        }
        let arrived = |before: &Moving| decision.provider.as_ref() == Some(&before.to);
        if decision.moving.is_none() && before.is_some_and(arrived) {
            // The next move tries all again.
            self.gave_up.clear();
        }
        if let Some(moving) = &decision.moving {
            let held = self.moving.take().filter(|held| held.epoch == moving.epoch);
            let mut held =
                held.unwrap_or_else(|| Box::new(Underway { epoch: moving.epoch, since: now, migration: None }));
            if moving.migration.is_some() {
                held.migration.clone_from(&moving.migration);
            }
            self.moving = Some(held);
        }
        self.held_since = decision.held_since;
    }

    /// For how many milliseconds the move of this epoch has been seen to be under way.
    pub fn moving_for(&self, epoch: u64, now: u64) -> u64 {
        self.underway(epoch).map_or(0, |held| now.saturating_sub(held.since))
    }

    /// The person's Migration (`namespace/name`) that the move of this epoch is made for, as it was decided.
    pub fn made_for(&self, epoch: u64) -> Option<&str> {
        self.underway(epoch)?.migration.as_deref()
    }

    fn underway(&self, epoch: u64) -> Option<&Underway> {
        self.moving.as_deref().filter(|held| held.epoch == epoch)
    }

    /// How long ago a move to this provider was given up, counted in moves given up since; `None`: never.
    pub fn given_up(&self, provider: &ClusterName) -> Option<usize> {
        self.gave_up.iter().rev().position(|(held, _)| held == provider)
    }

    /// For how many milliseconds a move to this provider has been given up; `None`: it is not.
    pub fn given_up_for(&self, provider: &ClusterName, now: u64) -> Option<u64> {
        let (_, since) = self.gave_up.iter().find(|(held, _)| held == provider)?;
        Some(now.saturating_sub(*since))
    }
}
