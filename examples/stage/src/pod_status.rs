//! The status of a pod, as a kubelet would write it. Pure.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

/// Where a pod's one container stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It cannot be started; it is tried again.
    Waiting {
        /// Why, as a kubelet's word: `CreateContainerConfigError`, `CrashLoopBackOff`.
        reason: &'static str,
        /// Why, for people.
        message: String,
    },
    /// It runs.
    Running {
        /// Whether its readiness probe says so.
        ready: bool,
    },
    /// It has ended for good.
    Ended {
        /// Its exit code.
        code: i32,
        /// What it said last.
        message: String,
    },
}

/// What a status is made of besides the standing.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Name of the container.
    pub container: String,
    /// Its image.
    pub image: String,
    /// When the pod began here.
    pub began: Timestamp,
    /// How often the container was started again.
    pub restarts: u32,
    /// How it ended before: exit code, and what it said last.
    pub before: Option<(i32, String)>,
}

/// The patch of a pod's status. `now` is when this standing began.
pub fn status(standing: &Standing, facts: &Facts, now: Timestamp) -> Value {
    let terminated = |code: i32, message: &str| {
        json!({
            "exitCode": code, "reason": if code == 0 { "Completed" } else { "Error" }, "message": message,
            "startedAt": facts.began.to_string(), "finishedAt": now.to_string(),
        })
    };
    let (phase, ready, state) = match standing {
        Standing::Waiting { reason, message } => {
            ("Pending", false, json!({ "waiting": { "reason": reason, "message": message } }))
        }
        Standing::Running { ready } => ("Running", *ready, json!({ "running": { "startedAt": now.to_string() } })),
        Standing::Ended { code, message } => {
            let phase = if *code == 0 { "Succeeded" } else { "Failed" };
            (phase, false, json!({ "terminated": terminated(*code, message) }))
        }
    };
    // A container that ran once is a running pod, also while it waits for its next start.
    let phase = if facts.before.is_some() && phase == "Pending" { "Running" } else { phase };
    let last = facts.before.as_ref().map(|(code, message)| json!({ "terminated": terminated(*code, message) }));
    let truth = if ready { "True" } else { "False" };
    let condition =
        |kind: &str, status: &str| json!({ "type": kind, "status": status, "lastTransitionTime": now.to_string() });
    json!({
        "phase": phase,
        "startTime": facts.began.to_string(),
        "conditions": [
            condition("PodScheduled", "True"), condition("Initialized", "True"),
            condition("ContainersReady", truth), condition("Ready", truth),
        ],
        "containerStatuses": [{
            "name": facts.container, "image": facts.image, "imageID": "", "ready": ready,
            "started": matches!(standing, Standing::Running { .. }), "restartCount": facts.restarts,
            "state": state, "lastState": last.unwrap_or_else(|| json!({})),
        }],
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use k8s_openapi::api::core::v1::PodStatus;

    use super::*;

    fn read(standing: &Standing, before: Option<(i32, String)>) -> PodStatus {
        let began = Timestamp::UNIX_EPOCH;
        let facts = Facts { container: "c".into(), image: "i".into(), began, restarts: 2, before };
        serde_json::from_value(status(standing, &facts, Timestamp::UNIX_EPOCH)).unwrap()
    }

    fn ready(status: &PodStatus) -> bool {
        let conditions = status.conditions.as_deref().unwrap_or_default();
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    }

    #[test]
    fn a_pod_is_ready_when_its_probe_says_so() {
        for wanted in [false, true] {
            let status = read(&Standing::Running { ready: wanted }, None);
            assert_eq!((status.phase.as_deref(), ready(&status)), (Some("Running"), wanted));
        }
    }

    #[test]
    fn the_end_is_told_by_phase_and_exit_code() {
        for (code, phase) in [(0, "Succeeded"), (3, "Failed")] {
            let status = read(&Standing::Ended { code, message: "said".into() }, None);
            let end = status.container_statuses.clone().unwrap().remove(0).state.unwrap().terminated.unwrap();
            assert_eq!((status.phase.as_deref(), end.exit_code), (Some(phase), code));
            assert_eq!(end.message.as_deref(), Some("said"));
        }
    }

    #[test]
    fn a_crash_loop_says_how_it_ended() {
        let waits = Standing::Waiting { reason: "CrashLoopBackOff", message: String::new() };
        let status = read(&waits, Some((1, "no such flag".into())));
        let container = status.container_statuses.unwrap().remove(0);
        assert_eq!((status.phase.as_deref(), container.restart_count), (Some("Running"), 2));
        assert_eq!(container.state.unwrap().waiting.unwrap().reason.as_deref(), Some("CrashLoopBackOff"));
        assert_eq!(container.last_state.unwrap().terminated.unwrap().message.as_deref(), Some("no such flag"));
    }
}
