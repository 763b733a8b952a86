//! `Record`: what is remembered of an RGD in a spoke between decisions. What counts is written on its CRD.

use std::{sync::Arc, time::Duration};

use broker_api::graphs::rollout::Offboarding;
use graphs_core::{
    distribution::Subject,
    rollout::{Begun, Mark, Spoke, Trouble},
};
use runtime_effect::memory::Memory;
use runtime_engine::recorder::Told;

use crate::metrics::METRICS;

/// What is remembered of an RGD in a spoke.
#[derive(Default)]
pub struct Record {
    /// Of its writes.
    pub memory: Memory<Subject>,
    /// What people were told.
    pub told: Told,
    /// What was seen last; `None`: nothing is known.
    pub seen: Option<Spoke>,
    /// What its CRD said last, also while nothing is known of the spoke.
    pub last: Option<Mark>,
    /// Name of the CRD whose instances are watched for it.
    pub serves: Option<Arc<str>>,
    /// The RGD has left this spoke in this way.
    pub left: Option<Offboarding>,
    /// What the API server refused.
    pub refused: Option<Trouble>,
    /// The revision that is being written.
    pub wanted: i64,
    /// The revision that the spoke is told to run, unless it does already.
    pub begun: Option<Begun>,
    /// When the write of the revision that it runs was planned, in milliseconds.
    pub planned: Option<(i64, u64)>,
}

impl Record {
    /// It is the spoke's turn to get this revision, or none's.
    pub fn turn(&mut self, to: Option<i64>, held: Option<i64>, now: u64) {
        if let Some(to) = to.filter(|to| held != Some(*to)) {
            let begun = self.begun.take().filter(|begun| begun.revision == to);
            let begun = self.begun.insert(begun.unwrap_or_else(|| Begun { revision: to, ..Begun::default() }));
            begun.turn(true, now);
        } else if let Some(begun) = &mut self.begun {
            begun.turn(false, now);
        }
        self.begun.take_if(|begun| held == Some(begun.revision));
    }

    /// This is what is seen now, at this moment in milliseconds. Whether that is news.
    pub fn see(&mut self, mark: Option<Mark>, settled: bool, troubles: Vec<Trouble>, now: u64) -> bool {
        let before = self.seen.as_ref();
        let same = |held: &&Spoke| {
            let revision = |mark: &Option<Mark>| mark.as_ref().map(|mark| mark.revision);
            held.settled == settled && revision(&held.mark) == revision(&mark)
        };
        if let (Some(mark), Some((revision, since))) = (&mark, self.planned)
            && settled
            && mark.revision == revision
        {
            METRICS.apply_duration.observe(Duration::from_millis(now.saturating_sub(since)).as_secs_f64());
            self.planned = None;
        }
        let since = before.filter(same).map_or(now, |held| held.since);
        self.last.clone_from(&mark);
        let seen = Spoke { mark, settled, since, errors: 0, left: self.left, troubles, begun: self.begun.clone() };
        let is_news = before != Some(&seen);
        self.seen = Some(seen);
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For how long it has been a spoke's turn to get a revision, a minute after `now`.
    fn waited(record: &Record, now: u64) -> Option<(i64, u64)> {
        record.begun.as_ref().map(|begun| (begun.revision, begun.waited(now + 60_000)))
    }

    #[test]
    fn only_while_it_is_its_turn_a_spoke_is_late() {
        let mut record = Record::default();
        record.turn(Some(2), Some(1), 0);
        assert_eq!(waited(&record, 0), Some((2, 60_000)));
        record.turn(Some(2), Some(1), 10_000);
        assert_eq!(waited(&record, 10_000), Some((2, 70_000)), "it goes on");
        record.turn(None, None, 20_000);
        assert_eq!(waited(&record, 900_000), Some((2, 20_000)), "away, or paused, with a CRD or without");
        record.turn(Some(2), None, 1_000_000);
        assert_eq!(waited(&record, 1_000_000), Some((2, 80_000)));
        record.turn(Some(3), None, 1_000_000);
        assert_eq!(waited(&record, 1_000_000), Some((3, 60_000)), "another one begins anew");
        record.turn(None, Some(3), 1_000_001);
        assert_eq!(record.begun, None, "it is there");
    }
}
