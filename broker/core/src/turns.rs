//! Turns to move: how many objects move at once in each route, who waits, and who is next.
//!
//! Turns go round the consumers that wait: one with a thousand objects in the queue gets no more of them than one with a
//! single object.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use broker_api::ClusterName;

use crate::{
    decision::{Decision, State},
    movement::Route,
    snapshot::OriginKey,
};

/// Objects that move at once to a provider that asks for its share.
const REBALANCED: usize = 5;

/// How many may move in a route at once, where so many may between two providers.
fn most(route: &Route, moves: usize) -> usize {
    match route {
        Route::Leave { .. } => moves,
        Route::Rebalance { .. } => REBALANCED,
    }
}

#[derive(Default)]
struct Queue {
    /// How many move.
    taken: usize,
    /// Whose turn has come, and who have not begun yet.
    called: BTreeSet<OriginKey>,
    waiting: BTreeMap<ClusterName, BTreeSet<OriginKey>>,
    /// The consumer that was called last.
    last: Option<ClusterName>,
}

impl Queue {
    fn used(&self) -> usize {
        self.taken + self.called.len()
    }

    fn is_empty(&self) -> bool {
        self.used() == 0 && self.waiting.is_empty()
    }

    /// Whoever is next: of the consumer that comes after the last one.
    fn call(&mut self) -> Option<OriginKey> {
        let after = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.waiting.range::<ClusterName, _>((after, Bound::Unbounded)).next();
        let consumer = next.or_else(|| self.waiting.first_key_value()).map(|(consumer, _)| consumer.clone())?;
        let keys = self.waiting.get_mut(&consumer)?;
        let key = keys.pop_first()?;
        if keys.is_empty() {
            self.waiting.remove(&consumer);
        }
        self.last = Some(consumer);
        self.called.insert(key.clone());
        Some(key)
    }

    fn withdraw(&mut self, key: &OriginKey) {
        self.called.remove(key);
        if let Some(keys) = self.waiting.get_mut(&key.cluster) {
            keys.remove(key);
            if keys.is_empty() {
                self.waiting.remove(&key.cluster);
            }
        }
    }
}

/// The turns of all lanes.
#[derive(Default)]
pub struct Turns(BTreeMap<Route, Queue>);

/// What one origin has of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The route that it moves in.
    pub moves: Option<Box<Route>>,
    /// The route that it waits in.
    pub waits: Option<Box<Route>>,
}

impl Place {
    /// What the origin moves or waits in after this decision.
    #[must_use]
    pub fn after(&self, decision: &Decision) -> Self {
        let route = || decision.route.clone().map(Box::new);
        let (moves, waits) = match &decision.moving {
            // Others go on meanwhile; when it does so itself, it counts again.
            _ if decision.rests => (None, None),
            Some(_) if decision.route.is_some() => (route(), None),
            // Its end is being written: until that is done it moves.
            None if decision.state == State::Moving => (self.moves.clone(), None),
            // What keeps it from being looked at takes no turn from it.
            _ if decision.route.is_none() && decision.is_held_up() => (self.moves.clone(), None),
            // Who waits for its turn is in line, whatever else is wrong with it: nobody else would tell it that one has come.
            _ => (None, route()),
        };
        Self { moves, waits }
    }
}

impl Turns {
    /// Whether a decision's move has a turn: it is under way, or there is one left. `moves`: see [`Self::may_move`];
    /// `is_moving`: it was under way before.
    pub fn admits(&self, key: &OriginKey, place: &Place, is_moving: bool, decision: &Decision, moves: usize) -> bool {
        let Some(route) = decision.route.as_ref().filter(|_| decision.moving.is_some()) else { return true };
        !decision.begins || is_moving || self.may_move(key, place, route, moves)
    }

    /// Whether an origin may begin to move, or go on. `moves`: how many may between two providers.
    pub fn may_move(&self, key: &OriginKey, place: &Place, route: &Route, moves: usize) -> bool {
        let Some(queue) = self.0.get(route) else { return most(route, moves) > 0 };
        let own = place.moves.as_deref() == Some(route) || queue.called.contains(key);
        queue.used() - usize::from(own) < most(route, moves)
    }

    /// Takes in what an origin moves or waits in now. Returns whose turns have come.
    pub fn take(&mut self, key: &OriginKey, place: &mut Place, now: Place, moves: usize) -> Vec<OriginKey> {
        let mut touched: Vec<Route> = Vec::new();
        let before = std::mem::replace(place, now);
        if let Some(waited) = before.waits {
            self.0.entry((*waited).clone()).or_default().withdraw(key);
            touched.push(*waited);
        }
        if before.moves != place.moves {
            if let Some(left) = before.moves {
                let queue = self.0.entry((*left).clone()).or_default();
                queue.taken = queue.taken.saturating_sub(1);
                touched.push(*left);
            }
            if let Some(taken) = &place.moves {
                self.0.entry((**taken).clone()).or_default().taken += 1;
            }
        }
        // Whoever is called and waits on has found too many on their way, and is called again when one of them is there: an
        // origin waits for nothing but its turn, else all that are called and cannot move would call each other for ever.
        if let Some(waits) = &place.waits {
            let queue = self.0.entry((**waits).clone()).or_default();
            queue.waiting.entry(key.cluster.clone()).or_default().insert(key.clone());
            // A turn may have come free since it was decided that there is none.
            touched.push((**waits).clone());
        }
        let mut turns = Vec::new();
        for route in touched {
            let Some(queue) = self.0.get_mut(&route) else { continue };
            let free = most(&route, moves).saturating_sub(queue.used());
            // Whoever does not want its turn any more passes it on when it is looked at.
            turns.extend(std::iter::from_fn(|| queue.call()).take(free));
            if queue.is_empty() {
                self.0.remove(&route);
            }
        }
        turns
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runtime_effect::kind::Kind;

    use super::*;
    use crate::movement::{Moving, Phase};

    fn key(consumer: &str, name: &str) -> OriginKey {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let cluster = ClusterName::consumer(consumer);
        OriginKey { cluster, gvk: Arc::new(kind), namespace: "n".into(), name: name.into() }
    }

    fn route() -> Route {
        Route::Leave { from: ClusterName::provider("one"), to: ClusterName::provider("two") }
    }

    fn moves() -> Place {
        Place { moves: Some(Box::new(route())), waits: None }
    }

    fn waits() -> Place {
        Place { moves: None, waits: Some(Box::new(route())) }
    }

    /// Origins and what they have.
    #[derive(Default)]
    struct All(Turns, BTreeMap<OriginKey, Place>);

    impl All {
        fn set(&mut self, key: &OriginKey, now: Place) -> Vec<OriginKey> {
            self.0.take(key, self.1.entry(key.clone()).or_default(), now, 1)
        }

        fn may(&self, key: &OriginKey) -> bool {
            self.0.may_move(key, &self.1.get(key).cloned().unwrap_or_default(), &route(), 1)
        }
    }

    /// A move in this route, begun by this decision.
    fn begins(from: &str) -> Decision {
        let (from, to) = (ClusterName::provider(from), ClusterName::provider("two"));
        let route = Route::Leave { from: from.clone(), to: to.clone() };
        let moving = Moving { from, to, epoch: 1, migration: None, phase: Phase::Copying, waits_for: String::new() };
        Decision { state: State::Moving, moving: Some(moving), route: Some(route), begins: true, ..Decision::default() }
    }

    #[test]
    fn what_is_under_way_counts_where_it_is_and_what_waits_is_in_line() {
        let other = Place { moves: begins("other").route.map(Box::new), waits: None };
        let after = |decision: &Decision| other.after(decision);
        let under_way = begins("one");
        assert_eq!(after(&under_way), moves());
        assert_eq!(after(&Decision { moving: None, state: State::Served, ..under_way.clone() }), waits());
        assert_eq!(after(&Decision { moving: None, state: State::Blocked, ..under_way.clone() }), waits());
        assert_eq!(after(&Decision { rests: true, ..under_way.clone() }), Place::default(), "others go on meanwhile");
        assert_eq!(after(&Decision { moving: None, ..under_way.clone() }), other, "its end is being written");
        let still = Decision { moving: None, route: None, begins: false, ..under_way };
        for state in [State::Unknown, State::Paused, State::Ignored, State::Blocked] {
            assert_eq!(after(&Decision { state, ..still.clone() }), other, "{state:?}: it is held up");
        }
        assert_eq!(after(&Decision { state: State::Served, ..still }), Place::default());
        let unknown = Decision { route: None, state: State::Unknown, ..begins("one") };
        assert_eq!(after(&unknown), other, "so is what is told of its move");
    }

    #[test]
    fn whoever_begins_needs_a_turn_and_nobody_else_does() {
        let mut all = All::default();
        all.set(&key("homer", "a"), moves());
        let mine = key("bart", "b");
        let admits =
            |is_moving: bool, decision: &Decision| all.0.admits(&mine, &Place::default(), is_moving, decision, 1);
        let begins = begins("one");
        assert!(!admits(false, &begins));
        assert!(admits(true, &begins), "it was under way, to somebody else");
        assert!(admits(false, &Decision { begins: false, ..begins.clone() }), "it goes on");
        assert!(admits(false, &Decision { moving: None, ..begins.clone() }), "it waits");
        assert!(all.0.admits(&mine, &Place::default(), false, &begins, 2), "there is one left");
    }

    #[test]
    fn turns_go_round_the_consumers() {
        let mut all = All::default();
        let first = key("homer", "a0");
        all.set(&first, moves());
        for name in ["a1", "a2", "a3"] {
            assert_eq!(all.set(&key("homer", name), waits()), []);
        }
        for consumer in ["bart", "marge"] {
            assert_eq!(all.set(&key(consumer, "only"), waits()), []);
        }
        let mut mover = first;
        let mut order = Vec::new();
        for _ in 0..5 {
            let turns = all.set(&mover, Place::default());
            assert_eq!(turns.len(), 1);
            mover = turns[0].clone();
            order.push(format!("{}/{}", mover.cluster.name(), mover.name));
            all.set(&mover, moves());
        }
        assert_eq!(order, ["bart/only", "homer/a1", "marge/only", "homer/a2", "homer/a3"]);
        assert_eq!(all.set(&mover, Place::default()), []);
        assert!(all.0.0.is_empty(), "nothing is kept of a route that nobody uses");
    }

    #[test]
    fn nobody_takes_a_turn_that_has_been_called() {
        let mut all = All::default();
        let (mine, theirs) = (key("bart", "a"), key("homer", "b"));
        all.set(&key("homer", "a"), moves());
        all.set(&mine, waits());
        assert_eq!(all.set(&key("homer", "a"), Place::default()), std::slice::from_ref(&mine));
        assert!(!all.may(&theirs), "however often homer edits its object");
        assert!(all.may(&mine));
        // Whoever does not want it passes it on.
        all.set(&theirs, waits());
        assert_eq!(all.set(&mine, Place::default()), [theirs]);
    }

    #[test]
    fn a_turn_that_came_free_meanwhile_is_taken() {
        let mut all = All::default();
        let mine = key("bart", "a");
        assert_eq!(all.set(&mine, waits()), std::slice::from_ref(&mine));
        assert!(all.may(&mine) && !all.may(&key("bart", "b")));
    }

    #[test]
    fn whoever_is_called_and_finds_too_many_on_their_way_stays_in_line() {
        let mut all = All::default();
        let (first, mine, back) = (key("homer", "a"), key("bart", "b"), key("marge", "c"));
        all.set(&first, moves());
        all.set(&mine, waits());
        assert_eq!(all.set(&first, Place::default()), std::slice::from_ref(&mine));
        // One that had rested goes on, before the one that was called is looked at.
        assert_eq!(all.set(&back, moves()), []);
        assert!(!all.may(&mine));
        assert_eq!(all.set(&mine, waits()), []);
        assert_eq!(all.set(&back, Place::default()), [mine]);
    }
}
