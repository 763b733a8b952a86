//! Records by what they are asked for by. Changed with each record, under the same lock.

use std::{
    collections::{BTreeSet, hash_map::Entry},
    hash::Hash,
    ops::Bound,
    sync::Arc,
};

use broker_api::ClusterName;
use broker_core::{decision::State, snapshot::OriginKey};
use runtime_effect::kind::Kind;
use runtime_fleet::hashed::{HashMap, HashSet};

use super::spread::Spread;

/// Origins, each key held once for all.
pub(super) type Keys = HashSet<Arc<OriginKey>>;

/// The same in order: whoever looks at all of them does so a part at a time.
type Row = BTreeSet<Arc<OriginKey>>;

/// What a record is found by, beside its key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Facts {
    pub(super) state: State,
    pub(super) provider: Option<ClusterName>,
    pub(super) moves_to: Option<ClusterName>,
    pub(super) restless: bool,
    pub(super) owed: bool,
}

impl Facts {
    /// The provider that the origin is assigned to, and the one that it is on its way to.
    fn places(&self) -> impl Iterator<Item = &ClusterName> {
        self.provider.iter().chain(&self.moves_to)
    }
}

/// Nothing is held of what no origin has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    states: HashMap<Arc<Kind>, HashMap<State, Keys>>,
    restless: HashMap<Arc<Kind>, Keys>,
    consumers: HashMap<ClusterName, Row>,
    unplaced: HashMap<ClusterName, Keys>,
    providers: HashMap<ClusterName, Keys>,
    namespaces: HashMap<(ClusterName, Arc<str>), Keys>,
    owed: Keys,
}

impl Index {
    /// A record comes, is otherwise than before, or goes.
    pub(super) fn change(&mut self, key: &Arc<OriginKey>, before: Option<&Facts>, after: Option<&Facts>) {
        if before == after {
            return;
        }
        // Whose it is does not depend on how it stands.
        if before.is_none() || after.is_none() {
            self.set_consumer(key, after.is_some());
        }
        for (facts, there) in [(before, false), (after, true)] {
            if let Some(facts) = facts {
                self.set(key, facts, there);
            }
        }
    }

    /// A consumer has one more, or one less.
    fn set_consumer(&mut self, key: &Arc<OriginKey>, there: bool) {
        let row = self.consumers.entry(key.cluster.clone()).or_default();
        if there {
            row.insert(Arc::clone(key));
        } else {
            row.remove(key);
        }
        if row.is_empty() {
            self.consumers.remove(&key.cluster);
        }
    }

    fn set(&mut self, key: &Arc<OriginKey>, facts: &Facts, there: bool) {
        let states = self.states.entry(Arc::clone(&key.gvk)).or_default();
        put(states, facts.state, key, there);
        if states.is_empty() {
            self.states.remove(&key.gvk);
        }
        if facts.state == State::Waiting {
            put(&mut self.unplaced, key.cluster.clone(), key, there);
        }
        if facts.restless {
            put(&mut self.restless, Arc::clone(&key.gvk), key, there);
        }
        for provider in facts.places() {
            put(&mut self.providers, provider.clone(), key, there);
            put(&mut self.namespaces, (provider.clone(), Arc::clone(&key.namespace)), key, there);
        }
        if facts.owed {
            set(&mut self.owed, key, there);
        }
    }

    /// Those of one kind, or of all, in these states.
    pub(super) fn in_states(
        &self,
        kind: Option<&Kind>,
        is: impl Fn(State) -> bool,
    ) -> impl Iterator<Item = &Arc<OriginKey>> {
        let found = of(&self.states, kind).flatten().filter(move |(state, _)| is(**state));
        found.flat_map(|(_, keys)| keys)
    }

    /// Those of one kind, or of all, that should leave their provider and cannot.
    pub(super) fn restless(&self, kind: Option<&Kind>) -> impl Iterator<Item = &Arc<OriginKey>> {
        of(&self.restless, kind).flatten()
    }

    /// Those of a consumer.
    pub(super) fn of_consumer(&self, consumer: &ClusterName) -> impl Iterator<Item = &Arc<OriginKey>> {
        self.consumers.get(consumer).into_iter().flatten()
    }

    /// At most so many of a consumer in order, from the first, or behind one that need not be there any more.
    pub(super) fn row(
        &self,
        consumer: &ClusterName,
        behind: Option<&Arc<OriginKey>>,
        most: usize,
    ) -> Vec<Arc<OriginKey>> {
        let Some(row) = self.consumers.get(consumer) else { return Vec::new() };
        let begin = behind.map_or(Bound::Unbounded, Bound::Excluded);
        row.range::<Arc<OriginKey>, _>((begin, Bound::Unbounded)).take(most).cloned().collect()
    }

    /// Those of a consumer that nobody serves.
    pub(super) fn unplaced(&self, consumer: &ClusterName) -> impl Iterator<Item = &Arc<OriginKey>> {
        self.unplaced.get(consumer).into_iter().flatten()
    }

    /// Those that are assigned to a provider, or on their way there.
    pub(super) fn at(&self, provider: &ClusterName) -> impl Iterator<Item = &Arc<OriginKey>> {
        self.providers.get(provider).into_iter().flatten()
    }

    /// Providers that any is at.
    pub(super) fn providers(&self) -> impl Iterator<Item = &ClusterName> {
        self.providers.keys()
    }

    /// Whether any of this namespace is at a provider.
    pub(super) fn is_expected(&self, provider: &ClusterName, namespace: &Arc<str>) -> bool {
        self.namespaces.contains_key(&(provider.clone(), Arc::clone(namespace)))
    }

    /// Consumers that have any.
    pub(super) fn consumers(&self) -> impl Iterator<Item = &ClusterName> {
        self.consumers.keys()
    }

    /// How many there are. That takes as long as there are kinds, states and clusters that have any.
    pub(super) fn spread(&self) -> Spread {
        let of_kind = |(kind, states): (&Arc<Kind>, &HashMap<State, Keys>)| {
            states.iter().map(|(state, keys)| (Arc::clone(kind), *state, keys.len())).collect::<Vec<_>>()
        };
        Spread {
            states: self.states.iter().flat_map(of_kind).collect(),
            consumers: counted(&self.consumers, Row::len),
            providers: counted(&self.providers, Keys::len),
        }
    }

    /// Those for which something is to be done.
    pub(super) fn owed(&self) -> impl Iterator<Item = &Arc<OriginKey>> {
        self.owed.iter()
    }
}

/// How many each cluster has.
fn counted<K>(all: &HashMap<ClusterName, K>, count: impl Fn(&K) -> usize) -> Vec<(ClusterName, usize)> {
    all.iter().map(|(name, keys)| (name.clone(), count(keys))).collect()
}

/// Puts a key where it belongs, or takes it from there.
fn set(keys: &mut Keys, key: &Arc<OriginKey>, there: bool) {
    if there {
        keys.insert(Arc::clone(key));
    } else {
        keys.remove(key);
    }
}

/// The same among those that have something in common.
fn put<C: Eq + Hash>(all: &mut HashMap<C, Keys>, common: C, key: &Arc<OriginKey>, there: bool) {
    match all.entry(common) {
        Entry::Occupied(mut held) => {
            set(held.get_mut(), key, there);
            if held.get().is_empty() {
                held.remove();
            }
        }
        Entry::Vacant(none) if there => set(none.insert(Keys::default()), key, there),
        Entry::Vacant(_) => {}
    }
}

/// What is held of one kind, or of each.
fn of<'i, V>(all: &'i HashMap<Arc<Kind>, V>, kind: Option<&Kind>) -> impl Iterator<Item = &'i V> + use<'i, V> {
    let each = kind.is_none().then(|| all.values());
    kind.and_then(|kind| all.get(kind)).into_iter().chain(each.into_iter().flatten())
}
