//! `Controller`: the controller of resource graphs, started as the binary starts it.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role};
use clap::Parser as _;
use futures::{FutureExt as _, future::BoxFuture};
use resource_graphs::{
    app::{self, Running},
    options::Options,
};
use runtime_cel::{expression::Limits, graph::Evaluator};
use runtime_engine::decisions::Decisions;
use runtime_fleet::kubeconfig::{Kubeconfig, Trust};
use sim::{Wire, World};

use super::stage::HUB;
use crate::program::{Burial, Starts};

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

/// The controller, with these arguments besides.
pub(crate) struct Controller(pub(crate) Vec<&'static str>);

impl Starts for Controller {
    fn name(&self) -> &'static str {
        "resource-graphs"
    }

    fn start(&self, wire: Wire) -> BoxFuture<'_, Burial> {
        async {
            let options = Options::try_parse_from(ARGS.iter().chain(&self.0)).unwrap();
            // Whether an expression ends must not depend on how busy this machine is.
            let limits = Limits { compile: Duration::MAX, evaluate: Duration::MAX, ..Limits::graphs() };
            let evaluator = Evaluator::with_limits(limits);
            let kubeconfig = Kubeconfig::parse(&World::kubeconfig(HUB), &Trust::Secret).unwrap();
            let hub = (ClusterName::new(Role::Coordination, HUB), kubeconfig);
            let decisions = Decisions::inline(|| ());
            let running = app::start(options, hub, decisions, evaluator, Arc::new(wire)).await.unwrap();
            bury(running).boxed()
        }
        .boxed()
    }
}

async fn bury(running: Running) {
    let Running { graphs, ending, subscriptions } = running;
    ending.now().await;
    drop(subscriptions);
    graphs.fleet().shut_down().await;
}
