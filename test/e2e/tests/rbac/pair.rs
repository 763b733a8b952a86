//! Two processes of one program with a leader election.

use std::time::Duration;

use e2e::{Broker, BrokerSetup};
use harness::{Lab, wait_for};

/// The lease lasts 15 s, and takes some seconds more to be seen and taken on a busy machine.
const TAKEOVER: Duration = Duration::from_secs(40);

/// Both.
pub(crate) struct Pair<'a> {
    lab: &'a Lab,
    both: [Broker; 2],
}

/// Whether a process leads.
async fn leads(process: &Broker) -> bool {
    let metrics = process.metrics().await.unwrap_or_default();
    metrics.lines().any(|line| line.starts_with("leader_election_master_status{") && line.ends_with(" 1"))
}

impl<'a> Pair<'a> {
    /// Starts both with these arguments, which name the clusters and ask for an election.
    pub(crate) async fn start(lab: &'a Lab, program: &str, args: Vec<String>) -> Self {
        let names = ["one", "two"].map(|name| format!("{program}-{name}"));
        let [one, two] =
            names.each_ref().map(|name| BrokerSetup { name, program, args: args.clone(), ..BrokerSetup::default() });
        let both = tokio::join!(Broker::start(lab, &one), Broker::start(lab, &two));
        Self { lab, both: both.into() }
    }

    /// Which of both leads.
    pub(crate) async fn leader(&self) -> usize {
        let found = wait_for(TAKEOVER, "one of both to lead", async || {
            let [one, two] = &self.both;
            match tokio::join!(leads(one), leads(two)) {
                (true, false) => Ok(0),
                (false, true) => Ok(1),
                both => Err(format!("{both:?}")),
            }
        });
        found.await.unwrap_or_else(|error| {
            let [one, two] = self.both.each_ref().map(|process| process.last_lines(40));
            panic!("{error:#}\n{one}\n{two}")
        })
    }

    /// The one that leads ends, the other takes over, and the first comes back.
    pub(crate) async fn hand_over(&mut self) {
        let leader = self.leader().await;
        assert_eq!(self.both[leader].terminate().await, Some(0));
        assert_eq!(self.leader().await, 1 - leader);
        self.both[leader].start_again(self.lab).await;
    }

    /// Nothing is wrong with either.
    pub(crate) fn unharmed(&self) {
        for process in &self.both {
            assert!(!process.log().contains("panicked"), "{}", process.last_lines(40));
        }
    }
}
