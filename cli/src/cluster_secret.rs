//! `ClusterSecret`: a Secret of the coordination cluster that makes a cluster. The credentials in it stay in here.

use broker_api::{ClusterName, Role, graphs::keys as graphs, keys};
use k8s_openapi::{ByteString, api::core::v1::Secret};
use runtime_fleet::{
    kubeconfig::{Kubeconfig, Trust},
    source::secret,
};
use serde_json::Value;

use crate::{
    cluster::{Cluster, Trouble},
    clusters,
    credentials::{self, Ending},
    resource::Resource,
};

/// A Secret that makes a cluster.
#[derive(Debug)]
pub(crate) struct ClusterSecret {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name, which is the cluster's.
    pub(crate) name: String,
    /// Its uid.
    pub(crate) uid: String,
    /// What its label says that the cluster is; may be empty.
    pub(crate) label: String,
    /// What the cluster is; `None`: none.
    pub(crate) role: Option<Role>,
    /// Where it leads, or why it cannot be used.
    pub(crate) kubeconfig: Result<Kubeconfig, String>,
    /// When its credentials end, where they say so.
    pub(crate) ends: Option<Ending>,
}

/// Secrets, as they are asked for.
pub(crate) fn secrets() -> Resource {
    Resource::named("", "v1", "Secret", "secrets")
}

/// All Secrets of clusters in a namespace of the coordination cluster; those of kro's clusters are spokes.
pub(crate) async fn list(hub: &Cluster, namespace: &str) -> Result<Vec<ClusterSecret>, Trouble> {
    let (secrets, of_kro) = (secrets(), format!("{}={}", graphs::KRO_CLUSTER, keys::TRUE));
    let list = |selector| hub.list(&secrets, Some(namespace), Some(selector));
    let (labelled, of_kro) = futures::try_join!(list(keys::ROLE), list(&of_kro))?;
    let labelled = labelled.into_iter().filter_map(|secret| ClusterSecret::read(secret, None));
    let spokes = of_kro.into_iter().filter_map(|secret| ClusterSecret::read(secret, Some(Role::Spoke)));
    // One with both labels that say the same is one cluster.
    Ok(labelled.chain(spokes.filter(|one| one.label != Role::Spoke.as_str())).collect())
}

impl ClusterSecret {
    /// In the role of its label, unless it is to be another. Whoever writes such a Secret says where its token is sent, and
    /// nothing else: no file is read for it, and no program runs.
    pub(crate) fn read(read: Value, role: Option<Role>) -> Option<Self> {
        let read: Secret = serde_json::from_value(read).ok()?;
        let metadata = read.metadata;
        let held = read.data.unwrap_or_default().remove(secret::KEY);
        let text = held.ok_or_else(|| format!("its Secret has no {}", secret::KEY)).and_then(|ByteString(bytes)| {
            String::from_utf8(bytes).map_err(|_| "its kubeconfig is not UTF-8".to_owned())
        });
        let parsed = text.and_then(|text| {
            let kubeconfig = Kubeconfig::parse(&text, &Trust::Secret).map_err(|error| error.to_string())?;
            Ok((kubeconfig, credentials::ending(&text)))
        });
        let (kubeconfig, ends) = match parsed {
            Ok((kubeconfig, ends)) => (Ok(kubeconfig), ends),
            Err(why) => (Err(why), None),
        };
        let label = metadata.labels.and_then(|mut labels| labels.remove(keys::ROLE)).unwrap_or_default();
        let labelled =
            label.parse::<Role>().ok().filter(|role| matches!(role, Role::Consumer | Role::Provider | Role::Spoke));
        Some(Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name?,
            uid: metadata.uid.unwrap_or_default(),
            role: role.or(labelled),
            label,
            kubeconfig,
            ends,
        })
    }

    /// The cluster that it makes.
    pub(crate) fn cluster_name(&self) -> Option<ClusterName> {
        Some(ClusterName::new(self.role?, self.name.as_str()))
    }

    /// The cluster, to be asked. `None`: it makes none.
    pub(crate) async fn cluster(&self) -> Option<Cluster> {
        let name = self.cluster_name()?;
        let client = match &self.kubeconfig {
            Ok(kubeconfig) => clusters::dial(kubeconfig).await,
            Err(why) => Err(why.clone()),
        };
        Some(Cluster::new(name, client))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A Secret of a cluster whose kubeconfig leads to a server.
    pub(crate) fn secret(name: &str, role: &str, server: &str) -> ClusterSecret {
        let kubeconfig = json!({
            "current-context": "c",
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
            "clusters": [{ "name": "c", "cluster": { "server": server } }],
            "users": [{ "name": "u", "user": { "token": "t" } }],
        });
        let data = ByteString(kubeconfig.to_string().into_bytes());
        let read = ClusterSecret::read(
            json!({
                "metadata": { "name": name, "namespace": "clusters", "uid": "1", "labels": { keys::ROLE: role } },
                "data": { "kubeconfig": data },
            }),
            None,
        );
        read.unwrap_or_else(|| panic!("no Secret"))
    }

    #[test]
    fn a_secret_makes_a_cluster_by_its_label() {
        let homer = secret("homer", "consumer", "https://homer.example.org");
        assert_eq!(homer.cluster_name(), Some(ClusterName::consumer("homer")));
        assert_eq!(homer.kubeconfig.as_ref().map(Kubeconfig::server), Ok("https://homer.example.org"));
        for label in ["coordination", "consumers", ""] {
            assert_eq!(secret("homer", label, "https://homer.example.org").role, None, "{label}");
        }
    }

    #[test]
    fn a_cluster_of_kro_s_is_a_spoke_whatever_its_label_says() {
        let secret = json!({ "metadata": { "name": "eu", "labels": { keys::ROLE: "consumer" } } });
        let spoke = ClusterSecret::read(secret, Some(Role::Spoke)).and_then(|secret| secret.cluster_name());
        assert_eq!(spoke, Some(ClusterName::spoke("eu")));
    }

    #[test]
    fn what_cannot_be_used_says_why_and_quotes_nothing() {
        let read = ClusterSecret::read(json!({ "metadata": { "name": "a" } }), None);
        assert!(
            matches!(read, Some(ClusterSecret { kubeconfig: Err(why), .. }) if why == "its Secret has no kubeconfig")
        );
        let local = secret("homer", "consumer", "http://homer.example.org");
        assert!(matches!(local.kubeconfig, Err(why) if why.contains("https")));
    }
}
