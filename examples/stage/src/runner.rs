//! `pod-runner`: runs the pods of a cluster that has no node, as processes of this machine.
//!
//! It is scheduler and kubelet in one: a pod is bound to the node `lab`, its one container becomes a process, its
//! readiness probe is asked, and status, restarts and the end are written as a kubelet would. Each pod has a task here,
//! and that has one process at a time (`container.rs`).

use std::{collections::HashMap, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use futures::TryStreamExt;
use k8s_openapi::{
    api::core::v1::{Pod, Secret},
    jiff::Timestamp,
};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions},
    config::Kubeconfig,
    runtime::{WatchStreamExt as _, watcher},
};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    container::{Container, RunnerError},
    pod::{self, Programs, Restart, Variable, Work},
    pod_status::{self, Facts, Standing},
};

/// The node that pods are bound to. There is no Node object of that name.
const NODE: &str = "lab";
/// How often a probe is asked, and how soon a pod is looked at again that lacks something.
const LOOK: Duration = Duration::from_millis(100);
/// The pause before a program is started again: doubled each time, up to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How long a probe may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// What every pod's task needs.
pub struct Node {
    /// The cluster, as somebody who may do what a node may.
    pub client: Client,
    /// The kubeconfig of that cluster, of which only address and authority go to pods.
    pub kubeconfig: Kubeconfig,
    /// What pods may run.
    pub programs: Programs,
    /// Where logs and the pods' kubeconfigs go.
    pub directory: PathBuf,
}

/// Runs pods until the process is told to end.
pub async fn run(node: Node) -> anyhow::Result<()> {
    let node = Arc::new(node);
    let pods = Api::<Pod>::all(node.client.clone());
    let mut events = pin!(watcher(pods, watcher::Config::default()).default_backoff());
    // Each task hears whether its pod is to go. Dropping the sender says that it is gone.
    let mut tasks: HashMap<String, watch::Sender<bool>> = HashMap::new();
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::warn!("watching pods: {error}");
                continue;
            }
        };
        match event {
            watcher::Event::Apply(pod) | watcher::Event::InitApply(pod) => {
                let deleting = pod.metadata.deletion_timestamp.is_some();
                let uid = pod.uid().unwrap_or_default();
                if let Some(task) = tasks.get(&uid) {
                    task.send_if_modified(|told| std::mem::replace(told, deleting) != deleting);
                } else {
                    let (task, told) = watch::channel(deleting);
                    tokio::spawn(serve(Arc::clone(&node), pod, told));
                    tasks.insert(uid, task);
                }
            }
            watcher::Event::Delete(pod) => drop(tasks.remove(&pod.uid().unwrap_or_default())),
            watcher::Event::Init | watcher::Event::InitDone => {}
        }
    }
}

/// Sees one pod from its beginning to its end.
async fn serve(node: Arc<Node>, pod: Pod, mut told: watch::Receiver<bool>) {
    let task = Task { pods: Api::namespaced(node.client.clone(), &pod.namespace().unwrap_or_default()), node, pod };
    if !pod::has_ended(&task.pod) {
        let mut leaving = told.clone();
        tokio::select! {
            () = task.live(told.clone()) => {}
            // The pod is gone. The process ends with the future that holds it: killed, unless it was told to end before.
            _ = leaving.wait_for(|_| false) => {}
        }
    }
    // Gone, or to go: the API server waits for the node's word.
    if is_leaving(&mut told).await {
        task.release().await;
    }
}

/// Waits until the pod is to go (`true`) or is gone (`false`).
async fn is_leaving(told: &mut watch::Receiver<bool>) -> bool {
    told.wait_for(|leaving| *leaving).await.is_ok()
}

struct Task {
    node: Arc<Node>,
    pods: Api<Pod>,
    pod: Pod,
}

impl Task {
    /// Until the pod has ended for good, or is to go.
    async fn live(&self, mut told: watch::Receiver<bool>) {
        let mut facts = Facts {
            container: String::new(),
            image: String::new(),
            began: Timestamp::now(),
            restarts: 0,
            before: None,
        };
        let container = self.pod.spec.as_ref().and_then(|spec| spec.containers.first());
        facts.container = container.map(|container| container.name.clone()).unwrap_or_default();
        facts.image = container.and_then(|container| container.image.clone()).unwrap_or_default();
        self.bind().await;
        let work = match pod::work(&self.pod) {
            Ok(work) => work,
            Err(why) => return self.write(&Standing::Ended { code: 128, message: why }, &facts).await,
        };
        let mut pause = PAUSES.0;
        loop {
            let Some(mut container) = self.start(&work, &facts, &mut told).await else { return };
            let ended = self.watch(&mut container, &work, &facts, &mut told).await;
            let Some((code, said)) = ended else { return };
            let again = work.restart == Restart::Always || (work.restart == Restart::OnFailure && code != 0);
            if !again {
                let pod = self.pod.name_any();
                if code == 0 {
                    tracing::info!(pod, "complete: {said}");
                } else {
                    tracing::warn!(pod, code, "failed: {said}");
                }
                return self.write(&Standing::Ended { code, message: said }, &facts).await;
            }
            tracing::warn!(pod = self.pod.name_any(), code, "ended, and is started again: {said}");
            facts.before = Some((code, said));
            let message = format!("back-off {pause:?} restarting failed container {}", facts.container);
            self.write(&Standing::Waiting { reason: "CrashLoopBackOff", message }, &facts).await;
            if tokio::time::timeout(pause, is_leaving(&mut told)).await.is_ok() {
                return;
            }
            facts.restarts += 1;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Starts the container. What is missing may come: it is waited for, as a kubelet would. `None`: the pod is to go.
    async fn start(&self, work: &Work, facts: &Facts, told: &mut watch::Receiver<bool>) -> Option<Container> {
        let mut last = String::new();
        loop {
            let why = match self.prepare(work).await {
                Ok(container) => return Some(container),
                Err(RunnerError::Never(why)) => {
                    self.write(&Standing::Ended { code: 128, message: why }, facts).await;
                    return None;
                }
                Err(error) => error.to_string(),
            };
            if why != last {
                let standing = Standing::Waiting { reason: "CreateContainerConfigError", message: why.clone() };
                self.write(&standing, facts).await;
                last = why;
            }
            if tokio::time::timeout(LOOK, is_leaving(told)).await.is_ok() {
                return None;
            }
        }
    }

    async fn prepare(&self, work: &Work) -> Result<Container, RunnerError> {
        let namespace = self.pod.namespace().unwrap_or_default();
        let mut environment = Vec::new();
        for variable in &work.environment {
            environment.push(match variable {
                Variable::Text { name, value } => (name.clone(), value.clone()),
                Variable::Secret { name, secret, key } => {
                    let secrets = Api::<Secret>::namespaced(self.node.client.clone(), &namespace);
                    let data = secrets.get(secret).await?.data.unwrap_or_default();
                    let value = data.get(key).and_then(|value| String::from_utf8(value.0.clone()).ok());
                    let value = value.ok_or_else(|| RunnerError::Key(secret.clone(), key.clone()))?;
                    (name.clone(), value)
                }
            });
        }
        Container::start(&self.node, &self.pod, work, environment).await
    }

    /// Until the process has ended (exit code, and what it said last), or the pod is to go (`None`).
    async fn watch(
        &self,
        container: &mut Container,
        work: &Work,
        facts: &Facts,
        told: &mut watch::Receiver<bool>,
    ) -> Option<(i32, String)> {
        let mut ready = work.readiness.is_none();
        self.write(&Standing::Running { ready }, facts).await;
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                code = container.ended() => return Some((code, container.said(code))),
                leaving = is_leaving(told) => {
                    // The pod is gone already: there is nobody to wait for.
                    let grace = if leaving { work.grace } else { 0 };
                    container.terminate(Duration::from_secs(grace)).await;
                    return None;
                }
                _ = look.tick(), if work.readiness.is_some() => {
                    let now = tokio::time::timeout(PATIENCE, container.ready()).await.unwrap_or(false);
                    if std::mem::replace(&mut ready, now) != now {
                        self.write(&Standing::Running { ready }, facts).await;
                    }
                }
            }
        }
    }

    /// The scheduler's part.
    async fn bind(&self) {
        if self.pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()) {
            return;
        }
        let name = self.pod.name_any();
        let binding = json!({ "metadata": { "name": name }, "target": { "kind": "Node", "name": NODE } });
        let params = PostParams::default();
        let bound = self.pods.create_subresource::<_, Value>("binding", &name, &params, &binding);
        if let Err(error) = bound.await {
            tracing::warn!(pod = name, "cannot bind it: {error}");
        }
    }

    /// Writes the status, unless the pod is gone or another one has its name.
    async fn write(&self, standing: &Standing, facts: &Facts) {
        let status = pod_status::status(standing, facts, Timestamp::now());
        let patch = Patch::Merge(json!({ "metadata": { "uid": self.pod.metadata.uid }, "status": status }));
        let name = self.pod.name_any();
        match self.pods.patch_status(&name, &PatchParams::default(), &patch).await {
            Ok(_) => {}
            Err(kube::Error::Api(answer)) if answer.is_not_found() || answer.is_conflict() => {}
            Err(error) => tracing::warn!(pod = name, "cannot write its status: {error}"),
        }
    }

    /// The kubelet's word that nothing of the pod runs any more.
    async fn release(&self) {
        let preconditions = Preconditions { uid: self.pod.uid(), ..Preconditions::default() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default().grace_period(0) };
        let name = self.pod.name_any();
        match self.pods.delete(&name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(answer)) if answer.is_not_found() || answer.is_conflict() => {}
            Err(error) => tracing::warn!(pod = name, "cannot release it: {error}"),
        }
    }
}
