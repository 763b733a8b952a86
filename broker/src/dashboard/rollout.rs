//! `Rollout`: one ResourceGraphRollout as it is shown: how a graph gets to clusters, wave by wave.

use broker_api::{
    graphs::{
        WaveState,
        rollout::{DEGRADED, PROGRESSING},
    },
    keys,
};
use serde_json::Value;

use super::{
    kept::{Shown, ShownKind},
    told::{conditions, entries, is_deleting, said, text},
    tone::Tone,
    trace::Said,
};

/// Waves that are read: a rollout has no more, but for the last, of the clusters that are in none.
const WAVES: usize = 16;

/// Failing clusters that are read: a status names no more.
const FAILING: usize = 20;

/// Of these, those that a list names.
const NAMED: usize = 3;

/// The word for one whose status is not there, or not of what it says now.
const UNTOLD: &str = "Not told yet";

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Rollout {
    /// Its name, which is that of its ResourceGraphDefinition.
    pub(super) name: String,
    /// The revision that clusters get.
    pub(super) target: Option<i64>,
    /// In a word: `RollingOut`, `Complete`, `Paused`, `Stopped` and the like.
    pub(super) word: String,
    /// Whether a person has paused it.
    pub(super) paused: bool,
    /// Its waves in their order, and how it stands with each; the name of the last, of all other clusters, is empty.
    pub(super) waves: Vec<(String, WaveState)>,
    /// How many clusters stand how.
    pub(super) clusters: Clusters,
    /// Some of the clusters that fail or cannot be reached.
    pub(super) failing: Vec<Failing>,
    /// What is told of it for people.
    pub(super) why: String,
    /// What its conditions say.
    pub(super) conditions: Vec<Said>,
}

/// How many clusters stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Clusters {
    /// All that are meant.
    pub(super) total: u64,
    /// Those that run what they should.
    pub(super) updated: u64,
    /// Those that are under way.
    pub(super) updating: u64,
    /// Those that have failed.
    pub(super) failed: u64,
    /// Those that cannot be reached.
    pub(super) unreachable: u64,
    /// Of those that have failed, those where somebody else has the kind.
    pub(super) conflicted: u64,
}

/// A cluster that fails or cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failing {
    /// Its name, as `spoke#paris`.
    pub(super) cluster: String,
    /// The revision that it was to get.
    pub(super) revision: Option<i64>,
    /// In a word.
    pub(super) reason: String,
    /// For people.
    pub(super) message: String,
    /// Since when, as the status has it.
    pub(super) since: String,
}

impl From<WaveState> for Tone {
    fn from(wave: WaveState) -> Self {
        match wave {
            WaveState::Done => Self::Good,
            WaveState::Now => Self::Busy,
            WaveState::Untold | WaveState::ToCome => Self::Plain,
        }
    }
}

impl Clusters {
    fn of(status: &Value) -> Self {
        let count = |name: &str| status["clusters"][name].as_u64().unwrap_or_default();
        Self {
            total: count("total"),
            updated: count("updated"),
            updating: count("updating"),
            failed: count("failed"),
            unreachable: count("unreachable"),
            conflicted: count("conflicted"),
        }
    }
}

impl Failing {
    fn of(entry: &Value) -> Self {
        Self {
            cluster: text(&entry["cluster"]),
            revision: entry["revision"].as_i64(),
            reason: text(&entry["reason"]),
            message: text(&entry["message"]),
            since: text(&entry["since"]),
        }
    }
}

/// Those of a spec, by a status that is of it (`None`: there is none).
fn waves(spec: &Value, status: Option<&Value>) -> Vec<(String, WaveState)> {
    let mut names: Vec<String> = entries(&spec["waves"], WAVES).map(|wave| text(&wave["name"])).collect();
    names.push(String::new());
    let stands = match status {
        Some(status) => WaveState::of_each(&names, status["wave"].as_str(), !status["targetRevision"].is_null()),
        None => vec![WaveState::Untold; names.len()],
    };
    names.into_iter().zip(stands).collect()
}

/// What fails; else what is done.
fn why(conditions: &[Said]) -> String {
    let degraded = said(conditions, DEGRADED).filter(|said| said.status == "True");
    degraded.or_else(|| said(conditions, PROGRESSING)).map(|said| said.message.clone()).unwrap_or_default()
}

impl Rollout {
    /// How many fail or cannot be reached.
    pub(super) fn lacking(&self) -> usize {
        let Clusters { failed, unreachable, .. } = self.clusters;
        usize::try_from(failed.saturating_add(unreachable)).unwrap_or(usize::MAX).max(self.failing.len())
    }
}

impl Shown for Rollout {
    const KIND: ShownKind = ShownKind {
        group: keys::GROUP,
        kind: "ResourceGraphRollout",
        plural: "ResourceGraphRollouts",
        resource: "resourcegraphrollouts (broker.platform-mesh.io)",
        most: 100,
    };

    fn of(name: &str, object: &Value) -> Self {
        let (spec, status) = (&object["spec"], &object["status"]);
        // What is said of an earlier edit is not of these waves.
        let generation = &object["metadata"]["generation"];
        let is_current = status.is_object() && status["observedGeneration"] == *generation;
        let conditions = conditions(status);
        let word = match said(&conditions, PROGRESSING).filter(|_| is_current) {
            _ if is_deleting(object) => "Deleting".to_owned(),
            Some(said) => said.reason.clone(),
            None => UNTOLD.to_owned(),
        };
        Self {
            name: name.to_owned(),
            target: status["targetRevision"].as_i64(),
            word,
            paused: spec["paused"] == true,
            waves: waves(spec, is_current.then_some(status)),
            clusters: Clusters::of(status),
            failing: entries(&status["failing"], FAILING).map(Failing::of).collect(),
            why: why(&conditions),
            conditions,
        }
    }

    fn unread(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), word: UNTOLD.to_owned(), why, ..Self::default() }
    }

    fn brief(mut self) -> Self {
        self.failing.truncate(NAMED);
        for failing in &mut self.failing {
            (failing.message, failing.since) = (String::new(), String::new());
        }
        self.conditions = Vec::new();
        self
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn tone(&self) -> Tone {
        match &*self.word {
            "Stopped" | "RolledBack" | "InvalidSpec" | "NoRevision" => Tone::Bad,
            _ if self.clusters.failed > 0 => Tone::Bad,
            "RollingOut" | "Deleting" => Tone::Busy,
            "Complete" => Tone::Good,
            _ => Tone::Plain,
        }
    }
}

#[cfg(test)]
#[path = "rollout_tests.rs"]
mod tests;
