//! `Doubts`: objects that a write may have made of which no answer came, and that nobody has seen.
//!
//! The watch tells of them, but it may be silent for as long as it takes to notice that a connection is broken. Whoever took
//! what it does not show for absent meanwhile would let go of something while a part of it is left. To make it again is no
//! danger: what is there then is refused.

use std::{
    fmt::Display,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use broker_api::ClusterName;
use runtime_effect::{
    kind::Kind,
    write::{Op, Write},
};
use runtime_fleet::{
    cluster::Cluster,
    crash::spawn,
    hashed::HashMap,
    lock::lock,
    object::{Object, ObjectKey},
    watch::WatchSpec,
    write::Writer,
};
use tokio::time::{Instant, sleep, sleep_until};
use tracing::debug;

use crate::{
    engine::{Engine, Reachable},
    machine::Machine,
};

/// API servers give up what they have begun after 34 s: that something is not there says nothing before.
const SURE: Duration = Duration::from_secs(40);

/// Wait before an API server that did not answer is asked again: the first, which doubles, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(30);

/// An object that may have been made.
struct Doubt {
    cluster: Arc<Cluster>,
    spec: Arc<WatchSpec>,
    object: ObjectKey,
    /// When the last write that may have made it was given up.
    since: Instant,
}

impl Doubt {
    fn is_of(&self, cluster: &ClusterName, spec: &WatchSpec, object: &ObjectKey) -> bool {
        self.cluster.name() == cluster && *self.spec == *spec && self.object == *object
    }

    /// Whether it is seen, or nobody can tell any more: what is known of a cluster that has left counts no more.
    fn is_over(&self, engine: &Engine) -> bool {
        let engaged = engine.fleet().cluster(self.cluster.name());
        let index = engaged.filter(|now| Arc::ptr_eq(now, &self.cluster)).and_then(|now| now.index(&self.spec));
        index.is_none_or(|index| index.get(&self.object).found().is_some())
    }
}

/// See the module: by the keys for which they were to be made.
#[derive(Default)]
pub(crate) struct Doubts {
    of: Mutex<HashMap<String, Vec<Doubt>>>,
    /// Of how many keys there are any: nearly always none, and then nobody waits for the lock.
    count: AtomicUsize,
}

impl Doubts {
    fn change<T>(&self, change: impl FnOnce(&mut HashMap<String, Vec<Doubt>>) -> T) -> T {
        let mut of = lock(&self.of);
        let changed = change(&mut of);
        of.retain(|_, doubts| !doubts.is_empty());
        self.count.store(of.len(), Ordering::Release);
        changed
    }

    /// Notes one. Returns whether it is new.
    fn add(&self, key: String, doubt: Doubt) -> bool {
        self.change(|of| {
            let held = of.entry(key).or_default();
            let known = held.iter_mut().find(|held| held.is_of(doubt.cluster.name(), &doubt.spec, &doubt.object));
            if let Some(known) = known {
                known.since = doubt.since;
                return false;
            }
            held.push(doubt);
            true
        })
    }
}

impl Engine {
    /// Where there may be something that was to be made for a key, and of which kind it is, although no watch shows it.
    pub fn hidden(&self, key: &impl Display) -> Vec<(ClusterName, Kind)> {
        if self.doubts.count.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        let of = lock(&self.doubts.of);
        let doubts = of.get(&key.to_string()).into_iter().flatten().filter(|doubt| !doubt.is_over(self));
        doubts.map(|doubt| (doubt.cluster.name().clone(), Kind::from(&doubt.spec.gvk))).collect()
    }
}

/// A write was given up without an answer: nobody knows whether it has made its object. The key is looked at again once
/// somebody does.
pub(crate) fn doubt<M: Machine>(machine: &M, key: &M::Key, write: &Write<M::Subject>) {
    let Op::Create(_) = &write.op else { return };
    let engine = Arc::clone(machine.engine());
    let (Some(cluster), Some(spec)) = (engine.fleet().cluster(&write.cluster), machine.sees(key, write)) else {
        return;
    };
    let object = ObjectKey::new(write.namespace.as_str(), write.name.as_str());
    let (queue, key) = (Arc::clone(machine.queue()), key.clone());
    let one = Settling { cluster: Arc::clone(&cluster), spec: Arc::clone(&spec), object: object.clone() };
    if engine.doubts.add(key.to_string(), Doubt { cluster, spec, object, since: Instant::now() }) {
        spawn(async move {
            one.settle(&engine, &key.to_string()).await;
            queue.add(key);
        });
    }
}

/// What is waited for of one doubt.
struct Settling {
    cluster: Arc<Cluster>,
    spec: Arc<WatchSpec>,
    object: ObjectKey,
}

impl Settling {
    /// Waits until the object is seen, or its API server says, late enough, that there is none.
    async fn settle(&self, engine: &Engine, key: &str) {
        let (mut wait, mut failures) = (FIRST, 0);
        while let Some(since) = self.since(engine, key) {
            if since.elapsed() < SURE {
                sleep_until(since + SURE).await;
                continue;
            }
            match self.is_there(engine, failures).await {
                Some(false) => break,
                // The watch will tell.
                Some(true) => {}
                None => failures += 1,
            }
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST);
        }
        self.remove(engine, key);
    }

    /// Since when nobody knows; `None`: somebody does.
    fn since(&self, engine: &Engine, key: &str) -> Option<Instant> {
        let of = lock(&engine.doubts.of);
        let mut doubts = of.get(key)?.iter();
        let doubt = doubts.find(|doubt| doubt.is_of(self.cluster.name(), &self.spec, &self.object))?;
        (!doubt.is_over(engine)).then_some(doubt.since)
    }

    fn remove(&self, engine: &Engine, key: &str) {
        engine.doubts.change(|of| {
            if let Some(held) = of.get_mut(key) {
                held.retain(|doubt| !doubt.is_of(self.cluster.name(), &self.spec, &self.object));
            }
        });
    }

    /// Whether its API server says that there is such an object; `None`: it does not answer.
    async fn is_there(&self, engine: &Engine, failures: u32) -> Option<bool> {
        let Reachable { cluster, caller, kind } = engine.reachable(self.cluster.name(), &Kind::from(&self.spec.gvk))?;
        match Writer::new(&caller.after(failures)).get(&kind, &self.object).await {
            Ok(found) => Some(found.is_some_and(|found| self.shows(&found))),
            Err(error) => {
                debug!(cluster = %cluster.name(), object = %self.object, %error, "nobody knows whether it was made");
                None
            }
        }
    }

    /// Whether the watch shows an object: somebody else's, which has taken the name, it may not.
    fn shows(&self, found: &Object) -> bool {
        let labels = found.marks().labels;
        self.spec.label_selector.iter().flat_map(|all| all.split(',')).all(|label| match label.split_once('=') {
            Some((name, value)) => labels.get(name).is_some_and(|held| held == value),
            None => labels.contains_key(label),
        })
    }
}

#[cfg(test)]
mod tests {
    use runtime_fleet::{
        GroupVersionKind,
        index::{Change, Index, Source},
        listener::{Listener, Selector},
        subscription::Subscription,
    };

    use super::*;
    use crate::stub;

    struct Deaf;

    impl Listener for Deaf {
        fn changed(&self, _: &Index, _: &Change) {}
    }

    fn watch(engine: &Engine, of: &Settling) -> Subscription {
        engine.fleet().listen(&Selector::Name(stub::name()), &of.spec, &Arc::new(Deaf))
    }

    fn object(labels: &str) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"5","labels":{labels}}}}}"#);
        Object::parse(raw.as_bytes(), None, &stub::CONVENTIONS).unwrap().1
    }

    fn settling(engine: &Engine, spec: WatchSpec) -> Settling {
        Settling { cluster: stub::cluster(engine), spec: Arc::new(spec), object: ObjectKey::new("n", "a") }
    }

    fn maps() -> WatchSpec {
        WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap"))
    }

    fn note(engine: &Engine, of: &Settling, key: &str) -> bool {
        let (cluster, spec, object) = (Arc::clone(&of.cluster), Arc::clone(&of.spec), of.object.clone());
        engine.doubts.add(key.to_owned(), Doubt { cluster, spec, object, since: Instant::now() })
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_made_is_hidden_until_it_is_seen() {
        let engine = stub::engine(1);
        let one = settling(&engine, maps());
        let _watch = watch(&engine, &one);
        let index = one.cluster.index(&one.spec).unwrap();
        assert!(note(&engine, &one, "web") && !note(&engine, &one, "web"), "it is waited for once");
        assert_eq!(engine.hidden(&"web"), [(stub::name(), Kind::core("ConfigMap"))]);
        assert!(engine.hidden(&"mail").is_empty());
        index.upsert(one.object.clone(), object("{}"), Source::Watch);
        assert!(engine.hidden(&"web").is_empty());
        one.settle(&engine, "web").await;
        assert_eq!(engine.doubts.count.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_cluster_that_has_left_nothing_is_waited_for() {
        let engine = stub::engine(1);
        let one = settling(&engine, maps());
        let _watch = watch(&engine, &one);
        note(&engine, &one, "web");
        engine.fleet().disengage(&stub::name()).await;
        assert!(engine.hidden(&"web").is_empty());
        one.settle(&engine, "web").await;
        assert_eq!(engine.doubts.count.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn an_api_server_that_does_not_answer_is_waited_for() {
        let engine = stub::engine(1);
        let one = settling(&engine, maps());
        let _watch = watch(&engine, &one);
        note(&engine, &one, "web");
        let waits = tokio::time::timeout(Duration::from_hours(1), one.settle(&engine, "web")).await;
        assert!(waits.is_err() && !engine.hidden(&"web").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_its_watch_does_not_show_is_not_waited_for() {
        let engine = stub::engine(1);
        let shows = |selector: &str, labels: &str| settling(&engine, maps().labelled(selector)).shows(&object(labels));
        assert!(settling(&engine, maps()).shows(&object("{}")));
        assert!(shows("a", r#"{"a":"1"}"#) && !shows("a", r#"{"b":"1"}"#));
        assert!(shows("a=1,b", r#"{"a":"1","b":"2"}"#) && !shows("a=1,b", r#"{"a":"2","b":"2"}"#));
    }
}
