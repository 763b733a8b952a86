//! Whether a cluster lags: it is connected, and what is to be known of it does not come.
//!
//! Nobody waits for such a cluster: its own objects wait, and everybody else goes on as if it could not be reached.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use kube::core::GroupVersionKind;

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

/// Longest reason, in characters: an API server chose its words.
const REASON: usize = 200;

/// Why discovery fails, by kind.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<GroupVersionKind, String>>);

impl Failures {
    /// Discovery of a kind has failed, or not.
    pub(crate) fn note(&self, gvk: &GroupVersionKind, error: Option<&dyn std::fmt::Display>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) => {
                let text = error.to_string();
                let why = text.chars().map(|char| if char.is_control() { ' ' } else { char });
                held.insert(gvk.clone(), why.take(REASON).collect());
            }
            None => {
                held.remove(gvk);
            }
        }
    }

    fn of(&self, gvk: &GroupVersionKind) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(gvk).cloned()
    }
}

/// How it stands with what a cluster should have told by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lag {
    /// It is there, or cannot be: the kind is not served.
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
    /// Whether the first list of a watch is done, or why not.
    pub fn lag(&self, index: &Index) -> Lag {
        let gvk = &index.spec().gvk;
        if index.is_complete() {
            return Lag::Known;
        }
        if let Some(why) = index.trouble() {
            return Lag::Lagging(why);
        }
        let kind = self.kind(gvk);
        let why = match kind {
            KindState::Missing => return Lag::Known,
            KindState::Unknown => {
                let why = self.failures.of(gvk).unwrap_or_else(|| "no answer".into());
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

    #[test]
    fn reasons_are_bounded_and_forgotten() {
        let (failures, gvk) = (Failures::default(), GroupVersionKind::gvk("g", "v1", "K"));
        failures.note(&gvk, Some(&format!("{}\n{}", "a".repeat(100), "b".repeat(1000))));
        let why = failures.of(&gvk).unwrap();
        assert!(why.len() == REASON && !why.contains('\n'), "{why}");
        failures.note(&gvk, None);
        assert_eq!(failures.of(&gvk), None);
    }
}
