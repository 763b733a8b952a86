//! `Identity`: what tells one API server from another.

use runtime_fleet::kubeconfig::Kubeconfig;

use crate::{
    cluster::{Cluster, Place, Trouble},
    resource::Resource,
};

/// Which API server it is, as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// uid of `kube-system`; `None`: it may not be read, or the server does not answer.
    pub(crate) uid: Option<String>,
    /// Its address in one spelling; `None`: not known.
    pub(crate) server: Option<String>,
}

impl Identity {
    /// Of a cluster, by its own answer and by the kubeconfig that leads there.
    pub(crate) fn of(uid: Result<Option<String>, Trouble>, kubeconfig: Option<&Kubeconfig>) -> Self {
        Self { uid: uid.ok().flatten(), server: kubeconfig.map(|kubeconfig| kubeconfig.endpoint().server) }
    }

    /// Whether both are one API server: by their own words where both say so, else by their address.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.uid, &other.uid) {
            (Some(one), Some(two)) => one == two,
            _ => self.server.is_some() && self.server == other.server,
        }
    }
}

/// What an API server says that it is.
pub(crate) async fn uid(cluster: &Cluster) -> Result<Option<String>, Trouble> {
    let namespaces = Resource::named("", "v1", "Namespace", "namespaces").cluster_wide();
    let found = cluster.get(&namespaces, Place { namespace: "", name: "kube-system" }).await?;
    Ok(found.and_then(|found| Some(found["metadata"]["uid"].as_str()?.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uid: Option<&str>, server: Option<&str>) -> Identity {
        Identity { uid: uid.map(str::to_owned), server: server.map(str::to_owned) }
    }

    #[test]
    fn what_servers_say_goes_before_where_they_are() {
        let here = identity(Some("1"), Some("a:443/"));
        assert!(here.is(&identity(Some("1"), Some("b:443/"))), "two addresses of one");
        assert!(!here.is(&identity(Some("2"), Some("a:443/"))), "another behind the same address");
        assert!(here.is(&identity(None, Some("a:443/"))));
        assert!(!here.is(&identity(None, None)) && !identity(None, None).is(&identity(None, None)));
    }
}
