//! What an object gets, kind by kind: the decisions of this provider. Pure.

use std::collections::BTreeMap;

use broker_api::{
    BrokeredStatus,
    example::Arch,
    generic::{
        compute::{KubernetesCluster, VirtualMachine},
        databases::Sql,
    },
};
use example_stage::place::Namespaced;
use kube::ResourceExt;
use sha2::{Digest, Sha256};

/// Keys and texts, as a Secret or a ConfigMap holds them.
pub type Data = BTreeMap<String, String>;

/// Kubernetes versions that this provider runs, the newest last.
const KUBERNETES: [&str; 3] = ["1.34", "1.35", "1.36"];
/// Engines of databases: name, port, and the version that is run where nobody asks for one.
const ENGINES: [(&str, u16, &str); 2] = [("postgres", 5432, "18"), ("mysql", 3306, "9.4")];
/// Memory of a machine for which nobody asks, in MiB.
const MEMORY: i64 = 2048;

/// The provider, as it appears in addresses.
#[derive(Debug, Clone)]
pub struct Site {
    /// The domain under which everything is reached, such as `edge.example.com`.
    pub domain: String,
}

/// Which kind of object a product is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vessel {
    /// For credentials.
    Secret,
    /// For what everybody may read.
    ConfigMap,
}

/// The object that belongs to an object, and reaches the consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Its content.
    pub data: Data,
    /// What condition `Ready` says.
    pub message: String,
}

/// What this provider will never serve as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One CamelCase word.
    pub reason: &'static str,
    /// What to ask for instead.
    pub message: String,
}

/// A kind that this provider serves.
pub trait Generic: Namespaced + Send + Sync + 'static {
    /// What its product is.
    const VESSEL: Vessel;
    /// Key of the product in `status.relatedResources`, and the end of its name.
    const RELATED: &'static str;

    /// The status that it has.
    fn status(&self) -> Option<&BrokeredStatus>;

    /// What it gets. `held` is the content of its product so far: what was handed out stays.
    fn make(&self, held: &Data, site: &Site) -> Result<Product, Refusal>;
}

impl Generic for VirtualMachine {
    const VESSEL: Vessel = Vessel::ConfigMap;
    const RELATED: &'static str = "address";

    fn status(&self) -> Option<&BrokeredStatus> {
        self.status.as_ref()
    }

    fn make(&self, _: &Data, site: &Site) -> Result<Product, Refusal> {
        let arch = match self.spec.arch {
            Some(Arch::Arm64) => "arm64",
            Some(Arch::X86_64) | None => "x86_64",
        };
        let memory = self.spec.memory.unwrap_or(MEMORY);
        let digest = digest(self);
        let address = format!("10.{}.{}.{}", digest[0], digest[1], digest[2].clamp(1, 254));
        let host = host(self, site);
        let data = [("hostname", host), ("address", address.clone()), ("arch", arch.to_owned())];
        let message = format!("{arch} with {memory} MiB, at {address}");
        let mut data = to_data(data);
        data.insert("memory".to_owned(), memory.to_string());
        Ok(Product { data, message })
    }
}

impl Generic for KubernetesCluster {
    const VESSEL: Vessel = Vessel::Secret;
    const RELATED: &'static str = "kubeconfig";

    fn status(&self) -> Option<&BrokeredStatus> {
        self.status.as_ref()
    }

    fn make(&self, held: &Data, site: &Site) -> Result<Product, Refusal> {
        let asked = self.spec.version.trim_start_matches('v');
        let minor = asked.split('.').take(2).collect::<Vec<_>>().join(".");
        if !KUBERNETES.contains(&minor.as_str()) {
            let message = format!("version {asked} is not offered; there are {}", KUBERNETES.join(", "));
            return Err(Refusal { reason: "VersionUnknown", message });
        }
        let token = held.get("token").cloned().unwrap_or_else(secret);
        let server = format!("https://{}:6443", host(self, site));
        let kubeconfig = format!(
            "apiVersion: v1
kind: Config
current-context: admin
contexts:
  - name: admin
    context: {{cluster: cluster, user: admin}}
clusters:
  - name: cluster
    cluster:
      server: {server}
users:
  - name: admin
    user:
      token: {token}
"
        );
        let nodes = self.spec.node_count.unwrap_or(1);
        let message = format!("Kubernetes {minor} with {nodes} nodes, at {server}");
        Ok(Product { data: to_data([("kubeconfig", kubeconfig), ("token", token)]), message })
    }
}

impl Generic for Sql {
    const VESSEL: Vessel = Vessel::Secret;
    const RELATED: &'static str = "connection";

    fn status(&self) -> Option<&BrokeredStatus> {
        self.status.as_ref()
    }

    fn make(&self, held: &Data, site: &Site) -> Result<Product, Refusal> {
        let engine = self.spec.engine.as_str();
        let Some((_, port, newest)) = ENGINES.into_iter().find(|(name, ..)| *name == engine) else {
            let known = ENGINES.map(|(name, ..)| name).join(", ");
            let message = format!("engine {engine:?} is not offered; there are {known}");
            return Err(Refusal { reason: "EngineUnknown", message });
        };
        let version = self.spec.version.as_deref().unwrap_or(newest);
        let password = held.get("password").cloned().unwrap_or_else(secret);
        let (host, user) = (host(self, site), "owner");
        let uri = format!("{engine}://{user}:{password}@{host}:{port}/app");
        let message = format!("{engine} {version} at {host}:{port}");
        let mut data = to_data([("host", host), ("username", user.to_owned()), ("password", password), ("uri", uri)]);
        data.insert("port".to_owned(), port.to_string());
        data.insert("database".to_owned(), "app".to_owned());
        Ok(Product { data, message })
    }
}

/// Name of the product of an object.
pub fn product_name<K: Generic>(object: &str) -> String {
    format!("{object}-{}", K::RELATED)
}

/// Two objects of one name, in two namespaces or one after the other, are not at the same address.
fn host<K: Generic>(object: &K, site: &Site) -> String {
    format!("{}.{}", hex::encode(&digest(object)[..4]), site.domain)
}

fn digest<K: Generic>(object: &K) -> [u8; 32] {
    Sha256::digest(object.uid().unwrap_or_default()).into()
}

fn secret() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}

fn to_data<const N: usize>(pairs: [(&str, String); N]) -> Data {
    pairs.into_iter().map(|(key, text)| (key.to_owned(), text)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use broker_api::generic::{
        compute::{KubernetesClusterSpec, VirtualMachineSpec},
        databases::SqlSpec,
    };

    use super::*;

    fn site() -> Site {
        Site { domain: "edge.example.com".into() }
    }

    fn sql(engine: &str) -> Sql {
        let mut sql = Sql::new("orders", SqlSpec { engine: engine.into(), version: None });
        sql.metadata.uid = Some("u1".into());
        sql
    }

    #[test]
    fn a_database_is_reached_with_what_its_secret_says() {
        let made = sql("postgres").make(&Data::new(), &site()).unwrap();
        let get = |key: &str| made.data[key].as_str();
        assert_eq!(get("port"), "5432");
        let uri = format!("postgres://owner:{}@{}:5432/app", get("password"), get("host"));
        assert_eq!(get("uri"), uri);
        assert!(get("host").ends_with(".edge.example.com") && !made.message.contains(get("password")));
    }

    #[test]
    fn what_was_handed_out_stays() {
        let first = sql("mysql").make(&Data::new(), &site()).unwrap();
        assert_eq!(sql("mysql").make(&first.data, &site()).unwrap(), first);
        assert_ne!(sql("mysql").make(&Data::new(), &site()).unwrap().data["password"], first.data["password"]);
        let cluster =
            KubernetesCluster::new("a", KubernetesClusterSpec { version: "v1.36.2".into(), node_count: None });
        let first = cluster.make(&Data::new(), &site()).unwrap();
        assert_eq!(cluster.make(&first.data, &site()).unwrap(), first);
        assert!(first.data["kubeconfig"].contains(&first.data["token"]));
    }

    #[test]
    fn what_is_not_offered_is_refused_with_what_is() {
        let refusal = sql("oracle").make(&Data::new(), &site()).unwrap_err();
        assert!(refusal.reason == "EngineUnknown" && refusal.message.contains("postgres"), "{refusal:?}");
        for version in ["1.33", "2", "1", "1.360"] {
            let spec = KubernetesClusterSpec { version: version.into(), node_count: None };
            let refusal = KubernetesCluster::new("a", spec).make(&Data::new(), &site()).unwrap_err();
            assert!(refusal.reason == "VersionUnknown" && refusal.message.contains("1.36"), "{refusal:?}");
        }
    }

    #[test]
    fn a_machine_gets_what_it_asks_for_or_the_usual() {
        let mut machine = VirtualMachine::new("a", VirtualMachineSpec { arch: None, memory: Some(512) });
        machine.metadata.uid = Some("u1".into());
        let made = machine.make(&Data::new(), &site()).unwrap();
        assert_eq!((made.data["memory"].as_str(), made.data["arch"].as_str()), ("512", "x86_64"));
        assert!(made.data["address"].starts_with("10."));
        machine.spec.memory = None;
        assert_eq!(machine.make(&Data::new(), &site()).unwrap().data["memory"], "2048");
        machine.metadata.uid = Some("u2".into());
        assert_ne!(machine.make(&Data::new(), &site()).unwrap().data["address"], made.data["address"]);
    }
}
