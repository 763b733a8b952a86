//! Leader election on a `coordination.k8s.io/v1` Lease: at most one of several processes writes.
//!
//! Every change of the Lease is conditional on its resourceVersion. Time is this process's monotonic clock alone: a Lease
//! has expired when its content has not changed for its duration *since this process first saw it so*; the times
//! written in it are for people. A leader believes in itself for [`LeaseOptions::renew_deadline`] from the moment it
//! **sent** its last successful renewal, which is earlier than the moment from which anybody else counts the longer
//! [`LeaseOptions::duration`]: it stops before another can start. What is left between the two is the time that a write
//! in flight may still take, so writes need a deadline below it.
//!
//! A leader that stops releases the Lease, and followers watch for that. The watch decides nothing: it is a reason to look
//! now, and without it they look at intervals.
//!
//! This makes two leaders unlikely, not impossible (a paused process may have checked just before its pause): writes
//! still carry preconditions.

mod elector;
mod leadership;
mod store;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use elector::Elector;
pub use leadership::Leadership;
pub use store::{ApiLease, LeaseStore, StoreError};

/// How a process takes part in an election. The defaults are client-go's.
#[derive(Debug, Clone)]
pub struct LeaseOptions {
    /// Namespace of the Lease; must exist.
    pub namespace: String,
    /// Name of the Lease; created if missing.
    pub name: String,
    /// Who this process is, in the Lease. Must differ between processes, also between one and its restart: with an
    /// earlier process's identity this one would believe that it still leads.
    pub identity: String,
    /// Others wait this long for a sign of life before they take over. 15 s.
    pub duration: Duration,
    /// A leader gives up when it could not renew for this long. Below `duration`. 10 s.
    pub renew_deadline: Duration,
    /// Time between renewals, and between a follower's looks. 2 s.
    pub retry_period: Duration,
}

impl LeaseOptions {
    /// With the default times and a new identity: `<host>_<random>`, where host is `$HOSTNAME`, a Pod's name.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "process".to_owned());
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: format!("{host}_{:016x}", crate::random::number()),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}
