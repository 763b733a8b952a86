//! `job-worker`: runs the Jobs of migrations in a cluster that has no nodes, as job controller and kubelet would.
//!
//! It takes every Job with the label `broker.platform-mesh.io/migration-id`, fills in the environment, runs the program
//! as a process, and writes into the Job's status what came of it.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use broker_api::keys;
use futures::StreamExt;
use k8s_openapi::{
    api::{batch::v1::Job, core::v1::Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{Controller, controller, controller::Action, reflector::ObjectRef, watcher},
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::job::{self, Programs, Task, Variable};

/// When a Job is looked at again that lacks a Secret, or whose status could not be written.
const RETRY: Duration = Duration::from_millis(250);
/// How much of what a program says goes into the Job's condition, in characters.
const TOLD: usize = 1000;

/// Why a Job could not be run yet. It is tried again.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("Secret {0} has no text under key {1}")]
    Key(String, String),
    #[error(transparent)]
    Api(#[from] kube::Error),
}

struct Context {
    client: Client,
    programs: Programs,
}

/// Runs Jobs of migrations until the process is told to end.
pub async fn run(client: Client, programs: Programs) {
    let jobs = Api::<Job>::all(client.clone());
    Controller::new(jobs, watcher::Config::default().labels(keys::MIGRATION_ID))
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(RETRY), Arc::new(Context { client, programs }))
        .for_each(|result| async {
            match result {
                // A Job that was deleted while it waited for its turn needs none.
                Ok(_) | Err(controller::Error::ObjectNotFound(_)) => {}
                Err(error) => tracing::warn!("{error}"),
            }
        })
        .await;
}

async fn reconcile(job: Arc<Job>, context: Arc<Context>) -> Result<Action, WorkerError> {
    if job::is_idle(&job) {
        return Ok(Action::await_change());
    }
    let jobs = Api::<Job>::namespaced(context.client.clone(), &job.namespace().unwrap_or_default());
    let prepared = match job::task(&job).and_then(|task| Ok((program(&task, &context.programs)?, task))) {
        Ok((program, task)) => {
            let environment = environment(&job, &task, &context.client).await?;
            Ok((program, task, environment))
        }
        Err(why) => Err(why),
    };
    // What began and was not seen to end runs again: programs of migrations can be repeated.
    if job.status.as_ref().is_none_or(|status| status.start_time.is_none()) {
        write(&jobs, &job, &job::running(Timestamp::now())).await?;
    }
    let outcome = match prepared {
        Ok((program, task, environment)) => execute(&program, &task, environment).await,
        Err(why) => Err(why),
    };
    match &outcome {
        Ok(told) => tracing::info!(job = %ObjectRef::from(&*job), "complete: {told}"),
        Err(why) => tracing::warn!(job = %ObjectRef::from(&*job), "failed: {why}"),
    }
    write(&jobs, &job, &job::ended(&outcome.map(drop), Timestamp::now())).await?;
    Ok(Action::await_change())
}

fn program(task: &Task, programs: &Programs) -> Result<PathBuf, String> {
    let name = task.command.first().map(String::as_str).unwrap_or_default();
    let known = || programs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    programs.get(name).cloned().ok_or_else(|| format!("this worker has no program {name:?}; it has: {}", known()))
}

/// The environment with its Secrets read. One that is missing may come: a kubelet waits for it too.
async fn environment(job: &Job, task: &Task, client: &Client) -> Result<Vec<(String, String)>, WorkerError> {
    let secrets = Api::<Secret>::namespaced(client.clone(), &job.namespace().unwrap_or_default());
    let mut environment = Vec::new();
    for variable in &task.environment {
        environment.push(match variable {
            Variable::Text { name, value } => (name.clone(), value.clone()),
            Variable::Secret { name, secret, key } => {
                let data = secrets.get(secret).await?.data.unwrap_or_default();
                let value = data.get(key).and_then(|value| String::from_utf8(value.0.clone()).ok());
                (name.clone(), value.ok_or_else(|| WorkerError::Key(secret.clone(), key.clone()))?)
            }
        });
    }
    Ok(environment)
}

/// Runs the program to its end. Returns what it said on standard output, or why it failed.
async fn execute(program: &PathBuf, task: &Task, environment: Vec<(String, String)>) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(task.command.iter().skip(1)).env_clear().envs(environment);
    let run = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(task.deadline, run).await {
        Ok(output) => output.map_err(|error| format!("cannot run {}: {error}", program.display()))?,
        Err(_) => return Err(format!("it ran longer than {} s and was killed", task.deadline.as_secs())),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().chars().take(TOLD).collect::<String>();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    Err(format!("{}: {}", output.status, text(&output.stderr)))
}

/// Writes the status, unless the Job is gone or another one has its name.
async fn write(jobs: &Api<Job>, job: &Job, status: &Value) -> Result<(), WorkerError> {
    let patch = Patch::Merge(json!({ "metadata": { "uid": job.metadata.uid }, "status": status }));
    match jobs.patch_status(&job.name_any(), &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(answer)) if answer.is_not_found() || answer.is_conflict() => Ok(()),
        written => Ok(written.map(drop)?),
    }
}
