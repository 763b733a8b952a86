//! Watches that start and end as the labels of clusters change.

use std::{collections::BTreeMap, sync::Mutex};

use broker_api::{ClusterName, Role};
use kube::core::GroupVersionKind;

use super::*;
use crate::{
    budget::Budget,
    cluster::{ClusterState, Labels},
    conventions::PLAIN,
    dial::{Dial, Dialed, Dialing},
    fleet::FleetOptions,
    index::{Change, Index},
    kubeconfig::Kubeconfig,
    listener::Observer,
    lock::lock,
};

/// Reaches nobody.
struct Nowhere;

impl Dial for Nowhere {
    fn dial<'a>(&'a self, _: &'a Kubeconfig) -> Dialing<'a> {
        Box::pin(std::future::pending::<Result<Dialed, String>>())
    }
}

/// What was told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Told {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Observer for Told {
    fn cluster(&self, _: &ClusterName, _: &ClusterState) {}
    fn labels(&self, cluster: &ClusterName, labels: Option<&Labels>) {
        lock(&self.0).push(format!("{} labels {:?}", cluster.name(), labels.map(|labels| labels.get("tier"))));
    }
}

impl Listener for Told {
    fn changed(&self, _: &Index, _: &Change) {}
    fn completed(&self, index: &Index) {
        lock(&self.0).push(format!("{} completed", index.cluster().name()));
    }
    fn ended(&self, cluster: &ClusterName) {
        lock(&self.0).push(format!("{} ended", cluster.name()));
    }
}

struct Scene {
    told: Arc<Told>,
    fleet: Arc<Fleet>,
    spec: Arc<WatchSpec>,
}

impl Scene {
    fn new() -> Self {
        let told = Arc::new(Told::default());
        let fleet = Fleet::new(FleetOptions {
            conventions: &PLAIN,
            observer: Arc::clone(&told) as _,
            meter: |_, _, _, _| {},
            budget: Budget::new(1 << 20),
            concurrent_writes: 1,
            dial: Arc::new(Nowhere),
        });
        Self { told, fleet, spec: Arc::new(WatchSpec::all(GroupVersionKind::gvk("batch", "v1", "Job"))) }
    }

    fn engage(&self, name: &str, labels: Option<Labels>) {
        self.fleet.engage(&ClusterName::provider(name), Kubeconfig::stub(), labels);
    }

    fn listen(&self, selector: &ClusterSelector) -> Subscription {
        self.fleet.listen(selector, &self.spec, &self.told)
    }

    /// Where the watch runs.
    fn runs(&self) -> Vec<String> {
        let runs = self.fleet.clusters().into_iter().filter(|cluster| cluster.index(&self.spec).is_some());
        runs.map(|cluster| cluster.name().name().to_owned()).collect()
    }
}

fn tier(of: &str) -> Labels {
    Arc::new(BTreeMap::from([("tier".to_owned(), of.to_owned())]))
}

fn gold() -> ClusterSelector {
    ClusterSelector::Labelled(Role::Provider, BTreeMap::from([("tier".to_owned(), "gold".to_owned())]))
}

#[tokio::test]
async fn a_watch_starts_and_ends_as_labels_change() {
    let scene = Scene::new();
    scene.engage("a", Some(tier("gold")));
    let subscription = scene.listen(&gold());
    scene.engage("b", Some(tier("gold")));
    scene.engage("c", Some(tier("silver")));
    assert_eq!(scene.runs(), ["a", "b"], "who was there, and who came");
    assert!(scene.told.take().is_empty(), "who comes does not change");

    scene.engage("c", Some(tier("gold")));
    assert_eq!(scene.runs(), ["a", "b", "c"]);
    assert_eq!(scene.told.take(), ["c labels Some(Some(\"gold\"))"]);
    scene.engage("a", Some(Labels::default()));
    assert_eq!(scene.runs(), ["b", "c"]);
    assert_eq!(scene.told.take(), ["a labels Some(None)", "a ended"]);
    scene.engage("a", Some(Labels::default()));
    assert!(scene.told.take().is_empty(), "nothing is new");

    drop(subscription);
    assert!(scene.runs().is_empty());
    scene.engage("a", Some(tier("gold")));
    assert!(scene.runs().is_empty(), "nobody asks any more");
    scene.fleet.shut_down().await;
}

#[tokio::test]
async fn where_labels_cannot_be_read_all_stays_as_it_is() {
    let scene = Scene::new();
    scene.engage("runs", Some(tier("gold")));
    scene.engage("not", Some(tier("silver")));
    scene.engage("new", None);
    let _subscription = scene.listen(&gold());
    scene.told.take();
    scene.engage("runs", None);
    scene.engage("not", None);
    assert_eq!(scene.runs(), ["runs"]);
    assert_eq!(scene.told.take(), ["runs labels None", "not labels None"]);
    scene.engage("runs", Some(tier("silver")));
    scene.engage("new", Some(tier("gold")));
    assert_eq!(scene.runs(), ["new"]);
    scene.fleet.shut_down().await;
}

#[tokio::test]
async fn who_is_meant_otherwise_goes_on_when_labels_change() {
    let scene = Scene::new();
    scene.engage("a", Some(tier("gold")));
    let _all = scene.listen(&ClusterSelector::Role(Role::Provider));
    let cluster = scene.fleet.clusters().remove(0);
    cluster.index(&scene.spec).unwrap().replace(Vec::new(), 1);
    let _gold = scene.listen(&gold());
    assert_eq!(scene.told.take(), ["a completed"], "it shares the watch, and hears that all is there");
    scene.engage("a", Some(tier("silver")));
    scene.engage("a", Some(tier("gold")));
    assert_eq!(scene.runs(), ["a"]);
    let told = scene.told.take();
    assert_eq!(told[1..], ["a ended", told[2].as_str(), "a completed"], "only who asks for labels");
    scene.fleet.shut_down().await;
}
