//! `Flow`: how much goes on, by the second, for the last minute.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use runtime_fleet::lock::lock;
use runtime_process::totals::TOTALS;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::broker::Broker;

/// How often it is looked.
const EVERY: Duration = Duration::from_secs(1);

/// How many times are remembered: a minute, and where it begins.
const KEPT: usize = 61;

/// Over how many of them what is shown as a number is evened out.
const EVEN: usize = 10;

/// What is counted.
pub(super) const MEASURES: [&str; 5] =
    ["Changes to look at", "Decisions", "Requests that read", "Requests that write", "Requests without success"];

/// How much of each there has been since the process started.
type Totals = [u64; MEASURES.len()];

/// One of [`MEASURES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Measure {
    /// In tenths a second, over the last ten seconds.
    pub(super) tenths: u64,
    /// In each second of the last minute, the latest last.
    pub(super) seconds: Vec<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Flow(VecDeque<(Instant, Totals)>);

impl Flow {
    fn take(&mut self, now: Instant, totals: Totals) {
        self.0.push_back((now, totals));
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
    }

    /// What comes of it, in the order of [`MEASURES`].
    pub(super) fn measures(&self) -> [Measure; MEASURES.len()] {
        std::array::from_fn(|measure| {
            let before = self.0.len().saturating_sub(EVEN + 1);
            let tenths = match (self.0.get(before), self.0.back()) {
                (Some((began, from)), Some((ended, to))) => {
                    let millis = u64::try_from(ended.duration_since(*began).as_millis()).unwrap_or(u64::MAX);
                    // Tenths a second are ten thousandths of a millisecond.
                    (to[measure] - from[measure]).saturating_mul(10_000).checked_div(millis).unwrap_or_default()
                }
                _ => 0,
            };
            let pairs = self.0.iter().zip(self.0.iter().skip(1));
            Measure { tenths, seconds: pairs.map(|((_, from), (_, to))| to[measure] - from[measure]).collect() }
        })
    }
}

fn totals(broker: &Broker) -> Totals {
    let changes = broker.origins.queue.stats().adds + broker.migrations.queue.stats().adds;
    let done = TOTALS.done();
    [changes, done.decisions, done.reads, done.writes, done.failures]
}

/// Looks once a second until `stop`.
pub(super) async fn run(broker: Arc<Broker>, flow: Arc<Mutex<Flow>>, stop: CancellationToken) {
    let mut ticks = interval(EVERY);
    // What was missed is in the next difference.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            now = ticks.tick() => lock(&flow).take(now, totals(&broker)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_told_by_the_second() {
        let mut flow = Flow::default();
        assert_eq!(flow.measures()[0], Measure::default());
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        flow.take(at(0), [100, 0, 0, 0, 0]);
        assert_eq!(flow.measures()[0], Measure::default(), "nothing is known of before");
        flow.take(at(1), [105, 1, 0, 0, 0]);
        flow.take(at(2), [120, 1, 0, 0, 0]);
        let [changes, decisions, ..] = flow.measures();
        assert_eq!(changes, Measure { tenths: 100, seconds: vec![5, 15] });
        assert_eq!(decisions, Measure { tenths: 5, seconds: vec![1, 0] });
        for second in 3..200 {
            flow.take(at(second), [120 + (second - 2) * 3, 1, 0, 0, 0]);
        }
        let [changes, decisions, ..] = flow.measures();
        assert_eq!((changes.tenths, changes.seconds), (30, vec![3; 60]));
        assert_eq!(decisions.tenths, 0);
    }
}
