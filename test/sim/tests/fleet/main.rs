//! The runtime's whole fleet above a world: nothing of it knows that no API server is real, and no time passes but the
//! runtime's own.

#![allow(clippy::unwrap_used)]

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use kube::client::Body;
use runtime_fleet::{
    GroupVersionKind,
    budget::Budget,
    cluster::ClusterState,
    conventions::Conventions,
    dial::Dial,
    fleet::{Fleet, FleetOptions},
    index::{Change, Index},
    kind::{KindInfo, KindState, SchemaNews},
    kubeconfig::{Kubeconfig, Trust},
    listener::{ClusterSelector, Listener, Observer},
    object::{Object, ObjectKey},
    random,
    source::{SecretSource, SourceEvent},
    subscription::Subscription,
    watch::WatchSpec,
    well_known,
    write::{Precondition, Writer},
};
use serde_json::{Value, json};
use sim::{ApiServer, World};
use tokio::{sync::mpsc, time::timeout};
use tower::ServiceExt as _;

static CONVENTIONS: Conventions = Conventions {
    program: "the test",
    manager: "test",
    words: b"",
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[Role::Consumer],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

/// By the runtime's clock, which does not wait.
const LIMIT: Duration = Duration::from_mins(5);

/// Hears of kinds and their schemas.
struct Onlooker(mpsc::UnboundedSender<(KindState, Option<Value>)>);

impl Observer for Onlooker {
    fn cluster(&self, _cluster: &ClusterName, _state: &ClusterState) {}

    fn kind(&self, _cluster: &ClusterName, gvk: &GroupVersionKind, state: &KindState, schema: SchemaNews<'_>) {
        let schema = if let SchemaNews::New(schema) = schema { Some(schema.json().clone()) } else { None };
        if gvk.kind == "Widget" {
            let _ = self.0.send((state.clone(), schema));
        }
    }
}

fn fleet(world: &Arc<World>, onlooker: Onlooker) -> Arc<Fleet> {
    Fleet::new(FleetOptions {
        conventions: &CONVENTIONS,
        observer: Arc::new(onlooker),
        meter: |_, _, _, _| (),
        budget: Budget::new(64 << 20),
        concurrent_writes: 4,
        dial: Arc::clone(world) as Arc<dyn Dial>,
    })
}

fn kubeconfig(name: &str) -> Arc<Kubeconfig> {
    Arc::new(Kubeconfig::parse(&World::kubeconfig(name), &Trust::Secret).unwrap())
}

/// Hands on what one kind of watch hears.
struct Ear(mpsc::UnboundedSender<(ClusterName, ObjectKey, Option<Arc<Object>>)>);

impl Listener for Ear {
    fn changed(&self, index: &Index, change: &Change) {
        let _ = self.0.send((index.cluster().clone(), change.key.clone(), change.new.clone()));
    }
}

fn gvk(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("", "v1", kind)
}

/// A person's request.
async fn send(server: &ApiServer, method: &str, path: &str, body: &Value) -> u16 {
    let request = http::Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json").body(Body::from(body.to_string().into_bytes()));
    server.sends().oneshot(request.unwrap()).await.unwrap().status().as_u16()
}

/// What happens to one seed: everything that was heard, in order.
async fn story(seed: u64) -> Vec<String> {
    random::seed(seed);
    let world = World::new(seed);
    let (hub, homer) = (world.server("hub"), world.server("homer"));
    let fleet = fleet(&world, Onlooker(mpsc::unbounded_channel().0));
    let (told, mut ear) = mpsc::unbounded_channel();
    let (secrets_told, mut secrets) = mpsc::unbounded_channel();
    let spec = Arc::new(WatchSpec::all(gvk("Secret")).labelled(CONVENTIONS.secrets()).without_schema());
    let maps = Arc::new(WatchSpec::all(gvk("ConfigMap")).without_schema());
    let coordination = ClusterName::new(Role::Coordination, "hub");
    let _secrets = fleet.listen(&ClusterSelector::Name(coordination.clone()), &spec, &Arc::new(Ear(secrets_told)));
    let _maps = fleet.listen(&ClusterSelector::Role(Role::Consumer), &maps, &Arc::new(Ear(told)));
    fleet.engage(&coordination, kubeconfig("hub"), None);

    // A Secret makes a cluster.
    let metadata = json!({"name": "homer", "labels": {"example.org/role": "consumer"}});
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"kubeconfig": World::kubeconfig("homer")}});
    assert_eq!(send(&hub, "POST", "/api/v1/namespaces/default/secrets", &body).await, 201);
    let (_, key, secret) = timeout(LIMIT, secrets.recv()).await.unwrap().unwrap();
    let mut story = vec![format!("Secret {key}")];
    let secret = serde_json::from_value(secret.unwrap().value().unwrap()).unwrap();
    let events = SecretSource::new(&CONVENTIONS).apply(&secret, &[Role::Consumer]);
    let [SourceEvent::Upsert { name, kubeconfig, .. }] = events.as_slice() else { panic!("{events:?}") };
    fleet.engage(name, Arc::clone(kubeconfig), None);

    // An event of that cluster is heard.
    let body =
        |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": value}});
    assert_eq!(send(&homer, "POST", "/api/v1/namespaces/default/configmaps", &body("1")).await, 201);
    let mut hear = async || {
        let (cluster, key, object) = timeout(LIMIT, ear.recv()).await.unwrap().unwrap();
        let value = object.map_or(Value::Null, |object| object.value().unwrap()["data"]["k"].clone());
        format!("{cluster} {key} {value}")
    };
    story.push(hear().await);

    // What is written arrives, and is heard.
    let cluster = fleet.cluster(name).unwrap();
    let connection = cluster.connection().unwrap();
    let (writer, kind) = (Writer::new(&connection.caller), well_known(&gvk("ConfigMap")).unwrap());
    let (key, body) = (ObjectKey::new("default", "written"), json!({"data": {"k": "2"}}));
    let written = writer.apply(&kind, &key, body.clone(), &Precondition::Absent).await.unwrap();
    assert!(written.created);
    story.push(hear().await);
    assert_eq!(writer.apply(&kind, &key, body, &Precondition::Absent).await.unwrap_err().reason(), "Conflict");
    let held = writer.get(&kind, &key).await.unwrap().unwrap();
    assert_eq!(held.value().unwrap()["data"], json!({"k": "2"}));
    assert!(writer.delete(&kind, &key, &held.uid).await.unwrap().is_none());
    story.push(hear().await);

    // A watch that has fallen behind lists again.
    homer.compact();
    tokio::time::sleep(LIMIT).await;
    assert_eq!(send(&homer, "DELETE", "/api/v1/namespaces/default/configmaps/m", &json!({})).await, 200);
    story.push(hear().await);
    fleet.shut_down().await;
    story.push(format!("revision {}", homer.revision()));
    story
}

#[tokio::test(start_paused = true)]
async fn a_secret_makes_a_cluster_which_is_watched_and_written_to() {
    let told = story(7).await;
    let expected = [
        "Secret default/homer",
        "consumer#homer default/m \"1\"",
        "consumer#homer default/written \"2\"",
        "consumer#homer default/written null",
        "consumer#homer default/m null",
    ];
    assert_eq!(told[..5], expected.map(str::to_owned));
    assert_eq!(told, story(7).await, "the same seed tells the same story");
}

/// The CRD of widgets, with these properties of their spec.
fn widgets(properties: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties},
        "status": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.sim.example.org"},
        "spec": {"group": "sim.example.org", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version]}})
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS_CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.sim.example.org";
const WIDGETS: &str = "/apis/sim.example.org/v1/namespaces/default/widgets";
const WIDGET_STATUS: &str = "/apis/sim.example.org/v1/namespaces/default/widgets/w/status";

/// Widgets are watched in a cluster that does not serve them yet.
struct Stage {
    server: ApiServer,
    controllers: tokio::task::JoinHandle<()>,
    fleet: Arc<Fleet>,
    onlooker: mpsc::UnboundedReceiver<(KindState, Option<Value>)>,
    ear: mpsc::UnboundedReceiver<(ClusterName, ObjectKey, Option<Arc<Object>>)>,
    _widgets: Subscription,
}

impl Stage {
    async fn new() -> Self {
        random::seed(1);
        let world = World::new(1);
        let server = world.server("homer");
        let controllers = tokio::spawn({
            let server = server.clone();
            async move { server.run_controllers().await }
        });
        let (seen, onlooker) = mpsc::unbounded_channel();
        let (told, ear) = mpsc::unbounded_channel();
        let fleet = fleet(&world, Onlooker(seen));
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("sim.example.org", "v1", "Widget")));
        let name = ClusterName::consumer("homer");
        let watched = fleet.listen(&ClusterSelector::Name(name.clone()), &spec, &Arc::new(Ear(told)));
        fleet.engage(&name, kubeconfig("homer"), None);
        let mut stage = Self { server, controllers, fleet, onlooker, ear, _widgets: watched };
        assert_eq!(stage.kind().await.0, KindState::Missing);
        stage
    }

    /// What is told next of the kind.
    async fn kind(&mut self) -> (KindState, Option<Value>) {
        timeout(LIMIT, self.onlooker.recv()).await.unwrap().unwrap()
    }

    /// Waits until the kind is served, and returns how, and its schema.
    async fn served(&mut self) -> (Arc<KindInfo>, Value) {
        loop {
            let (state, schema) = self.kind().await;
            if let (Some(info), Some(schema)) = (state.found(), schema) {
                return (Arc::clone(info), schema);
            }
        }
    }

    /// What is told next of the widget.
    async fn widget(&mut self) -> Option<Arc<Object>> {
        let (_, key, object) = timeout(LIMIT, self.ear.recv()).await.unwrap().unwrap();
        assert_eq!(key, ObjectKey::new("default", "w"));
        object
    }

    async fn send(&self, method: &str, path: &str, body: &Value) {
        let status = send(&self.server, method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status}");
    }

    /// A merge patch. Returns its status.
    async fn patch(&self, path: &str, body: &Value) -> u16 {
        let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(Body::from(body.to_string().into_bytes())).unwrap();
        self.server.sends().oneshot(request).await.unwrap().status().as_u16()
    }

    async fn end(self) {
        self.fleet.shut_down().await;
        self.controllers.abort();
    }
}

fn widget() -> Value {
    json!({"apiVersion": "sim.example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}})
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_later_is_found_with_its_schema_and_its_objects() {
    let mut stage = Stage::new().await;
    stage.send("POST", CRDS, &widgets(&json!({"size": {"type": "integer"}}))).await;
    let (found, schema) = stage.served().await;
    assert!(found.has_status && found.namespaced && found.plural == "widgets", "{found:?}");
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["type"], "integer");

    stage.send("POST", WIDGETS, &widget()).await;
    assert!(stage.widget().await.is_some());

    // With its CRD the kind goes, and nobody knows any more what there is.
    stage.send("DELETE", WIDGETS_CRD, &json!({})).await;
    assert_eq!(stage.widget().await, None);
    while stage.kind().await.0 != KindState::Missing {}
    stage.end().await;
}

/// An API server tells those who watch already what happens in the moment after a CRD has changed as the CRD had it before.
#[tokio::test(start_paused = true)]
async fn a_default_is_seen_although_a_stream_from_before_it_has_told_of_the_object() {
    let mut stage = Stage::new().await;
    stage.send("POST", CRDS, &widgets(&json!({"size": {"type": "integer"}}))).await;
    stage.served().await;
    stage.send("POST", WIDGETS, &widget()).await;
    stage.widget().await;
    let crd = widgets(&json!({"size": {"type": "integer"}, "colour": {"type": "string", "default": "green"}}));
    let (crd, status) = (json!({"spec": crd["spec"]}), json!({"status": {"size": 1}}));
    // Its stream has not heard of the one when the other happens.
    let written = tokio::join!(stage.patch(WIDGETS_CRD, &crd), stage.patch(WIDGET_STATUS, &status));
    assert_eq!(written, (200, 200));
    let told = stage.widget().await.unwrap();
    let spec = |object: &Object| object.value().unwrap()["spec"].clone();
    assert_eq!(spec(&told), json!({"size": 1}), "as the stream from before shows it");
    let listed = stage.widget().await.unwrap();
    assert_eq!(spec(&listed), json!({"size": 1, "colour": "green"}));
    assert_eq!(listed.resource_version, told.resource_version);
    stage.end().await;
}
