//! `Strikes`: for whose objects a program has run out of time again and again. For those it rests; one tenant's object
//! must not keep it from speaking of another's.
//!
//! Evaluations run on threads of their own, and only one that took too long is noted here: the clock is the system's, which
//! nobody else in this crate asks. A simulator's end by steps alone, so that nothing ever rests there.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Evaluations in a row that ran out of time before a program rests.
pub(crate) const STRIKES: u32 = 3;

/// How long it rests before it is tried once more.
const REST: Duration = Duration::from_mins(1);

/// Parties for which it rests before it rests for all: it is the program, then, and not somebody's object.
const PARTIES: usize = 8;

/// Parties that are remembered.
const MOST: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Struck {
    /// How often in a row.
    count: u32,
    /// When it last ran out of time.
    last: Instant,
}

/// How often in a row a program has run out of time, for each party.
#[derive(Debug, Default)]
pub(crate) struct Strikes(Mutex<HashMap<Box<str>, Struck>>);

impl Strikes {
    fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Struck>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is not run for this party now.
    pub(crate) fn rests(&self, party: &str) -> bool {
        self.rests_at(party, Instant::now())
    }

    fn rests_at(&self, party: &str, now: Instant) -> bool {
        let all = self.lock();
        let rests = |struck: &Struck| struck.count >= STRIKES && now.saturating_duration_since(struck.last) < REST;
        all.get(party).is_some_and(rests) || all.values().filter(|struck| rests(struck)).count() >= PARTIES
    }

    /// For how many parties it rests, or is being tried once more.
    pub(crate) fn parties(&self) -> usize {
        self.lock().values().filter(|struck| struck.count >= STRIKES).count()
    }

    /// An evaluation for this party has ended.
    pub(crate) fn ended(&self, party: &str, in_time: bool) {
        let mut all = self.lock();
        if in_time {
            all.remove(party);
            return;
        }
        if all.len() >= MOST && !all.contains_key(party) {
            let oldest = all.iter().min_by_key(|(_, struck)| struck.last).map(|(party, _)| party.clone());
            oldest.and_then(|oldest| all.remove(&oldest));
        }
        let count = all.get(party).map_or(0, |struck| struck.count).saturating_add(1);
        all.insert(party.into(), Struck { count, last: Instant::now() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_partys_strikes_are_not_anothers() {
        let strikes = Strikes::default();
        for _ in 0..STRIKES {
            assert!(!strikes.rests("homer"));
            strikes.ended("homer", false);
        }
        strikes.ended("bart", false);
        assert!(strikes.rests("homer") && !strikes.rests("bart"));
        assert_eq!(strikes.parties(), 1);
        let last = strikes.lock()["homer"].last;
        assert!(strikes.rests_at("homer", last + REST.saturating_sub(Duration::from_nanos(1))));
        assert!(!strikes.rests_at("homer", last + REST), "it is tried once more");
        assert_eq!(strikes.parties(), 1);
        strikes.ended("homer", true);
        assert!(!strikes.rests("homer"), "it ended in time");
        assert_eq!(strikes.parties(), 0);
    }

    #[test]
    fn what_is_slow_for_many_rests_for_all() {
        let strikes = Strikes::default();
        for party in 0..PARTIES {
            assert!(!strikes.rests("bart"));
            (0..STRIKES).for_each(|_| strikes.ended(&party.to_string(), false));
        }
        assert!(strikes.rests("bart"));
        strikes.ended("0", true);
        assert!(!strikes.rests("bart"));
    }

    #[test]
    fn no_more_parties_are_remembered_than_so_many() {
        let strikes = Strikes::default();
        for party in 0..2 * MOST {
            strikes.ended(&party.to_string(), false);
        }
        assert_eq!(strikes.lock().len(), MOST);
        assert!(strikes.lock().contains_key("511") && !strikes.lock().contains_key("0"));
    }
}
