//! Which spokes are engaged: from Secrets to the fleet.

use std::sync::{Arc, Weak};

use broker_api::{Role, graphs::keys};
use runtime_effect::note::Note;
use runtime_engine::{
    recorder::Regarding,
    sources::{self, Engages, Files, News},
};
use runtime_fleet::{
    fleet::Fleet,
    identity::Rank,
    index::Lookup,
    listener::ClusterSelector,
    object::{Object, ObjectKey},
    source::{Beside, Provenance, SecretSource, SourceEvent},
    subscription::Subscription,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use crate::{conventions::CONVENTIONS, graphs::Graphs};

/// Listens to Secrets of spokes.
pub fn listen(graphs: &Graphs, fleet: &Arc<Fleet>, news: &mpsc::UnboundedSender<News>) -> Vec<Subscription> {
    sources::listen(fleet, &ClusterSelector::Name(graphs.hub.clone()), &graphs.fixed.secrets, news)
}

/// Follows the Secrets until `stop`.
pub async fn run(graphs: Weak<Graphs>, news: mpsc::UnboundedReceiver<News>, stop: CancellationToken) {
    let Some(options) = graphs.upgrade().map(|graphs| graphs.options.clone()) else { return };
    let source = SecretSource::new(&CONVENTIONS).under(&options.cluster_secrets_key);
    let source = source.also(&options.cluster_secrets_label, Role::Spoke);
    sources::run(Spokes(graphs), Files::default(), source, news, stop).await;
}

/// Engages spokes, as long as somebody wants them.
struct Spokes(Weak<Graphs>);

impl Engages for Spokes {
    fn secret(&self, key: &ObjectKey) -> Lookup {
        self.0.upgrade().map_or(Lookup::Unknown, |graphs| graphs.look_for_secret(key))
    }

    fn roles(&self, _namespace: &str) -> Vec<Role> {
        vec![Role::Spoke]
    }

    fn listed(&mut self, watch: usize) {
        let Some(graphs) = self.0.upgrade() else { return };
        let index = graphs.engaged(&graphs.hub).and_then(|hub| hub.index(graphs.fixed.secrets.get(watch)?));
        // One that has been lost since is listed again, and tells that.
        if index.is_some_and(|index| index.is_complete()) {
            graphs.clusters.listed(watch);
            graphs.look_at_rollouts();
        }
    }

    async fn take(&mut self, event: SourceEvent) {
        if let Some(graphs) = self.0.upgrade() {
            graphs.take_source(event).await;
        }
    }
}

impl Graphs {
    /// The Secret of a spoke, by whichever mark it is one.
    pub(crate) fn spoke_secret(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.look_for_secret(key).found()
    }

    fn look_for_secret(&self, key: &ObjectKey) -> Lookup {
        let Some(hub) = self.engaged(&self.hub) else { return Lookup::Unknown };
        let mut all = Lookup::Absent;
        for spec in &self.fixed.secrets {
            match hub.index(spec).map_or(Lookup::Unknown, |index| index.get(key)) {
                found @ Lookup::Found(_) => return found,
                Lookup::Unknown => all = Lookup::Unknown,
                Lookup::Absent => {}
            }
        }
        all
    }

    async fn take_source(&self, event: SourceEvent) {
        match event {
            SourceEvent::Upsert { name, kubeconfig, from, beside } => {
                let (labels, uid) = match &*beside {
                    Beside::Secret { labels, annotations } => {
                        (labels.clone(), annotations.get(keys::CLUSTER_UID).cloned())
                    }
                    Beside::Nothing | Beside::File { .. } => Default::default(),
                };
                info!(cluster = %name, %from, server = kubeconfig.server(), "engaged");
                let secret = from.secret().and_then(|key| self.spoke_secret(&key));
                self.fleet().configure(&name, Rank::of_secret(0, &from, secret.as_deref()));
                self.fleet().expect(&name, uid);
                self.fleet().engage(&name, kubeconfig, Some(Arc::new(labels)));
                // In this order: it is never in neither of both.
                self.clusters.accept(&name);
                let uid = secret.map(|secret| secret.uid.clone()).unwrap_or_default();
                self.clusters.configured(&name, &from, uid);
            }
            SourceEvent::Removed { name, from } => {
                let left = self.instances.of_cluster(&name).len();
                info!(cluster = %name, %from, instances = left, "taken out of the configuration; what is there stays");
                self.clusters.accept(&name);
                let gone = self.clusters.removed(&name);
                let what = format!("{name} is left; {left} instances stay there as they are, and nobody serves them");
                if let (Some(secret), Some(uid), true) = (from.secret(), gone, self.engine.leads()) {
                    let about = Regarding::secret(&self.hub, &secret, &uid);
                    self.engine.tell(about, Note::normal("ClusterLeft", what));
                }
                self.fleet().disengage(&name).await;
                self.look_at_rollouts();
            }
            SourceEvent::Rejected { name, from, reason } => {
                if self.engaged(&name).is_none() {
                    self.clusters.reject(&name, &from);
                }
                self.look_at_rollouts();
                error!(cluster = %name, %from, %reason, "this kubeconfig cannot be used");
                self.tell_of_secret(
                    &from,
                    &Note::warning("KubeconfigRejected", format!("{name} is not engaged: {reason}")),
                );
            }
            SourceEvent::Refused { from, reason } => {
                if let Some(reason) = reason {
                    error!(%from, %reason, "this kubeconfig may not be used");
                }
            }
            SourceEvent::Synced => {}
        }
    }

    /// Tells something about a spoke on its Secret.
    pub(crate) fn tell_of_secret(&self, from: &Provenance, note: &Note) {
        let Some(key) = from.secret().filter(|_| self.engine.leads()) else { return };
        if let Some(secret) = self.spoke_secret(&key) {
            self.engine.tell(Regarding::secret(&self.hub, &key, &secret.uid), note.clone());
        }
    }
}
