//! Secrets of the coordination cluster that hold a kubeconfig → [`SourceEvent`]s. Pure: somebody else watches.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use k8s_openapi::api::core::v1::Secret;

use super::{Beside, Provenance, SourceEvent};
use crate::{
    conventions::Conventions,
    hashed::HashMap,
    kubeconfig::{Fingerprint, Kubeconfig, Trust},
};

/// Key in the Secret's data that holds the kubeconfig.
pub const KEY: &str = "kubeconfig";

/// What was last reported of each Secret. Fed by a watch of [`Conventions::secrets`]; repeats are cheap and silent.
#[derive(Debug)]
pub struct SecretSource {
    conventions: &'static Conventions,
    /// Key in the Secret's data that holds the kubeconfig.
    key: String,
    /// A label that gives a role too, where it is `true`.
    also: Option<(String, Role)>,
    secrets: HashMap<(String, String), Reported>,
    /// Secrets of a role that their namespace does not give.
    refused: HashMap<(String, String), Role>,
}

#[derive(Debug)]
struct Reported {
    name: ClusterName,
    fingerprint: Option<Fingerprint>,
    rejection: Option<String>,
    beside: Arc<Beside>,
}

impl SecretSource {
    /// Nothing reported yet.
    pub fn new(conventions: &'static Conventions) -> Self {
        Self { conventions, key: KEY.to_owned(), also: None, secrets: HashMap::default(), refused: HashMap::default() }
    }

    /// Kubeconfigs are under this key.
    #[must_use]
    pub fn under(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// A Secret with this label, and the value `true`, is that of a cluster in this role, whatever else it is.
    #[must_use]
    pub fn also(mut self, label: &str, role: Role) -> Self {
        self.also = Some((label.to_owned(), role));
        self
    }

    /// What a Secret that was added or changed means. Its role label decides the role, as far as its namespace gives it;
    /// its name is the cluster's. Of a Secret that loses its role label, or whose label gives no role, the cluster is
    /// removed.
    pub fn apply(&mut self, secret: &Secret, roles: &[Role]) -> Vec<SourceEvent> {
        let namespace = secret.metadata.namespace.clone().unwrap_or_default();
        let name = secret.metadata.name.clone().unwrap_or_default();
        let Some(role) = self.role_of(secret) else {
            return self.remove(&namespace, &name);
        };
        if !roles.contains(&role) {
            return self.refuse(namespace, name, role);
        }
        let cluster = ClusterName::new(role, name.as_str());
        let from = Provenance::Secret { namespace: namespace.clone(), name: name.clone() };
        let key = (namespace, name);

        // Another role is another cluster.
        let mut events = match self.secrets.get(&key) {
            Some(old) if old.name != cluster => self.remove(&key.0, &key.1),
            _ => self.pardon(&key).into_iter().collect(),
        };
        let new = || Reported { name: cluster.clone(), fingerprint: None, rejection: None, beside: Arc::default() };
        let reported = self.secrets.entry(key).or_insert_with(new);
        match kubeconfig_of(secret, &self.key) {
            Ok(kubeconfig) => {
                let fingerprint = Some(kubeconfig.fingerprint());
                let beside = beside(secret, self.conventions.prefix);
                let news = *reported.beside != beside;
                if reported.rejection.take().is_some() || news || reported.fingerprint != fingerprint {
                    reported.fingerprint = fingerprint;
                    reported.beside = Arc::new(beside);
                    let (kubeconfig, beside) = (Arc::new(kubeconfig), Arc::clone(&reported.beside));
                    events.push(SourceEvent::Upsert { name: cluster, kubeconfig, from, beside });
                }
            }
            Err(reason) => {
                if reported.rejection.as_ref() != Some(&reason) {
                    reported.rejection = Some(reason.clone());
                    events.push(SourceEvent::Rejected { name: cluster, from, reason });
                }
            }
        }
        events
    }

    /// What it means that a Secret is gone, or no longer selected.
    pub fn remove(&mut self, namespace: &str, name: &str) -> Vec<SourceEvent> {
        let key = (namespace.to_owned(), name.to_owned());
        let from = Provenance::Secret { namespace: key.0.clone(), name: key.1.clone() };
        let removed = self.secrets.remove(&key).map(|old| SourceEvent::Removed { name: old.name, from });
        removed.into_iter().chain(self.pardon(&key)).collect()
    }

    fn role_of(&self, secret: &Secret) -> Option<Role> {
        let labels = secret.metadata.labels.as_ref()?;
        if let Some((label, role)) = &self.also
            && labels.get(label).is_some_and(|value| value == "true")
        {
            return Some(*role);
        }
        let role = labels.get(self.conventions.role)?.parse().ok()?;
        self.conventions.roles.contains(&role).then_some(role)
    }

    /// Its namespace does not give this role. The cluster that it was in another one is removed.
    fn refuse(&mut self, namespace: String, name: String, role: Role) -> Vec<SourceEvent> {
        let key = (namespace, name);
        if self.refused.get(&key) == Some(&role) {
            return Vec::new();
        }
        let mut events = self.remove(&key.0, &key.1);
        let (namespace, name) = key.clone();
        let reason = format!(
            "its label says {role}, but Secrets of namespace {namespace} make none; correct the label, or move the Secret"
        );
        self.refused.insert(key, role);
        events.push(SourceEvent::Refused { from: Provenance::Secret { namespace, name }, reason: Some(reason) });
        events
    }

    /// What was refused is no more, or is right now.
    fn pardon(&mut self, key: &(String, String)) -> Option<SourceEvent> {
        self.refused.remove(key)?;
        let (namespace, name) = key.clone();
        Some(SourceEvent::Refused { from: Provenance::Secret { namespace, name }, reason: None })
    }
}

fn beside(secret: &Secret, prefix: &str) -> Beside {
    let annotations = secret.metadata.annotations.iter().flatten();
    let ours = annotations.filter(|(key, _)| key.starts_with(prefix));
    Beside::Secret {
        labels: secret.metadata.labels.clone().unwrap_or_default(),
        annotations: ours.map(|(key, value)| (key.clone(), value.clone())).collect(),
    }
}

/// The error is what the Secret's owner reads.
fn kubeconfig_of(secret: &Secret, key: &str) -> Result<Kubeconfig, String> {
    let Some(content) = secret.data.as_ref().and_then(|data| data.get(key)) else {
        return Err(format!("the Secret has no key {key:?}: put the kubeconfig there"));
    };
    let text = std::str::from_utf8(&content.0).map_err(|_| format!("the value of key {key:?} is not UTF-8 text"))?;
    Kubeconfig::parse(text, &Trust::Secret).map_err(|error| error.to_string())
}
