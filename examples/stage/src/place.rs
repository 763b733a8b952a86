//! One cluster, as a person with its kubeconfig sees it.

use std::{fmt::Debug, path::Path};

use anyhow::Context as _;
use broker_api::keys;
use harness::{Cluster, Lab, wait_for};
use k8s_openapi::{NamespaceResourceScope, api::events::v1::Event, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{
    Api, Client, Config, Resource, ResourceExt,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::ApiResource,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    DEADLINE,
    container::{token, with_token, write_private},
};

/// The namespace of everything in the examples' YAML.
pub const NAMESPACE: &str = "default";
/// The user of whom demos make a person.
pub const PERSON: &str = "person";

/// A kind of objects that live in namespaces.
pub trait Namespaced:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}

impl<K> Namespaced for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + Serialize + DeserializeOwned
{
}

/// A cluster, and a person's client for it.
pub struct Place {
    /// The API server.
    pub cluster: Cluster,
    /// The person's client.
    pub client: Client,
}

impl Place {
    /// Also writes `<name>.kubeconfig` for the person into the lab's directory.
    pub(crate) async fn open(lab: &Lab, cluster: Cluster) -> anyhow::Result<Self> {
        cluster.write_kubeconfig(PERSON, &lab.directory().join(format!("{}.kubeconfig", cluster.name())))?;
        Ok(Self { client: cluster.client(PERSON).await?, cluster })
    }

    /// Name of the cluster.
    pub fn name(&self) -> &str {
        self.cluster.name()
    }

    /// Objects of a kind in [`NAMESPACE`].
    pub fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// `kubectl apply`.
    pub async fn apply(&self, yaml: &str) -> anyhow::Result<()> {
        self.cluster.apply(PERSON, yaml).await.map(drop)
    }

    /// Installs this project's CRDs whose full names are wanted; of kinds that are not its own there are none.
    pub async fn install(&self, wanted: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let crds = broker_api::crds().into_iter().filter(|crd| wanted(&crd.name_any()));
        let documents: Vec<_> = crds.map(|crd| serde_json::to_string(&crd)).collect::<Result<_, _>>()?;
        if documents.is_empty() {
            return Ok(());
        }
        Box::pin(self.apply(&documents.join("\n---\n"))).await
    }

    /// `kubectl patch --type merge`; returns what the server stored.
    pub async fn edit<K: Namespaced>(&self, name: &str, patch: Value) -> anyhow::Result<K> {
        let edited = self.api().patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        edited.with_context(|| format!("cannot edit {} {name} in {}", K::kind(&()), self.name()))
    }

    /// `kubectl delete`, without waiting.
    pub async fn delete<K: Namespaced>(&self, name: &str) -> anyhow::Result<()> {
        let deleted = self.api::<K>().delete(name, &DeleteParams::default()).await;
        deleted.map(drop).with_context(|| format!("cannot delete {} {name} in {}", K::kind(&()), self.name()))
    }

    /// The objects of a kind in [`NAMESPACE`].
    pub async fn list<K: Namespaced>(&self) -> anyhow::Result<Vec<K>> {
        Ok(self.api().list(&ListParams::default()).await?.items)
    }

    /// The copies that the broker made here, by their marks.
    pub async fn copies<K: Namespaced>(&self) -> anyhow::Result<Vec<K>> {
        let ours = ListParams::default().labels(&format!("{}={}", keys::MANAGED_BY, keys::MANAGER));
        Ok(self.api().list(&ours).await?.items)
    }

    /// Those of `origin`: expected to be one or none.
    pub async fn copies_of<K: Namespaced>(&self, origin: &str) -> anyhow::Result<Vec<K>> {
        let mut copies = self.copies::<K>().await?;
        copies.retain(|copy| {
            let name = copy.annotations().get(keys::CONSUMER_NAME);
            name.is_some_and(|name| name == origin)
        });
        Ok(copies)
    }

    /// The one copy of `origin`.
    pub async fn copy_of<K: Namespaced>(&self, origin: &str) -> anyhow::Result<K> {
        let mut copies = self.copies_of(origin).await?;
        anyhow::ensure!(copies.len() == 1, "{} copies of {origin} in {}", copies.len(), self.name());
        copies.pop().context("one copy")
    }

    /// The one copy of `origin` in cluster `consumer`: other consumers may have objects of the same name.
    pub async fn copy_from<K: Namespaced>(&self, consumer: &Place, origin: &str) -> anyhow::Result<K> {
        let mut copies = self.copies_of::<K>(origin).await?;
        let from = |copy: &K| copy.annotations().get(keys::CONSUMER_CLUSTER).cloned();
        copies.retain(|copy| from(copy).is_some_and(|from| from == consumer.name()));
        anyhow::ensure!(
            copies.len() == 1,
            "{} copies of {}/{origin} in {}",
            copies.len(),
            consumer.name(),
            self.name()
        );
        copies.pop().context("one copy")
    }

    /// Waits for an Event about an object of [`NAMESPACE`] with this reason, whose message `fits`. Returns the message.
    pub async fn told(&self, name: &str, reason: &str, fits: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        let what = format!("an Event {reason} about {name} in {}", self.name());
        wait_for(DEADLINE, &what, async || {
            let mut told = Vec::new();
            for event in self.list::<Event>().await? {
                let note = event.note.unwrap_or_default();
                let regarding = event.regarding.and_then(|regarding| regarding.name).unwrap_or_default();
                if regarding == name && event.reason.as_deref() == Some(reason) && fits(&note) {
                    return Ok(note);
                }
                told.push(format!("{regarding}: {}: {note}", event.reason.unwrap_or_default()));
            }
            anyhow::bail!("{told:?}")
        })
        .await
    }

    /// A token of a ServiceAccount, for a day.
    pub async fn token_of(&self, namespace: &str, account: &str) -> anyhow::Result<String> {
        let token = token(&Api::namespaced(self.client.clone(), namespace), account).await;
        token.with_context(|| format!("cannot get a token of ServiceAccount {account} in {}", self.name()))
    }

    /// A kubeconfig of a ServiceAccount, with a token for a day.
    pub async fn kubeconfig_of(&self, namespace: &str, account: &str) -> anyhow::Result<String> {
        let token = self.token_of(namespace, account).await?;
        let kubeconfig = Kubeconfig::from_yaml(&self.cluster.kubeconfig(PERSON)?)?;
        Ok(serde_json::to_string(&with_token(&kubeconfig, account, namespace, token))?)
    }

    /// The same in a file that only its owner may read.
    pub async fn write_kubeconfig_of(&self, namespace: &str, account: &str, path: &Path) -> anyhow::Result<()> {
        let kubeconfig = self.kubeconfig_of(namespace, account).await?;
        write_private(path, &kubeconfig).with_context(|| format!("cannot write {}", path.display()))
    }

    /// A client for this cluster with a token from anywhere.
    pub async fn client_with(&self, token: &str) -> anyhow::Result<Client> {
        let kubeconfig = Kubeconfig::from_yaml(&self.cluster.kubeconfig(PERSON)?)?;
        let kubeconfig = with_token(&kubeconfig, "somebody", NAMESPACE, token.to_owned());
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        Ok(Client::try_from(config)?)
    }

    /// The condition of this type, if the object has it.
    pub async fn condition<K: Namespaced>(&self, name: &str, kind: &str) -> anyhow::Result<Option<Condition>> {
        self.condition_in::<K>(NAMESPACE, name, kind).await
    }

    async fn condition_in<K: Namespaced>(
        &self,
        namespace: &str,
        name: &str,
        kind: &str,
    ) -> anyhow::Result<Option<Condition>> {
        let resource = ApiResource::erase::<K>(&());
        let objects = Api::<DynamicObject>::namespaced_with(self.client.clone(), namespace, &resource);
        let mut object = objects.get(name).await?;
        let conditions = object.data["status"]["conditions"].take();
        let conditions = serde_json::from_value::<Option<Vec<Condition>>>(conditions)?.unwrap_or_default();
        Ok(conditions.into_iter().find(|condition| condition.type_ == kind))
    }

    /// Waits until a condition is what `fits` says, and returns it.
    pub async fn until<K: Namespaced>(
        &self,
        name: &str,
        kind: &str,
        fits: impl Fn(&Condition) -> bool,
    ) -> anyhow::Result<Condition> {
        let what = format!("the right condition {kind} on {} {name} in {}", K::kind(&()), self.name());
        wait_for(DEADLINE, &what, async || match self.condition::<K>(name, kind).await? {
            Some(condition) if fits(&condition) => Ok(condition),
            Some(Condition { status, reason, message, .. }) => anyhow::bail!("{status}, {reason}: {message}"),
            None => anyhow::bail!("no such condition"),
        })
        .await
    }

    /// Waits until an object says `Ready=True`.
    pub async fn until_ready<K: Namespaced>(&self, name: &str) -> anyhow::Result<()> {
        self.until::<K>(name, "Ready", |condition| condition.status == "True").await.map(drop)
    }

    /// The same for an object of another namespace.
    pub async fn until_ready_in<K: Namespaced>(&self, namespace: &str, name: &str) -> anyhow::Result<()> {
        let what = format!("Ready=True on {} {namespace}/{name} in {}", K::kind(&()), self.name());
        wait_for(DEADLINE, &what, async || {
            let condition = self.condition_in::<K>(namespace, name, "Ready").await?;
            anyhow::ensure!(condition.as_ref().is_some_and(|found| found.status == "True"), "{condition:?}");
            Ok(())
        })
        .await
    }

    /// Waits until there is no object of this name.
    pub async fn gone<K: Namespaced>(&self, name: &str) -> anyhow::Result<()> {
        let what = format!("{} {name} in {} to be gone", K::kind(&()), self.name());
        wait_for(DEADLINE, &what, async || {
            anyhow::ensure!(self.api::<K>().get_opt(name).await?.is_none(), "it is there");
            Ok(())
        })
        .await
    }

    /// Waits until no object of any namespace matches.
    pub async fn none<K: Namespaced>(&self, what: &str, matches: impl Fn(&K) -> bool) -> anyhow::Result<()> {
        wait_for(DEADLINE, &format!("no {} {what} in {}", K::kind(&()), self.name()), async || {
            let held = Api::<K>::all(self.client.clone()).list(&ListParams::default()).await?;
            let names: Vec<_> = held.iter().filter(|object| matches(object)).map(ResourceExt::name_any).collect();
            anyhow::ensure!(names.is_empty(), "{names:?}");
            Ok(())
        })
        .await
    }
}
