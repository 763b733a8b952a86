//! For tests: an engine that leads, and one cluster whose API server answers nobody.

use std::{future::pending, sync::Arc};

use broker_api::{ClusterName, Role};
use runtime_fleet::{
    budget::Budget,
    cluster::{Cluster, ClusterState},
    conventions::Conventions,
    dial::{Dial, Dialing},
    fleet::{Fleet, FleetOptions},
    kubeconfig::{Kubeconfig, Trust},
    lease::Leadership,
    listener::Observer,
};

use crate::{decisions::Decisions, engine::Engine, meters::Meters};

pub(crate) static CONVENTIONS: Conventions = Conventions {
    program: "the test",
    manager: "test",
    words: b"",
    prefix: "example.org/",
    role: "example.org/role",
    roles: &[Role::Provider],
    apart: &[],
    identified: &[],
    reads_core_schemas: false,
};

static METERS: Meters =
    Meters { waited: |_| (), decided: |_| (), slow: || (), worked: |_| (), write_failed: |_| (), event_dropped: || () };

pub(crate) const KUBECONFIG: &str = "apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://a.invalid:6443'}}]
users: [{name: a, user: {token: a}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
";

struct Nobody;

impl Observer for Nobody {
    fn cluster(&self, _cluster: &ClusterName, _state: &ClusterState) {}
}

impl Dial for Nobody {
    fn dial<'a>(&'a self, _kubeconfig: &'a Kubeconfig) -> Dialing<'a> {
        Box::pin(pending())
    }
}

/// The cluster's name.
pub(crate) fn name() -> ClusterName {
    ClusterName::provider("a")
}

/// An engine that leads until it is stopped, with so many slots for writes to the cluster's API server.
pub(crate) fn engine(concurrent_writes: usize) -> Arc<Engine> {
    let engine = Engine::new(Decisions::inline(METERS.slow), &METERS);
    engine.set_leadership(Leadership::always());
    let fleet = Fleet::new(FleetOptions {
        conventions: &CONVENTIONS,
        observer: Arc::new(Nobody),
        meter: |_, _, _, _| (),
        budget: Budget::new(64 << 20),
        concurrent_writes,
        dial: Arc::new(Nobody),
    });
    let kubeconfig = Kubeconfig::parse(KUBECONFIG, &Trust::Secret).unwrap();
    fleet.engage(&name(), Arc::new(kubeconfig), None);
    engine.set_fleet(fleet);
    engine
}

/// The cluster.
pub(crate) fn cluster(engine: &Engine) -> Arc<Cluster> {
    engine.fleet().cluster(&name()).unwrap()
}
