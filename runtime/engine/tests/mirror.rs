//! The smallest machine there is, on real API servers: for each ConfigMap with a label in one cluster it keeps one in
//! another. A machine needs nothing but to listen, to observe, to decide and to absorb; all else is the engine's.

#![allow(clippy::unwrap_used)]

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use broker_api::{ClusterName, Role};
use harness::{Cluster, Lab, LabOptions, wait_for};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::DeleteParams};
use runtime_effect::{
    kind::Kind,
    memory::{Memory, Sole},
    merge::digest,
    seen::Seen,
    view::View,
    write::{Op, Write},
};
use runtime_engine::{
    decisions::Decisions,
    engine::Engine,
    machine::{Machine, Occasion, Plan},
    meters::Meters,
    records::Records,
    worker,
};
use runtime_fleet::{
    GroupVersionKind,
    budget::Budget,
    cluster::ClusterState,
    conventions::Conventions,
    dial::Sockets,
    fleet::{Fleet, FleetOptions},
    index::{Change, Index},
    kubeconfig::{Kubeconfig, Trust},
    lease::Leadership,
    listener::{ClusterSelector, Listener, Observer},
    lock::lock,
    queue::{InCluster, Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::json;

/// The machine.
struct Mirror {
    engine: Arc<Engine>,
    spec: Arc<WatchSpec>,
    from: ClusterName,
    to: ClusterName,
    records: Records<InCluster, Memory<Sole>>,
}

/// Listen: whatever happens to a ConfigMap at either side concerns that of its name, and once all of one side is known, what
/// was seen at the other can be decided on.
impl Listener for Mirror {
    fn changed(&self, _index: &Index, change: &Change) {
        self.records.enqueue(InCluster { cluster: self.from.clone(), key: change.key.clone() });
    }

    fn completed(&self, _index: &Index) {
        let sides = self.engine.fleet().engaged([&self.from, &self.to]);
        for (key, _) in sides.iter().filter_map(|side| side.index(&self.spec)).flat_map(|index| index.snapshot()) {
            self.records.enqueue(InCluster { cluster: self.from.clone(), key });
        }
    }
}

impl Machine for Mirror {
    type Key = InCluster;
    type Subject = Sole;

    fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    fn queue(&self) -> &Arc<Queue<InCluster>> {
        self.records.queue()
    }

    /// Observe, decide, absorb.
    fn decide(&self, name: &InCluster, _occasion: &Occasion) -> Result<Plan<Sole>, Outcome> {
        let (memory, key) = (self.records.of(name), &name.key);
        let see = |cluster| self.engine.seen(cluster, &self.spec, key);
        let body = |of: &View| json!({"data": of.value["data"], "metadata": {"labels": {"mirrored": "true"}}});
        let (op, wanted) = match (see(&self.from), see(&self.to)) {
            // What is not known is not absent.
            (Seen::Unknown, _) | (_, Seen::Unknown) => return Err(Outcome::Done),
            (Seen::Present(original), Seen::Absent) => (Op::Create(body(&original)), body(&original)),
            (Seen::Present(original), Seen::Present(copy)) if original.value["data"] != copy.value["data"] => {
                (Op::Apply { body: body(&original), uid: copy.uid }, body(&original))
            }
            (Seen::Absent, Seen::Present(copy)) => (Op::delete(copy.uid.clone()), json!(copy.uid)),
            (Seen::Present(_), Seen::Present(_)) => return Ok(Plan::default()),
            (Seen::Absent, Seen::Absent) => {
                self.records.forget(name);
                return Ok(Plan::default());
            }
        };
        let (kind, intent) = (Kind::from(&self.spec.gvk), digest(&wanted));
        let (cluster, namespace, name) = (self.to.clone(), key.namespace.to_string(), key.name.to_string());
        let write = Write { cluster, kind, namespace, name, op, intent, subject: Sole, notes: Vec::new() };
        Plan::paced([write], &lock(&memory))
    }

    fn remember<T>(&self, name: &InCluster, change: impl FnOnce(&mut Memory<Sole>) -> T) -> Option<T> {
        self.records.with(name, change)
    }

    fn sees(&self, _name: &InCluster, _write: &Write<Sole>) -> Option<Arc<WatchSpec>> {
        Some(Arc::clone(&self.spec))
    }
}

static CONVENTIONS: Conventions = Conventions {
    program: "the mirror",
    manager: "mirror",
    words: b"",
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

static DECIDED: AtomicUsize = AtomicUsize::new(0);
static TURNS: AtomicUsize = AtomicUsize::new(0);

static METERS: Meters = Meters {
    waited: |_| {
        TURNS.fetch_add(1, Ordering::Relaxed);
    },
    decided: |_| {
        DECIDED.fetch_add(1, Ordering::Relaxed);
    },
    slow: || (),
    worked: |_| (),
    write_failed: |_| (),
    event_dropped: || (),
};

struct Nobody;

impl Observer for Nobody {
    fn cluster(&self, _cluster: &ClusterName, _state: &ClusterState) {}
}

#[tokio::test]
async fn a_tiny_machine_keeps_config_maps_in_step() {
    const LIMIT: Duration = Duration::from_mins(1);
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let (a, b) = (lab.cluster("a").await.unwrap(), lab.cluster("b").await.unwrap());

    let engine = Engine::new(Decisions::start(METERS.slow).unwrap(), &METERS);
    engine.set_leadership(Leadership::always());
    engine.set_fleet(Fleet::new(FleetOptions {
        conventions: &CONVENTIONS,
        observer: Arc::new(Nobody),
        meter: |_, _, _, _| (),
        budget: Budget::new(64 << 20),
        concurrent_writes: 4,
        dial: Arc::new(Sockets),
    }));
    let mirror = Arc::new(Mirror {
        engine: Arc::clone(&engine),
        spec: Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap")).labelled("mirrored")),
        from: ClusterName::new(Role::Consumer, "a"),
        to: ClusterName::new(Role::Provider, "b"),
        records: Records::default(),
    });
    let fleet = engine.fleet();
    let _both = [&mirror.from, &mirror.to]
        .map(|cluster| fleet.listen(&ClusterSelector::Name(cluster.clone()), &mirror.spec, &mirror));
    let engage = |name, cluster: &Cluster| {
        let text = cluster.kubeconfig("admin").unwrap();
        fleet.engage(name, Arc::new(Kubeconfig::parse(&text, &Trust::Secret).unwrap()), None);
    };
    let work = tokio::spawn(worker::run(Arc::clone(&mirror), engine.stop.clone()));

    let original: Api<ConfigMap> = Api::default_namespaced(a.client("person").await.unwrap());
    let copy: Api<ConfigMap> = Api::default_namespaced(b.client("person").await.unwrap());
    let value = |held: Option<ConfigMap>| held.and_then(|held| held.data?.get("k").cloned());
    let follows = async |wanted: Option<&str>| {
        let look = async || {
            let seen = value(copy.get_opt("m").await?);
            anyhow::ensure!(seen.as_deref() == wanted, "it says {seen:?}");
            Ok(())
        };
        wait_for(LIMIT, "the other one to follow", look).await.unwrap();
    };
    let apply = async |to: &Cluster, value: &str| {
        let metadata = "{name: m, namespace: default, labels: {mirrored: 'true'}}";
        let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {{k: {value}}}}}");
        to.apply("person", &text).await.unwrap();
    };
    apply(&a, "one").await;
    engage(&mirror.from, &a);
    let decided = async || {
        anyhow::ensure!(DECIDED.load(Ordering::Relaxed) > 0, "nothing was decided");
        Ok(())
    };
    wait_for(LIMIT, "a decision while nothing is known of the other side", decided).await.unwrap();
    engage(&mirror.to, &b);
    follows(Some("one")).await;
    apply(&a, "two").await;
    follows(Some("two")).await;
    apply(&b, "three").await;
    follows(Some("two")).await;
    original.delete("m", &DeleteParams::default()).await.unwrap();
    follows(None).await;

    engine.stop.cancel();
    work.await.unwrap();
    fleet.shut_down().await;
    assert!(TURNS.load(Ordering::Relaxed) > 0, "nobody was told how long keys waited");
}
