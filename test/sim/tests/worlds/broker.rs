//! `Broker`: the broker, started as the binary starts it.

use std::sync::Arc;

use broker_api::{ClusterName, Role};
use clap::Parser as _;
use futures::{FutureExt as _, future::BoxFuture};
use resource_broker::{
    app::{self, Own},
    options::Options,
};
use runtime_cel::expression::{Evaluator, Limits};
use runtime_engine::decisions::Decisions;
use runtime_fleet::kubeconfig::{Kubeconfig, Trust};
use sim::{Wire, World};

use crate::{
    program::{Running, Starts},
    stage::HUB,
};

/// One of the brokers of a world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Broker {
    /// Which of them.
    pub(crate) at: usize,
    /// It is not the only one.
    pub(crate) elects: bool,
    /// So many seconds the clocks of every other process, and of every other broker, are wrong.
    pub(crate) skew: i64,
    /// It writes to one API server only one thing at a time.
    pub(crate) narrow: bool,
}

impl Broker {
    fn options(self) -> Options {
        let flags = [
            "resource-broker",
            "--namespace=broker",
            "--cluster-secrets-namespace=clusters",
            "--watch-kind=Certificate.v1alpha1.example.platform-mesh.io",
            "--health-probe-bind-address=0",
            // Else it is a share of what this machine has.
            "--memory-budget=1Gi",
        ];
        let elects = self.elects.then_some("--leader-elect");
        let narrow = self.narrow.then_some("--concurrent-writes=1");
        Options::try_parse_from(flags.into_iter().chain(elects).chain(narrow)).unwrap()
    }
}

impl Starts for Broker {
    fn name(&self) -> &'static str {
        ["resource-broker", "resource-broker-2", "resource-broker-3"][self.at]
    }

    fn at(&self) -> u64 {
        self.at as u64
    }

    fn skew(&self) -> i64 {
        self.skew
    }

    fn start(&self, wire: Wire) -> BoxFuture<'_, Running> {
        async {
            // Whether an expression ends must not depend on how busy this machine is.
            let evaluator = Evaluator::inline(Limits::default());
            // It is there from the beginning, as in a Pod: no files, whose changes come when they like.
            let kubeconfig = Kubeconfig::parse(&World::kubeconfig(HUB), &Trust::Secret).unwrap();
            let own = Own { hub: (ClusterName::new(Role::Coordination, HUB), kubeconfig), compute: None };
            let decisions = Decisions::inline(|| ());
            let running = app::start(self.options(), own, decisions, evaluator, Arc::new(wire)).await.unwrap();
            Running::new(&Arc::clone(running.broker.fleet()), running)
        }
        .boxed()
    }
}
