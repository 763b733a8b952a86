//! What decisions about an origin and decisions about its Migration know of each other. Each of them writes its own
//! objects only; this is what they read of one another.

use std::fmt;

use broker_api::{ClusterName, MigrationState};

#[expect(clippy::struct_excessive_bools, reason = "each is a field of the Migration, and any may be set with any")]
/// A Migration, as far as it concerns the origin whose copy it moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationView {
    /// Its namespace in the coordination cluster.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Whether a person made it. The broker's own are named after the epoch of their move.
    pub by_person: bool,
    /// Provider that is left.
    pub from: ClusterName,
    /// Provider that takes over.
    pub to: ClusterName,
    /// `spec.force`.
    pub force: bool,
    /// `status.state`.
    pub state: MigrationState,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Whether a person aborted it (`spec.abort`).
    pub aborted: bool,
    /// When it was made, in milliseconds since 1970.
    pub created: u64,
    /// When it ended, in milliseconds since 1970, if it has.
    pub ended: Option<u64>,
}

/// `namespace/name`.
impl fmt::Display for MigrationView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl MigrationView {
    /// Whether both are views of one Migration.
    pub fn is(&self, other: &Self) -> bool {
        (&self.namespace, &self.name) == (&other.namespace, &other.name)
    }

    /// Whether it has come to its end, one way or the other.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, MigrationState::CutoverCompleted | MigrationState::Failed)
    }

    /// Whether the consumer is to be served by the new copy.
    pub fn has_switched(&self) -> bool {
        use MigrationState::{CutoverCompleted, CutoverInProgress, InitialCompleted};
        matches!(self.state, InitialCompleted | CutoverInProgress | CutoverCompleted)
    }
}

/// Whether a MigrationConfiguration says what has to be done when objects of a kind move.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Configured {
    /// They are not all known.
    #[default]
    Unknown,
    /// None does.
    No,
    /// One does.
    Yes,
    /// One does, and it is not valid: its name and what is wrong.
    Invalid(String),
}

/// How far the move of an origin is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// The new copy is being made, or is not ready yet.
    Copying,
    /// The new copy is ready; stages may run.
    Ready,
    /// The consumer sees the new copy's status and related resources.
    Switched,
}

/// The move of an origin that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moving {
    /// Provider that is left.
    pub from: ClusterName,
    /// Provider that takes over.
    pub to: ClusterName,
    /// Epoch of the assignment that began it, in milliseconds since 1970.
    pub epoch: u64,
    /// The person's Migration (`namespace/name`) that it is made for; `None`: the broker moves it, or that is not known yet.
    pub migration: Option<String>,
    /// How far it is.
    pub phase: Phase,
    /// What it waits for, for people.
    pub waits_for: String,
}

/// How many moves may be under way at once is counted by these.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// Objects that leave a provider for another.
    Leave {
        /// Provider that is left.
        from: ClusterName,
        /// Provider that takes over.
        to: ClusterName,
    },
    /// Objects that move to a provider because it asks for its share.
    Rebalance {
        /// Provider that takes over.
        to: ClusterName,
    },
}

/// What an origin's decision says of a Migration that is not under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// It has to wait, and what for.
    Waits(String),
    /// It cannot be: CamelCase word, and why.
    Refused(&'static str, String),
}

/// What is known of the move that a Migration is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Movement {
    /// Nothing yet: its origin has not been looked at, or cannot be.
    #[default]
    Unknown,
    /// It has not begun, and what it waits for.
    Waits(String),
    /// It cannot be: CamelCase word, and why.
    Refused(&'static str, String),
    /// It is under way.
    Underway(Moving),
    /// There is no such move (any more): CamelCase word, and why.
    Over(&'static str, String),
}
