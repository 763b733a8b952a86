//! `Clusters`: the coordination cluster, and all that its Secrets and the command line lead to.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, Role};
use futures::future::join_all;
use kube::config::Kubeconfig as Document;
use runtime_fleet::{
    dial::{Dial as _, Sockets},
    kubeconfig::{Kubeconfig, Trust},
};
use runtime_process::clusters::read;

use crate::{
    access::Access,
    cluster::Cluster,
    cluster_secret::{self, ClusterSecret},
};

/// All clusters.
pub(crate) struct Clusters {
    /// The coordination cluster.
    pub(crate) hub: Cluster,
    others: BTreeMap<ClusterName, Cluster>,
    /// Why the Secrets of clusters are not known, by namespace.
    pub(crate) unknown: Vec<String>,
}

impl Clusters {
    /// Reads kubeconfigs and Secrets; asks no cluster but the coordination cluster.
    pub(crate) async fn connect(access: &Access) -> anyhow::Result<Self> {
        let hub = hub(access).await?;
        let mut others = given(access).await?;
        let namespaces = &access.cluster_secrets_namespace;
        let lists = namespaces.iter().map(|namespace| cluster_secret::list(&hub, namespace));
        let mut unknown = Vec::new();
        for (namespace, list) in namespaces.iter().zip(join_all(lists).await) {
            match list {
                Ok(found) => {
                    let clusters = join_all(found.iter().map(ClusterSecret::cluster)).await;
                    // One that was given goes before its Secret, as for the broker.
                    for cluster in clusters.into_iter().flatten() {
                        others.entry(cluster.name.clone()).or_insert(cluster);
                    }
                }
                Err(why) => {
                    unknown.push(format!("the Secrets of clusters in namespace {namespace} cannot be read: {why}"));
                }
            }
        }
        if others.is_empty() && !unknown.is_empty() {
            bail!(
                "{}\nyour credentials need get and list of secrets there; or name clusters with --consumer-kubeconfig, --provider-kubeconfig and --spoke-kubeconfig",
                unknown.join("\n")
            );
        }
        Ok(Self { hub, others, unknown })
    }

    /// Where stages run.
    pub(crate) fn compute(&self) -> &Cluster {
        self.in_role(Role::Compute).next().unwrap_or(&self.hub)
    }

    /// All but the coordination cluster.
    pub(crate) fn others(&self) -> impl Iterator<Item = &Cluster> {
        self.others.values()
    }

    /// Those in a role.
    pub(crate) fn in_role(&self, role: Role) -> impl Iterator<Item = &Cluster> {
        self.others().filter(move |cluster| cluster.name.role() == role)
    }

    /// A cluster by name and role.
    pub(crate) fn get(&self, name: &ClusterName) -> Option<&Cluster> {
        self.others.get(name)
    }

    /// A provider, as a person writes it.
    pub(crate) fn provider(&self, text: &str) -> anyhow::Result<&Cluster> {
        let name = ClusterName::written(Role::Provider, text);
        let names = || self.in_role(Role::Provider).map(|cluster| cluster.name.name()).collect::<Vec<_>>().join(", ");
        self.get(&name).with_context(|| format!("there is no provider {}; there are: {}", name.name(), names()))
    }
}

/// The coordination cluster.
pub(crate) async fn hub(access: &Access) -> anyhow::Result<Cluster> {
    let client = dial(&hub_kubeconfig(access)?).await;
    Ok(Cluster::new(ClusterName::new(Role::Coordination, "coordination"), client))
}

/// The clusters whose kubeconfigs are given.
pub(crate) async fn given(access: &Access) -> anyhow::Result<BTreeMap<ClusterName, Cluster>> {
    let mut clusters = BTreeMap::new();
    let given = [
        (Role::Consumer, &*access.consumer_kubeconfig),
        (Role::Provider, &access.provider_kubeconfig),
        (Role::Spoke, &access.spoke_kubeconfig),
        (Role::Compute, access.compute_kubeconfig.as_slice()),
    ];
    for (role, files) in given {
        for file in files {
            let cluster = at(role, file).await?;
            clusters.insert(cluster.name.clone(), cluster);
        }
    }
    Ok(clusters)
}

/// The cluster that a kubeconfig leads to, named by the file's stem.
async fn at(role: Role, file: &Path) -> anyhow::Result<Cluster> {
    let (name, kubeconfig) = read(role, file, true).await?;
    Ok(Cluster::new(name, dial(&kubeconfig).await))
}

/// The kubeconfig of the coordination cluster: kubectl's, merged from several files as kubectl does it.
pub(crate) fn hub_kubeconfig(access: &Access) -> anyhow::Result<Kubeconfig> {
    kubeconfig(access.kubeconfig.as_deref(), access.context.as_deref(), "the coordination cluster")
}

/// The kubeconfig of a person: a file, or kubectl's. `whose`: what it leads to, for people.
pub(crate) fn kubeconfig(file: Option<&Path>, context: Option<&str>, whose: &str) -> anyhow::Result<Kubeconfig> {
    let mut document = match file {
        Some(file) => Document::read_from(file).with_context(|| file.display().to_string())?,
        None => Document::read().context("kubectl's kubeconfig cannot be read; name another with --kubeconfig")?,
    };
    if let Some(context) = context {
        document.current_context = Some(context.to_owned());
    }
    // Paths in it are absolute by now.
    let trust = Trust::File { folder: PathBuf::new(), allow_local: true };
    let text = serde_json::to_string(&document).context("kubectl's kubeconfig")?;
    Kubeconfig::parse(&text, &trust).with_context(|| format!("the kubeconfig of {whose} cannot be used"))
}

/// A client for it, or why there is none.
pub(crate) async fn dial(kubeconfig: &Kubeconfig) -> Result<kube::Client, String> {
    let dialed = Sockets.dial(kubeconfig).await?;
    Ok(kube::Client::new(dialed.service, "default"))
}
