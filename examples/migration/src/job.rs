//! A Job, as far as `job-worker` understands it: what it runs, and how it says what came of it. Pure.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::{batch::v1::Job, core::v1::EnvVar},
    jiff::Timestamp,
};
use serde_json::{Value, json};

/// How long a Job may run that does not say it itself.
const DEADLINE: Duration = Duration::from_mins(1);

/// What a Job runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The program and its arguments: `command` and `args` of the container.
    pub command: Vec<String>,
    /// Its environment.
    pub environment: Vec<Variable>,
    /// `spec.activeDeadlineSeconds`.
    pub deadline: Duration,
}

/// One variable of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// `value`.
    Text {
        /// Name of the variable.
        name: String,
        /// Its value.
        value: String,
    },
    /// `valueFrom.secretKeyRef`.
    Secret {
        /// Name of the variable.
        name: String,
        /// Name of the Secret, in the Job's namespace.
        secret: String,
        /// Key in it.
        key: String,
    },
}

/// Whether there is nothing to run: the Job has ended, is being deleted, or waits.
pub fn is_idle(job: &Job) -> bool {
    let conditions = job.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let ended = conditions
        .iter()
        .any(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed") && condition.status == "True");
    let suspended = job.spec.as_ref().and_then(|spec| spec.suspend) == Some(true);
    ended || suspended || job.metadata.deletion_timestamp.is_some()
}

/// What the Job runs, or why this worker cannot run it.
pub fn task(job: &Job) -> Result<Task, String> {
    let spec = job.spec.as_ref().ok_or("the Job has no spec")?;
    let pod = spec.template.spec.as_ref().ok_or("the Job's template has no spec")?;
    let [container] = pod.containers.as_slice() else {
        return Err("this worker runs Jobs with one container".to_owned());
    };
    let command: Vec<String> = [&container.command, &container.args].into_iter().flatten().flatten().cloned().collect();
    if command.is_empty() {
        return Err("the container has no `command`: this worker has no images to find one in".to_owned());
    }
    let environment = container.env.iter().flatten().map(variable).collect::<Result<_, _>>()?;
    let seconds = spec.active_deadline_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Ok(Task { command, environment, deadline: seconds.map_or(DEADLINE, Duration::from_secs) })
}

fn variable(variable: &EnvVar) -> Result<Variable, String> {
    let name = variable.name.clone();
    let Some(source) = &variable.value_from else {
        return Ok(Variable::Text { name, value: variable.value.clone().unwrap_or_default() });
    };
    match &source.secret_key_ref {
        Some(secret) => Ok(Variable::Secret { name, secret: secret.name.clone(), key: secret.key.clone() }),
        None => Err(format!("variable {name}: this worker knows `value` and `valueFrom.secretKeyRef`")),
    }
}

/// Programs by the name that Jobs call them by. Nothing else is run: whoever may create Jobs may not run any command.
pub type Programs = BTreeMap<String, std::path::PathBuf>;

/// `status` of a Job that has begun.
pub fn running(began: Timestamp) -> Value {
    json!({ "startTime": began.to_string(), "active": 1 })
}

/// `status` of a Job that has ended, as the job controller writes it.
pub fn ended(outcome: &Result<(), String>, now: Timestamp) -> Value {
    let (first, last, reason, message) = match outcome {
        Ok(()) => ("SuccessCriteriaMet", "Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
        Err(why) => ("FailureTarget", "Failed", "BackoffLimitExceeded", why.as_str()),
    };
    // Kubernetes asks for both conditions, the one that announces the end first.
    let conditions = [first, last].map(|kind| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": now.to_string(), "lastTransitionTime": now.to_string(),
        })
    });
    let mut status = json!({ "conditions": conditions, "active": null });
    match outcome {
        Ok(()) => {
            status["succeeded"] = json!(1);
            status["completionTime"] = json!(now.to_string());
        }
        Err(_) => status["failed"] = json!(1),
    }
    status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn job(container: &Value) -> Job {
        let spec = json!({ "template": { "spec": { "containers": [container] } }, "activeDeadlineSeconds": 5 });
        serde_json::from_value(json!({ "metadata": { "name": "a" }, "spec": spec })).unwrap()
    }

    #[test]
    fn a_task_is_read() {
        let secret = json!({ "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } });
        let env = json!([{ "name": "A", "value": "1" }, secret]);
        let container = json!({ "name": "c", "command": ["program"], "args": ["copy"], "env": env });
        let task = task(&job(&container)).unwrap();
        assert_eq!(task.command, ["program", "copy"]);
        assert_eq!(task.deadline, Duration::from_secs(5));
        assert_eq!(
            task.environment,
            [
                Variable::Text { name: "A".into(), value: "1".into() },
                Variable::Secret { name: "B".into(), secret: "s".into(), key: "k".into() },
            ]
        );
    }

    #[test]
    fn what_it_cannot_run_is_told() {
        assert!(task(&job(&json!({ "name": "c" }))).unwrap_err().contains("command"));
        let env = json!([{ "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }]);
        let error = task(&job(&json!({ "name": "c", "command": ["p"], "env": env }))).unwrap_err();
        assert!(error.contains("variable A"), "{error}");
    }

    #[test]
    fn a_job_runs_once() {
        let mut job = job(&json!({ "name": "c", "command": ["p"] }));
        assert!(!is_idle(&job));
        for outcome in [Ok(()), Err("it broke".to_owned())] {
            job.status = serde_json::from_value(ended(&outcome, Timestamp::now())).unwrap();
            assert!(is_idle(&job));
        }
        job.status = serde_json::from_value(running(Timestamp::now())).unwrap();
        assert!(!is_idle(&job), "the worker that began it may have been killed");
    }
}
