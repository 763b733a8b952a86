//! `Stage`: a hub and clusters that may be its spokes, before anybody has defined anything.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use broker_api::graphs::{crds::crds, keys};
use serde_json::{Value, json};
use sim::{ApiServer, Definitions, World};
use tokio::{task::JoinSet, time::sleep};

use super::rgds::{self, WIDGETS};
use crate::{person::Person, stage::FOREIGN};

pub(crate) const HUB: &str = "hub";
/// Another hub, with the same spokes.
pub(crate) const RIVAL: &str = "rival";
pub(crate) const SPOKES: [&str; 3] = ["lima", "paris", "tokyo"];

/// Namespace of objects that are nobody's business but their owners'.
pub(crate) const PRIVATE: &str = "private";

/// Who furnishes a stage.
pub(crate) const PLATFORM: &str = "platform";

/// How long whoever makes Widgets ready takes for it.
const TAKES: Duration = Duration::from_secs(2);

/// Spokes have these kinds, too: only then something of them could get there.
pub(crate) static DEFINITIONS: LazyLock<Definitions> = LazyLock::new(|| {
    let ours = crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
    Definitions::of(&ours.chain([rgds::widget_crd()]).collect::<Vec<_>>())
});

/// Servers, and whoever works there.
pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    /// All of them.
    names: Vec<&'static str>,
    _others: JoinSet<()>,
}

impl Stage {
    pub(crate) async fn set(seed: u64, hubs: &[&'static str], spokes: &[&'static str]) -> Self {
        let world = World::new(seed);
        let mut others = JoinSet::new();
        let names: Vec<&str> = hubs.iter().chain(spokes).copied().collect();
        for name in names.iter().copied() {
            let server = world.server_with(name, &DEFINITIONS);
            let platform = Person { name: PLATFORM, server: &server };
            let works = server.clone();
            others.spawn(async move { works.run_controllers().await });
            let works = server.clone();
            others.spawn(async move { realise_all(&works).await });
            furnish(&platform).await;
            if hubs.contains(&name) {
                furnish_hub(&platform).await;
            }
        }
        Self { world, names, _others: others }
    }

    pub(crate) fn server(&self, name: &str) -> ApiServer {
        self.world.server(name)
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = ApiServer> {
        self.names.iter().map(|name| self.server(name))
    }
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// The Secret that makes a server a spoke: paris is of tier `canary`, all others of tier `prod`.
pub(crate) fn membership(spoke: &str) -> Value {
    let tier = if spoke == "paris" { "canary" } else { "prod" };
    let labels = json!({keys::KRO_CLUSTER: "true", "tier": tier, "city": spoke});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": spoke, "labels": labels},
        "stringData": {"kubeconfig": World::kubeconfig(spoke)}})
}

async fn furnish_hub(platform: &Person<'_>) {
    for name in ["graphs", "clusters"] {
        platform.create("/api/v1/namespaces", &namespace(name)).await;
    }
    for spoke in SPOKES {
        platform.create("/api/v1/namespaces/clusters/secrets", &membership(spoke)).await;
    }
}

async fn furnish(platform: &Person<'_>) {
    for name in ["shop", "annex", PRIVATE] {
        platform.create("/api/v1/namespaces", &namespace(name)).await;
    }
    // What a child of an instance there would be called.
    for (plural, kind) in [("configmaps", "ConfigMap"), ("secrets", "Secret")] {
        let metadata = json!({"name": "site-config", "labels": {FOREIGN: "true"}});
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
        platform.create(&format!("/api/v1/namespaces/{PRIVATE}/{plural}"), &object).await;
    }
}

/// Makes Widgets ready until it is dropped.
async fn realise_all(server: &ApiServer) {
    let mut changes = server.changes_of(WIDGETS);
    loop {
        for ((namespace, name), object) in server.objects(WIDGETS) {
            if object["status"]["state"] != "Ready" && object["metadata"]["deletionTimestamp"].is_null() {
                realise(server, &namespace, &name).await;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn realise(server: &ApiServer, namespace: &str, name: &str) {
    let path = format!("/apis/parts.sim.io/v1/namespaces/{namespace}/widgets/{name}/status");
    let address = format!("10.0.0.{}", name.len());
    // It has its address before it is ready.
    for state in ["Starting", "Ready"] {
        sleep(TAKES / 2).await;
        // It may have gone meanwhile.
        let status = json!({"status": {"state": state, "address": address}});
        Person { name: "factory", server }.ask("PATCH", &path, &status).await;
    }
}
