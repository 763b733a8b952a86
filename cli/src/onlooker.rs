//! The broker itself, as an onlooker in this process: which flags it has, and what it says when it is asked. It takes part in
//! no election and writes nothing.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use anyhow::Context as _;
use broker_api::{ClusterName, Role, keys};
use resource_broker::{
    app::{Onlooker, Own, look_on},
    broker::Broker,
    command_line::CommandLine,
    options::Options,
    sources,
    watch_kind::KindFlag,
};
use runtime_cel::expression::Evaluator;
use runtime_effect::kind::Kind;
use runtime_engine::decisions::Decisions;
use runtime_fleet::{
    cluster::{Cluster as Known, ClusterState},
    dial::Sockets,
    lag::Lag,
};
use runtime_process::metrics::METERS;
use tokio::time::timeout;

use crate::{
    access::Access,
    cluster::{Cluster, Trouble},
    clusters::hub_kubeconfig,
    deployed::{Deployed, brokers},
};

/// How long all clusters may take until what is known has to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The flags of the broker in the cluster that brokers any of these kinds, as far as they can be read, without other kinds where
/// those have no say; and what is not known of them. `None`: none brokers any of these.
pub(crate) async fn options(
    hub: &Cluster,
    access: &Access,
    kinds: &[Kind],
    namespace: &str,
) -> anyhow::Result<(Option<Options>, Vec<String>)> {
    let mut notes = Vec::new();
    let is_wanted = |flag: &KindFlag| kinds.contains(&flag.0);
    let found = match brokers(hub, namespace).await {
        Ok(found) => found,
        Err(Trouble::NotServed(_)) => Vec::new(),
        Err(trouble) => {
            notes.push(format!("the broker's Deployment cannot be read, so its flags are not known: {trouble}"));
            Vec::new()
        }
    };
    let own = found.iter().map(Deployed::own_namespace).next().unwrap_or(namespace).to_owned();
    let read: Vec<Options> = found.into_iter().filter_map(|broker| broker.options.ok()).collect();
    let brokering = read.iter().find(|options| options.watch_kind.iter().any(is_wanted));
    let mut options = match (brokering, read.is_empty()) {
        (Some(options), _) => options.clone(),
        (None, false) => return Ok((None, notes)),
        (None, true) => {
            notes.push(format!(
                "no broker was found in namespace {namespace}: its flags are taken to be the usual ones"
            ));
            CommandLine::parse_with_env(kinds.iter().map(flag), &BTreeMap::new())?.options
        }
    };
    if options.max_objects_per_consumer.is_none() {
        // Other kinds have no say in this one.
        options.watch_kind.retain(is_wanted);
    }
    // Files of the Pod are not here.
    let files = options.consumer_kubeconfig.len()
        + options.provider_kubeconfig.len()
        + options.consumer_kubeconfig_dir.len()
        + options.provider_kubeconfig_dir.len();
    let given = access.consumer_kubeconfig.len() + access.provider_kubeconfig.len();
    if files > 0 && given == 0 {
        notes.push("the broker has clusters from files, which are not known here: give them with --consumer-kubeconfig and --provider-kubeconfig".into());
    }
    options.consumer_kubeconfig.clone_from(&access.consumer_kubeconfig);
    options.provider_kubeconfig.clone_from(&access.provider_kubeconfig);
    options.consumer_kubeconfig_dir.clear();
    options.provider_kubeconfig_dir.clear();
    if options.compute_kubeconfig.is_some() && access.compute_kubeconfig.is_none() {
        notes.push("the broker's stages run in a cluster of their own, which is not known here: give it with --compute-kubeconfig".into());
    }
    options.compute_kubeconfig.clone_from(&access.compute_kubeconfig);
    options.allow_local_credentials = true;
    options.namespace = Some(own);
    if options.cluster_secrets_namespace.is_empty() {
        for namespace in &access.cluster_secrets_namespace {
            options.cluster_secrets_namespace.push(namespace.parse().map_err(anyhow::Error::msg)?);
        }
    }
    Ok((Some(options), notes))
}

/// The flag by which a broker is told to broker a kind.
pub(crate) fn flag(kind: &Kind) -> String {
    let group = if kind.group.is_empty() { "core" } else { &kind.group };
    format!("--watch-kind={}.{}.{group}", kind.kind, kind.version)
}

/// The broker in this process. It ends when this is dropped.
pub(crate) struct Looking(Onlooker);

impl Drop for Looking {
    fn drop(&mut self) {
        self.0.broker.engine.stop.cancel();
    }
}

impl Looking {
    /// Begins to look at all clusters.
    pub(crate) async fn begin(options: Options, access: &Access) -> anyhow::Result<Self> {
        let hub = (ClusterName::new(Role::Coordination, "coordination"), hub_kubeconfig(access)?);
        let own = Own { hub, compute: sources::compute(&options).await? };
        let (decisions, sockets) = (Decisions::start(METERS.slow)?, Arc::new(Sockets));
        Ok(Self(look_on(options, own, decisions, Evaluator::new(), sockets)))
    }

    /// What it sees.
    pub(crate) fn broker(&self) -> &Broker {
        &self.0.broker
    }

    /// Waits until it has seen and decided all that can be seen now, for so long at the most. Returns whether it has.
    pub(crate) async fn is_in_step(&self, patience: Duration) -> bool {
        timeout(patience, self.0.broker.in_step()).await.is_ok()
    }

    /// Of which clusters not all is known, and why.
    pub(crate) fn unknown(&self) -> Vec<String> {
        self.told(false)
    }

    /// Of which clusters not all can be known, and why, once it is in step.
    pub(crate) fn unknowable(&self) -> Vec<String> {
        self.told(true)
    }

    fn told(&self, is_in_step: bool) -> Vec<String> {
        let clusters = self.broker().fleet().clusters();
        clusters.iter().filter_map(|cluster| unknown_of(cluster, is_in_step)).collect()
    }

    /// Why it can decide nothing, if that is so.
    pub(crate) fn blind(&self) -> Option<String> {
        let broker = self.broker();
        broker.signing.ring.load().is_none().then(|| {
            format!(
                "the signing key is not known, without which no assignment can be believed: this takes get, list and watch of Secret {} in namespace {}",
                keys::SIGNING_KEY_SECRET, broker.namespace
            )
        })
    }
}

/// Lets the broker look at all clusters, and asks it about something in a consumer. What it does not know is added to the
/// notes.
pub(crate) async fn ask<T>(
    options: Options,
    access: &Access,
    consumer: &ClusterName,
    notes: &mut Vec<String>,
    question: impl FnOnce(&Broker) -> Option<T>,
) -> anyhow::Result<T> {
    let looking = Looking::begin(options, access).await?;
    // What is not known by then is told.
    let is_in_step = looking.is_in_step(PATIENCE).await;
    let answer = question(looking.broker());
    notes.extend(if is_in_step { looking.unknowable() } else { looking.unknown() });
    answer.with_context(|| {
        let what = looking.blind().unwrap_or_else(|| format!("{consumer} is not engaged"));
        notes.iter().fold(what, |all, note| format!("{all}\n{note}"))
    })
}

/// Why not all of a cluster is known, if so.
fn unknown_of(cluster: &Known, is_in_step: bool) -> Option<String> {
    let name = cluster.name();
    match cluster.state() {
        ClusterState::Leaving => None,
        ClusterState::Connecting => Some(format!("{name} has not answered yet")),
        ClusterState::Unreachable { why, .. } => Some(format!("{name} is unreachable: {why}")),
        ClusterState::Ready => cluster
            .indexes()
            .iter()
            .find_map(|index| lagging(name, &index.spec().gvk.kind, cluster.lag(index), is_in_step)),
    }
}

/// What is told of a kind in a cluster that answers. What is still to come where stages run, once all are in step, was asked for
/// since then, by somebody's Migration whose stages have such objects: nobody waits for it.
fn lagging(name: &ClusterName, kind: &str, lag: Lag, is_in_step: bool) -> Option<String> {
    let runs_stages = matches!(name.role(), Role::Coordination | Role::Compute);
    match lag {
        Lag::Known => None,
        Lag::Coming if is_in_step && runs_stages => None,
        Lag::Coming => Some(format!("{name} has not told of all its {kind} yet")),
        Lag::Lagging(why) => Some(format!("{name} does not tell of its {kind}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stages_began_to_watch_since_is_not_waited_for() {
        let hub = ClusterName::new(Role::Coordination, "coordination");
        let is_told = |name: &ClusterName, lag, is_in_step| lagging(name, "ConfigMap", lag, is_in_step).is_some();
        assert!(is_told(&hub, Lag::Coming, false));
        assert!(!is_told(&hub, Lag::Coming, true) && !is_told(&hub, Lag::Known, false));
        assert!(is_told(&hub, Lag::Lagging("403".into()), true));
        assert!(is_told(&ClusterName::provider("theseus"), Lag::Coming, true), "copies are not all known there");
    }
}
