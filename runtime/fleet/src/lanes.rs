//! `Lanes`: what waits, lane by lane; who goes next is who has used least.
//!
//! A lane's turns are charged with the time that they took, and the lane that has used least goes next: what is fair is
//! the share of time, not of turns. A lane that comes new, or was idle, starts where the others are now (start-time fair
//! queueing): it does not save up credit, and it waits for one turn at the most.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use broker_api::ClusterName;

use crate::hashed::HashMap;

#[derive(Debug)]
struct Lane<T> {
    waiting: VecDeque<T>,
    /// Virtual time that it has used, in nanoseconds.
    used: u64,
    /// Among those that have used the same: who was served longer ago goes first.
    order: u64,
    /// Turns under way.
    running: usize,
}

/// Where a lane stands in line.
type Rank = (u64, u64, ClusterName);

/// What waits, by lane. Every turn that [`Lanes::pop`] begins is ended with [`Lanes::end`].
#[derive(Debug)]
pub struct Lanes<T> {
    by_name: HashMap<ClusterName, Lane<T>>,
    /// Lanes that wait and may have another turn.
    line: BTreeSet<Rank>,
    /// Virtual time now: where the lane stood that was served last.
    now: u64,
    orders: u64,
    /// Turns of one lane at the same time.
    limit: usize,
    len: usize,
}

impl<T> Lanes<T> {
    /// Without lanes; each has at most `limit` turns at the same time.
    pub fn new(limit: usize) -> Self {
        Self { by_name: HashMap::default(), line: BTreeSet::new(), now: 0, orders: 0, limit: limit.max(1), len: 0 }
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether [`Lanes::pop`] would find something.
    pub fn has_next(&self) -> bool {
        !self.line.is_empty()
    }

    /// Changes a lane and keeps its place in line right. Lanes that are even with the others are not remembered.
    fn change<R>(&mut self, name: &ClusterName, change: impl FnOnce(&mut Lane<T>) -> R) -> R {
        let Self { by_name: lanes, line, now, orders, limit, .. } = self;
        let is_in_line = |lane: &Lane<T>| !lane.waiting.is_empty() && lane.running < *limit;
        if !lanes.contains_key(name) {
            *orders += 1;
            lanes.insert(name.clone(), Lane { waiting: VecDeque::new(), used: *now, order: *orders, running: 0 });
        }
        let Some(lane) = lanes.get_mut(name) else { unreachable!("it has just been put there") };
        let before = is_in_line(lane).then_some((lane.used, lane.order));
        let result = change(lane);
        let after = is_in_line(lane).then_some((lane.used, lane.order));
        if before != after {
            if let Some((used, order)) = before {
                line.remove(&(used, order, name.clone()));
            }
            if let Some((used, order)) = after {
                line.insert((used, order, name.clone()));
            }
        }
        if lane.waiting.is_empty() && lane.running == 0 && lane.used <= *now {
            lanes.remove(name);
        }
        result
    }

    /// At the end of its lane.
    pub fn push(&mut self, lane: &ClusterName, item: T) {
        self.len += 1;
        let (now, order) = (self.now, self.orders + 1);
        let fresh = self.change(lane, |lane| {
            let idle = lane.waiting.is_empty() && lane.running == 0;
            if idle {
                lane.used = lane.used.max(now);
                lane.order = order;
            }
            lane.waiting.push_back(item);
            idle
        });
        self.orders += u64::from(fresh);
    }

    /// Begins a turn: the first item of the lane whose turn it is. `None` where none waits, or all that do have as many
    /// turns as they may.
    pub fn pop(&mut self) -> Option<(ClusterName, T)> {
        let (used, _, name) = self.line.first().cloned()?;
        self.now = self.now.max(used);
        self.orders += 1;
        let order = self.orders;
        let item = self.change(&name, |lane| {
            lane.running += 1;
            lane.order = order;
            lane.waiting.pop_front()
        })?;
        self.len -= 1;
        Some((name, item))
    }

    /// A turn that is not in line: its item did not wait here.
    pub fn begin(&mut self, lane: &ClusterName) {
        self.change(lane, |lane| lane.running += 1);
    }

    /// Ends a turn, which took this long.
    pub fn end(&mut self, lane: &ClusterName, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.change(lane, |lane| {
            lane.running = lane.running.saturating_sub(1);
            lane.used = lane.used.saturating_add(took);
        });
    }

    /// A turn that is over at once: lanes are only to alternate.
    pub fn draw(&mut self) -> Option<T> {
        let (lane, item) = self.pop()?;
        self.end(&lane, Duration::ZERO);
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(name: &str) -> ClusterName {
        ClusterName::consumer(name)
    }

    /// Serves `turns` turns, each as long as `cost` says; returns whose they were.
    fn serve(lanes: &mut Lanes<u32>, turns: usize, cost: impl Fn(&str) -> Duration) -> Vec<String> {
        let one = |_| {
            let (name, _) = lanes.pop().unwrap();
            lanes.end(&name, cost(name.name()));
            name.name().to_owned()
        };
        (0..turns).map(one).collect()
    }

    fn count(turns: &[String], name: &str) -> usize {
        turns.iter().filter(|turn| *turn == name).count()
    }

    #[test]
    fn a_lane_whose_work_costs_a_hundred_times_more_gets_a_hundredth_of_the_turns() {
        let mut lanes = Lanes::new(1);
        for number in 0..2000 {
            lanes.push(&lane("dear"), number);
            lanes.push(&lane("cheap"), number);
        }
        let cost = |name: &str| Duration::from_micros(if name == "dear" { 10_000 } else { 100 });
        let turns = serve(&mut lanes, 1010, cost);
        assert!((9..=11).contains(&count(&turns, "dear")), "{}", count(&turns, "dear"));
    }

    #[test]
    fn an_idle_lane_does_not_save_up_credit() {
        let mut lanes = Lanes::new(1);
        lanes.push(&lane("idle"), 0);
        serve(&mut lanes, 1, |_| Duration::from_millis(1));
        for number in 0..1000 {
            lanes.push(&lane("busy"), number);
        }
        let cost = |_: &str| Duration::from_millis(1);
        serve(&mut lanes, 500, cost);
        for number in 0..500 {
            lanes.push(&lane("idle"), number);
        }
        let turns = serve(&mut lanes, 100, cost);
        assert!((49..=51).contains(&count(&turns, "idle")), "{}", count(&turns, "idle"));
    }

    #[test]
    fn nor_does_it_get_rid_of_what_it_has_used_by_waiting_for_the_end() {
        let mut lanes = Lanes::new(1);
        for number in 0..100 {
            lanes.push(&lane("busy"), number);
        }
        // Never more than one waits: the lane is empty each time.
        lanes.push(&lane("dear"), 0);
        let (mut dear, mut busy) = (0, 0);
        while busy < 100 {
            let (name, _) = lanes.pop().unwrap();
            if name == lane("dear") {
                lanes.end(&name, Duration::from_millis(10));
                lanes.push(&name, 0);
                dear += 1;
            } else {
                lanes.end(&name, Duration::from_millis(1));
                busy += 1;
            }
        }
        assert!(dear <= 12, "{dear} turns of 10 ms while the other had 100 of 1 ms");
    }

    #[test]
    fn a_newcomer_waits_for_one_turn_at_most() {
        let mut lanes = Lanes::new(1);
        for number in 0..1000 {
            lanes.push(&lane("flood"), number);
        }
        serve(&mut lanes, 500, |_| Duration::from_millis(1));
        let (under_way, _) = lanes.pop().unwrap();
        lanes.push(&lane("new"), 0);
        assert_eq!(lanes.pop().unwrap().0, lane("new"), "the flood has its turn already");
        lanes.end(&under_way, Duration::from_secs(1));
        lanes.push(&lane("newer"), 0);
        assert_eq!(lanes.pop().unwrap().0, lane("newer"));
    }

    #[test]
    fn no_lane_has_more_turns_than_it_may() {
        let mut lanes = Lanes::new(2);
        for number in 0..3 {
            lanes.push(&lane("flood"), number);
        }
        let first = lanes.pop().unwrap().0;
        assert!(lanes.pop().is_some() && lanes.pop().is_none() && lanes.len() == 1);
        lanes.push(&lane("other"), 0);
        assert_eq!(lanes.pop().unwrap().0, lane("other"));
        lanes.end(&first, Duration::from_secs(1));
        assert_eq!(lanes.pop().unwrap(), (lane("flood"), 2));
    }

    #[test]
    fn lanes_that_cost_the_same_alternate() {
        let mut lanes = Lanes::new(usize::MAX);
        for (name, number) in [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)] {
            lanes.push(&lane(name), number);
        }
        let drawn: Vec<u32> = std::iter::from_fn(|| lanes.draw()).collect();
        assert_eq!(drawn, [1, 1, 2, 2, 3]);
        assert!(lanes.by_name.is_empty(), "lanes that are even are forgotten");
    }
}
