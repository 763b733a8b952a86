//! What the broker remembers of an origin between decisions. All of it may be lost: see [`runtime_effect::memory`].

use broker_api::ClusterName;
use runtime_effect::memory;

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
    /// Providers that a move to was given up: they are last in line.
    gave_up: Vec<ClusterName>,
    /// Since when copies have been on their way out without going, in milliseconds since 1970.
    pub held_since: Option<u64>,
    /// uid of the copy that we wrote last.
    pub copy_uid: Option<Box<str>>,
    /// When the copy was created by us, in milliseconds since 1970.
    pub created_at: Option<u64>,
    /// Epoch of the move that is under way, and when it was first seen here: an epoch says nothing of how long ago it was,
    /// for it may be another process's.
    moving: Option<(u64, u64)>,
}

impl OriginMemory {
    /// The move of this epoch is under way.
    pub fn saw_move(&mut self, epoch: u64, now: u64) {
        if self.moving.is_none_or(|(held, _)| held != epoch) {
            self.moving = Some((epoch, now));
        }
    }

    /// For how many milliseconds the move of this epoch has been seen to be under way.
    pub fn moving_for(&self, epoch: u64, now: u64) -> u64 {
        self.moving.filter(|(held, _)| *held == epoch).map_or(0, |(_, since)| now.saturating_sub(since))
    }

    /// A move to this provider did not come to its end in time.
    pub fn give_up(&mut self, provider: &ClusterName) {
        self.gave_up.retain(|held| held != provider);
        self.gave_up.push(provider.clone());
    }

    /// A move has come to its end: the next one tries all again.
    pub fn forget_given_up(&mut self) {
        self.gave_up.clear();
    }

    /// How long ago a move to this provider was given up, counted in moves given up since; `None`: never.
    pub fn given_up(&self, provider: &ClusterName) -> Option<usize> {
        self.gave_up.iter().rev().position(|held| held == provider)
    }
}
