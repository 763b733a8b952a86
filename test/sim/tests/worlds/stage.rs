//! `Stage`: a hub, consumers and providers, before anything has been asked for.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use broker_api::{crds::crds, keys};
use serde_json::{Value, json};
use sim::{ApiServer, Deed, Definitions, World};
use tokio::{sync::watch, task::JoinSet};

use crate::{
    mover,
    person::Person,
    plan::Plan,
    provider::{self, Mood},
};

pub(crate) const HUB: &str = "hub";
/// Consumers.
pub(crate) const TENANTS: [&str; 2] = ["homer", "marge"];
pub(crate) const PROVIDERS: [&str; 3] = ["apollo", "hermes", "ariadne"];
/// Where tenants have what they ask for.
pub(crate) const SHOP: &str = "shop";
/// As the journal has it.
pub(crate) const CERTIFICATE: &str = "certificates.example.platform-mesh.io";
/// Namespace of objects that are nobody's business but their owners'.
pub(crate) const PRIVATE: &str = "private";

/// Label of objects, and finalizer, of somebody whom neither broker nor controller knows: nobody but their owner may touch them.
pub(crate) const FOREIGN: &str = "sim.io/foreign";

/// Whose kinds are served.
const GROUPS: [&str; 2] = [keys::GROUP, "example.platform-mesh.io"];

pub(crate) const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";
pub(crate) const MIGRATIONS: &str = "migrations.broker.platform-mesh.io";
pub(crate) const ACCEPT: &str = "/apis/broker.platform-mesh.io/v1alpha1/namespaces/default/acceptapis";
pub(crate) const CONFIGURATIONS: &str =
    "/apis/broker.platform-mesh.io/v1alpha1/namespaces/broker/migrationconfigurations";
pub(crate) const CLUSTERS: &str = "/api/v1/namespaces/clusters/secrets";

pub(crate) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

pub(crate) static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let ours = crds().into_iter().filter(|crd| GROUPS.contains(&&*crd.spec.group));
    Definitions::of(&ours.map(|crd| serde_json::to_value(crd).unwrap()).collect::<Vec<_>>())
});

/// The path of the Certificates of a namespace.
pub(crate) fn certificates(namespace: &str) -> String {
    format!("/apis/example.platform-mesh.io/v1alpha1/namespaces/{namespace}/certificates")
}

/// Servers, and whoever works there.
pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    pub(crate) tenants: &'static [&'static str],
    pub(crate) providers: &'static [&'static str],
    pub(crate) moods: BTreeMap<&'static str, watch::Sender<Mood>>,
    others: JoinSet<()>,
}

impl Stage {
    /// Whether a cluster was taken out at any time.
    pub(crate) fn has_left(&self, cluster: &str) -> bool {
        let leave = Deed::Told(format!("Leave({cluster:?})"));
        self.world.journal().count(|entry| entry.deed == leave) > 0
    }

    /// The CRD of Certificates, as providers are to have it by now.
    pub(crate) fn certificate_crd(&self) -> Value {
        let mut crd = first_crd(CERTIFICATE);
        let grown = Deed::Told("Extend".to_owned());
        if self.world.journal().count(|entry| entry.deed == grown) > 0 {
            let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
            crd.pointer_mut(spec).unwrap()["note"] = json!({"type": "string", "default": "none"});
        }
        crd
    }

    pub(crate) async fn set(plan: &Plan) -> Self {
        let mut stage = Self {
            world: World::new(plan.seed),
            tenants: &TENANTS[..plan.tenants],
            providers: &PROVIDERS[..plan.providers],
            moods: BTreeMap::new(),
            others: JoinSet::new(),
        };
        for name in stage.names() {
            let server = stage.world.server_with(name, &DEFINITIONS);
            let platform = Person { name: "platform", server: &server };
            let works = server.clone();
            stage.others.spawn(async move { works.run_controllers().await });
            if name == HUB {
                stage.furnish_hub(&platform).await;
                stage.others.spawn(mover::run(server.clone()));
            } else if stage.tenants.contains(&name) {
                furnish(&platform, &[SHOP]).await;
            } else {
                furnish(&platform, &[]).await;
                platform.create(ACCEPT, &acceptance()).await;
                let mood = watch::Sender::new(Mood::Prompt);
                stage.others.spawn(provider::run(server.clone(), mood.subscribe()));
                stage.moods.insert(name, mood);
            }
        }
        stage
    }

    fn names(&self) -> Vec<&'static str> {
        [HUB].iter().chain(self.tenants).chain(self.providers).copied().collect()
    }

    pub(crate) fn server(&self, name: &str) -> ApiServer {
        self.world.server(name)
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = ApiServer> {
        self.names().into_iter().map(|name| self.server(name))
    }

    async fn furnish_hub(&self, platform: &Person<'_>) {
        for name in ["broker", "clusters", SHOP] {
            platform.create("/api/v1/namespaces", &namespace(name)).await;
        }
        for name in self.tenants.iter().chain(self.providers) {
            platform.create(CLUSTERS, &cluster_secret(name)).await;
        }
    }
}

/// A CRD as everybody has it first. They are made once: it took half of a world's time.
pub(crate) fn first_crd(name: &str) -> Value {
    static ALL: LazyLock<Vec<Value>> =
        LazyLock::new(|| crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap()).collect());
    ALL.iter().find(|crd| crd["metadata"]["name"] == name).unwrap().clone()
}

/// The Secret that makes a cluster known.
pub(crate) fn cluster_secret(name: &str) -> Value {
    let role = if TENANTS.contains(&name) { "consumer" } else { "provider" };
    let metadata = json!({"name": name, "labels": {keys::ROLE: role}, "annotations": {keys::ALLOW_REBALANCE: "true"}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
        "stringData": {"kubeconfig": World::kubeconfig(name)}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A Certificate.
pub(crate) fn certificate(namespace: &str, name: &str, fqdn: &str) -> Value {
    json!({"apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"fqdn": fqdn}})
}

/// What is there of others: nobody may touch it.
async fn furnish(platform: &Person<'_>, namespaces: &[&str]) {
    for name in namespaces.iter().chain(&[PRIVATE]) {
        platform.create("/api/v1/namespaces", &namespace(name)).await;
    }
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "website-tls"}, "stringData": {"k": "v"}});
    platform.create(&format!("/api/v1/namespaces/{PRIVATE}/secrets"), &secret).await;
    let mut ignored = certificate(PRIVATE, "website", "www.shop.example.org");
    ignored["metadata"]["labels"] = json!({keys::IGNORE: "true"});
    platform.create(&certificates(PRIVATE), &ignored).await;
}

/// The AcceptAPI of a provider that takes what comes.
pub(crate) fn acceptance() -> Value {
    let gvr = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "resource": "certificates"});
    json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI", "metadata": {"name": "certificates"},
        "spec": {"gvr": gvr, "filters": [{"key": "fqdn", "suffix": ".example.org"}], "expression": "self.spec.fqdn != ''"}})
}

/// What is done when an object moves: two stages, of which the first takes the consumer along.
pub(crate) fn configuration() -> Value {
    let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"of": "${migration.metadata.name}"}});
    let stage = |name: &str, progress: bool| {
        json!({"name": name, "templates": {name: map}, "progress": progress,
            "successConditions": [format!("has({name}.data.done)")]})
    };
    json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "MigrationConfiguration",
        "metadata": {"name": "certificates"},
        "spec": {"from": gvk, "to": gvk, "stages": [stage("copy", true), stage("clean", false)]}})
}
