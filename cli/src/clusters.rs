//! `Clusters`: the coordination cluster, and all that its Secrets and the command line lead to.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context as _, bail};
use broker_api::{ClusterName, Role, graphs::keys as graphs, keys};
use futures::future::join_all;
use k8s_openapi::{ByteString, api::core::v1::Secret};
use kube::config::Kubeconfig as Document;
use runtime_fleet::{
    dial::{Dial as _, Sockets},
    kubeconfig::{Kubeconfig, Trust},
    source::secret,
};
use runtime_process::clusters::read;

use crate::{
    arguments::Access,
    cluster::{Cluster, Trouble},
    resource::Resource,
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
        let hub = dial(&hub_kubeconfig(access)?).await;
        let hub = Cluster::new(ClusterName::new(Role::Coordination, "coordination"), hub);
        let mut others = BTreeMap::new();
        let given = [(Role::Consumer, &access.consumer_kubeconfig), (Role::Provider, &access.provider_kubeconfig)];
        for (role, files) in given {
            for file in files {
                let (name, kubeconfig) = read(role, file, true).await?;
                let cluster = Cluster::new(name.clone(), dial(&kubeconfig).await);
                others.insert(name, cluster);
            }
        }
        let secrets = Resource::named("", "v1", "Secret", "secrets");
        let roles = format!("{} in (consumer,provider,spoke)", keys::ROLE);
        let spokes = format!("{}={}", graphs::KRO_CLUSTER, keys::TRUE);
        let namespaces = &access.cluster_secrets_namespace;
        let lists = namespaces.iter().map(|namespace| async {
            let list = |selector| hub.list(&secrets, Some(namespace), Some(selector));
            let (by_role, spokes) = futures::try_join!(list(&roles), list(&spokes))?;
            let spokes = spokes.into_iter().map(|secret| (secret, Some(Role::Spoke)));
            Ok::<_, Trouble>(by_role.into_iter().map(|secret| (secret, None)).chain(spokes).collect::<Vec<_>>())
        });
        let mut unknown = Vec::new();
        for (namespace, list) in namespaces.iter().zip(join_all(lists).await) {
            match list {
                Ok(found) => {
                    let found = found.into_iter().filter_map(|(secret, role)| from_secret(secret, role));
                    others.extend(join_all(found).await);
                }
                Err(why) => unknown.push(format!("the Secrets of clusters in namespace {namespace} cannot be read: {why}")),
            }
        }
        if others.is_empty() && !unknown.is_empty() {
            bail!(
                "{}\nyour credentials need get and list of secrets there; or name clusters with --consumer-kubeconfig and --provider-kubeconfig",
                unknown.join("\n")
            );
        }
        Ok(Self { hub, others, unknown })
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

/// The kubeconfig of the coordination cluster: kubectl's, merged from several files as kubectl does it.
pub(crate) fn hub_kubeconfig(access: &Access) -> anyhow::Result<Kubeconfig> {
    let mut document = match &access.kubeconfig {
        Some(file) => Document::read_from(file).with_context(|| file.display().to_string())?,
        None => Document::read().context("kubectl's kubeconfig cannot be read; name another with --kubeconfig")?,
    };
    if let Some(context) = &access.context {
        document.current_context = Some(context.clone());
    }
    // Paths in it are absolute by now.
    let trust = Trust::File { folder: PathBuf::new(), allow_local: true };
    let text = serde_json::to_string(&document).context("kubectl's kubeconfig")?;
    Kubeconfig::parse(&text, &trust).context("the coordination cluster's kubeconfig cannot be used")
}

async fn dial(kubeconfig: &Kubeconfig) -> Result<kube::Client, String> {
    let dialed = Sockets.dial(kubeconfig).await?;
    Ok(kube::Client::new(dialed.service, "default"))
}

/// The cluster of a Secret: in the role of its label, unless it is to be another. Whoever writes such a Secret says where its
/// token is sent, and nothing else: no file is read for it, and no program runs.
fn from_secret(read: serde_json::Value, role: Option<Role>) -> Option<impl Future<Output = (ClusterName, Cluster)>> {
    let secret: Secret = serde_json::from_value(read).ok()?;
    let labelled = || secret.metadata.labels.as_ref()?.get(keys::ROLE)?.parse().ok();
    let role = role.or_else(labelled)?;
    let name = ClusterName::new(role, secret.metadata.name?);
    let held = secret.data.unwrap_or_default().remove(secret::KEY);
    Some(async move {
        let parsed = held.ok_or_else(|| format!("its Secret has no {}", secret::KEY)).and_then(|ByteString(bytes)| {
            let text = String::from_utf8(bytes).map_err(|_| "its kubeconfig is not UTF-8".to_owned())?;
            Kubeconfig::parse(&text, &Trust::Secret).map_err(|error| error.to_string())
        });
        let client = match parsed {
            Ok(kubeconfig) => dial(&kubeconfig).await,
            Err(why) => Err(why),
        };
        (name.clone(), Cluster::new(name, client))
    })
}
