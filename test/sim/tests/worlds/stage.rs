//! `Stage`: a hub, a consumer and two providers, before anything has been asked for.

use std::sync::Arc;

use broker_api::{crds::crds, keys};
use serde_json::{Value, json};
use sim::{ApiServer, World};
use tokio::task::JoinSet;

use crate::{person::Person, provider};

pub(crate) const HUB: &str = "hub";
pub(crate) const CONSUMER: &str = "homer";
pub(crate) const PROVIDERS: [&str; 2] = ["apollo", "hermes"];
pub(crate) const CERTIFICATES: &str = "/apis/example.platform-mesh.io/v1alpha1/namespaces/shop/certificates";
/// As the journal has it.
pub(crate) const CERTIFICATE: &str = "certificates.example.platform-mesh.io";
/// Namespace of objects that are nobody's business but their owners'.
pub(crate) const PRIVATE: &str = "private";

/// Whose kinds are served.
const GROUPS: [&str; 2] = [keys::GROUP, "example.platform-mesh.io"];

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Servers, and whoever works there.
pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    _others: JoinSet<()>,
}

impl Stage {
    pub(crate) async fn set(seed: u64) -> Self {
        let world = World::new(seed);
        let mut others = JoinSet::new();
        for name in [HUB, CONSUMER].into_iter().chain(PROVIDERS) {
            let server = world.server(name);
            let platform = Person { name: "platform", server: &server };
            let works = server.clone();
            others.spawn(async move { works.run_controllers().await });
            for crd in crds().into_iter().filter(|crd| GROUPS.contains(&&*crd.spec.group)) {
                platform.create(CRDS, &serde_json::to_value(crd).unwrap()).await;
            }
            // The controller of CRDs has its turn.
            tokio::task::yield_now().await;
            server.settle();
            match name {
                HUB => furnish_hub(&platform).await,
                CONSUMER => furnish(&platform, &["shop"]).await,
                _ => {
                    furnish(&platform, &[]).await;
                    accept(&platform).await;
                    let works = server.clone();
                    others.spawn(async move { provider::run(&works).await });
                }
            }
        }
        Self { world, _others: others }
    }

    pub(crate) fn server(&self, name: &str) -> ApiServer {
        self.world.server(name)
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = ApiServer> {
        [HUB, CONSUMER].into_iter().chain(PROVIDERS).map(|name| self.server(name))
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub(crate) fn certificate(namespace: &str) -> Value {
    json!({"apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate",
        "metadata": {"name": "website", "namespace": namespace}, "spec": {"fqdn": "www.shop.example.org"}})
}

async fn furnish_hub(platform: &Person<'_>) {
    for name in ["broker", "clusters"] {
        platform.create("/api/v1/namespaces", &namespace(name)).await;
    }
    for (name, role) in [(CONSUMER, "consumer"), (PROVIDERS[0], "provider"), (PROVIDERS[1], "provider")] {
        let metadata = json!({"name": name, "labels": {keys::ROLE: role}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": {"kubeconfig": World::kubeconfig(name)}});
        platform.create("/api/v1/namespaces/clusters/secrets", &secret).await;
    }
}

/// What is there of others: nobody may touch it.
async fn furnish(platform: &Person<'_>, namespaces: &[&str]) {
    for name in namespaces.iter().chain(&[PRIVATE]) {
        platform.create("/api/v1/namespaces", &namespace(name)).await;
    }
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "website-tls"}, "stringData": {"k": "v"}});
    platform.create(&format!("/api/v1/namespaces/{PRIVATE}/secrets"), &secret).await;
    let mut ignored = certificate(PRIVATE);
    ignored["metadata"]["labels"] = json!({keys::IGNORE: "true"});
    let path = CERTIFICATES.replace("/shop/", &format!("/{PRIVATE}/"));
    platform.create(&path, &ignored).await;
}

async fn accept(platform: &Person<'_>) {
    let gvr = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "resource": "certificates"});
    let accept = json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI",
        "metadata": {"name": "certificates"},
        "spec": {"gvr": gvr, "filters": [{"key": "fqdn", "suffix": ".example.org"}], "expression": "self.spec.fqdn != ''"}});
    platform.create("/apis/broker.platform-mesh.io/v1alpha1/namespaces/default/acceptapis", &accept).await;
}
