//! `Controller`: the controller of resource graphs, started as the binary starts it.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use clap::Parser as _;
use futures::{FutureExt as _, future::BoxFuture};
use graphs_core::limits::limits;
use resource_graphs::{app, options::Options};
use runtime_cel::graph::Evaluator;
use runtime_engine::decisions::Decisions;
use runtime_fleet::kubeconfig::{Kubeconfig, Trust};
use sim::{Wire, World};

use crate::program::{Running, Starts};

/// What every process is started with.
const ARGS: [&str; 9] = [
    "resource-graphs",
    "--metrics-bind-address",
    "0",
    "--health-probe-bind-address",
    "0",
    "--leader-election-namespace",
    "graphs",
    "--cluster-secrets-namespace",
    "clusters",
];

/// The controller.
pub(crate) struct Controller {
    /// Which of them.
    pub(crate) at: u64,
    pub(crate) hub: &'static str,
    /// Arguments besides those of all.
    pub(crate) args: Vec<&'static str>,
    /// So many seconds the clocks of every other process, and of every other controller, are wrong.
    pub(crate) skew: i64,
    /// It writes to one API server only one thing at a time.
    pub(crate) narrow: bool,
}

impl Starts for Controller {
    fn name(&self) -> &'static str {
        "resource-graphs"
    }

    fn at(&self) -> u64 {
        self.at
    }

    fn skew(&self) -> i64 {
        self.skew
    }

    fn start(&self, wire: Wire) -> BoxFuture<'_, Running> {
        async {
            let narrow = self.narrow.then_some("--concurrent-writes=1");
            let options = Options::try_parse_from(ARGS.iter().chain(&self.args).chain(&narrow)).unwrap();
            // Whether an expression ends must not depend on how busy this machine is.
            let evaluator = Evaluator::inline(limits());
            let kubeconfig = Kubeconfig::parse(&World::kubeconfig(self.hub), &Trust::Secret).unwrap();
            let hub = (ClusterName::new(Role::Coordination, self.hub), kubeconfig);
            let decisions = Decisions::inline(|| ());
            let running = app::start(options, hub, decisions, evaluator, Arc::new(wire)).await.unwrap();
            Running::new(&Arc::clone(running.graphs.fleet()), running)
        }
        .boxed()
    }
}
