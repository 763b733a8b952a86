//! The broker as a process: it starts, it may crash, and is started anew.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::Duration,
};

use clap::Parser as _;
use resource_broker::{
    app::{self, Running},
    options::Options,
};
use runtime_cel::expression::{Evaluator, Limits};
use runtime_engine::decisions::Decisions;
use runtime_fleet::wall;
use sim::{Weather, Wire, World};
use tempfile::TempDir;
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};

use crate::stage::HUB;

/// How long it takes until a process is started anew.
const RESTART: Duration = Duration::from_secs(1);

/// What the hub's kubeconfig is read from: the one file of a world.
static HUB_FILE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{HUB}.kubeconfig"));
    fs::write(&path, World::kubeconfig(HUB)).unwrap();
    (folder, path)
});

fn options() -> Options {
    let hub = HUB_FILE.1.to_str().unwrap();
    Options::try_parse_from([
        "resource-broker",
        "--coordination-kubeconfig",
        hub,
        "--namespace",
        "broker",
        "--cluster-secrets-namespace",
        "clusters",
        "--watch-kind",
        "Certificate.v1alpha1.example.platform-mesh.io",
        "--health-probe-bind-address",
        "0",
    ])
    .unwrap()
}

/// A broker that is started anew whenever it crashes.
pub(crate) struct Program {
    wire: watch::Receiver<Option<Wire>>,
    weather: watch::Sender<Weather>,
    supervisor: JoinHandle<()>,
}

impl Program {
    /// The first process crashes after the first of so many writes, the next after the second.
    pub(crate) fn start(world: &Arc<World>, seed: u64, crashes: Vec<u64>) -> Self {
        let (tell, wire) = watch::channel(None);
        let weather = watch::Sender::new(Weather::CALM);
        let supervisor = tokio::spawn(supervise(Arc::clone(world), seed, crashes, tell, weather.subscribe()));
        Self { wire, weather, supervisor }
    }

    /// From now on so much goes wrong, whichever process runs.
    pub(crate) fn set_weather(&self, weather: Weather) {
        self.weather.send_replace(weather);
        if let Some(wire) = self.wire.borrow().as_ref() {
            wire.set_weather(weather);
        }
    }

    /// How much the process has written that runs now.
    pub(crate) fn writes(&self) -> u64 {
        self.wire.borrow().as_ref().map_or(0, Wire::writes)
    }

    pub(crate) fn end(self) {
        self.supervisor.abort();
    }
}

async fn supervise(
    world: Arc<World>,
    seed: u64,
    crashes: Vec<u64>,
    tell: watch::Sender<Option<Wire>>,
    weather: watch::Receiver<Weather>,
) {
    let mut crashes = crashes.into_iter();
    for process in 0.. {
        let wire =
            Wire::new(&world, "resource-broker", seed.wrapping_add(process << 32), *weather.borrow(), crashes.next());
        tell.send_replace(Some(wire.clone()));
        world.tell("", "resource-broker", "starts".to_owned());
        wall::set(world.clock().wall());
        // Whether an expression ends must not depend on how busy this machine is.
        let evaluator = Evaluator::with_limits(Limits::steps_only());
        let running = app::start(options(), Decisions::inline(|| ()), evaluator, Arc::new(wire.clone())).await.unwrap();
        wire.broken().await;
        world.tell("", "resource-broker", "crashes".to_owned());
        // Nothing of it gets out any more; its tasks, which a real crash would end, end as they can.
        tokio::spawn(bury(running));
        sleep(RESTART).await;
    }
}

async fn bury(running: Running) {
    let Running { broker, ending, subscriptions } = running;
    ending.now().await;
    drop(subscriptions);
    let _ = timeout(Duration::from_mins(1), broker.fleet().shut_down()).await;
}
