//! What is told of origins, as Events on them and on their copies.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use broker_core::{copy, decision::Decision, snapshot::OriginKey};
use runtime_effect::{kind::Kind, note::Note};
use runtime_engine::recorder::Regarding;
use runtime_fleet::object::ObjectKey;
use tracing::info;

use crate::broker::Broker;

impl Broker {
    /// Tells what a decision has to tell. What was so before this process started is not news.
    pub(crate) fn tell(&self, key: &OriginKey, decision: &Decision, known: bool) {
        for note in &decision.notes {
            let news = self.is_news(key, note);
            if news && (known || decision.writes().next().is_some()) {
                self.tell_note(key, note);
            }
        }
        for full in &decision.unabridged {
            if self.is_news(key, &Note::warning("Unabridged", full.as_str())) {
                info!(origin = %key, "{full}");
            }
        }
    }

    /// Tells something unless it was told a short time ago.
    pub(crate) fn tell_once(&self, key: &OriginKey, note: &Note) {
        if self.is_news(key, note) {
            self.tell_note(key, note);
        }
    }

    fn is_news(&self, key: &OriginKey, note: &Note) -> bool {
        self.origins.records.with(key, |record| record.told.is_news(note)) == Some(true)
    }

    pub(crate) fn tell_note(&self, key: &OriginKey, note: &Note) {
        let object = self.uid_of(Role::Consumer, key, &key.cluster, &key.name);
        if let Some(uid) = object {
            self.engine.tell(about(key, &key.cluster, &key.name, &uid), note.clone());
        }
        if let Some(provider) = &note.also {
            let name = copy::name(key);
            if let Some(uid) = self.uid_of(Role::Provider, key, provider, &name) {
                self.engine.tell(about(key, provider, &name, &uid), note.clone());
            }
        }
    }

    pub(crate) fn uid_of(&self, role: Role, key: &OriginKey, cluster: &ClusterName, name: &str) -> Option<String> {
        let spec = self.watches.spec_of(role, &key.gvk)?;
        let key = ObjectKey::new(&*key.namespace, name);
        Some(self.fleet().cluster(cluster)?.index(spec)?.get(&key).found()?.uid.to_string())
    }
}

fn about(key: &OriginKey, cluster: &ClusterName, name: &str, uid: &str) -> Regarding {
    Regarding::new(cluster, Kind::clone(&key.gvk), &ObjectKey::new(Arc::clone(&key.namespace), name), uid)
}
