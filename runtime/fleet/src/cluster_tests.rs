//! Watches that are no longer wanted.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::{
    audience::Audience,
    budget::{Bodies as _, Budget},
    census::Census,
    index::{Change, Lookup},
    kind::KindInfo,
    kinds::wanted::Reading,
    lag::Lag,
    listener::Listener,
    lock::lock,
};

#[path = "cluster/doubt_tests.rs"]
mod doubt;

/// What was heard: changes, ends of lists, and kinds.
#[derive(Default)]
struct Told {
    changes: AtomicUsize,
    completions: AtomicUsize,
    kinds: AtomicUsize,
    lost: AtomicUsize,
}

impl Told {
    fn counts(&self) -> [usize; 3] {
        [&self.changes, &self.completions, &self.kinds].map(|count| count.load(Ordering::Relaxed))
    }
}

impl Listener for Told {
    fn changed(&self, _: &Index, _: &Change) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }
    fn completed(&self, _: &Index) {
        self.completions.fetch_add(1, Ordering::Relaxed);
    }
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState) {
        self.kinds.fetch_add(1, Ordering::Relaxed);
    }
    fn incomplete(&self, _: &Index) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads nothing, and reads again what it wants.
struct Stranger;

impl Listener for Stranger {
    fn keep(&self, _: &Index, _: &ObjectKey) -> bool {
        false
    }
    fn reads_again(&self) -> bool {
        true
    }
    fn changed(&self, _: &Index, _: &Change) {}
}

impl Observer for Stranger {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
}

fn cluster() -> Arc<Cluster> {
    observed(Arc::new(Stranger))
}

fn observed(observer: Arc<dyn Observer>) -> Arc<Cluster> {
    let name = ClusterName::new(broker_api::Role::Compute, "c");
    let share = Budget::new(1 << 20).engage(&name);
    Cluster::new(name.clone(), None, Server::unconnected(name, &share), observer, share)
}

fn object() -> Object {
    let raw = br#"{"metadata":{"name":"a","uid":"u","resourceVersion":"2"}}"#;
    Object::parse(raw, None, &crate::conventions::PLAIN).unwrap().1
}

fn job() -> GroupVersionKind {
    GroupVersionKind::gvk("batch", "v1", "Job")
}

fn found() -> KindState {
    KindState::Found(Arc::new(KindInfo { gvk: job(), plural: "jobs".into(), namespaced: true, has_status: true }))
}

/// Waits until no more than `count` tasks run.
async fn until_tasks(cluster: &Cluster, count: usize) {
    let fewer = async {
        while cluster.tasks.count() > count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), fewer).await.unwrap();
}

#[tokio::test]
async fn a_watch_that_nobody_listens_to_ends_and_is_forgotten() {
    let (cluster, told) = (cluster(), Arc::new(Told::default()));
    let listener = Arc::clone(&told) as Arc<dyn Listener>;
    let spec = Arc::new(WatchSpec::all(job()).labelled("a"));
    cluster.listen(&spec, 1, &listener);
    cluster.index(&spec).unwrap().replace(Vec::new(), 1);
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!(cluster.server.tasks.count(), 1, "CRDs are watched, so that a kind that comes later is found");

    cluster.unlisten(&spec, 2);
    assert!(cluster.index(&spec).is_some(), "another's end is not its own");
    cluster.unlisten(&spec, 1);
    until_tasks(&cluster, 0).await;
    assert!(cluster.index(&spec).is_none() && cluster.indexes().is_empty());
    assert_eq!(cluster.kind(&job()), KindState::Unknown, "nobody asks for the kind any more");
    assert!(!cluster.server.kinds.due(false).contains(&job()));

    // An answer that was under way.
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!((cluster.kind(&job()), told.counts()), (KindState::Unknown, [0, 0, 1]));

    cluster.listen(&spec, 3, &listener);
    assert!(!cluster.index(&spec).unwrap().is_complete(), "what was seen before counts no more");
    assert!(cluster.server.kinds.due(false).contains(&job()));
}

#[tokio::test]
async fn several_share_a_watch_and_each_hears_of_all_that_is_there() {
    let (cluster, one, other) = (cluster(), Arc::new(Told::default()), Arc::new(Told::default()));
    let spec = Arc::new(WatchSpec::all(job()));
    cluster.listen(&spec, 1, &(Arc::clone(&one) as _));
    let index = cluster.index(&spec).unwrap();
    assert!(cluster.has_told(), "nobody knows of anything that is not told");
    assert!(!cluster.has_told_of(&spec), "nothing is known of it");
    index.replace(vec![(ObjectKey::new("n", "a"), object())], 2);
    cluster.listen(&spec, 2, &(Arc::clone(&other) as _));
    assert!(!cluster.has_told() && !cluster.has_told_of(&spec), "the first has not heard of it yet");
    assert!(Arc::ptr_eq(&index, &cluster.index(&spec).unwrap()), "it is the same");
    assert_eq!(other.counts(), [1, 1, 0], "what was there, and that this is all");
    cluster.listen(&spec, 2, &(Arc::clone(&other) as _));
    assert_eq!(other.counts(), [1, 1, 0], "once");

    let change = Change { key: ObjectKey::new("n", "a"), old: None, new: None };
    cluster.changed(&index, &change, false);
    cluster.completed(&index);
    assert!(cluster.has_told() && cluster.has_told_of(&spec));
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!((one.counts(), other.counts()), ([1, 1, 1], [2, 2, 1]));
    cluster.unlisten(&spec, 1);
    cluster.changed(&index, &change, false);
    assert_eq!((one.counts(), other.counts()), ([1, 1, 1], [3, 2, 1]));
    assert!(cluster.index(&spec).is_some(), "one is left");
}

/// Hears what a first list finds apart from what happens after it, in this order.
#[derive(Default)]
struct Orderly(Mutex<Vec<&'static str>>);

impl Listener for Orderly {
    fn changed(&self, _: &Index, _: &Change) {
        lock(&self.0).push("changed");
    }
    fn listed(&self, _: &Index, _: &Change) {
        lock(&self.0).push("listed");
    }
    fn completed(&self, _: &Index) {
        lock(&self.0).push("completed");
    }
}

#[tokio::test]
async fn what_is_there_is_told_apart_and_the_end_of_the_list_follows() {
    let (cluster, told) = (cluster(), Arc::new(Orderly::default()));
    let spec = Arc::new(WatchSpec::all(job()));
    let heard = || std::mem::take(&mut *lock(&told.0));
    cluster.listen(&spec, 1, &(Arc::clone(&told) as _));
    let index = cluster.index(&spec).unwrap();
    let there = Change { key: ObjectKey::new("n", "a"), old: None, new: Some(Arc::new(object())) };
    let gone = Change { key: ObjectKey::new("n", "b"), old: Some(Arc::new(object())), new: None };
    cluster.changed(&index, &there, true);
    cluster.changed(&index, &gone, true);
    cluster.changed(&index, &there, false);
    assert_eq!(heard(), ["listed", "changed", "changed"]);

    // An answer to a write has put it there: that this is all nobody knows.
    index.upsert(ObjectKey::new("n", "a"), object(), Source::Response);
    cluster.listen(&spec, 2, &(Arc::clone(&told) as _));
    assert_eq!(heard(), ["changed"]);
    index.replace(vec![(ObjectKey::new("n", "a"), object())], 2);
    cluster.listen(&spec, 3, &(Arc::clone(&told) as _));
    assert_eq!(heard(), ["listed", "completed"]);
}

#[tokio::test]
async fn what_one_listener_reads_is_kept_and_what_one_does_not_read_again_stays() {
    let cluster = cluster();
    let spec = Arc::new(WatchSpec::all(job()));
    let keeps = || cluster.keeps(&cluster.index(&spec).unwrap(), &ObjectKey::new("n", "a"));
    let may_drop = || cluster.index(&spec).unwrap().may_drop();
    cluster.listen(&spec, 1, &(Arc::new(Stranger) as _));
    assert!(!keeps() && may_drop());
    cluster.listen(&spec, 2, &(Arc::new(Told::default()) as _));
    assert!(keeps() && !may_drop());
    cluster.unlisten(&spec, 2);
    assert!(!keeps() && may_drop());
    let crds = &cluster.server.kinds.crds;
    assert!(!cluster.server.keeps(crds, &ObjectKey::new("", "a")) && !crds.may_drop());
}

/// Shows what there is, and needs none of it.
struct Show;

impl Listener for Show {
    fn is_awaited(&self) -> bool {
        false
    }
    fn changed(&self, _: &Index, _: &Change) {}
}

#[tokio::test]
async fn a_cluster_does_not_lag_for_want_of_what_is_only_shown() {
    let (cluster, spec) = (cluster(), Arc::new(WatchSpec::all(job()).labelled("a")));
    cluster.listen(&spec, 1, &(Arc::new(Show) as _));
    let index = cluster.index(&spec).unwrap();
    index.set_trouble(Some("forbidden".into()));
    assert_eq!((cluster.lag(&index), cluster.is_awaited(&index)), (Lag::Known, false));
    cluster.listen(&spec, 2, &(Arc::new(Stranger) as _));
    assert_eq!((cluster.lag(&index), cluster.is_awaited(&index)), (Lag::Lagging("forbidden".into()), true));
    cluster.unlisten(&spec, 2);
    assert_eq!(cluster.lag(&index), Lag::Known);
}

#[tokio::test]
async fn who_asks_for_the_crds_that_its_server_watches_hears_of_the_same_stream() {
    let (cluster, told) = (cluster(), Arc::new(Told::default()));
    let (server, spec) = (&cluster.server, Arc::clone(cluster.server.kinds.crds.spec()));
    cluster.listen(&spec, 1, &(Arc::clone(&told) as _));
    cluster.listen(&Arc::new(WatchSpec::kind(job())), 2, &(Arc::new(Stranger) as _));
    assert_eq!((cluster.tasks.count(), server.tasks.count()), (0, 1), "one stream for both");
    server.set_kind(&job(), &found(), &Reading::Document(None));
    let crd = |version: u64| {
        let raw = format!(r#"{{"metadata":{{"name":"jobs.batch","uid":"u","resourceVersion":"{version}"}}}}"#);
        Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap()
    };
    let (index, (key, object)) = (cluster.index(&spec).unwrap(), crd(2));
    assert_eq!(index.replace(vec![(key.clone(), object.bare())], 2).len(), 1);
    let change = Change { key: key.clone(), old: None, new: index.get(&key).found() };
    server.changed(&index, &change, true);
    server.completed(&index);
    assert_eq!(told.counts(), [1, 1, 0]);
    assert!(server.kinds.next().is_none(), "it was there before its kind was asked for");

    // What was read is newer: the stream tells of that no more.
    cluster.fill(&spec, &key, crd(3).1);
    assert_eq!(told.counts(), [2, 1, 0]);
    assert!(server.kinds.next().is_some(), "the kind is looked at again");
    server.incomplete(&index);
    assert_eq!(told.lost.load(Ordering::Relaxed), 1);

    cluster.unlisten(&spec, 1);
    assert!(cluster.index(&spec).is_none() && server.tasks.count() == 1, "its server needs it still");
    server.changed(&index, &change, false);
    cluster.listen(&spec, 3, &(Arc::clone(&told) as _));
    assert_eq!(told.counts(), [3, 2, 0], "who comes later is told what there is");
}

/// Who hears of kinds, in that order.
#[derive(Default)]
struct Order(Mutex<Vec<&'static str>>);

impl Observer for Order {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState, _: SchemaNews<'_>) {
        lock(&self.0).push("observer");
    }
}

impl Listener for Order {
    fn changed(&self, _: &Index, _: &Change) {}
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState) {
        lock(&self.0).push("listener");
    }
}

#[tokio::test]
async fn who_observes_hears_of_a_kind_once_and_before_all_who_listen() {
    let order = Arc::new(Order::default());
    let cluster = observed(Arc::clone(&order) as _);
    let (one, other) = (Arc::new(WatchSpec::all(job())), Arc::new(WatchSpec::all(job()).labelled("a")));
    cluster.listen(&one, 1, &(Arc::clone(&order) as _));
    cluster.listen(&other, 2, &(Arc::clone(&order) as _));
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!(*lock(&order.0), ["observer", "listener", "listener"]);
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!(lock(&order.0).len(), 3, "nothing is new");
}

/// What is told of clusters.
#[derive(Default)]
struct Word(Mutex<Vec<String>>);

impl Observer for Word {
    fn cluster(&self, name: &ClusterName, state: &ClusterState) {
        lock(&self.0).push(format!("{} {}", name.name(), state.as_str()));
    }
    fn kind(&self, name: &ClusterName, _: &GroupVersionKind, _: &KindState, _: SchemaNews<'_>) {
        lock(&self.0).push(format!("{} kind", name.name()));
    }
}

#[tokio::test]
async fn a_server_tells_all_whom_it_serves_and_ends_with_the_last() {
    let word = Arc::new(Word::default());
    let told = || std::mem::take(&mut *lock(&word.0));
    let (budget, name) = (Budget::new(1 << 20), |name| ClusterName::new(broker_api::Role::Compute, name));
    let server = Server::unconnected(name("server"), &budget.engage(&name("server")));
    let join = |of| Cluster::new(name(of), None, Arc::clone(&server), Arc::clone(&word) as _, budget.engage(&name(of)));
    let (a, b) = (join("a"), join("b"));
    let spec = Arc::new(WatchSpec::all(job()));
    b.listen(&spec, 1, &(Arc::new(Stranger) as _));

    server.set_state(
        &ClusterState::Unreachable { since: Instant::now(), cause: Cause::Lost, why: "it is off".into() },
        None,
    );
    assert_eq!(told(), ["a Unreachable", "b Unreachable"]);
    server.set_kind(&job(), &found(), &Reading::Document(None));
    assert_eq!(told(), ["b kind"], "who does not watch it has nothing to do with it");
    a.listen(&spec, 1, &(Arc::new(Stranger) as _));
    b.unlisten(&spec, 1);
    assert_eq!(a.kind(&job()), found(), "one still wants it");

    a.leave().await;
    assert_eq!(told(), ["a Leaving"]);
    assert_eq!([a.state().as_str(), b.state().as_str()], ["Leaving", "Unreachable"]);
    assert!(!server.tasks.are_ending());
    server.set_state(&ClusterState::Connecting, None);
    assert_eq!(told(), ["b Connecting"]);
    b.leave().await;
    assert!(server.tasks.are_ending() && server.tasks.count() == 0);
}

#[tokio::test]
async fn an_object_that_cannot_be_compressed_is_held_whole_by_whoever_does_not_read_it_again() {
    let (cluster, told) = (cluster(), Arc::new(Told::default()));
    let spec = Arc::new(WatchSpec::all(job()));
    cluster.listen(&spec, 1, &(Arc::clone(&told) as _));
    let index = cluster.index(&spec).unwrap();
    assert!(!index.may_drop());
    let mut seed: u32 = 1;
    let letters = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b'?' + u8::try_from(seed >> 27).unwrap())
    });
    let text: String = letters.filter(|letter| *letter != '\\').take(1 << 20).collect();
    let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"2"}},"data":"{text}"}}"#);
    let (key, object) = Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap();
    assert!(object.size() > 600_000, "{} bytes", object.size());
    assert!(crate::page::kept(&*cluster, &index, &key, object).has_body());
}

#[tokio::test]
async fn a_watch_without_bodies_holds_those_that_were_read_and_tells_of_news_among_them() {
    let (cluster, told) = (cluster(), Arc::new(Told::default()));
    let (spec, key) = (Arc::new(WatchSpec::all(job()).without_bodies()), ObjectKey::new("n", "a"));
    cluster.listen(&spec, 1, &(Arc::clone(&told) as _));
    let index = cluster.index(&spec).unwrap();
    let stub = crate::page::kept(&*cluster, &index, &key, object());
    assert!(!stub.has_body(), "whoever listens keeps all, and metadata is no body");
    index.replace(vec![(key.clone(), stub)], 2);
    let held = || index.get(&key).found().unwrap();
    cluster.fill(&spec, &key, object());
    assert!(held().has_body() && told.counts() == [0, 0, 0], "the watch has told of this version");
    let newer = |version| {
        let mut object = object();
        object.resource_version = version;
        object
    };
    cluster.fill(&spec, &key, newer(3));
    assert_eq!((held().resource_version, told.counts()), (3, [1, 0, 0]), "it will not tell of this one");
    let next = crate::page::kept(&*cluster, &index, &key, newer(4));
    index.upsert(key.clone(), next, Source::Watch);
    assert!(!held().has_body(), "what it was is not what it is");
}

/// By uid.
struct Sorts;

impl Listener for Sorts {
    fn sorts(&self) -> &'static [crate::sorted::Sort] {
        &[crate::sorted::Sort { name: "uid", by: |object| vec![(&*object.uid).into()] }]
    }
    fn changed(&self, index: &Index, change: &Change) {
        assert!(index.sorted("uid", "u").contains(&change.key), "it is sorted before anybody hears of it");
    }
}

#[tokio::test]
async fn a_watch_sorts_by_what_its_listeners_ask_for() {
    let cluster = cluster();
    let (spec, key) = (Arc::new(WatchSpec::all(job())), ObjectKey::new("n", "a"));
    cluster.listen(&spec, 1, &(Arc::new(Told::default()) as _));
    let index = cluster.index(&spec).unwrap();
    index.replace(vec![(key.clone(), object())], 2);
    assert!(index.sorted("uid", "u").is_empty());
    cluster.listen(&spec, 2, &(Arc::new(Sorts) as _));
    assert_eq!(index.sorted("uid", "u"), [key]);
}

/// Counts what it hears of.
struct Counts(Arc<Census>);

impl Listener for Counts {
    fn census(&self) -> Option<Arc<Census>> {
        Some(Arc::clone(&self.0))
    }
    fn changed(&self, _: &Index, _: &Change) {}
}

#[tokio::test]
async fn what_was_seen_before_somebody_counts_is_counted_too() {
    let (cluster, census) = (cluster(), Census::new(|name| name.get(..)));
    let (spec, key) = (Arc::new(WatchSpec::all(job())), ObjectKey::new("n", "a"));
    cluster.listen(&spec, 1, &(Arc::new(Stranger) as _));
    cluster.index(&spec).unwrap().replace(vec![(key.clone(), object())], 2);
    assert!(census.holders(&key).is_empty());
    cluster.listen(&spec, 2, &(Arc::new(Counts(Arc::clone(&census))) as _));
    assert_eq!(census.holders(&key), [cluster.name().clone()]);
    cluster.index(&spec).unwrap().replace(vec![], 3);
    assert!(census.holders(&key).is_empty());
    cluster.index(&spec).unwrap().replace(vec![(key.clone(), object())], 4);
    cluster.unlisten(&spec, 2);
    cluster.unlisten(&spec, 1);
    assert!(census.holders(&key).is_empty(), "a watch that has ended counts no more");
}

#[tokio::test]
async fn a_kind_that_another_watch_wants_stays_known() {
    let cluster = cluster();
    let listener = Arc::new(Told::default()) as Arc<dyn Listener>;
    let (one, other) = (Arc::new(WatchSpec::all(job())), Arc::new(WatchSpec::all(job()).labelled("a")));
    cluster.listen(&one, 1, &listener);
    cluster.listen(&other, 2, &listener);
    cluster.server.set_kind(&job(), &found(), &Reading::Document(None));
    cluster.unlisten(&other, 2);
    assert_eq!(cluster.kind(&job()), found());
    assert!(cluster.index(&one).is_some());
    cluster.unlisten(&other, 2);
    cluster.unlisten(&one, 1);
    assert_eq!(cluster.kind(&job()), KindState::Unknown);
}
