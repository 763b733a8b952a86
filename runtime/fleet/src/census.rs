//! `Census`: which clusters hold an object under a key, as far as the indexes of one kind have seen.
//!
//! The indexes keep it themselves, each change under its own lock: it says of every index what that would say when asked.
//! That an index has not seen all there is, or is not there at all, is not said here.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use broker_api::ClusterName;

use crate::object::ObjectKey;

#[derive(Debug, Default)]
struct Inner {
    /// The indexes that take part. One that has left says nothing any more, whoever still holds it.
    indexes: HashMap<u64, ClusterName>,
    joined: u64,
    holders: HashMap<ObjectKey, Vec<u64>>,
}

/// Which clusters hold an object under a key.
#[derive(Debug)]
pub struct Census {
    /// Whether anybody asks for a name like this.
    counts: fn(&str) -> bool,
    inner: RwLock<Inner>,
}

impl Census {
    /// Without indexes. Only names that `counts` are asked for.
    pub fn new(counts: fn(&str) -> bool) -> Arc<Self> {
        Arc::new(Self { counts, inner: RwLock::default() })
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clusters that hold an object under this key.
    pub fn holders(&self, key: &ObjectKey) -> Vec<ClusterName> {
        let inner = self.read();
        let holders = inner.holders.get(key).into_iter().flatten();
        holders.filter_map(|index| inner.indexes.get(index).cloned()).collect()
    }

    /// An index takes part; it holds nothing yet.
    pub(crate) fn join(self: Arc<Self>, cluster: &ClusterName) -> Seat {
        let mut inner = self.write();
        inner.joined += 1;
        let index = inner.joined;
        inner.indexes.insert(index, cluster.clone());
        drop(inner);
        Seat { census: self, index }
    }
}

/// An index's part in a census.
#[derive(Debug)]
pub(crate) struct Seat {
    census: Arc<Census>,
    index: u64,
}

impl Seat {
    /// The index holds objects that it did not hold, and others no longer.
    pub(crate) fn changed<'k>(
        &self,
        come: impl Iterator<Item = &'k ObjectKey>,
        gone: impl Iterator<Item = &'k ObjectKey>,
    ) {
        let counts = |key: &&ObjectKey| (self.census.counts)(&key.name);
        let (mut come, mut gone) = (come.filter(counts).peekable(), gone.filter(counts).peekable());
        if come.peek().is_none() && gone.peek().is_none() {
            return;
        }
        let mut inner = self.census.write();
        if !inner.indexes.contains_key(&self.index) {
            return;
        }
        for key in come {
            inner.holders.entry(key.clone()).or_insert_with(|| Vec::with_capacity(1)).push(self.index);
        }
        gone.for_each(|key| inner.take(key, self.index));
    }

    /// The index is not used any more. `held`: all that it holds.
    pub(crate) fn leave<'k>(&self, held: impl Iterator<Item = &'k ObjectKey>) {
        let mut inner = self.census.write();
        if inner.indexes.remove(&self.index).is_some() {
            held.for_each(|key| inner.take(key, self.index));
        }
    }
}

impl Inner {
    fn take(&mut self, key: &ObjectKey, index: u64) {
        if let Entry::Occupied(mut holders) = self.holders.entry(key.clone()) {
            holders.get_mut().retain(|held| *held != index);
            if holders.get().is_empty() {
                holders.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use kube::core::GroupVersionKind;

    use super::*;
    use crate::{
        budget::{Bodies as _, Budget},
        index::{Index, Lookup, Source},
        object::Object,
        watch::WatchSpec,
    };

    fn key(number: u32) -> ObjectKey {
        ObjectKey::new("n", if number.is_multiple_of(5) { format!("other-{number}") } else { format!("copy-{number}") })
    }

    fn object(version: u64) -> Object {
        let raw = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
        Object::parse(raw.as_bytes(), None, &crate::conventions::PLAIN).unwrap().1
    }

    fn index(census: &Arc<Census>, cluster: &str) -> Index {
        let spec = Arc::new(WatchSpec::all(GroupVersionKind::gvk("", "v1", "ConfigMap")));
        let cluster = ClusterName::provider(cluster);
        let share = Budget::new(1 << 20).engage(&cluster);
        let index = Index::new(cluster, spec, share);
        index.count_in(census);
        index
    }

    /// What the indexes say themselves.
    fn asked(indexes: &[Index], key: &ObjectKey) -> BTreeSet<ClusterName> {
        let holds = indexes.iter().filter(|index| matches!(index.get(key), Lookup::Found(_)));
        holds.map(|index| index.cluster().clone()).collect()
    }

    #[test]
    fn it_says_what_the_indexes_say_whatever_happens_to_them() {
        let census = Census::new(|name| name.starts_with("copy-"));
        let mut indexes = ["a", "b", "c"].map(|cluster| index(&census, cluster));
        let mut random = 5_u32;
        let mut dice = |sides: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % sides
        };
        let mut most = 0;
        for version in 1..6000_u64 {
            let at = dice(3) as usize;
            let held = key(dice(12));
            match dice(40) {
                0..16 => drop(indexes[at].upsert(held, object(version), Source::Watch)),
                16..20 => drop(indexes[at].upsert(held, object(version), Source::Response)),
                20..28 => drop(indexes[at].remove(&held, version)),
                28..32 => drop(indexes[at].forget(&held, "u")),
                32..36 => {
                    let listed: BTreeSet<u32> = (0..dice(8)).map(|_| dice(12)).collect();
                    let listed = listed.into_iter().map(|number| (key(number), object(version))).collect();
                    drop(indexes[at].replace(listed, version));
                }
                36 => indexes[at].mark_incomplete(),
                37 => indexes[at].drop_body(&held),
                // Another takes its place while the one before is still held by somebody, who goes on writing.
                38 => {
                    let before = std::mem::replace(&mut indexes[at], index(&census, ["a", "b", "c"][at]));
                    before.close();
                    drop(before.upsert(held, object(version), Source::Watch));
                    drop(before.replace(vec![(key(1), object(version))], version));
                }
                _ => indexes[at] = index(&census, ["a", "b", "c"][at]),
            }
            for number in 0..12 {
                let key = key(number);
                let (said, counts) = (census.holders(&key), key.name.starts_with("copy-"));
                let expected = if counts { asked(&indexes, &key) } else { BTreeSet::new() };
                assert_eq!(said.len(), expected.len(), "each once");
                assert_eq!(said.into_iter().collect::<BTreeSet<_>>(), expected, "{key}");
                most = most.max(expected.len());
            }
        }
        assert_eq!(most, 3);
        drop(indexes);
        let inner = census.read();
        assert!(inner.holders.is_empty() && inner.indexes.is_empty(), "nothing is kept of what is gone");
    }
}
