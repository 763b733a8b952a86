//! Two operators with a leader election.

use e2e::{DEADLINE, broker::http_get};
use harness::{Process, Program, free_address, wait_for};

use crate::{
    brokers::{TAKEOVER, leads},
    cast::Cast,
};

/// One process.
struct Operator {
    program: Program,
    process: Process,
    health: String,
    metrics: String,
}

/// Both.
pub(crate) struct Operators<'a> {
    cast: &'a Cast,
    both: [Operator; 2],
}

impl<'a> Operators<'a> {
    /// Starts both with a token of the ServiceAccount of config/operator, and returns when one leads.
    pub(crate) async fn start(cast: &'a Cast) -> Self {
        let hub = &cast.world.hub;
        let file = cast.owner(hub).account_file(hub, "resource-broker-system", "resource-broker-operator");
        let path = harness::binary("resource-broker-operator").unwrap_or_else(|error| panic!("{error:#}"));
        let both = ["operator-one", "operator-two"].map(|name| {
            let (health, metrics) = (free_address().unwrap(), free_address().unwrap());
            let program = Program::new(name, &path)
                .env("NO_COLOR", "1")
                .arg("--leader-elect")
                .arg(format!("--kubeconfig={}", file.display()))
                .args(["--namespace", "resource-broker-system"])
                .args(["--health-probe-bind-address", &health])
                .args(["--metrics-bind-address", &metrics]);
            let process = cast.world.lab.start_process(&program).unwrap();
            Operator { program, process, health, metrics }
        });
        let operators = Self { cast, both };
        operators.leader().await;
        operators.until_ready().await;
        operators
    }

    /// The leader knows the Brokers, and the other knows that it follows.
    async fn until_ready(&self) {
        for operator in &self.both {
            let what = format!("{} to be ready", operator.process.name());
            let ready = wait_for(DEADLINE, &what, async || match http_get(&operator.health, "/readyz").await? {
                (200, _) => Ok(()),
                (status, body) => Err(anyhow::anyhow!("{status} {body}")),
            });
            ready.await.unwrap_or_else(|error| panic!("{error:#}\n{}", operator.process.log().unwrap_or_default()));
        }
    }

    async fn leads(&self, which: usize) -> bool {
        let metrics = http_get(&self.both[which].metrics, "/metrics").await.map(|(_, body)| body);
        leads(&metrics.unwrap_or_default())
    }

    /// Which of both leads.
    async fn leader(&self) -> usize {
        let found =
            wait_for(TAKEOVER, "an operator to lead", async || match (self.leads(0).await, self.leads(1).await) {
                (true, false) => Ok(0),
                (false, true) => Ok(1),
                both => Err(format!("{both:?}")),
            });
        let log = |operator: &Operator| operator.process.log().unwrap_or_default();
        found.await.unwrap_or_else(|error| panic!("{error:#}\n{}\n{}", log(&self.both[0]), log(&self.both[1])))
    }

    /// The one that leads ends, the other takes over, and the first comes back.
    pub(crate) async fn hand_over(&mut self) {
        let leader = self.leader().await;
        self.both[leader].process.terminate(DEADLINE).await.unwrap();
        assert_eq!(self.leader().await, 1 - leader);
        self.both[leader].process = self.cast.world.lab.start_process(&self.both[leader].program).unwrap();
        self.until_ready().await;
    }

    /// Nothing is wrong with either.
    pub(crate) fn unharmed(&self) {
        for operator in &self.both {
            let log = operator.process.log().unwrap_or_default();
            assert!(!log.contains("panicked"), "{log}");
        }
    }
}
