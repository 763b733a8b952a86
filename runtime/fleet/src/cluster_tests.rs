//! Watches that are no longer wanted.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use super::*;

#[derive(Default)]
struct Told(AtomicUsize);

impl Observer for Told {
    fn keep(&self, _: &Index, _: &ObjectKey) -> bool {
        true
    }
    fn reads_again(&self, _: &ClusterName, _: &WatchSpec) -> bool {
        true
    }
    fn changed(&self, _: &Index, _: &Change) {}
    fn completed(&self, _: &Index) {}
    fn kind(&self, _: &ClusterName, _: &GroupVersionKind, _: &KindState, _: Option<&Value>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
}

fn cluster() -> (Arc<Cluster>, Arc<Told>) {
    let told = Arc::new(Told::default());
    let name = ClusterName::new(broker_api::Role::Compute, "c");
    let share = crate::budget::Budget::new(1 << 20).engage(&name);
    (Arc::new(Cluster::new(name, &crate::conventions::PLAIN, Arc::clone(&told) as Arc<_>, share)), told)
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
        while cluster.tasks.len() > count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), fewer).await.unwrap();
}

#[tokio::test]
async fn a_watch_that_is_not_wanted_ends_and_is_forgotten() {
    let (cluster, told) = cluster();
    let spec = Arc::new(WatchSpec::all(job()).labelled("a"));
    let index = cluster.watch(&spec);
    index.replace(Vec::new(), 1);
    cluster.set_kind(&job(), &found(), None);
    assert!(cluster.index(&cluster.crds).is_some(), "CRDs are watched, so that a kind that comes later is found");
    let before = cluster.tasks.len();

    cluster.unwatch(&spec);
    until_tasks(&cluster, before - 1).await;
    assert!(cluster.index(&spec).is_none() && cluster.indexes().is_empty());
    assert_eq!(cluster.kind(&job()), KindState::Unknown, "nobody asks for the kind any more");
    assert!(!cluster.due_kinds().0.contains(&job()));

    // An answer that was under way.
    cluster.set_kind(&job(), &found(), None);
    assert_eq!((cluster.kind(&job()), told.0.load(Ordering::Relaxed)), (KindState::Unknown, 1));

    let again = cluster.watch(&spec);
    assert!(!again.is_complete(), "what was seen before counts no more");
    assert!(cluster.due_kinds().0.contains(&job()));
}

#[tokio::test]
async fn a_kind_that_another_watch_wants_stays_known() {
    let (cluster, _) = cluster();
    let (one, other) = (Arc::new(WatchSpec::all(job())), Arc::new(WatchSpec::all(job()).labelled("a")));
    cluster.watch(&one);
    cluster.watch(&other);
    cluster.set_kind(&job(), &found(), None);
    cluster.unwatch(&other);
    assert_eq!(cluster.kind(&job()), found());
    assert!(cluster.index(&one).is_some());
    cluster.unwatch(&other);
    cluster.unwatch(&one);
    assert_eq!(cluster.kind(&job()), KindState::Unknown);
}
