//! `Ground`: a hub, consumers with objects, providers, and a broker above them.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role, crds::crds, keys};
use clap::Parser as _;
use http_body_util::BodyExt as _;
use kube::client::Body;
use resource_broker::{
    app::{self, Own, Running},
    options::Options,
};
use runtime_cel::expression::{Evaluator, Limits};
use runtime_engine::decisions::Decisions;
use runtime_fleet::{
    dial::Dial,
    kubeconfig::{Kubeconfig, Trust},
    wall,
};
use serde_json::{Value, json};
use sim::{ApiServer, Definitions, World};
use tower::ServiceExt as _;

const HUB: &str = "hub";
/// Objects of one consumer.
const EACH: usize = 20;
const PROVIDERS: usize = 4;
/// Where consumers have them.
const SHOP: &str = "shop";
/// As the model has them.
const CERTIFICATES: &str = "certificates.example.platform-mesh.io";
/// Whose kinds are served.
const GROUPS: [&str; 2] = [keys::GROUP, "example.platform-mesh.io"];

/// All is quiet when nothing was written for so long: longer than anybody waits before trying again.
const QUIET: Duration = Duration::from_mins(11);
/// It has to become quiet within this.
const PATIENCE: Duration = Duration::from_hours(3);

/// See the module.
pub(crate) struct Ground {
    world: Arc<World>,
    hub: ApiServer,
    consumers: Vec<ApiServer>,
    providers: Vec<ApiServer>,
    objects: usize,
}

impl Ground {
    /// API servers, with so many objects in consumers.
    pub(crate) async fn prepare(objects: usize) -> Self {
        let own = crds().into_iter().filter(|crd| GROUPS.contains(&&*crd.spec.group));
        let definitions = Definitions::of(&own.map(|crd| serde_json::to_value(crd).unwrap()).collect::<Vec<_>>());
        let world = World::new(1);
        let make = |name: String| world.server_with(&name, &definitions);
        let hub = make(HUB.to_owned());
        let consumers: Vec<ApiServer> =
            (0..objects.div_ceil(EACH)).map(|number| make(format!("tenant-{number:03}"))).collect();
        let providers: Vec<ApiServer> = (0..PROVIDERS).map(|number| make(format!("provider-{number}"))).collect();
        for name in ["broker", "clusters"] {
            create(&hub, "/api/v1/namespaces", &namespace(name)).await;
        }
        for (role, servers) in [("consumer", &consumers), ("provider", &providers)] {
            for server in servers {
                let secret = cluster_secret(server.name(), role);
                create(&hub, "/api/v1/namespaces/clusters/secrets", &secret).await;
            }
        }
        for provider in &providers {
            let path = "/apis/broker.platform-mesh.io/v1alpha1/namespaces/default/acceptapis";
            create(provider, path, &acceptance()).await;
        }
        for consumer in &consumers {
            create(consumer, "/api/v1/namespaces", &namespace(SHOP)).await;
        }
        for number in 0..objects {
            let object = certificate(&format!("certificate-{number:05}"));
            create(&consumers[number % consumers.len()], &collection(SHOP), &object).await;
        }
        Self { world, hub, consumers, providers, objects }
    }

    /// Starts the broker as the binary starts it.
    pub(crate) async fn start(&self) -> Running {
        wall::set(self.world.clock().wall());
        let options = Options::try_parse_from([
            "resource-broker",
            "--namespace=broker",
            "--cluster-secrets-namespace=clusters",
            "--watch-kind=Certificate.v1alpha1.example.platform-mesh.io",
            "--health-probe-bind-address=0",
            // Else it is a share of what this machine has.
            "--memory-budget=1Gi",
        ]);
        let kubeconfig = Kubeconfig::parse(&World::kubeconfig(HUB), &Trust::Secret).unwrap();
        let own = Own { hub: (ClusterName::new(Role::Coordination, HUB), kubeconfig), compute: None };
        // Whether an expression ends must not depend on how busy this machine is.
        let evaluator = Evaluator::inline(Limits::default());
        let dial = Arc::clone(&self.world) as Arc<dyn Dial>;
        app::start(options.unwrap(), own, Decisions::inline(|| ()), evaluator, dial).await.unwrap()
    }

    /// Waits until all objects have copies, has the providers serve them, and waits until all consumers know.
    pub(crate) async fn serve(&self) {
        self.world.quiet(QUIET, PATIENCE).await.unwrap();
        for provider in &self.providers {
            for ((namespace, name), _) in provider.objects(CERTIFICATES) {
                let path = format!("{}/{name}/status", collection(&namespace));
                let (code, told) = ask(provider, "PATCH", &path, &json!({"status": {"status": "Available"}})).await;
                assert_eq!(code, 200, "{told}");
            }
        }
        self.world.quiet(QUIET, PATIENCE).await.unwrap();
        let objects = self.consumers.iter().flat_map(|consumer| consumer.objects(CERTIFICATES).into_values());
        let served = objects.filter(|object| object["status"]["status"] == "Available").count();
        assert_eq!(served, self.objects, "all objects are served");
    }

    fn servers(&self) -> impl Iterator<Item = &ApiServer> {
        [&self.hub].into_iter().chain(&self.consumers).chain(&self.providers)
    }

    /// How many clusters there are beside the hub.
    pub(crate) fn clusters(&self) -> usize {
        self.consumers.len() + self.providers.len()
    }

    /// The revisions of all of them together: another number when anything has changed.
    pub(crate) fn revisions(&self) -> u64 {
        self.servers().map(ApiServer::revision).sum()
    }

    /// What has happened so far is forgotten.
    pub(crate) fn forget(&self) {
        self.servers().for_each(ApiServer::compact);
        drop(self.world.journal().take());
    }
}

async fn ask(server: &ApiServer, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
    let request = request.header("user-agent", "platform").body(Body::from(body.to_string().into_bytes())).unwrap();
    let answer = server.sends().oneshot(request).await.unwrap();
    let code = answer.status().as_u16();
    let content = answer.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&content).unwrap_or_default())
}

async fn create(server: &ApiServer, collection: &str, object: &Value) {
    let (code, told) = ask(server, "POST", collection, object).await;
    assert_eq!(code, 201, "{collection}: {told}");
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn collection(namespace: &str) -> String {
    format!("/apis/example.platform-mesh.io/v1alpha1/namespaces/{namespace}/certificates")
}

fn certificate(name: &str) -> Value {
    json!({"apiVersion": "example.platform-mesh.io/v1alpha1", "kind": "Certificate",
        "metadata": {"name": name, "namespace": SHOP}, "spec": {"fqdn": format!("{name}.example.org")}})
}

fn cluster_secret(name: &str, role: &str) -> Value {
    let metadata = json!({"name": name, "labels": {keys::ROLE: role}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
        "stringData": {"kubeconfig": World::kubeconfig(name)}})
}

fn acceptance() -> Value {
    let gvr = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "resource": "certificates"});
    json!({"apiVersion": "broker.platform-mesh.io/v1alpha1", "kind": "AcceptAPI", "metadata": {"name": "certificates"},
        "spec": {"gvr": gvr, "filters": [{"key": "fqdn", "suffix": ".example.org"}]}})
}
