//! How often a watch is opened that its API server ends: counted by a transport of our own, in time that passes only when
//! all wait.

use std::{
    convert::Infallible,
    sync::{Mutex, OnceLock, Weak},
};

use broker_api::{ClusterName, Role};
use http::Request;
use kube::{client::Body, core::GroupVersionKind};
use serde_json::json;

use super::*;
use crate::{
    budget::Budget,
    call::Caller,
    cluster::{Cause, Cluster, ClusterState},
    conventions::PLAIN,
    kind::{KindState, SchemaNews},
    kinds::wanted::Reading,
    listener::{Listener, Observer},
};

/// An API server that ends each watch at once.
#[derive(Default)]
struct Server {
    /// Each watch tells of a change before it ends.
    tells: bool,
    /// Watches that were opened.
    opened: u64,
    lists: u64,
    /// Lists of one object.
    checks: u64,
    /// What all lists say.
    version: u64,
    /// How long it takes to answer a list.
    slow: Duration,
    /// What is there.
    items: Vec<serde_json::Value>,
    /// The next watch is told that what it goes on from is forgotten.
    forgets: bool,
    /// Whether all that is there was known in the end.
    known: bool,
}

impl Server {
    fn answer(&mut self, query: &str) -> String {
        if !query.contains("watch=1") {
            *(if query.contains("limit=1&") || query.ends_with("limit=1") {
                &mut self.checks
            } else {
                &mut self.lists
            }) += 1;
            let metadata = json!({"resourceVersion": self.version.max(1).to_string()});
            return json!({"metadata": metadata, "items": self.items}).to_string();
        }
        if std::mem::take(&mut self.forgets) {
            return format!("{}\n", json!({"type": "ERROR", "object": {"kind": "Status", "code": 410}}));
        }
        self.opened += 1;
        let version = (1 + self.opened).to_string();
        let object = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version}});
        if self.tells { format!("{}\n", json!({"type": "MODIFIED", "object": object})) } else { String::new() }
    }
}

struct Nobody;

impl Listener for Nobody {
    fn changed(&self, _: &Index, _: &Change) {}
}

impl Observer for Nobody {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState, _: SchemaNews<'_>) {}
}

/// Says whether all counted as told while it was told of something.
#[derive(Default)]
struct Witness {
    cluster: OnceLock<Weak<Cluster>>,
    told: Mutex<Vec<bool>>,
}

impl Listener for Witness {
    fn changed(&self, index: &Index, _: &Change) {
        let cluster = self.cluster.get().unwrap().upgrade().unwrap();
        self.told.lock().unwrap().push(cluster.has_told_of(index.spec()));
    }
}

#[tokio::test]
async fn nothing_counts_as_told_while_a_list_is_being_told() {
    let name = ClusterName::new(Role::Provider, "c");
    let share = Budget::new(1 << 20).engage(&name);
    let server = crate::server::Server::unconnected(name.clone(), &share);
    let cluster = Cluster::new(name, None, Arc::clone(&server), Arc::new(Nobody), share);
    let (gvk, witness) = (GroupVersionKind::gvk("", "v1", "ConfigMap"), Arc::new(Witness::default()));
    witness.cluster.set(Arc::downgrade(&cluster)).unwrap();
    let spec = Arc::new(WatchSpec::all(gvk.clone()));
    cluster.listen(&spec, 1, &(Arc::clone(&witness) as Arc<dyn Listener>));
    let (index, told) = (cluster.index(&spec).unwrap(), Arc::clone(&cluster) as Arc<dyn Audience>);
    let watch = Watch::new(&server, &index, &told);
    let object = |version: u64| {
        let metadata = json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": version.to_string()});
        let (key, object) = Object::parse(json!({"metadata": metadata}).to_string().as_bytes(), None, &PLAIN).unwrap();
        (key, Arc::new(object))
    };
    // The first one; a later one; one that comes after the kind was not served for a moment.
    for version in 1..4 {
        if version == 3 {
            server.set_kind(&gvk, &KindState::Missing, &Reading::Nothing);
            assert!(!cluster.has_told_of(&spec), "it is gone");
        }
        watch.replace(vec![object(version)], version, index.losses()).await;
        assert!(cluster.has_told_of(&spec));
    }
    assert_eq!(*witness.told.lock().unwrap(), [false; 3]);
}

/// A minute, then an outage in which `meanwhile` happens, then another minute.
async fn two_minutes(api: Server, meanwhile: impl FnOnce(&mut Server)) -> Server {
    let api = Arc::new(Mutex::new(api));
    let asked = Arc::clone(&api);
    let transport = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let asked = Arc::clone(&asked);
        async move {
            let slow = asked.lock().unwrap().slow;
            if !query.contains("watch=1") {
                tokio::time::sleep(slow).await;
            }
            let answer = asked.lock().unwrap().answer(&query);
            Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes())))
        }
    });
    let name = ClusterName::new(Role::Provider, "c");
    let share = Budget::new(1 << 20).engage(&name);
    let server = crate::server::Server::unconnected(name.clone(), &share);
    let cluster = Cluster::new(name, None, Arc::clone(&server), Arc::new(Nobody), share);
    let gvk = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let spec = Arc::new(WatchSpec::all(gvk.clone()));
    cluster.listen(&spec, 1, &(Arc::new(Nobody) as Arc<dyn Listener>));
    let kind = crate::kind::well_known(&gvk).unwrap();
    server.set_kind(&gvk, &KindState::Found(Arc::new(kind)), &Reading::Document(None));
    let mut meanwhile = Some(meanwhile);
    let caller = Caller::new(crate::dial::sends(transport), "host", &PLAIN, |_, _, _, _| {});
    let connection = Connection { caller, identity: Some("u".into()), valid_until: None, generation: 1 };
    let mut connection = Some(Arc::new(connection));
    for _ in 0..2 {
        server.set_state(&ClusterState::Ready, connection.take());
        tokio::time::sleep(Duration::from_mins(1)).await;
        meanwhile.take().into_iter().for_each(|act| act(&mut api.lock().unwrap()));
        let (since, why) = (Instant::now(), "away".to_owned());
        server.set_state(&ClusterState::Unreachable { since, cause: Cause::Lost, why }, None);
    }
    let known = cluster.index(&spec).unwrap().is_complete();
    Server { known, ..std::mem::take(&mut *api.lock().unwrap()) }
}

/// How often a minute of it is opened, and how often it is listed.
async fn in_a_minute(tells: bool) -> (u64, u64) {
    let mut after_one = (0, 0);
    two_minutes(Server { tells, ..Server::default() }, |server| after_one = (server.opened, server.lists)).await;
    after_one
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_comes_on_is_opened_again_soon_and_one_that_does_not_ever_more_seldom() {
    let (opened, lists) = in_a_minute(true).await;
    assert!((280..=1300).contains(&opened), "each brought a change: {opened}");
    assert!(lists <= 2, "and none of them started over: {lists}");
    let (opened, _) = in_a_minute(false).await;
    assert!((4..=40).contains(&opened), "none did: {opened}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_takes_long_is_waited_for_longer_each_time() {
    let mut lists = 0;
    let slow = Duration::from_secs(25);
    two_minutes(Server { slow, ..Server::default() }, |server| lists = server.lists).await;
    assert_eq!(lists, 1, "it was not there within 10 s, nor within 20 s");
}

#[tokio::test(start_paused = true)]
async fn after_an_outage_an_api_server_that_has_gone_back_in_time_is_listed_again_and_no_other() {
    for (version, lists) in [(9, 1), (7, 2)] {
        let seen = two_minutes(Server { version: 8, ..Server::default() }, |server| server.version = version).await;
        assert_eq!((seen.checks, seen.lists), (1, lists), "at version {version}");
    }
}

/// Ten objects of 15 KB each, of which nothing gets shorter, at this version.
fn large(version: u64) -> Vec<serde_json::Value> {
    let mut state = version;
    let mut noise = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + u8::try_from((state >> 33) % 64).unwrap())
    };
    let object = |at: u64| {
        let text: String = std::iter::repeat_with(&mut noise).take(15_000).collect();
        let metadata = json!({"name": format!("o{at}"), "namespace": "n", "uid": at.to_string(),
            "resourceVersion": version.to_string()});
        json!({"metadata": metadata, "data": {"text": text}})
    };
    (0..10).map(object).collect()
}

/// The cluster's share is 256 KiB. Nobody reads these again: their bodies stay.
#[tokio::test(start_paused = true)]
async fn a_list_for_which_there_is_no_room_beside_what_is_held_takes_its_place() {
    let api = Server { version: 2, items: large(2), ..Server::default() };
    let seen = two_minutes(api, |server| {
        assert_eq!(server.lists, 1);
        (server.version, server.items, server.forgets) = (9, large(9), true);
    });
    let seen = seen.await;
    assert!(seen.known && seen.lists >= 3, "{} lists", seen.lists);
}
