//! The task that compiles MigrationConfigurations as they change, and what their statuses should be.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::condition;
use broker_core::movement::Configured;
use runtime_effect::{
    condition::Condition,
    kind::Kind,
    report::{self, Report},
};
use runtime_engine::clock;
use runtime_fleet::{
    blocking::blocking,
    kind::KindState,
    object::{Object, ObjectKey},
};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{
    change::ConfigurationChange,
    configurations::{Configurations, Entry},
    statuses::ConfigurationWork,
};
use crate::broker::Broker;

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
        match change {
            ConfigurationChange::Changed(key) => self.configuration_changed(&key),
            ConfigurationChange::Complete(losses) => {
                // Of what a list has as it was nobody tells; but while their kind was gone they were not in.
                let index = self.hub().and_then(|hub| hub.index(&self.watches.configurations));
                for (key, _) in index.iter().flat_map(|index| index.snapshot()) {
                    self.configuration_changed(&key);
                }
                self.change_configurations(|all| {
                    all.mark_complete(losses);
                    (all.keys(), true)
                });
            }
            ConfigurationChange::Missing => self.change_configurations(|all| {
                let gone = all.keys();
                all.clear();
                (gone, true)
            }),
        }
    }

    fn configuration_changed(&self, key: &ObjectKey) {
        let spec = &self.watches.configurations;
        // Where their kind is gone there are none, although what was seen of them is kept.
        let Some(hub) = self.hub().filter(|hub| hub.kind(&spec.gvk) != KindState::Missing) else { return };
        let Some(index) = hub.index(spec) else { return };
        let object = index.get(key).found();
        let counts = self.configures(&key.namespace);
        // Compiled while others read: nobody else changes them meanwhile.
        let entry = self.configuring.current.load().read(key, object.as_deref(), counts, &self.evaluator);
        self.change_configurations(|all| {
            let news = entry.is_some();
            let mut statuses = entry.map(|entry| all.put(key, entry)).unwrap_or_default();
            // Somebody may have edited its status.
            statuses.insert(key.clone());
            // Before all are in nothing is decided by any of them; whoever waits for that hears of it.
            (statuses, news && all.is_complete())
        });
        if self.configuring.current.load().is_pending(key) {
            self.configuring.changes.tell_later(ConfigurationChange::Changed(key.clone()));
        }
    }

    /// Has looked at what a change concerns: so many statuses, and, where it says so, whatever moves.
    fn change_configurations(&self, change: impl FnOnce(&mut Configurations) -> (BTreeSet<ObjectKey>, bool)) {
        let taking = self.intake.begin();
        let (statuses, news) = self.configuring.current.change(change);
        self.enqueue_configurations(statuses);
        if news {
            self.migrations.enqueue_open();
            self.origins.enqueue_moving();
        }
        drop(taking);
    }

    /// The statuses of these are looked at.
    pub(crate) fn enqueue_configurations(&self, keys: impl IntoIterator<Item = ObjectKey>) {
        let Some(hub) = self.hub() else { return };
        for key in keys {
            self.configuring.statuses.enqueue(ConfigurationWork { cluster: hub.name().clone(), key });
        }
    }

    /// Whether all MigrationConfigurations are known. Where their kind is not installed there are none.
    pub fn configurations_known(&self) -> bool {
        let spec = &self.watches.configurations;
        let missing = self.hub().is_some_and(|hub| hub.kind(&spec.gvk) == KindState::Missing);
        let losses = self.configuring.losses();
        missing || self.configuring.current.load().is_complete_after(losses) && self.hub_knows(spec)
    }

    /// Whether a MigrationConfiguration says what is to be done when objects of a kind move.
    pub fn configured(&self, kind: &Kind) -> Configured {
        if self.configurations_known() { self.configuring.current.load().configured(kind) } else { Configured::Unknown }
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

    /// What brings a status up to date, if it is not.
    pub(super) fn configuration_report(
        &self,
        all: &Configurations,
        key: &ObjectKey,
        entry: &Entry,
        held: &Object,
    ) -> Option<Report> {
        let value = held.value().ok().filter(|_| !held.deleting)?;
        let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
        let (ready, reason, message) = self.judge(all, key, entry);
        let status = value.get("status").cloned().unwrap_or_else(|| json!({}));
        let said = Condition { kind: condition::READY, status: ready, reason, message: &message };
        let desired = json!({
            "conditions": [said.entry(&status, generation, &clock::now().text)],
            "observedGeneration": generation,
        });
        report::report(held.version(), Some(&status), &desired, &[report::CONDITIONS])
    }
}

#[cfg(test)]
mod tests {
    use broker_api::{ClusterName, Role};

    use super::*;
    use crate::migrations::listen::listen;

    #[tokio::test]
    async fn what_is_said_is_the_same_whenever_it_is_said() {
        let (broker, _channels) = Broker::of_one_kind();
        let report = |uid: &str, status: &serde_json::Value| {
            let metadata =
                json!({"name": "a", "namespace": "theirs", "uid": uid, "generation": 1, "resourceVersion": "1"});
            let gvk = json!({"group": "g", "version": "v1", "kind": "K"});
            let object =
                json!({"metadata": metadata, "spec": {"from": gvk, "to": gvk, "stages": []}, "status": status});
            let (key, held) = crate::conventions::object(&object);
            let mut all = Configurations::default();
            let entry = all.read(&key, Some(&held), false, &broker.evaluator).unwrap();
            all.put(&key, entry);
            broker.configuration_report(&all, &key, all.get(&key).unwrap(), &held)
        };
        let first = report("u", &json!({})).unwrap();
        let mut said = first.patch["status"].clone();
        assert!(report("u", &said).is_none());
        said["conditions"][0]["lastTransitionTime"] = json!("2020-01-01T00:00:00Z");
        said["conditions"][0]["message"] = json!("what somebody has put there");
        let again = report("u", &said).unwrap();
        assert_ne!(again.patch, first.patch);
        assert_eq!(again.intent, first.intent, "a repeat, however often somebody changes it back");
        assert_ne!(report("made anew", &json!({})).unwrap().intent, first.intent);
    }

    #[tokio::test]
    async fn a_change_has_looked_at_what_it_concerns_and_no_other() {
        let (broker, _channels) = Broker::of_one_kind();
        broker.engage_unreachable(&ClusterName::new(Role::Coordination, "hub"));
        let _listens = listen(&broker, broker.fleet());
        let object = |name: &str, kind: &str, version: i64| {
            let gvk = json!({"group": "g", "version": "v1", "kind": kind});
            let metadata = json!({"name": name, "namespace": "ours", "uid": name, "generation": version,
                "resourceVersion": version.to_string(), "creationTimestamp": "2026-01-01T00:00:00Z"});
            let spec = json!({"from": gvk, "to": gvk, "stages": []});
            crate::conventions::object(&json!({"metadata": metadata, "spec": spec}))
        };
        let index = broker.hub().unwrap().index(&broker.watches.configurations).unwrap();
        let take = |name: &str| {
            let adds = || broker.configuring.statuses.queue().stats().adds;
            let before = adds();
            broker.take_configuration(ConfigurationChange::Changed(ObjectKey::new("ours", name)));
            adds() - before
        };
        let first = [object("a", "K", 1), object("b", "K", 1), object("c", "L", 1)];
        index.replace(first.into(), 1);
        assert_eq!((take("a"), take("b"), take("c")), (1, 1, 1));
        broker.take_configuration(ConfigurationChange::Complete(0));
        assert_eq!(take("a"), 1, "whoever edits a status has that one looked at");
        index.replace([object("a", "L", 2), object("b", "K", 1), object("c", "L", 1)].into(), 2);
        assert_eq!(take("a"), 3, "b is in force from now on, and c is not");
        assert_eq!(broker.configuring.current.load().keys().len(), 3);
        broker.take_configuration(ConfigurationChange::Missing);
        assert!(broker.configuring.current.load().keys().is_empty() && !broker.configurations_known());
        broker.take_configuration(ConfigurationChange::Complete(1));
        assert_eq!(
            broker.configuring.current.load().keys().len(),
            3,
            "they are as they were, and nobody tells of each"
        );
    }
}
