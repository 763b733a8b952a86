//! Two brokers with a leader election.

use std::time::Duration;

use e2e::{Broker, BrokerSetup};
use harness::wait_for;

use crate::cast::Cast;

/// The lease lasts 15 s, and takes some seconds more to be seen and taken on a busy machine.
pub(crate) const TAKEOVER: Duration = Duration::from_secs(40);

/// Whether a process with these metrics leads.
pub(crate) fn leads(metrics: &str) -> bool {
    metrics.lines().any(|line| line.starts_with("leader_election_master_status{") && line.ends_with(" 1"))
}

/// Both.
pub(crate) struct Brokers<'a> {
    cast: &'a Cast,
    both: [Broker; 2],
}

impl<'a> Brokers<'a> {
    /// Starts both with these arguments, which name the clusters and ask for an election, and gives them homer and
    /// theseus.
    pub(crate) async fn start(cast: &'a Cast, args: Vec<String>) -> Self {
        cast.engage(&cast.homer, "consumer");
        cast.engage(&cast.theseus, "provider");
        let setup = |name| BrokerSetup { name, args: args.clone(), ..BrokerSetup::default() };
        let (first, second) = (setup("broker-one"), setup("broker-two"));
        let both = tokio::join!(Broker::start(&cast.world.lab, &first), Broker::start(&cast.world.lab, &second));
        Self { cast, both: both.into() }
    }

    /// Which of both leads.
    async fn leader(&self) -> usize {
        let found = wait_for(TAKEOVER, "a broker to lead", async || {
            let [one, two] = &self.both;
            let (one, two) = tokio::join!(one.metrics(), two.metrics());
            match (leads(&one.unwrap_or_default()), leads(&two.unwrap_or_default())) {
                (true, false) => Ok(0),
                (false, true) => Ok(1),
                both => Err(format!("{both:?}")),
            }
        });
        found.await.unwrap()
    }

    /// The one that leads ends, the other takes over, and the first comes back.
    pub(crate) async fn hand_over(&mut self) {
        let leader = self.leader().await;
        assert_eq!(self.both[leader].terminate().await, Some(0));
        assert_eq!(self.leader().await, 1 - leader);
        self.both[leader].start_again(&self.cast.world.lab).await;
    }

    /// Nothing is wrong with either.
    pub(crate) fn unharmed(&self) {
        for broker in &self.both {
            assert!(!broker.log().contains("panicked"), "{}", broker.last_lines(40));
        }
    }
}
