//! Whether a cluster lags: it is connected, and what is to be known of it does not come.
//!
//! Nobody waits for such a cluster: its own objects wait, and everybody else goes on as if it could not be reached.

use std::time::Duration;

use crate::{
    cluster::{Cluster, ClusterState},
    index::Index,
    kind::KindState,
};

/// How long others wait for a newly engaged cluster.
const PATIENCE: Duration = Duration::from_secs(10);

/// The same for one that could be reached, or cannot yet: it may be back in a moment.
const BLIP: Duration = Duration::from_secs(5);

/// The same for one whose lists are long and do come, page by page.
const LONG: Duration = Duration::from_mins(1);

/// How it stands with what a cluster should have told by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lag {
    /// It is there, or cannot be (the kind is not served), or nothing waits for it.
    Known,
    /// It is about to come, and worth waiting for.
    Coming,
    /// It does not come, for this reason.
    Lagging(String),
}

/// How long others wait for a cluster of which something was heard so long ago.
fn patience(silence: Option<Duration>) -> Duration {
    if silence.is_some_and(|silence| silence < PATIENCE) { LONG } else { PATIENCE }
}

impl Cluster {
    /// Whether anything waits for what a watch tells: see [`Listener::is_awaited`](crate::listener::Listener::is_awaited).
    pub fn is_awaited(&self, index: &Index) -> bool {
        self.listeners(index.spec()).iter().any(|listener| listener.is_awaited())
    }

    /// Whether the first list of a watch is done, or why not.
    pub fn lag(&self, index: &Index) -> Lag {
        let gvk = &index.spec().gvk;
        if index.is_complete() || !self.is_awaited(index) {
            return Lag::Known;
        }
        if let Some(why) = index.trouble() {
            return Lag::Lagging(why);
        }
        let kind = self.kind(gvk);
        let why = match kind {
            KindState::Missing => return Lag::Known,
            KindState::Unknown => {
                let why = self.server().kinds.failures.of(gvk).unwrap_or_else(|| "no answer".into());
                format!("discovery does not work: {why}")
            }
            KindState::Found(_) => "the first list does not come to an end".into(),
        };
        if self.age() < patience(index.silence()) { Lag::Coming } else { Lag::Lagging(why) }
    }

    /// Whether the rest of the process should wait for this cluster.
    pub fn is_coming(&self) -> bool {
        match self.state() {
            ClusterState::Connecting => self.age() < PATIENCE,
            ClusterState::Ready => self.indexes().iter().any(|index| self.lag(index) == Lag::Coming),
            ClusterState::Unreachable { .. } => self.age() < BLIP,
            ClusterState::Leaving => false,
        }
    }

    /// Whether it is connected, and does not tell what it should.
    pub fn is_lagging(&self) -> bool {
        self.is_ready() && self.indexes().iter().any(|index| matches!(self.lag(index), Lag::Lagging(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_has_longer() {
        assert_eq!(patience(None), PATIENCE);
        assert_eq!(patience(Some(PATIENCE)), PATIENCE);
        assert_eq!(patience(Some(Duration::from_secs(1))), LONG);
    }
}
