//! The clusters of the bench: a hub, a consumer and two providers, each an API server of its own.

use std::time::Duration;

use anyhow::Context as _;
use broker_api::{AcceptApi, keys};
use harness::{AuditEvents, Cluster, Lab, LabOptions, Mark, wait_for};
use kube::{Api, Client, ResourceExt as _};

use crate::rogue::Rogue;
use crate::widget;

/// The user that the broker is.
pub(crate) const BROKER: &str = "broker";
/// The user that creates objects and configures.
pub(crate) const PERSON: &str = "person";
/// The user that the providers' controllers are.
pub(crate) const PROVIDER: &str = "provider-controller";
const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";
const DEADLINE: Duration = Duration::from_secs(30);

/// Everything but the broker.
pub(crate) struct Stage {
    pub(crate) lab: Lab,
    /// The coordination cluster. Nobody watches Widgets there, so it also shows what one API server can do.
    pub(crate) hub: Cluster,
    pub(crate) consumer: Cluster,
    pub(crate) providers: [Cluster; 2],
    /// A client of the person who creates objects, in the consumer.
    pub(crate) person: Client,
    /// The same person in the hub.
    pub(crate) person_at_hub: Client,
    /// Clients of the providers' controllers.
    pub(crate) controllers: [Client; 2],
    /// Who attacks, if anybody does.
    pub(crate) rogue: Option<Rogue>,
}

/// A position in every cluster's audit log.
pub(crate) struct Marks(Vec<Mark>);

/// What the broker asked one cluster for.
pub(crate) struct Requests {
    /// `consumer`, `provider` or `hub`.
    pub(crate) role: &'static str,
    /// Name of the cluster.
    pub(crate) cluster: String,
    pub(crate) events: AuditEvents,
}

impl Stage {
    /// Starts the clusters and puts the kinds into them.
    pub(crate) async fn build() -> anyhow::Result<Self> {
        let lab = Lab::start(LabOptions::default()).await?;
        let clusters = lab.clusters(&["hub", "consumer", "east", "west"]).await?;
        let Ok([hub, consumer, east, west]) = <[Cluster; 4]>::try_from(clusters) else {
            anyhow::bail!("four clusters were asked for");
        };
        let offered = |name: &str| name == ACCEPT_APIS;
        tokio::try_join!(
            install(&hub, |name| name.ends_with(keys::GROUP) && name != ACCEPT_APIS),
            install(&consumer, |_| false),
            install(&east, offered),
            install(&west, offered),
        )?;
        for provider in [&east, &west] {
            provider.apply(PERSON, widget::ACCEPT_API).await?;
        }
        Ok(Self {
            person: consumer.client(PERSON).await?,
            person_at_hub: hub.client(PERSON).await?,
            controllers: [east.client(PROVIDER).await?, west.client(PROVIDER).await?],
            providers: [east, west],
            lab,
            hub,
            consumer,
            rogue: None,
        })
    }

    /// With a further consumer, whose owner attacks.
    pub(crate) async fn with_rogue(mut self) -> anyhow::Result<Self> {
        let cluster = self.lab.cluster("rogue").await?;
        install(&cluster, |_| false).await?;
        self.rogue = Some(Rogue::begin(cluster, &self.providers[1]).await?);
        Ok(self)
    }

    /// What the broker asked the attacker's cluster for since then.
    pub(crate) async fn rogue_requests(&self, rogue: &Rogue, since: Mark) -> anyhow::Result<Vec<Requests>> {
        let events = rogue.cluster.audit().settled_since(since).await?.of(BROKER);
        Ok(vec![Requests { role: "rogue", cluster: rogue.cluster.name().to_owned(), events }])
    }

    /// The kubeconfig of the attacker's cluster, if there is one.
    pub(crate) fn rogue_kubeconfig(&self) -> anyhow::Result<Option<String>> {
        let Some(rogue) = &self.rogue else { return Ok(None) };
        let file = self.lab.directory().join("kubeconfigs").join(format!("{}.kubeconfig", rogue.cluster.name()));
        rogue.cluster.write_kubeconfig(BROKER, &file)?;
        Ok(Some(file.display().to_string()))
    }

    fn clusters(&self) -> [(&'static str, &Cluster); 4] {
        let [east, west] = &self.providers;
        [("hub", &self.hub), ("consumer", &self.consumer), ("provider", east), ("provider", west)]
    }

    /// Sets of which parts of the bench a provider takes objects, by [`widget::offer`].
    pub(crate) async fn offer(&self, provider: usize, parts: &[&str]) -> anyhow::Result<()> {
        self.providers[provider].apply(PERSON, &widget::offer(parts)).await.map(drop)
    }

    /// Waits until the broker says of both AcceptAPIs that it uses them as they are.
    pub(crate) async fn offers_ready(&self) -> anyhow::Result<()> {
        for controller in &self.controllers {
            let offers = Api::<AcceptApi>::namespaced(controller.clone(), "default");
            wait_for(DEADLINE, "condition Ready=True on AcceptAPI widgets", async || {
                let offer = offers.get("widgets").await?;
                let status = offer.status.unwrap_or_default();
                let ready = status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
                let seen = status.observed_generation == offer.metadata.generation;
                anyhow::ensure!(ready && seen, "status {status:?}");
                Ok(())
            })
            .await?;
        }
        Ok(())
    }

    /// Writes a kubeconfig of the broker for each cluster, and returns the paths: hub, consumer, providers.
    pub(crate) fn kubeconfigs(&self) -> anyhow::Result<[String; 4]> {
        let directory = self.lab.directory().join("kubeconfigs");
        std::fs::create_dir_all(&directory)?;
        let mut paths = self.clusters().map(|_| String::new());
        for (path, (_, cluster)) in paths.iter_mut().zip(self.clusters()) {
            let file = directory.join(format!("{}.kubeconfig", cluster.name()));
            cluster.write_kubeconfig(BROKER, &file)?;
            *path = file.display().to_string();
        }
        Ok(paths)
    }

    /// The ends of all audit logs, behind every request that was answered before.
    pub(crate) async fn mark(&self) -> anyhow::Result<Marks> {
        let mut marks = Vec::new();
        for (_, cluster) in self.clusters() {
            marks.push(cluster.audit().settle().await?);
        }
        Ok(Marks(marks))
    }

    /// What the broker asked for since then, by cluster.
    pub(crate) async fn broker_requests(&self, since: &Marks) -> anyhow::Result<Vec<Requests>> {
        self.requests_of(BROKER, since).await
    }

    /// What a user asked for since then, by cluster.
    pub(crate) async fn requests_of(&self, user: &str, since: &Marks) -> anyhow::Result<Vec<Requests>> {
        let mut requests = Vec::new();
        for ((role, cluster), mark) in self.clusters().into_iter().zip(&since.0) {
            let events = cluster.audit().settled_since(*mark).await?.of(user);
            requests.push(Requests { role, cluster: cluster.name().to_owned(), events });
        }
        Ok(requests)
    }

    /// Waits until the broker has asked nobody for anything for `span`.
    pub(crate) async fn quiet(&self, span: Duration, deadline: Duration) -> anyhow::Result<()> {
        wait_for(deadline, "the broker to be quiet", async || {
            let mark = self.mark().await?;
            tokio::time::sleep(span).await;
            let requests = self.broker_requests(&mark).await?;
            let count: usize = requests.iter().map(|one| one.events.len()).sum();
            anyhow::ensure!(count == 0, "{count} requests within {span:?}");
            Ok(())
        })
        .await
    }
}

/// Our own CRDs as far as they are wanted, and the Widget with its namespace.
async fn install(cluster: &Cluster, wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
    let own = broker_api::crds().into_iter().filter(|crd| wanted(&crd.name_any()));
    let mut documents: Vec<String> = own.map(|crd| serde_json::to_string(&crd)).collect::<Result<_, _>>()?;
    documents.push(widget::CRD.to_owned());
    documents.push(format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}", widget::NAMESPACE));
    documents.push("{apiVersion: v1, kind: Namespace, metadata: {name: default}}".to_owned());
    let applied = cluster.apply(PERSON, &documents.join("\n---\n")).await;
    applied.map(drop).with_context(|| format!("cannot prepare {}", cluster.name()))
}
