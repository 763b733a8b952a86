//! What is said of a rollout: on itself, and on its RGD.

use broker_api::{
    ClusterName,
    graphs::rollout::{AVAILABLE, ClusterCounts, DEGRADED, PROGRESSING},
};
use runtime_effect::{condition::Condition, view::View};
use serde_json::{Value, json};

use super::{Decision, Failing};
use crate::definition::Distributed;

/// So many failing clusters are told of on a rollout: its size is not to grow with the fleet.
const TOLD: usize = 20;

/// So many are named on an RGD.
const NAMED: usize = 5;

/// Longest message about one cluster, in bytes.
const LONGEST: usize = 1024;

/// Reason of [`PROGRESSING`] and [`DEGRADED`]: the target was taken back. Remembers that across restarts.
pub(super) const ROLLED_BACK: &str = "RolledBack";

/// Reason of [`PROGRESSING`]: too many have failed.
pub(super) const STOPPED: &str = "Stopped";

/// The status of a rollout, unless somebody has edited the rollout since.
fn status_now(rollout: &View) -> Option<&Value> {
    rollout.status().filter(|status| status["observedGeneration"] == rollout.generation())
}

/// The revision that the status of a rollout says all clusters ran, unless somebody has edited the rollout since.
pub fn completed(rollout: &View) -> Option<i64> {
    status_now(rollout)?["completedRevision"].as_i64()
}

/// The revision that the status of a rollout says was taken back, unless somebody has edited the rollout since.
pub fn given_up(rollout: &View) -> Option<i64> {
    let status = status_now(rollout)?;
    let mut conditions = status["conditions"].as_array()?.iter();
    conditions.find(|entry| entry["type"] == PROGRESSING && entry["reason"] == ROLLED_BACK)?;
    status["targetRevision"].as_i64()
}

struct Word {
    status: bool,
    reason: &'static str,
    message: String,
}

fn word(status: bool, reason: &'static str, message: impl Into<String>) -> Word {
    Word { status, reason, message: message.into() }
}

impl Decision {
    /// Whether all clusters run what they should.
    fn is_complete(&self) -> bool {
        self.target.is_some() && self.clusters.updated == self.clusters.total && self.leaving.is_empty()
    }
}

fn progressing(decision: &Decision, paused: bool) -> Word {
    let counts = &decision.clusters;
    let mut done = format!("{}/{} clusters run what they should", counts.updated, counts.total);
    if !decision.leaving.is_empty() {
        done = format!("{done}; leaving: {}", names(&decision.leaving));
    }
    match decision.target {
        _ if decision.gives_up => {
            word(false, ROLLED_BACK, format!("{done}; too many failed, and what they ran before is brought back"))
        }
        None => word(false, "NoRevision", "no revision compiles yet"),
        _ if decision.is_complete() => word(false, "Complete", done),
        _ if decision.stopped => word(false, STOPPED, format!("{done}; too many failed, no further one begins")),
        _ if paused => word(false, "Paused", format!("{done}; no further one begins while spec.paused is true")),
        _ => word(true, "RollingOut", done),
    }
}

fn available(decision: &Decision) -> Word {
    let counts = &decision.clusters;
    let behind = counts.total.saturating_sub(counts.updated);
    if behind == 0 && decision.target.is_some() {
        word(true, "AllClusters", format!("all {} clusters run what they should", counts.total))
    } else {
        word(false, "Behind", format!("{behind} of {} clusters do not run what they should", counts.total))
    }
}

fn degraded(decision: &Decision) -> Word {
    match decision.failing.as_slice() {
        [] if decision.gives_up => word(true, ROLLED_BACK, "the target was taken back"),
        [] => word(false, "AsExpected", "no cluster fails"),
        failing => word(true, "ClustersFailing", format!("failing: {}", failing_names(failing))),
    }
}

/// Some of these clusters by their names, and how many more there are.
pub fn names<'a>(clusters: impl IntoIterator<Item = &'a ClusterName>) -> String {
    let mut names: Vec<String> = clusters.into_iter().map(ToString::to_string).collect();
    if let Some(more) = names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.truncate(NAMED);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

fn failing_names(failing: &[Failing]) -> String {
    names(failing.iter().map(|one| &one.cluster))
}

/// The status that says only this.
fn saying(rollout: &View, said: &[(&str, Word)], now: &str) -> Value {
    const NOTHING: &Value = &Value::Null;
    let held = rollout.value.get("status").unwrap_or(NOTHING);
    let entries = said.iter().map(|(kind, Word { status, reason, message })| {
        Condition { kind, status: *status, reason, message }.entry(held, rollout.generation(), now)
    });
    json!({"observedGeneration": rollout.generation(), "conditions": entries.collect::<Vec<_>>()})
}

/// The status of a rollout whose RGD is not there: nothing of what one of that name came to counts for another. `now`: RFC 3339.
pub fn status_without_graph(rollout: &View, now: &str) -> Value {
    let name = rollout.value["metadata"]["name"].as_str().unwrap_or_default();
    let why = || format!("there is no ResourceGraphDefinition {name}");
    let said = [PROGRESSING, AVAILABLE, DEGRADED].map(|kind| (kind, word(false, "NoGraph", why())));
    let mut status = saying(rollout, &said, now);
    status["failing"] = json!([]);
    status["clusters"] = json!(ClusterCounts::default());
    for field in ["targetRevision", "completedRevision", "wave"] {
        status[field] = Value::Null;
    }
    status
}

/// The status of a rollout. `decision`: `Err` where its spec cannot be read. `now`: RFC 3339.
pub fn status(rollout: &View, decision: Result<&Decision, &str>, paused: bool, now: &str) -> Value {
    const NOTHING: &Value = &Value::Null;
    let held = rollout.value.get("status").unwrap_or(NOTHING);
    let said = match decision {
        Ok(decision) => [
            (PROGRESSING, progressing(decision, paused)),
            (AVAILABLE, available(decision)),
            (DEGRADED, degraded(decision)),
        ],
        Err(why) => {
            let invalid = || word(false, "InvalidSpec", format!("{why}; every cluster stays as it is"));
            let degraded = word(true, "InvalidSpec", format!("{why}; every cluster stays as it is"));
            [(PROGRESSING, invalid()), (AVAILABLE, invalid()), (DEGRADED, degraded)]
        }
    };
    let mut status = saying(rollout, &said, now);
    let Ok(decision) = decision else {
        for field in ["targetRevision", "completedRevision", "wave", "clusters", "failing"] {
            status[field] = held[field].clone();
        }
        return status;
    };
    let before = held["failing"].as_array().map(Vec::as_slice).unwrap_or_default();
    let failing = decision.failing.iter().take(TOLD).map(|one| {
        let (cluster, reason) = (one.cluster.to_string(), one.reason.to_string());
        let same = |held: &&Value| {
            held["cluster"] == cluster.as_str() && held["reason"] == reason.as_str() && held["revision"] == one.revision
        };
        let since = before.iter().find(same).and_then(|held| held["since"].as_str()).unwrap_or(now);
        let message = one.message.get(..one.message.floor_char_boundary(LONGEST)).unwrap_or_default();
        json!({"cluster": cluster, "revision": one.revision, "reason": reason, "message": message, "since": since})
    });
    status["failing"] = failing.collect();
    status["clusters"] = json!(decision.clusters);
    status["targetRevision"] = json!(decision.target);
    // Of no cluster nothing is known that a failure could be told from.
    let is_completed = (decision.is_complete() && decision.clusters.total > 0) || completed(rollout) == decision.target;
    status["completedRevision"] = json!(decision.target.filter(|_| is_completed));
    status["wave"] = json!(decision.wave);
    status
}

/// What an RGD says of its clusters.
pub fn distributed(decision: &Decision) -> Distributed {
    let (counts, target) = (&decision.clusters, decision.target.unwrap_or_default());
    let done = format!("{}/{} clusters at revision {target}", counts.updated, counts.total);
    if decision.target.is_some() && counts.updated == counts.total {
        Distributed::All(done)
    } else if !decision.failing.is_empty() {
        Distributed::Partial(format!("{done}; failing: {}", failing_names(&decision.failing)))
    } else {
        Distributed::Progressing(done)
    }
}
