//! The task that compiles MigrationConfigurations as they change, and the one that writes their status.

use std::{collections::HashMap, sync::Arc, time::Duration};

use broker_api::condition;
use broker_core::{decision::State, movement::Configured};
use runtime_effect::{kind::Kind, merge};
use runtime_fleet::{
    error::CallError,
    kind::KindState,
    object::{Object, ObjectKey},
    write::Writer,
};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::configurations::{Configurations, Entry};
use crate::{accept_changes::RECOMPILE, broker::Broker, observe};

/// A change of a MigrationConfiguration, or of what is known of them all.
#[derive(Debug)]
pub enum ConfigurationChange {
    /// Look at this one again.
    Changed(ObjectKey),
    /// All are in.
    Complete,
    /// Their kind is not served (any more).
    Missing,
}

/// How long a status rests after a write that failed, at first and after many.
const REST: Duration = Duration::from_secs(2);
const LONGEST_REST: Duration = Duration::from_mins(5);

/// How often a broker that does not lead looks whether it does now.
const FOLLOW: Duration = Duration::from_secs(1);

/// Longest message of a condition.
const LONGEST: usize = 32_000;

/// Compiles MigrationConfigurations one after the other.
pub async fn compile(
    broker: Arc<Broker>,
    mut changes: mpsc::UnboundedReceiver<ConfigurationChange>,
    stop: CancellationToken,
) {
    loop {
        let change = tokio::select! {
            () = stop.cancelled() => return,
            change = changes.recv() => change,
        };
        let Some(change) = change else { return };
        let worker = Arc::clone(&broker);
        // Compiling blocks until its thread answers.
        if tokio::task::spawn_blocking(move || worker.take_configuration(change)).await.is_err() {
            warn!("a MigrationConfiguration could not be taken in");
        }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Broker {
    fn take_configuration(&self, change: ConfigurationChange) {
        let mut all: Configurations = (**self.configurations.load()).clone();
        let news = match change {
            ConfigurationChange::Changed(key) => {
                let Some(index) = self.hub().and_then(|hub| hub.index(&self.watches.configurations)) else { return };
                let counts = self.configures(&key.namespace);
                let news = all.update(&key, index.get(&key).found().as_deref(), counts, &self.evaluator);
                if all.is_pending(&key) {
                    let changes = self.configuration_changes.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(RECOMPILE).await;
                        let _ = changes.send(ConfigurationChange::Changed(key));
                    });
                }
                news
            }
            ConfigurationChange::Complete => {
                all.mark_complete();
                true
            }
            ConfigurationChange::Missing => {
                all.clear();
                true
            }
        };
        self.configurations.store(Arc::new(all));
        // Somebody may have edited a status.
        self.configurations_changed.notify_one();
        if news {
            self.migrations.enqueue_open();
            self.enqueue_moving();
        }
    }

    /// Origins that are on their way.
    pub(crate) fn enqueue_moving(&self) {
        for key in self.records.select(|_, record| record.state == State::Moving) {
            self.enqueue(key);
        }
    }

    /// Whether all MigrationConfigurations are known. Where their kind is not installed there are none.
    pub(crate) fn configurations_known(&self) -> bool {
        let spec = &self.watches.configurations;
        let missing = self.hub().is_some_and(|hub| hub.kind(&spec.gvk) == KindState::Missing);
        missing || self.hub_knows(spec) && self.configurations.load().is_complete()
    }

    /// Whether a MigrationConfiguration says what is to be done when objects of a kind move.
    pub fn configured(&self, kind: &Kind) -> Configured {
        if self.configurations_known() { self.configurations.load().configured(kind) } else { Configured::Unknown }
    }

    /// Whether MigrationConfigurations of a namespace count.
    fn configures(&self, namespace: &str) -> bool {
        self.options.configures(namespace, &self.namespace)
    }

    fn elsewhere(&self, namespace: &str) -> String {
        let allowed = match &*self.options.configuration_namespace {
            [] => self.namespace.clone(),
            allowed => allowed.join(", "),
        };
        format!(
            "not in use: it is for the objects of all tenants, and those of namespace {namespace} do not count; move it to \
             {allowed}, or have the broker started with --configuration-namespace {namespace}"
        )
    }

    fn judge(&self, all: &Configurations, key: &ObjectKey, entry: &Entry) -> (bool, &'static str, String) {
        match &entry.compiled {
            None => return (false, condition::NAMESPACE_NOT_ALLOWED, self.elsewhere(&key.namespace)),
            Some(Err(why)) if entry.is_pending() => return (false, condition::EXPRESSION_SILENT, cut(why.clone())),
            Some(Err(why)) => return (false, condition::INVALID, cut(why.clone())),
            Some(Ok(_)) => {}
        }
        let Some(pair) = &entry.pair else { return (false, condition::INVALID, "it names no kinds".into()) };
        if let Some((winner, _)) = all.in_force(pair).filter(|(winner, _)| *winner != key) {
            let why = format!(
                "not in use: MigrationConfiguration {winner} is for the same kinds and older; delete one of the two"
            );
            return (false, "Conflict", why);
        }
        let (from, to) = pair;
        if from != to {
            let why =
                "not in use: objects keep their kind when they move; write the same kind in spec.from and spec.to";
            return (false, condition::INVALID, why.into());
        }
        if !self.watches.brokered.iter().any(|brokered| *brokered.kind == *from) {
            let why =
                format!("not in use: {} {} is not among the broker's --watch-kind", from.kind, from.api_version());
            return (false, "NotWatched", why);
        }
        (true, "InUse", "moves of this kind that begin from now on run by it".into())
    }

    /// The merge patch that brings a status up to date, if it is not.
    fn configuration_patch(
        &self,
        all: &Configurations,
        key: &ObjectKey,
        entry: &Entry,
        held: &Object,
    ) -> Option<Value> {
        let value = held.value().ok().filter(|_| !held.deleting)?;
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let (ready, reason, message) = self.judge(all, key, entry);
        let status = if ready { "True" } else { "False" };
        let mut before = value["status"]["conditions"].as_array().into_iter().flatten();
        let before = before.find(|entry| entry["type"] == condition::READY && entry["status"] == status);
        let since = before.and_then(|before| before["lastTransitionTime"].as_str().map(str::to_owned));
        let desired = json!({
            "conditions": [{
                "type": condition::READY,
                "status": status,
                "reason": reason,
                "message": message,
                "observedGeneration": generation,
                "lastTransitionTime": since.unwrap_or_else(|| observe::now().text),
            }],
            "observedGeneration": generation,
        });
        let nothing = json!({});
        let diff = merge::diff(value.get("status").unwrap_or(&nothing), &desired)?;
        Some(json!({
            "metadata": {"resourceVersion": held.resource_version.to_string(), "uid": &*held.uid},
            "status": diff,
        }))
    }

    async fn report_configuration(
        &self,
        all: &Configurations,
        key: &ObjectKey,
        entry: &Entry,
    ) -> Result<(), CallError> {
        let spec = &self.watches.configurations;
        let Some(hub) = self.hub() else { return Ok(()) };
        let KindState::Found(kind) = hub.kind(&spec.gvk) else { return Ok(()) };
        let Some(connection) = hub.connection() else {
            return Err(CallError::Unreachable(format!("{} is not ready", hub.name())));
        };
        let Some(held) = hub.index(spec).and_then(|index| index.get(key).found()) else { return Ok(()) };
        let Some(patch) = self.configuration_patch(all, key, entry, &held) else { return Ok(()) };
        let written = Writer::new(&connection.caller).merge(&kind, key, &patch, true).await?;
        hub.learn(spec, key.clone(), written.object);
        Ok(())
    }
}

/// When a status is written again, and how often in a row that has failed.
type Rests = HashMap<ObjectKey, (Instant, u32)>;

/// Keeps the statuses of MigrationConfigurations up to date, while this process leads.
pub async fn report(broker: Arc<Broker>, stop: CancellationToken) {
    let mut rests = Rests::new();
    let mut led = false;
    loop {
        let wait = if !broker.leads() {
            led = false;
            Some(FOLLOW)
        } else if !led {
            led = true;
            Some(Duration::ZERO)
        } else {
            rests.values().map(|(until, _)| until.saturating_duration_since(Instant::now())).min()
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = broker.configurations_changed.notified() => {}
            () = sleep(wait) => {}
        }
        // Before all are in, nobody knows which is the oldest.
        let all = broker.configurations.load_full();
        if !all.is_complete() || !broker.leads() {
            // Tried again when that changes; a rest that is over must not make us spin.
            rests.clear();
            continue;
        }
        rests.retain(|key, _| all.entries().any(|(other, _)| other == key));
        for (key, entry) in all.entries() {
            let failures = match rests.get(key) {
                Some((until, _)) if *until > Instant::now() => continue,
                held => held.map_or(0, |(_, failures)| *failures),
            };
            if let Err(error) = broker.report_configuration(&all, key, entry).await {
                if failures == 0 && !matches!(error, CallError::Conflict(_)) {
                    warn!(migrationconfiguration = %key, %error, "its status cannot be written");
                }
                let wait = runtime_fleet::backoff::delay(REST, LONGEST_REST, failures);
                rests.insert(key.clone(), (Instant::now() + wait, failures + 1));
            } else {
                rests.remove(key);
            }
        }
    }
}

async fn sleep(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
