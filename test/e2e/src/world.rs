//! `World`: a hub, consumers, providers and a broker that serves them.

use futures::future::join_all;
use harness::{ClusterOptions, Lab, LabOptions, Servers};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    Broker, BrokerSetup, Kind, Place,
    kind::{ACCEPT_API, MIGRATION, MIGRATION_CONFIGURATION},
};

/// Name of the first broker in its lab.
pub const BROKER: &str = "broker";

/// A world. Its clients belong to the runtime in which it was started.
pub struct World {
    /// The lab, for further clusters and processes.
    pub lab: Lab,
    /// The coordination cluster.
    pub hub: Place,
    consumers: Vec<Place>,
    providers: Vec<Place>,
    broker: Mutex<Option<Broker>>,
}

impl World {
    /// Starts clusters with the CRDs of `kinds`, and no broker yet.
    ///
    /// Names are those that brokers know. All but the hub run a controller manager, so that namespaces and owned
    /// objects go as they do in real clusters.
    pub async fn real(consumers: &[&str], providers: &[&str], kinds: &[Kind]) -> Self {
        Self::around(&jobs(), Servers::Real, consumers, providers, kinds).await
    }

    /// The same, whose API servers are the model where nobody asked for real ones: for tests that need no workloads, rules of
    /// CRDs, webhooks or admission policies.
    pub async fn modelled(consumers: &[&str], providers: &[&str], kinds: &[Kind]) -> Self {
        Self::around(&jobs(), Servers::modelled().unwrap(), consumers, providers, kinds).await
    }

    /// The same with a real coordination cluster: for tests with Jobs, or of what the CRDs there refuse.
    pub async fn modelled_around_a_hub(consumers: &[&str], providers: &[&str], kinds: &[Kind]) -> Self {
        let real = ClusterOptions { real: true, ..jobs() };
        Self::around(&real, Servers::modelled().unwrap(), consumers, providers, kinds).await
    }

    async fn around(
        hub: &ClusterOptions,
        servers: Servers,
        consumers: &[&str],
        providers: &[&str],
        kinds: &[Kind],
    ) -> Self {
        let lab = Lab::start(LabOptions { servers, ..LabOptions::default() }).await;
        let lab = lab.unwrap_or_else(|error| panic!("{error:#}"));
        let offered: Vec<Kind> = kinds.iter().copied().chain([ACCEPT_API]).collect();
        let hub = place(&lab, "hub", hub, &[MIGRATION, MIGRATION_CONFIGURATION]);
        let consumers = join_all(consumers.iter().map(|name| edge(&lab, name, kinds)));
        let providers = join_all(providers.iter().map(|name| edge(&lab, name, &offered)));
        let (hub, consumers, providers) = tokio::join!(hub, consumers, providers);
        Self { lab, hub, consumers, providers, broker: Mutex::new(None) }
    }

    /// Starts the broker of [`World::real`] with all clusters and further arguments.
    pub async fn start_broker(&self, kinds: &[Kind], args: &[&str]) {
        let setup =
            BrokerSetup { name: BROKER, kinds, args: args.iter().map(ToString::to_string).collect(), ..self.setup() };
        let broker = Broker::start(&self.lab, &setup).await;
        *self.broker.lock().await = Some(broker);
    }

    /// A setup with all clusters, without a name and kinds.
    pub fn setup(&self) -> BrokerSetup<'_> {
        BrokerSetup {
            coordination: Some(&self.hub),
            consumers: self.consumers.iter().collect(),
            providers: self.providers.iter().collect(),
            ..BrokerSetup::default()
        }
    }

    /// A consumer by its name.
    pub fn consumer(&self, name: &str) -> &Place {
        self.consumers.iter().find(|place| place.name() == name).expect("a consumer of this name")
    }

    /// A provider by its name.
    pub fn provider(&self, name: &str) -> &Place {
        self.providers.iter().find(|place| place.name() == name).expect("a provider of this name")
    }

    /// The providers in the order in which they were named.
    pub fn providers(&self) -> &[Place] {
        &self.providers
    }

    /// The broker. Others wait while it is held.
    pub async fn broker(&self) -> MutexGuard<'_, Option<Broker>> {
        self.broker.lock().await
    }

    /// The lines of the broker's log that hold one of `words`, for a test that failed.
    pub fn broker_lines(&self, words: &[&str]) -> String {
        let Ok(guard) = self.broker.try_lock() else { return "the broker is in use".to_owned() };
        let Some(broker) = guard.as_ref() else { return "no broker".to_owned() };
        let log = broker.log();
        let lines: Vec<&str> = log.lines().filter(|line| words.iter().any(|word| line.contains(word))).collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

/// Jobs are served, of which migrations are made.
fn jobs() -> ClusterOptions {
    ClusterOptions { workloads: vec!["batch/v1"], ..ClusterOptions::default() }
}

/// A coordination or compute cluster: it serves Jobs, where it is a real one.
pub async fn coordination(lab: &Lab, name: &str, kinds: &[Kind]) -> Place {
    place(lab, name, &jobs(), kinds).await
}

/// A consumer or a provider: a controller manager works there, and there are no workloads.
pub async fn edge(lab: &Lab, name: &str, kinds: &[Kind]) -> Place {
    let options = ClusterOptions { controller_manager: true, ..ClusterOptions::default() };
    place(lab, name, &options, kinds).await
}

/// One cluster with CRDs. `name` may hold what a file name may (`consumer#cluster`).
pub async fn place(lab: &Lab, name: &str, options: &ClusterOptions, kinds: &[Kind]) -> Place {
    let cluster = lab.cluster_with(&name.replace('#', "-"), options).await;
    let place = Place::new(name, cluster.unwrap_or_else(|error| panic!("{error:#}"))).await;
    let crds: Vec<String> = kinds.iter().map(|kind| kind.crd().to_string()).collect();
    if !crds.is_empty() {
        place.apply(&crds.join("\n---\n")).await;
    }
    place
}
