//! `Demand`: who needs which watch, so that each runs from the first who needs it to the last.

use std::{
    collections::BTreeSet,
    fmt,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use runtime_fleet::hashed::{HashMap, HashSet};

/// Who needs what. `R` is what runs for a thing as long as somebody needs it, such as a subscription: it ends when it is dropped.
pub struct Demand<Holder, Thing, R>(Mutex<Inner<Holder, Thing, R>>);

struct Inner<Holder, Thing, R> {
    /// In order. Most need one or two, and there may be several holders for each object: as a set it would take more than a
    /// kilobyte each.
    of: HashMap<Holder, Box<[Thing]>>,
    by: HashMap<Thing, HashSet<Holder>>,
    running: HashMap<Thing, R>,
}

impl<Holder, Thing, R> Default for Demand<Holder, Thing, R> {
    fn default() -> Self {
        Self(Mutex::new(Inner { of: HashMap::default(), by: HashMap::default(), running: HashMap::default() }))
    }
}

impl<Holder, Thing, R> fmt::Debug for Demand<Holder, Thing, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Demand").finish_non_exhaustive()
    }
}

impl<Holder: Clone + Eq + Hash, Thing: Clone + Ord + Hash, R> Demand<Holder, Thing, R> {
    fn lock(&self) -> MutexGuard<'_, Inner<Holder, Thing, R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a holder needs, in order.
    pub fn of(&self, holder: &Holder) -> Box<[Thing]> {
        self.lock().of.get(holder).cloned().unwrap_or_default()
    }

    /// From now on a holder needs these, and nothing else. `start` is called for each that nobody needed before, and what runs
    /// for what nobody needs any more is dropped; both without any lock, for a watch that begins or ends may ask who needs it.
    /// Returns whether any is new to this holder.
    pub fn set(&self, holder: &Holder, things: BTreeSet<Thing>, start: impl Fn(&Thing) -> R) -> bool {
        let mut held = self.lock();
        let before = held.of.get(holder).cloned().unwrap_or_default();
        if before.iter().eq(&things) {
            return false;
        }
        let (mut gone, mut started, mut is_new) = (Vec::new(), Vec::new(), false);
        for thing in before.iter().filter(|thing| !things.contains(thing)) {
            if held.by.get_mut(thing).is_some_and(|by| by.remove(holder) && by.is_empty()) {
                held.by.remove(thing);
                gone.extend(held.running.remove(thing));
            }
        }
        for thing in things.iter().filter(|thing| before.binary_search(thing).is_err()) {
            is_new = true;
            let by = held.by.entry(thing.clone()).or_default();
            if by.is_empty() {
                started.push(thing.clone());
            }
            by.insert(holder.clone());
        }
        if things.is_empty() {
            held.of.remove(holder);
        } else {
            held.of.insert(holder.clone(), things.into_iter().collect());
        }
        drop(held);
        for thing in started {
            let running = start(&thing);
            gone.extend(self.keep(thing, running));
        }
        drop(gone);
        is_new
    }

    /// This runs for a thing now. Returns what is to end: what ran before, or this where nobody needs it any more.
    fn keep(&self, thing: Thing, running: R) -> Option<R> {
        let mut held = self.lock();
        if held.by.contains_key(&thing) { held.running.insert(thing, running) } else { Some(running) }
    }

    /// Who needs something.
    pub fn holders(&self, thing: &Thing) -> Vec<Holder> {
        self.lock().by.get(thing).into_iter().flatten().cloned().collect()
    }

    /// Whether anybody needs it.
    pub fn is_needed(&self, thing: &Thing) -> bool {
        self.lock().by.contains_key(thing)
    }

    /// All that anybody needs.
    pub fn things(&self) -> Vec<Thing> {
        self.lock().by.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Notes when something begins and ends.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);

    /// Notes its end.
    struct Runs(Log, &'static str);

    impl Log {
        fn start(&self, thing: &'static str) -> Runs {
            self.0.lock().unwrap().push(format!("+{thing}"));
            Runs(self.clone(), thing)
        }
    }

    impl Drop for Runs {
        fn drop(&mut self) {
            self.0.0.lock().unwrap().push(format!("-{}", self.1));
        }
    }

    #[test]
    fn it_runs_from_the_first_who_needs_it_to_the_last() {
        let (demand, log) = (Demand::<&str, &'static str, Runs>::default(), Log::default());
        let set = |holder, things: &[&'static str]| {
            demand.set(&holder, things.iter().copied().collect(), |thing| log.start(thing))
        };
        assert!(set("a", &["Job"]));
        assert!(set("b", &["Job"]), "it runs already, but is new to this one");
        assert!(!set("a", &["Job"]), "nothing new");
        assert!(set("a", &["Job", "Pod"]));
        assert!(!set("a", &["Pod"]), "it needs less");
        assert_eq!(demand.holders(&"Job"), ["b"]);
        assert_eq!(*log.0.lock().unwrap(), ["+Job", "+Pod"]);
        assert!(!set("b", &[]));
        assert_eq!(*log.0.lock().unwrap(), ["+Job", "+Pod", "-Job"]);
        assert_eq!((demand.things(), demand.is_needed(&"Job"), demand.holders(&"Job")), (vec!["Pod"], false, vec![]));
    }

    /// Between the decision that a watch begins and its beginning others come in between.
    #[test]
    fn what_nobody_needs_when_it_begins_ends_at_once_and_what_begins_twice_runs_once() {
        let (demand, log) = (Demand::<&str, &'static str, Runs>::default(), Log::default());
        demand.set(&"a", BTreeSet::from(["Job"]), |thing| {
            demand.set(&"a", BTreeSet::new(), |thing| log.start(thing));
            log.start(thing)
        });
        assert_eq!(*log.0.lock().unwrap(), ["+Job", "-Job"]);
        log.0.lock().unwrap().clear();
        demand.set(&"a", BTreeSet::from(["Job"]), |thing| {
            demand.set(&"a", BTreeSet::new(), |thing| log.start(thing));
            demand.set(&"b", BTreeSet::from(["Job"]), |thing| log.start(thing));
            log.start(thing)
        });
        assert_eq!(*log.0.lock().unwrap(), ["+Job", "+Job", "-Job"], "one of the two runs on");
        demand.set(&"b", BTreeSet::new(), |thing| log.start(thing));
        assert_eq!(log.0.lock().unwrap().len(), 4);
    }
}
