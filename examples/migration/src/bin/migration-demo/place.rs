//! One cluster, as a person with its kubeconfig sees it.

use std::fmt::Debug;

use broker_api::{Availability, generic::databases::KeyValue};
use harness::{Cluster, Lab, Process, Program, wait_for};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api, Client, ResourceExt,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde::de::DeserializeOwned;

use crate::DEADLINE;

/// The namespace of everything in the examples' YAML.
pub(crate) const NAMESPACE: &str = "default";
/// The user of whom the demo makes a person.
pub(crate) const PERSON: &str = "person";

/// A cluster and what the demo looks at in it.
pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) key_values: Api<KeyValue>,
    pub(crate) secrets: Api<Secret>,
    pub(crate) config_maps: Api<ConfigMap>,
    /// Deletes what its owner leaves behind. Started once the kinds are there: it looks for new ones only every 30 s.
    _collector: Process,
}

impl Place {
    /// Writes a kubeconfig for the person, and installs the CRDs whose names end with one of `kinds`.
    pub(crate) async fn prepare(lab: &Lab, cluster: Cluster, kinds: &[&str]) -> anyhow::Result<Self> {
        cluster.write_kubeconfig(PERSON, &lab.directory().join(format!("{}.kubeconfig", cluster.name())))?;
        let crds = broker_api::crds().into_iter();
        let crds = crds.filter(|crd| kinds.iter().any(|kind| crd.name_any().starts_with(kind)));
        let documents: Vec<_> = crds.map(|crd| serde_json::to_string(&crd)).collect::<Result<_, _>>()?;
        cluster.apply(PERSON, &documents.join("\n---\n")).await?;
        let client = cluster.client(PERSON).await?;
        Ok(Self {
            key_values: Api::namespaced(client.clone(), NAMESPACE),
            secrets: Api::namespaced(client.clone(), NAMESPACE),
            config_maps: Api::namespaced(client.clone(), NAMESPACE),
            _collector: collector(lab, &cluster)?,
            client,
            cluster,
        })
    }

    pub(crate) fn name(&self) -> &str {
        self.cluster.name()
    }

    /// `kubectl apply`.
    pub(crate) async fn apply(&self, yaml: &str) -> anyhow::Result<()> {
        self.cluster.apply(PERSON, yaml).await.map(drop)
    }

    /// Waits until an object of our own kinds says `Ready=True`.
    pub(crate) async fn until_ready(&self, kind: &str, name: &str) -> anyhow::Result<()> {
        let gvk = GroupVersionKind::gvk("broker.platform-mesh.io", "v1alpha1", kind);
        let objects =
            Api::<DynamicObject>::namespaced_with(self.client.clone(), NAMESPACE, &ApiResource::from_gvk(&gvk));
        wait_for(DEADLINE, &format!("Ready=True on {kind} {name}"), async || {
            let status = objects.get(name).await?.data["status"].clone();
            let ready = status["conditions"].as_array().is_some_and(|conditions| {
                conditions.iter().any(|held| held["type"] == "Ready" && held["status"] == "True")
            });
            anyhow::ensure!(ready, "{status}");
            Ok(())
        })
        .await
    }

    /// The KeyValues here.
    pub(crate) async fn stores(&self) -> anyhow::Result<Vec<KeyValue>> {
        Ok(self.key_values.list(&ListParams::default()).await?.items)
    }

    /// Waits for the one KeyValue here to be available.
    pub(crate) async fn available(&self) -> anyhow::Result<KeyValue> {
        wait_for(DEADLINE, &format!("an available KeyValue in {}", self.name()), async || {
            let mut held = self.stores().await?;
            anyhow::ensure!(held.len() == 1, "{} of them", held.len());
            let held = held.remove(0);
            let status = held.status.clone().unwrap_or_default();
            anyhow::ensure!(status.status == Some(Availability::Available), "{status:?}");
            Ok(held)
        })
        .await
    }
}

/// Waits until no object here matches.
pub(crate) async fn none<K>(api: &Api<K>, what: &str, matches: impl Fn(&K) -> bool) -> anyhow::Result<()>
where
    K: kube::Resource + Clone + Debug + DeserializeOwned,
{
    wait_for(DEADLINE, &format!("no {what}"), async || {
        let held = api.list(&ListParams::default()).await?;
        let names: Vec<_> = held.iter().filter(|object| matches(object)).map(ResourceExt::name_any).collect();
        anyhow::ensure!(names.is_empty(), "{names:?}");
        Ok(())
    })
    .await
}

fn collector(lab: &Lab, cluster: &Cluster) -> anyhow::Result<Process> {
    let kubeconfig = lab.directory().join(cluster.name()).join("controller-manager.kubeconfig");
    cluster.write_kubeconfig("controller-manager", &kubeconfig)?;
    let path = harness::kubectl_binary()?.with_file_name("kube-controller-manager");
    let name = format!("{}-controller-manager", cluster.name());
    lab.start_process(&Program::new(name, path).arg("--kubeconfig").arg(kubeconfig).args([
        "--controllers=garbage-collector-controller",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--secure-port=0",
    ]))
}
