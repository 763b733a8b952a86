//! `Census`: which clusters hold an object under a key, as far as the indexes of one kind have seen.
//!
//! The indexes keep it themselves, each change under its own lock: it says of every index what that would say when asked.
//! That an index has not seen all there is, or is not there at all, is not said here.
//!
//! Names say which group they are of, and what is held of one group is found without a look at the others.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use broker_api::ClusterName;

use crate::{hashed::HashMap, object::ObjectKey};

#[derive(Debug, Default)]
struct Inner {
    /// The indexes that take part. One that has left says nothing any more, whoever still holds it.
    indexes: HashMap<u64, ClusterName>,
    joined: u64,
    /// By the group of their names.
    groups: HashMap<Box<str>, Group>,
}

/// Who holds each key of a group.
type Group = HashMap<ObjectKey, Vec<u64>>;

/// Which clusters hold an object under a key.
#[derive(Debug)]
pub struct Census {
    /// The group of a name. `None`: nobody asks for names like this.
    group: fn(&str) -> Option<&str>,
    inner: RwLock<Inner>,
}

impl Census {
    /// Without indexes. Only names that are of a group are asked for.
    pub fn new(group: fn(&str) -> Option<&str>) -> Arc<Self> {
        Arc::new(Self { group, inner: RwLock::default() })
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
        let group = (self.group)(&key.name).and_then(|group| inner.groups.get(group));
        let holders = group.and_then(|group| group.get(key)).into_iter().flatten();
        holders.filter_map(|index| inner.indexes.get(index).cloned()).collect()
    }

    /// What is held of a group: clusters in order, and their keys in order.
    pub fn of(&self, group: &str) -> BTreeMap<ClusterName, Vec<ObjectKey>> {
        let inner = self.read();
        let mut held = BTreeMap::<ClusterName, Vec<ObjectKey>>::new();
        for (key, holders) in inner.groups.get(group).into_iter().flatten() {
            for cluster in holders.iter().filter_map(|index| inner.indexes.get(index)) {
                held.entry(cluster.clone()).or_default().push(key.clone());
            }
        }
        drop(inner);
        for keys in held.values_mut() {
            keys.sort_unstable();
        }
        held
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
        let grouped = |key: &'k ObjectKey| Some(((self.census.group)(&key.name)?, key));
        let (mut come, mut gone) = (come.filter_map(grouped).peekable(), gone.filter_map(grouped).peekable());
        if come.peek().is_none() && gone.peek().is_none() {
            return;
        }
        let mut inner = self.census.write();
        if !inner.indexes.contains_key(&self.index) {
            return;
        }
        for (group, key) in come {
            if !inner.groups.contains_key(group) {
                inner.groups.insert(group.into(), Group::default());
            }
            if let Some(group) = inner.groups.get_mut(group) {
                group.entry(key.clone()).or_insert_with(|| Vec::with_capacity(1)).push(self.index);
            }
        }
        gone.for_each(|(group, key)| inner.take(group, key, self.index));
    }

    /// The index is not used any more. `held`: all that it holds.
    pub(crate) fn leave<'k>(&self, held: impl Iterator<Item = &'k ObjectKey>) {
        let mut inner = self.census.write();
        if inner.indexes.remove(&self.index).is_some() {
            for key in held {
                if let Some(group) = (self.census.group)(&key.name) {
                    inner.take(group, key, self.index);
                }
            }
        }
    }
}

impl Inner {
    fn take(&mut self, name: &str, key: &ObjectKey, index: u64) {
        let Some(group) = self.groups.get_mut(name) else { return };
        let Some(holders) = group.get_mut(key) else { return };
        holders.retain(|held| *held != index);
        if holders.is_empty() {
            group.remove(key);
        }
        if group.is_empty() {
            self.groups.remove(name);
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
        let group = ["other", "copy", "late"][number as usize % 3];
        ObjectKey::new("n", format!("{group}-{number}"))
    }

    /// All but the others.
    fn group(name: &str) -> Option<&str> {
        name.split('-').next().filter(|group| *group != "other")
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
        let census = Census::new(group);
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
                let (said, group) = (census.holders(&key), group(&key.name));
                let expected = if group.is_some() { asked(&indexes, &key) } else { BTreeSet::new() };
                let held = group.map(|group| census.of(group)).unwrap_or_default().into_iter();
                let held = held.filter(|(_, keys)| keys.contains(&key)).map(|(cluster, _)| cluster);
                assert_eq!(held.collect::<BTreeSet<_>>(), expected, "{key}, in its group");
                assert_eq!(said.len(), expected.len(), "each once");
                assert_eq!(said.into_iter().collect::<BTreeSet<_>>(), expected, "{key}");
                most = most.max(expected.len());
            }
        }
        assert_eq!(most, 3);
        drop(indexes);
        let inner = census.read();
        assert!(inner.groups.is_empty() && inner.indexes.is_empty(), "nothing is kept of what is gone");
    }

    #[test]
    fn what_is_held_of_one_group_is_told_in_order_and_nothing_of_another() {
        let census = Census::new(group);
        let (late, early) = (index(&census, "b"), index(&census, "a"));
        let named = |name: &str| ObjectKey::new("n", name);
        late.replace(["copy-3", "late-1", "copy-1", "other-1"].map(|name| (named(name), object(1))).into(), 1);
        early.replace(vec![(named("copy-2"), object(1)), (named("copy-1"), object(1))], 1);
        let held: Vec<_> = census.of("copy").into_iter().collect();
        let of = |cluster, names: [&str; 2]| (ClusterName::provider(cluster), names.map(named).to_vec());
        assert_eq!(held, [of("a", ["copy-1", "copy-2"]), of("b", ["copy-1", "copy-3"])]);
        assert!(census.of("other").is_empty() && census.of("cop").is_empty());
    }
}
