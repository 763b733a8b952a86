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
    kind::{KindState, SchemaNews},
    kubeconfig::{Kubeconfig, Trust},
    listener::{Listener, Observer, Selector},
    object::{Object, ObjectKey},
    random,
    source::{SecretSource, SourceEvent},
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
    let _secrets = fleet.listen(&Selector::Name(coordination.clone()), &spec, &Arc::new(Ear(secrets_told)));
    let _maps = fleet.listen(&Selector::Role(Role::Consumer), &maps, &Arc::new(Ear(told)));
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

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_later_is_found_with_its_schema_and_its_objects() {
    random::seed(1);
    let world = World::new(1);
    let server = world.server("homer");
    let controllers = tokio::spawn({
        let server = server.clone();
        async move { server.run_controllers().await }
    });
    let (seen, mut onlooker) = mpsc::unbounded_channel();
    let (told, mut ear) = mpsc::unbounded_channel();
    let fleet = fleet(&world, Onlooker(seen));
    let gvk = GroupVersionKind::gvk("sim.example.org", "v1", "Widget");
    let name = ClusterName::consumer("homer");
    let spec = Arc::new(WatchSpec::all(gvk.clone()));
    let _widgets = fleet.listen(&Selector::Name(name.clone()), &spec, &Arc::new(Ear(told)));
    fleet.engage(&name, kubeconfig("homer"), None);
    let (state, _) = timeout(LIMIT, onlooker.recv()).await.unwrap().unwrap();
    assert_eq!(state, KindState::Missing);

    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.sim.example.org"},
        "spec": {"group": "sim.example.org", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version]}});
    assert_eq!(send(&server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd).await, 201);
    let (found, schema) = loop {
        let (state, schema) = timeout(LIMIT, onlooker.recv()).await.unwrap().unwrap();
        if let (Some(info), Some(schema)) = (state.found(), schema) {
            break (Arc::clone(info), schema);
        }
    };
    assert!(found.has_status && found.namespaced && found.plural == "widgets", "{found:?}");
    assert_eq!(schema["properties"]["spec"]["properties"]["size"]["type"], "integer");

    let widget =
        json!({"apiVersion": "sim.example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}});
    assert_eq!(send(&server, "POST", "/apis/sim.example.org/v1/namespaces/default/widgets", &widget).await, 201);
    let (_, key, object) = timeout(LIMIT, ear.recv()).await.unwrap().unwrap();
    assert_eq!((key, object.is_some()), (ObjectKey::new("default", "w"), true));

    // With its CRD the kind goes, and nobody knows any more what there is.
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.sim.example.org";
    assert_eq!(send(&server, "DELETE", path, &json!({})).await, 200);
    let (_, key, object) = timeout(LIMIT, ear.recv()).await.unwrap().unwrap();
    assert_eq!((key, object), (ObjectKey::new("default", "w"), None));
    loop {
        let (state, _) = timeout(LIMIT, onlooker.recv()).await.unwrap().unwrap();
        if state == KindState::Missing {
            break;
        }
    }
    fleet.shut_down().await;
    controllers.abort();
}
