//! The task that compiles MigrationConfigurations as they change, and what their statuses should be.

use std::sync::{Arc, atomic::Ordering};

use broker_api::condition;
use broker_core::movement::Configured;
use runtime_effect::{condition::Condition, kind::Kind, merge};
use runtime_engine::clock;
use runtime_fleet::{
    blocking::blocking,
    crash::spawn,
    kind::KindState,
    object::{Object, ObjectKey},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    change::ConfigurationChange,
    configurations::{Configurations, Entry},
};
use crate::broker::{Broker, RECOMPILE};

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
        if blocking(move || worker.take_configuration(change)).await.is_err() {
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
                    spawn(async move {
                        tokio::time::sleep(RECOMPILE).await;
                        let _ = changes.send(ConfigurationChange::Changed(key));
                    });
                }
                news
            }
            ConfigurationChange::Complete(losses) => {
                all.mark_complete(losses);
                true
            }
            ConfigurationChange::Missing => {
                all.clear();
                true
            }
        };
        let taking = self.intake.begin();
        self.configurations.store(Arc::new(all));
        // Somebody may have edited a status.
        self.enqueue_configurations();
        if news {
            self.migrations.enqueue_open();
            self.enqueue_moving();
        }
        drop(taking);
    }

    /// Origins that are on their way.
    pub(crate) fn enqueue_moving(&self) {
        for key in self.records.moving() {
            self.enqueue(key);
        }
    }

    /// Whether all MigrationConfigurations are known. Where their kind is not installed there are none.
    pub fn configurations_known(&self) -> bool {
        let spec = &self.watches.configurations;
        let missing = self.hub().is_some_and(|hub| hub.kind(&spec.gvk) == KindState::Missing);
        let losses = self.configuration_losses.load(Ordering::Acquire);
        missing || self.configurations.load().is_complete_after(losses) && self.hub_knows(spec)
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
            return (false, condition::NOT_WATCHED, why);
        }
        (true, "InUse", "moves of this kind that begin from now on run by it".into())
    }

    /// The merge patch that brings a status up to date, if it is not.
    pub(super) fn configuration_patch(
        &self,
        all: &Configurations,
        key: &ObjectKey,
        entry: &Entry,
        held: &Object,
    ) -> Option<Value> {
        let value = held.value().ok().filter(|_| !held.deleting)?;
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let (ready, reason, message) = self.judge(all, key, entry);
        let status = value.get("status").cloned().unwrap_or_else(|| json!({}));
        let said = Condition { kind: condition::READY, status: ready, reason, message: &message };
        let desired = json!({
            "conditions": [said.entry(&status, generation, &clock::now().text)],
            "observedGeneration": generation,
        });
        let diff = merge::diff(&status, &desired)?;
        Some(json!({
            "metadata": {"resourceVersion": held.resource_version.to_string(), "uid": &*held.uid},
            "status": diff,
        }))
    }
}
