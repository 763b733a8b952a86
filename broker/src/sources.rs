//! Which clusters are engaged: from files, directories and Secrets to the fleet.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{ClusterName, Role, condition, keys};
use broker_core::naming::consumer_hash;
use runtime_effect::note::Note;
use runtime_engine::{
    recorder::Regarding,
    sources::{self, Engages, Files, News},
};
use runtime_fleet::{
    cluster::Labels,
    identity::Rank,
    index::Lookup,
    kubeconfig::Kubeconfig,
    object::{Object, ObjectKey},
    random::interleave,
    source::{Beside, Provenance, SecretSource, SourceEvent, check_files},
};
use runtime_process::clusters;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use crate::{
    acceptance::change::AcceptChange,
    broker::Broker,
    cluster_secrets::ClusterSecrets,
    clusters::policies::{self, Said},
    conventions::CONVENTIONS,
    metrics::METRICS,
    options::Options,
};

/// The coordination cluster, from the flags or from the Pod's own service account.
pub async fn coordination(options: &Options) -> anyhow::Result<(ClusterName, Kubeconfig)> {
    let flags = "--coordination-kubeconfig (or --kubeconfig)";
    clusters::given(Role::Coordination, options.coordination(), options.allow_local_credentials, flags).await
}

/// The compute cluster, if it is another than the coordination cluster.
pub async fn compute(options: &Options) -> anyhow::Result<Option<(ClusterName, Kubeconfig)>> {
    match &options.compute_kubeconfig {
        Some(path) => clusters::read(Role::Compute, path, options.allow_local_credentials).await.map(Some),
        None => Ok(None),
    }
}

/// Checks all paths before anything is started.
pub fn check(options: &Options) -> anyhow::Result<()> {
    let given = options.given();
    if given.is_empty() && options.cluster_secrets_namespace.is_empty() {
        warn!(
            "no consumer or provider is configured: give --consumer-kubeconfig, --provider-kubeconfig, their -dir forms, or --cluster-secrets-namespace"
        );
    }
    match check_files(&given) {
        Ok(warnings) => {
            for warning in warnings {
                warn!("{warning}");
            }
            Ok(())
        }
        Err(errors) => anyhow::bail!("{}", errors.join("\n")),
    }
}

/// Follows all sources until `stop`.
pub async fn run(broker: Arc<Broker>, secrets: mpsc::UnboundedReceiver<News>, stop: CancellationToken) {
    let mut given = broker.options.given();
    // Their credentials rotate, too.
    given.extend(broker.options.own_clusters());
    if broker.watches.cluster_secrets.is_empty() {
        broker.clusters.departures.secrets_read();
    }
    if given.is_empty() {
        broker.clusters.departures.files_read();
    }
    let files = Files { given, allow_local_credentials: broker.options.allow_local_credentials };
    sources::run(Engaged::by(broker), files, SecretSource::new(&CONVENTIONS), secrets, stop).await;
}

struct Engaged {
    broker: Arc<Broker>,
    rejected: BTreeSet<String>,
    /// Watches of Secrets of which the first list was taken in to its end.
    listed: BTreeSet<usize>,
    /// Clusters that came after all that was there at the start.
    newcomers: u64,
}

impl Engaged {
    fn by(broker: Arc<Broker>) -> Self {
        Self { broker, rejected: BTreeSet::new(), listed: BTreeSet::new(), newcomers: 0 }
    }

    /// Where a cluster stands in the configuration, the same after each restart: files in the order of their flags, then
    /// Secrets in the order of their age. Whoever comes later is behind all that are there.
    fn rank(&mut self, from: &Provenance) -> Rank {
        if self.broker.clusters.departures.are_known() {
            self.newcomers += 1;
        }
        let round = self.newcomers;
        match from {
            Provenance::File(path) => {
                let given = self.broker.options.given();
                let flag = given.iter().position(|given| path.starts_with(&given.path)).unwrap_or_default();
                Rank { round, flag, created: String::new(), from: from.to_string() }
            }
            Provenance::Secret { .. } => {
                let secret = from.secret().and_then(|key| self.broker.cluster_secret(&key));
                Rank::of_secret(round, from, secret.as_deref())
            }
        }
    }
}

impl Engages for Engaged {
    fn secret(&self, key: &ObjectKey) -> Lookup {
        self.broker.look_for_secret(key)
    }

    fn roles(&self, namespace: &str) -> Vec<Role> {
        self.broker.watches.secrets_of(namespace).map(|secrets| secrets.roles.clone()).unwrap_or_default()
    }

    fn listed(&mut self, watch: usize) {
        self.listed.insert(watch);
        // One that has been lost since is listed again, and tells that.
        if self.listed.len() == self.broker.watches.cluster_secrets.len() && self.broker.are_secrets_read() {
            let taking = self.broker.intake.begin();
            self.broker.clusters.departures.secrets_read();
            self.broker.look_for_departed();
            drop(taking);
        }
    }

    async fn take(&mut self, event: SourceEvent) {
        match event {
            SourceEvent::Upsert { name, kubeconfig, from, beside } => {
                info!(cluster = %name, %from, server = kubeconfig.server(), "engaged");
                // Before anything of the cluster is known.
                let labels = self.broker.bound(&name, &from, &beside);
                self.rejected.remove(&from.to_string());
                self.broker.clusters.departures.configured(&name);
                interleave().await;
                self.broker.clusters.read_from(&name, &from);
                let rank = self.rank(&from);
                self.broker.fleet().configure(&name, rank);
                self.broker.expect(&name);
                self.broker.fleet().engage(&name, kubeconfig, labels);
                self.broker.resettle(&name, None);
            }
            SourceEvent::Removed { name, from } if matches!(name.role(), Role::Coordination | Role::Compute) => {
                error!(cluster = %name, %from, "the kubeconfig is gone; going on with what it said");
            }
            SourceEvent::Removed { name, from } => {
                info!(cluster = %name, %from, "taken out of the configuration; what is there stays");
                self.rejected.remove(&from.to_string());
                if name.role() == Role::Consumer {
                    self.broker.tell_of_left_behind(&name);
                }
                self.broker.clusters.departures.left(&name);
                interleave().await;
                self.broker.fleet().disengage(&name).await;
                self.broker.forget(&name);
                if name.role() == Role::Provider {
                    self.broker.accept_apis.changes.tell(AcceptChange::Left(name));
                }
            }
            SourceEvent::Rejected { name, from, reason } => {
                error!(cluster = %name, %from, %reason, "this kubeconfig cannot be used");
                if self.broker.fleet().cluster(&name).is_none() {
                    self.broker.clusters.departures.configured(&name);
                }
                self.rejected.insert(from.to_string());
                self.broker.tell_of_secret(&from, "KubeconfigRejected", &format!("{name} is not engaged: {reason}"));
            }
            SourceEvent::Refused { from, reason: Some(reason) } => {
                let reason = format!("{reason} (--cluster-secrets-namespace says which roles they may give)");
                error!(%from, %reason, "this kubeconfig may not be used");
                self.rejected.insert(from.to_string());
                self.broker.tell_of_secret(&from, "RoleNotAllowed", &format!("it is not engaged: {reason}"));
            }
            SourceEvent::Refused { from, reason: None } => {
                self.rejected.remove(&from.to_string());
            }
            SourceEvent::Synced => {
                info!("all configured clusters are known");
                let taking = self.broker.intake.begin();
                self.broker.clusters.departures.files_read();
                self.broker.look_for_departed();
                drop(taking);
            }
        }
        METRICS.kubeconfigs_rejected.set(i64::try_from(self.rejected.len()).unwrap_or(i64::MAX));
    }
}

impl Broker {
    /// Origins and Migrations whose provider is not engaged: from now on it is known that it has left. No event of that
    /// provider would tell them.
    fn look_for_departed(&self) {
        self.migrations.enqueue_open();
        // What waits for a provider to become known need not be there.
        self.origins.enqueue_each(self.origins.records.moving_or_restless());
        let engaged = |provider: &ClusterName| self.fleet().cluster(provider).is_some();
        for provider in self.origins.records.providers().iter().filter(|provider| !engaged(provider)) {
            for key in self.origins.records.at(provider) {
                self.origins.enqueue(key);
            }
        }
    }

    /// A consumer is taken out: its copies stay, for nobody has asked to delete them.
    fn tell_of_left_behind(&self, consumer: &ClusterName) {
        let hash = consumer_hash(consumer);
        let mut left = BTreeMap::<ClusterName, usize>::new();
        for (provider, copies) in self.watches.brokered.iter().flat_map(|brokered| brokered.copies.of(&hash)) {
            *left.entry(provider).or_default() += copies.len();
        }
        for (provider, copies) in left {
            warn!(%consumer, %provider, copies,
                "the consumer was taken out of the configuration, its copies stay; to delete them: kubectl delete --all-namespaces -l {}={hash} in the provider", keys::CONSUMER);
        }
    }

    /// Whether the cluster Secrets of all namespaces are known.
    pub(crate) fn are_secrets_read(&self) -> bool {
        self.watches.cluster_secrets.iter().all(|secrets| self.hub_knows(&secrets.spec))
    }

    fn cluster_secret(&self, key: &ObjectKey) -> Option<Arc<Object>> {
        self.look_for_secret(key).found()
    }

    fn look_for_secret(&self, key: &ObjectKey) -> Lookup {
        // Of other namespaces none is a cluster's.
        let Some(ClusterSecrets { spec, .. }) = self.watches.secrets_of(&key.namespace) else { return Lookup::Absent };
        let index = self.hub().and_then(|hub| hub.index(spec));
        index.map_or(Lookup::Unknown, |index| index.get(key))
    }

    /// Takes in what the platform says of a cluster. Returns its labels; `None`: they cannot be read.
    fn bound(&self, name: &ClusterName, from: &Provenance, beside: &Beside) -> Option<Labels> {
        let Said { policy, labels } = policies::read(beside);
        let news = self.clusters.policies.set(name, &policy);
        let errors = policy.errors().join("; ");
        if news && name.role() == Role::Provider {
            if !errors.is_empty() {
                error!(cluster = %name, %from, %errors, "the policy cannot be read; the provider gets nothing new");
                let message = format!("{name} gets nothing new until its policy can be read: {errors}");
                self.tell_of_secret(from, condition::POLICY_INVALID, &message);
            }
            self.accept_apis.changes.tell(AcceptChange::Bounded(name.clone()));
        }
        if news && name.role() == Role::Consumer && labels.is_none() {
            error!(cluster = %name, %from, %errors, "its labels cannot be read; providers that select consumers get nothing new of it");
        }
        labels
    }

    /// A cluster cannot be reached with what its Secret says: the Secret's owner is told.
    pub(crate) fn tell_of_unreachable(&self, cluster: &ClusterName, why: &str) {
        if let Some(from) = self.clusters.provenance(cluster) {
            self.tell_of_secret(&from, "ClusterUnreachable", &format!("{cluster} is unreachable: {why}"));
        }
    }

    fn tell_of_secret(&self, from: &Provenance, reason: &'static str, message: &str) {
        let Some(key) = from.secret() else { return };
        let Some(ClusterSecrets { spec, .. }) = self.watches.secrets_of(&key.namespace) else { return };
        for hub in self.fleet().in_role(Role::Coordination) {
            let Some(secret) = hub.index(spec).and_then(|index| index.get(&key).found()) else { continue };
            self.engine.tell(Regarding::secret(hub.name(), &key, &secret.uid), Note::warning(reason, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use broker_core::migration::moved_origin::MovedOrigin;
    use serde_json::json;

    use super::*;
    use crate::{listen::listen, migrations::registry::tests::migration};

    #[tokio::test]
    async fn who_has_left_is_known_when_the_secrets_of_all_namespaces_are_taken_in() {
        let flags = ["--cluster-secrets-namespace", "consumer=a", "--cluster-secrets-namespace", "provider=b"];
        let (broker, _channels) = Broker::with_flags(&flags);
        broker.clusters.departures.files_read();
        let hub = ClusterName::new(Role::Coordination, "hub");
        broker.engage_unreachable(&hub);
        let _listens = listen(&broker, broker.fleet());
        let index = |watch: usize| broker.hub().unwrap().index(&broker.watches.cluster_secrets[watch].spec).unwrap();
        for watch in 0..2 {
            index(watch).replace(Vec::new(), 1);
        }
        let mut engaged = Engaged::by(Arc::clone(&broker));
        for _ in 0..2 {
            engaged.listed(1);
            assert!(!broker.clusters.departures.are_known(), "those of the other namespace are on their way");
        }
        let known = migration(&json!({}));
        broker.migrations.set_hub(&hub);
        broker.migrations.update(&known.key.clone(), Some((known, MovedOrigin::Unknown)));
        index(1).mark_incomplete();
        engaged.listed(0);
        assert!(!broker.clusters.departures.are_known(), "what was told is known no more");
        index(1).replace(Vec::new(), 2);
        engaged.listed(1);
        assert!(broker.clusters.departures.are_known());
        assert_eq!(broker.migrations.queue.stats().adds, 1, "no provider would tell it that there is none of its name");
    }
}
