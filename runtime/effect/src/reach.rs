//! `Reach`: how it stands with a cluster.

/// How it stands with a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// Requests go through.
    Ready,
    /// It has only just been engaged and will soon be known.
    Settling,
    /// Requests have not gone through for some moments: nothing to place there, nothing to tell anybody yet.
    Lost(String),
    /// Requests do not go through, and why.
    Unreachable(String),
}
