//! The Broker, its Deployment's pods, and its lease.

use std::fmt::Debug;

use anyhow::Context as _;
use broker_api::Broker;
use harness::wait_for;
use k8s_openapi::{
    api::{coordination::v1::Lease, core::v1::Pod},
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::Value;

use crate::{DEADLINE, world::World};

/// Name of the Broker, as in the sample.
pub(crate) const BROKER: &str = "broker";
/// Its namespace, and the operator's.
pub(crate) const SYSTEM: &str = "resource-broker-system";
/// What conditions say.
pub(crate) const TRUE: &str = "True";

/// The Broker in the hub, as a person sees it.
pub(crate) struct Brokers {
    client: Client,
}

impl Brokers {
    pub(crate) fn of(world: &World) -> Self {
        Self { client: world.hub.client.clone() }
    }

    fn api(&self) -> Api<Broker> {
        Api::namespaced(self.client.clone(), SYSTEM)
    }

    pub(crate) async fn get(&self) -> anyhow::Result<Broker> {
        Ok(self.api().get(BROKER).await?)
    }

    /// `kubectl patch --type merge`.
    pub(crate) async fn edit(&self, patch: Value) -> anyhow::Result<Broker> {
        let edited = self.api().patch(BROKER, &PatchParams::default(), &Patch::Merge(patch)).await;
        edited.context("cannot edit the Broker")
    }

    /// The pods of its Deployment, those on their way out included.
    pub(crate) async fn pods(&self) -> anyhow::Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), SYSTEM);
        Ok(pods.list(&ListParams::default().labels(&format!("app={BROKER}"))).await?.items)
    }

    /// Waits for a condition that speaks of the Broker as it is now.
    pub(crate) async fn until(&self, kind: &str, fits: impl Fn(&Condition) -> bool) -> anyhow::Result<Condition> {
        wait_for(DEADLINE * 2, &format!("the right condition {kind} on the Broker"), async || {
            let broker = self.get().await?;
            let generation = broker.metadata.generation;
            let conditions = broker.status.unwrap_or_default().conditions;
            let held = conditions.into_iter().find(|held| held.type_ == kind).context("no such condition")?;
            let current = held.observed_generation == generation;
            anyhow::ensure!(current && fits(&held), "{held:?} at generation {generation:?}");
            Ok(held)
        })
        .await
    }

    /// Waits until there are so many pods, all ready, and none on its way out.
    pub(crate) async fn until_ready(&self, replicas: usize) -> anyhow::Result<Vec<Pod>> {
        self.until_pods(&format!("{replicas} ready pods of the broker"), |pods| {
            pods.len() == replicas && pods.iter().all(is_ready)
        })
        .await
    }

    /// Waits until the pods are as `fits` says.
    pub(crate) async fn until_pods(&self, what: &str, fits: impl Fn(&[Pod]) -> bool) -> anyhow::Result<Vec<Pod>> {
        wait_for(DEADLINE * 2, what, async || {
            let pods = self.pods().await?;
            anyhow::ensure!(fits(&pods), "{:?}", pods.iter().map(told).collect::<Vec<_>>());
            Ok(pods)
        })
        .await
    }

    /// Where their Lease is.
    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), SYSTEM)
    }

    /// Who leads: the holder that the lease names, if any.
    pub(crate) async fn holder(&self) -> anyhow::Result<Option<String>> {
        let lease = self.leases().get_opt(BROKER).await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity).filter(|holder| !holder.is_empty()))
    }

    /// The pod that leads.
    pub(crate) async fn leader(&self) -> anyhow::Result<Pod> {
        wait_for(DEADLINE, "a pod that leads", async || {
            let holder = self.holder().await?.context("nobody holds the lease")?;
            let pods = self.pods().await?;
            // `<pod>_<random>`
            let leads = |pod: &Pod| holder.split('_').next() == Some(&pod.name_any());
            pods.into_iter().find(leads).with_context(|| format!("no pod of {holder}"))
        })
        .await
    }
}

/// Whether it is ready, and is to stay.
pub(crate) fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().filter_map(|status| status.conditions.as_ref()).flatten();
    let ready = conditions.into_iter().any(|held| held.type_ == "Ready" && held.status == TRUE);
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// The image of its first container.
pub(crate) fn image(pod: &Pod) -> &str {
    let container = pod.spec.as_ref().and_then(|spec| spec.containers.first());
    container.and_then(|container| container.image.as_deref()).unwrap_or_default()
}

/// How it is, in a few words.
fn told(pod: &Pod) -> impl Debug + use<> {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.unwrap_or_default();
    let waiting = containers.into_iter().find_map(|held| held.state?.waiting?.reason);
    (pod.name_any(), status.phase, is_ready(pod), waiting)
}
