//! What an API server is asked for its kinds: counted by a transport of our own, in time that passes only when all wait.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::{Mutex, MutexGuard},
};

use broker_api::{ClusterName, Role};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::{
    audience::Audience as _,
    budget::Budget,
    call::Caller,
    cluster::{Cluster, ClusterState},
    conventions::PLAIN,
    index::{Change, Index, Source},
    kind::SchemaNews,
    listener::{Listener, Observer},
    object::{Object, ObjectKey},
    watch::WatchSpec,
};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DISCOVERY: &str = "/apis/many.io/v1";
const OPENAPI: &str = "/openapi/v3/apis/many.io/v1";

/// An API server that serves kinds of one group.
#[derive(Default)]
struct Server {
    /// Kinds that it serves, by their plurals.
    kinds: BTreeMap<String, String>,
    /// Those that do not come from CRDs.
    built_in: BTreeSet<String>,
    /// Nobody may read CRDs.
    secretive: bool,
    /// What it takes its time to answer, and how long.
    slow: Option<(Slow, Duration)>,
    /// Answers to reads of a CRD before it tells of it.
    refusals: Vec<StatusCode>,
    /// How often it was asked: discovery, single CRDs, OpenAPI.
    asked: [usize; 3],
    /// It answers no discovery.
    mute: bool,
    /// Lists of objects.
    lists: usize,
}

/// What may be answered late.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slow {
    Discovery,
    Crds,
    OpenApi,
}

/// Later than what is asked at the same time.
const LATE: Duration = Duration::from_millis(300);

impl Server {
    /// How long an answer takes.
    fn delay(&self, path: &str) -> Duration {
        let Some((slow, delay)) = self.slow else { return Duration::ZERO };
        let own = match slow {
            Slow::Discovery => DISCOVERY,
            Slow::Crds => CRDS,
            Slow::OpenApi => OPENAPI,
        };
        if path == own { delay } else { Duration::ZERO }
    }

    fn serve(&mut self, names: impl IntoIterator<Item = usize>) {
        self.kinds.extend(names.into_iter().map(|n| (format!("k{n}s"), format!("K{n}"))));
    }

    fn answer(&mut self, path: &str, query: &str) -> Result<serde_json::Value, StatusCode> {
        match path {
            DISCOVERY => {
                self.asked[0] += 1;
                if self.mute {
                    return Err(StatusCode::INTERNAL_SERVER_ERROR);
                }
                let resource = |(plural, kind)| json!({"name": plural, "kind": kind, "namespaced": true});
                let resources: Vec<_> = self.kinds.iter().map(resource).collect();
                if resources.is_empty() { Err(StatusCode::NOT_FOUND) } else { Ok(json!({ "resources": resources })) }
            }
            CRDS if self.secretive => Err(StatusCode::FORBIDDEN),
            CRDS if query.contains("fieldSelector=") => {
                self.asked[1] += 1;
                if let Some(code) = self.refusals.pop() {
                    return Err(code);
                }
                let name = query.rsplit_once("metadata.name%3D").unwrap().1;
                let plural = name.strip_suffix(".many.io").unwrap();
                let ours = self.kinds.get_key_value(plural).filter(|(plural, _)| !self.built_in.contains(*plural));
                let crds: Vec<_> = ours.map(|(plural, kind)| crd(plural, kind)).into_iter().collect();
                Ok(json!({"metadata": {"resourceVersion": "9"}, "items": crds}))
            }
            CRDS => {
                let ours = self.kinds.iter().filter(|(plural, _)| !self.built_in.contains(*plural));
                let crds: Vec<_> = ours.map(|(plural, kind)| crd(plural, kind)).collect();
                Ok(json!({"metadata": {"resourceVersion": "9"}, "items": crds}))
            }
            OPENAPI => {
                self.asked[2] += 1;
                let schema = |kind: &String| {
                    let of = json!([{"group": "many.io", "version": "v1", "kind": kind}]);
                    (kind.clone(), json!({"type": "object", "x-kubernetes-group-version-kind": of}))
                };
                let schemas: serde_json::Map<_, _> = self.kinds.values().map(schema).collect();
                Ok(json!({"components": {"schemas": schemas}}))
            }
            _ => {
                self.lists += 1;
                Ok(json!({"metadata": {"resourceVersion": "1"}, "items": []}))
            }
        }
    }
}

fn crd(plural: &str, kind: &str) -> serde_json::Value {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "description": kind}}});
    json!({
        "metadata": {"name": format!("{plural}.many.io"), "uid": plural, "resourceVersion": "5"},
        "spec": {
            "group": "many.io",
            "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// What was told of kinds: the schema's digest, where there was one.
#[derive(Default)]
struct Told(Mutex<Vec<(String, Option<[u8; 32]>)>>);

impl Listener for Told {
    fn keep(&self, _: &Index, _: &ObjectKey) -> bool {
        false
    }
    fn reads_again(&self) -> bool {
        true
    }
    fn changed(&self, _: &Index, _: &Change) {}
}

impl Observer for Told {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn kind(&self, _: &ClusterName, gvk: &GroupVersionKind, _: &KindState, schema: SchemaNews<'_>) {
        match schema {
            SchemaNews::Same => {}
            _ if gvk.group != "many.io" => {}
            // Whoever has asked is told.
            SchemaNews::Unasked => self.0.lock().unwrap().push((format!("{} alone", gvk.kind), None)),
            SchemaNews::Unread => self.0.lock().unwrap().push((format!("{} unread", gvk.kind), None)),
            SchemaNews::Unpublished => self.0.lock().unwrap().push((gvk.kind.clone(), None)),
            SchemaNews::New(schema) => self.0.lock().unwrap().push((gvk.kind.clone(), Some(*schema.digest()))),
        }
    }
}

struct Scene {
    server: Arc<Mutex<Server>>,
    told: Arc<Told>,
    cluster: Arc<Cluster>,
}

impl Scene {
    /// A cluster in which these kinds are watched.
    fn new(server: Server, kinds: std::ops::Range<usize>) -> Self {
        let server = Arc::new(Mutex::new(server));
        let told = Arc::new(Told::default());
        let name = ClusterName::new(Role::Provider, "c");
        let share = Budget::new(1 << 30).engage(&name);
        let connected = crate::server::Server::unconnected(name.clone(), &share);
        let cluster = Cluster::new(name, None, Arc::clone(&connected), Arc::clone(&told) as Arc<_>, share);
        let caller = Caller::new(crate::dial::sends(transport(&server)), "host", &PLAIN, |_, _, _, _| {});
        let connection = Connection { caller, identity: Some("u".into()), valid_until: None, generation: 1 };
        connected.set_state(&ClusterState::Ready, Some(Arc::new(connection)));
        let scene = Self { server, told, cluster };
        kinds.for_each(|n| scene.watch(n));
        connected.tasks.spawn(run(Arc::clone(&connected)));
        scene
    }

    fn watch(&self, n: usize) {
        self.watch_as(WatchSpec::all(gvk(n)));
    }

    fn watch_as(&self, spec: WatchSpec) {
        let listener = Arc::clone(&self.told) as Arc<dyn Listener>;
        self.cluster.listen(&Arc::new(spec), 0, &listener);
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    /// Waits until nothing moves but the hands of the clock, and for longer than any look is put off.
    async fn quiet(&self) {
        tokio::time::sleep(Duration::from_secs(20)).await;
    }

    /// The watch on CRDs tells of one that has come, or gone.
    fn tell_of_crd(&self, n: usize, gone: bool) {
        let server = self.cluster.server();
        let index = &server.kinds.crds;
        let crd = crd(&format!("k{n}s"), &format!("K{n}")).to_string();
        let (key, object) = Object::parse(crd.as_bytes(), Some(("x/v1", "X")), &PLAIN).unwrap();
        let change = if gone { index.remove(&key, 10) } else { index.upsert(key, object.bare(), Source::Watch) };
        server.changed(index, &change.unwrap(), false);
    }

    fn told(&self) -> Vec<(String, Option<[u8; 32]>)> {
        std::mem::take(&mut self.told.0.lock().unwrap())
    }
}

fn gvk(n: usize) -> GroupVersionKind {
    GroupVersionKind::gvk("many.io", "v1", &format!("K{n}"))
}

fn transport(
    server: &Arc<Mutex<Server>>,
) -> impl tower::Service<
    Request<Body>,
    Response = Response<Body>,
    Error = Infallible,
    Future = impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<>,
> + Clone
+ Send
+ Sync
+ use<> {
    let server = Arc::clone(server);
    tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let query = request.uri().query().unwrap_or_default();
            if query.contains("watch=1") {
                return std::future::pending().await;
            }
            let delay = server.lock().unwrap().delay(request.uri().path());
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let answer = server.lock().unwrap().answer(request.uri().path(), query);
            let (code, body) = match answer {
                Ok(body) => (StatusCode::OK, body),
                Err(code) => (code, json!({"kind": "Status", "code": code.as_u16()})),
            };
            let mut response = Response::new(Body::from(body.to_string().into_bytes()));
            *response.status_mut() = code;
            Ok(response)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn five_hundred_kinds_that_appear_at_once_cost_one_small_read_each() {
    let scene = Scene::new(Server::default(), 0..500);
    scene.quiet().await;
    let [before, crds, openapi] = scene.server().asked;
    assert!(before <= 2 && crds + openapi == 0, "one document says that none of them is there, and once more later");
    assert!(scene.told().is_empty());

    scene.server().serve(0..500);
    (0..500).for_each(|n| scene.tell_of_crd(n, false));
    scene.quiet().await;
    let [discovery, crds, openapi] = scene.server().asked;
    assert!((1..=4).contains(&(discovery - before)), "{discovery}");
    assert_eq!((crds, openapi), (500, 0));
    let told = scene.told();
    let kinds: BTreeSet<&String> = told.iter().map(|(kind, _)| kind).collect();
    assert_eq!((told.len(), kinds.len()), (500, 500));
    let digests: BTreeSet<_> = told.iter().map(|(_, digest)| digest.unwrap()).collect();
    assert_eq!(digests.len(), 1, "what is equal has one digest, whatever its description says");
}

#[tokio::test(start_paused = true)]
async fn kinds_that_are_there_at_the_start_are_asked_for_once() {
    for slow in [Slow::Discovery, Slow::Crds] {
        let mut server = Server { slow: Some((slow, LATE)), ..Server::default() };
        server.serve(0..3);
        let scene = Scene::new(server, 0..3);
        scene.quiet().await;
        assert!(scene.cluster.server().kinds.crds.is_complete());
        let [discovery, crds, openapi] = scene.server().asked;
        assert_eq!([discovery, crds, openapi], [1, 3, 0], "{slow:?}");
        assert_eq!(scene.told().len(), 3, "{slow:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_schema_is_read_when_somebody_asks_for_it() {
    let mut server = Server::default();
    server.serve(0..2);
    server.built_in.insert("k1s".into());
    let scene = Scene::new(server, 0..0);
    (0..2).for_each(|n| scene.watch_as(WatchSpec::all(gvk(n)).without_schema()));
    scene.quiet().await;
    assert_eq!(scene.server().asked, [1, 0, 0], "whether and how they are served");
    assert_eq!(scene.told(), ["K0 alone", "K1 alone"].map(|kind| (kind.to_owned(), None)));

    (0..2).for_each(|n| scene.watch_as(WatchSpec::kind(gvk(n))));
    scene.quiet().await;
    assert_eq!(scene.server().asked, [2, 2, 1], "one of them turns out to have no CRD");
    let told = scene.told();
    assert!(told.len() == 2 && told.iter().all(|(_, schema)| schema.is_some()), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_wanted_because_of_its_crd_may_be_served_a_moment_later() {
    let mut server = Server::default();
    server.serve(0..1);
    let scene = Scene::new(server, 0..1);
    scene.quiet().await;
    // Nobody wants it yet, and the CRD tells of itself only once.
    scene.tell_of_crd(1, false);
    scene.watch(1);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(scene.cluster.kind(&gvk(1)), KindState::Missing);
    scene.server().serve([1]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(scene.cluster.kind(&gvk(1)).found().is_some());
}

#[tokio::test(start_paused = true)]
async fn kinds_without_a_crd_share_one_document() {
    let mut server = Server::default();
    server.serve(0..5);
    server.built_in = server.kinds.keys().cloned().collect();
    let scene = Scene::new(server, 0..5);
    scene.quiet().await;
    let [discovery, crds, openapi] = scene.server().asked;
    assert_eq!((discovery, openapi), (1, 1));
    assert!(crds <= 5, "asked for only until it is known which CRDs there are: {crds}");
    assert_eq!(scene.told().iter().filter(|(_, schema)| schema.is_some()).count(), 5);

    let before = scene.server().asked;
    scene.watch(7);
    scene.server().serve([7]);
    scene.server().built_in.insert("k7s".into());
    scene.quiet().await;
    let [discovery, crds, openapi] = scene.server().asked;
    assert_eq!(
        [discovery - before[0], crds - before[1], openapi - before[2]],
        [1, 1, 1],
        "only the new one is looked for"
    );
}

#[tokio::test(start_paused = true)]
async fn who_may_not_read_crds_reads_the_document() {
    let mut server = Server { secretive: true, ..Server::default() };
    server.serve(0..3);
    let scene = Scene::new(server, 0..3);
    scene.quiet().await;
    let [discovery, _, openapi] = scene.server().asked;
    assert_eq!((discovery, openapi), (1, 1));
    assert_eq!(scene.told().iter().filter(|(_, schema)| schema.is_some()).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_at_this_moment_is_read_later() {
    let mut server = Server { refusals: vec![StatusCode::INTERNAL_SERVER_ERROR], ..Server::default() };
    server.serve([0]);
    let scene = Scene::new(server, 0..1);
    let (_, found) = scene.cluster.server().serving(&gvk(0)).await;
    assert_eq!(found.plural, "k0s", "it does not keep the kind from being served");
    scene.quiet().await;
    let told = scene.told();
    assert!(matches!(&*told, [(unread, None), (_, Some(_))] if unread == "K0 unread"), "{told:?}");
    assert_eq!(scene.server().asked[2], 0);
}

#[test]
fn who_did_not_answer_the_last_time_is_asked_last() {
    let due = ["a", "a", "b", "c"].map(|group| GroupVersionKind::gvk(group, "v1", "K"));
    let asked = |troubled: &[&str]| {
        let troubled = troubled.iter().map(|group| ((*group).to_owned(), "v1".to_owned())).collect();
        let order = in_turn(&due, &troubled).into_iter();
        order.map(|((group, _), kinds)| format!("{group}{}", kinds.len())).collect::<Vec<_>>()
    };
    assert_eq!(asked(&[]), ["a2", "b1", "c1"]);
    assert_eq!(asked(&["a", "b"]), ["c1", "a2", "b1"]);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_takes_long_is_waited_for_longer_each_time() {
    let mut server = Server { slow: Some((Slow::OpenApi, Duration::from_secs(25))), ..Server::default() };
    server.serve([0]);
    server.built_in.insert("k0s".to_owned());
    let scene = Scene::new(server, 0..1);
    tokio::time::sleep(Duration::from_mins(2)).await;
    let told = scene.told();
    assert!(matches!(told.last(), Some((_, Some(_)))), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn what_can_never_be_read_is_asked_for_ever_more_seldom() {
    let mut server = Server { refusals: vec![StatusCode::INTERNAL_SERVER_ERROR; 1000], ..Server::default() };
    server.serve([0]);
    let scene = Scene::new(server, 0..1);
    tokio::time::sleep(Duration::from_mins(2)).await;
    let [_, crds, _] = scene.server().asked;
    assert!((12..=40).contains(&crds), "{crds}");
}

#[tokio::test(start_paused = true)]
async fn a_look_that_was_not_answered_was_none() {
    let mut server = Server::default();
    server.serve([0]);
    let scene = Scene::new(server, 0..1);
    scene.quiet().await;
    scene.server().mute = true;
    scene.tell_of_crd(0, true);
    scene.quiet().await;
    (scene.server().mute, scene.server().asked) = (false, [0; 3]);
    scene.quiet().await;
    assert!(scene.server().asked[0] > 0, "it is not known what the CRD has become");
}

#[tokio::test(start_paused = true)]
async fn what_is_watched_of_a_kind_that_was_not_served_for_a_moment_is_listed_again() {
    let mut server = Server::default();
    server.serve([0]);
    let scene = Scene::new(server, 0..1);
    scene.quiet().await;
    assert_eq!(scene.server().lists, 1);
    // Another watch of the kind was told so; this one's stream goes on.
    scene.cluster.server().kind_missing(&gvk(0));
    let index = scene.cluster.index(&Arc::new(WatchSpec::all(gvk(0)))).unwrap();
    assert!(!index.is_complete());
    scene.quiet().await;
    assert!(index.is_complete());
    assert_eq!(scene.server().lists, 2);
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_crd_goes_is_missing() {
    let mut server = Server::default();
    server.serve(0..2);
    let scene = Scene::new(server, 0..2);
    scene.quiet().await;
    scene.server().kinds.remove("k1s");
    scene.tell_of_crd(1, true);
    scene.quiet().await;
    assert_eq!(scene.cluster.kind(&gvk(1)), KindState::Missing);
    assert!(scene.cluster.kind(&gvk(0)).found().is_some());
}
