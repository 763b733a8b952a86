//! One cluster, as a person with its kubeconfig sees it.

use std::fmt::Debug;

use anyhow::Context as _;
use broker_api::{AcceptApi, example::Certificate, keys};
use certs_example::{
    proof::{Proof, prove},
    secret::{CA_CERTIFICATE, CERTIFICATE, KEY},
};
use harness::{Cluster, wait_for};
use k8s_openapi::{api::core::v1::Secret, jiff::Timestamp};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::DEADLINE;

/// The namespace of everything in the demo that the examples' YAML names.
pub(crate) const NAMESPACE: &str = "default";
/// The user of whom the demo makes a person.
pub(crate) const PERSON: &str = "person";

/// A cluster and what the demo looks at in it.
pub(crate) struct Place {
    pub(crate) cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) certificates: Api<Certificate>,
    pub(crate) secrets: Api<Secret>,
    pub(crate) accept_apis: Api<AcceptApi>,
}

impl Place {
    pub(crate) async fn new(cluster: Cluster) -> anyhow::Result<Self> {
        let client = cluster.client(PERSON).await?;
        Ok(Self {
            certificates: Api::namespaced(client.clone(), NAMESPACE),
            secrets: Api::namespaced(client.clone(), NAMESPACE),
            accept_apis: Api::namespaced(client.clone(), NAMESPACE),
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

    /// `kubectl patch --type merge`; returns what the server stored.
    pub(crate) async fn edit(&self, name: &str, patch: Value) -> anyhow::Result<Certificate> {
        let params = PatchParams::default();
        let edited = self.certificates.patch(name, &params, &Patch::Merge(patch)).await;
        edited.with_context(|| format!("cannot edit Certificate {name} in {}", self.name()))
    }

    /// `kubectl delete certificate`.
    pub(crate) async fn delete(&self, name: &str) -> anyhow::Result<()> {
        let deleted = self.certificates.delete(name, &DeleteParams::default()).await;
        deleted.map(drop).with_context(|| format!("cannot delete Certificate {name} in {}", self.name()))
    }

    /// The copies of `origin` that the broker made here, by their marks: expected to be one or none.
    pub(crate) async fn copies_of(&self, origin: &str) -> anyhow::Result<Vec<Certificate>> {
        let ours = ListParams::default().labels(&format!("{}={}", keys::MANAGED_BY, keys::MANAGER));
        let mut copies = self.certificates.list(&ours).await?.items;
        copies.retain(|copy| {
            let name = copy.annotations().get(keys::CONSUMER_NAME);
            name.is_some_and(|name| name == origin)
        });
        Ok(copies)
    }

    /// The one copy of `origin`.
    pub(crate) async fn copy_of(&self, origin: &str) -> anyhow::Result<Certificate> {
        let mut copies = self.copies_of(origin).await?;
        anyhow::ensure!(copies.len() == 1, "{} copies of {origin} in {}", copies.len(), self.name());
        copies.pop().context("one copy")
    }

    /// Checks the certificate in Secret `name` as a web server would, and that it is for `fqdn`. Also returns `ca.crt`.
    pub(crate) async fn proof(&self, name: &str, fqdn: &str) -> anyhow::Result<(Proof, String)> {
        let (proof, authority) = Self::prove(&self.secrets.get(name).await?)?;
        anyhow::ensure!(proof.names == [fqdn], "a certificate for {:?}", proof.names);
        Ok((proof, authority))
    }

    /// Checks that the certificate in a Secret has its key with it, and that the authority that `ca.crt` names signed it.
    pub(crate) fn prove(secret: &Secret) -> anyhow::Result<(Proof, String)> {
        let data = secret.data.as_ref();
        let text = |key| data.and_then(|data| data.get(key)).map_or(&[][..], |value| &value.0);
        let authority = text(CA_CERTIFICATE);
        let proof = prove(text(CERTIFICATE), text(KEY), authority, Timestamp::now())?;
        Ok((proof, String::from_utf8_lossy(authority).into_owned()))
    }
}

/// Waits until there is no object of this name.
pub(crate) async fn gone<K>(api: &Api<K>, what: &str, name: &str) -> anyhow::Result<()>
where
    K: Clone + Debug + DeserializeOwned,
{
    wait_for(DEADLINE, &format!("{what} to be gone"), async || {
        anyhow::ensure!(api.get_opt(name).await?.is_none(), "it is there");
        Ok(())
    })
    .await
}

/// The condition of this type as `status reason: message`.
pub(crate) fn condition(certificate: &Certificate, kind: &str) -> Option<(String, String)> {
    let conditions = &certificate.status.as_ref()?.conditions;
    let found = conditions.iter().find(|condition| condition.type_ == kind)?;
    Some((found.status.clone(), format!("{}: {}", found.reason, found.message)))
}
