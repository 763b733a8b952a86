//! What pods say of why they do not run.
//!
//! The newest instances speak first: while they crash, older ones may serve. What changes by itself (back-off times,
//! counts of restarts) is left out, for it would make each of its changes a write.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Pod},
    apimachinery::pkg::apis::meta::v1::Time,
};

use crate::{
    program::Program,
    trouble::{Trouble, line},
};

const CRASH_LOOP: &str = "CrashLoopBackOff";
/// Longest last words that are passed on.
const LAST_WORDS: usize = 500;
/// What a container waits for in the usual course of things.
const USUAL: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Troubles of a program's pods, one for each reason, those of the newest first.
pub(super) fn troubles(program: Program, pods: &[Pod]) -> Vec<Trouble> {
    // A pod that has ended, evicted perhaps, stays for days; its replacement speaks for itself.
    let is_of_it = |pod: &&Pod| Program::of(&pod.metadata) == program;
    let is_to_stay = |pod: &&Pod| pod.metadata.deletion_timestamp.is_none() && !has_ended(pod);
    let mut pods: Vec<&Pod> = pods.iter().filter(is_of_it).filter(is_to_stay).collect();
    let born = |pod: &Pod| pod.metadata.creation_timestamp.clone().map(|Time(at)| at);
    // Instances of one version have one hash; the version of the youngest is the newest.
    let mut youngest: BTreeMap<Option<String>, _> = BTreeMap::new();
    for pod in &pods {
        let at = youngest.entry(version(pod)).or_insert(None);
        *at = born(pod).max(*at);
    }
    pods.sort_by_key(|pod| (std::cmp::Reverse(youngest.get(&version(pod)).copied()), pod.metadata.name.clone()));
    let mut found: Vec<Trouble> = Vec::new();
    for trouble in pods.into_iter().filter_map(|pod| trouble(program, pod)) {
        if !found.iter().any(|known| known.reason == trouble.reason) {
            found.push(trouble);
        }
    }
    found
}

/// Whether a pod has ended for good.
pub fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

fn version(pod: &Pod) -> Option<String> {
    pod.metadata.labels.as_ref()?.get("pod-template-hash").cloned()
}

fn trouble(program: Program, pod: &Pod) -> Option<Trouble> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let status = pod.status.as_ref()?;
    let told = |(reason, message): (String, String)| Trouble::new(&reason, &format!("Pod {name}: {message}"));
    let mut containers = status.init_container_statuses.iter().chain(&status.container_statuses).flatten();
    if let Some(found) = containers.find_map(|status| container(program, status)) {
        return Some(told(found));
    }
    let conditions = status.conditions.iter().flatten();
    let mut unscheduled = conditions.filter(|it| it.type_ == "PodScheduled" && it.status == "False");
    let it = unscheduled.next()?;
    let reason = it.reason.clone().filter(|reason| !reason.is_empty()).unwrap_or_else(|| "Unschedulable".to_owned());
    Some(told((reason, it.message.clone().unwrap_or_default())))
}

/// Reason and message, if the container does not run as it should.
fn container(program: Program, status: &ContainerStatus) -> Option<(String, String)> {
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ContainerState { running, terminated, waiting } = status.state.clone().unwrap_or_default();
    if let Some(waiting) = waiting {
        let reason = waiting.reason.unwrap_or_default();
        if reason == CRASH_LOOP {
            return Some(crash(program, last));
        }
        if reason.is_empty() || USUAL.contains(&reason.as_str()) {
            // Between two attempts.
            return last.filter(|last| last.exit_code != 0).map(|last| crash(program, Some(last)));
        }
        return Some((reason, waiting.message.unwrap_or_default()));
    }
    if let Some(ended) = terminated {
        return (ended.exit_code != 0).then(|| crash(program, Some(&ended)));
    }
    // It runs again; as long as it is not ready it may well end again.
    running.filter(|_| !status.ready)?;
    last.filter(|last| last.exit_code != 0).map(|last| crash(program, Some(last)))
}

/// One reason through all phases of a crash loop: it would change every few seconds otherwise.
fn crash(program: Program, ended: Option<&ContainerStateTerminated>) -> (String, String) {
    let who = program.words();
    let Some(ended) = ended else { return (CRASH_LOOP.to_owned(), format!("{who} ends again and again")) };
    let reason = if ended.reason.as_deref() == Some("OOMKilled") { "OOMKilled" } else { CRASH_LOOP };
    let code = ended.exit_code;
    let words = line(ended.message.as_deref().unwrap_or_default(), LAST_WORDS);
    let message = match (reason, words.as_str()) {
        ("OOMKilled", _) => format!("{who} took more memory than {}.limits allows", program.resources_field()),
        (_, "") => format!("{who} ended with code {code} and no words"),
        (_, words) => format!("{who} ended with code {code}: {words}"),
    };
    (reason.to_owned(), message)
}
