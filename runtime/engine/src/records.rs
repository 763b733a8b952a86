//! `Records`: keys to look at, and what is remembered of each between decisions. Losing that costs nothing but time.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use runtime_fleet::{
    lock::lock,
    queue::{Key, Queue},
};

/// See the module. Every record has a lock of its own. That of all of them is held for no longer than it takes to find one:
/// whoever holds a record may ask for others.
pub struct Records<K, R> {
    queue: Arc<Queue<K>>,
    all: Mutex<BTreeMap<K, Arc<Mutex<R>>>>,
}

impl<K: Key + Ord, R> Default for Records<K, R> {
    fn default() -> Self {
        Self { queue: Arc::default(), all: Mutex::default() }
    }
}

impl<K: Key + Ord, R> Records<K, R> {
    /// Keys to look at.
    pub fn queue(&self) -> &Arc<Queue<K>> {
        &self.queue
    }

    /// Looks at one.
    pub fn enqueue(&self, key: K) {
        self.queue.add(key);
    }

    /// The record of a key, if there is one.
    pub fn get(&self, key: &K) -> Option<Arc<Mutex<R>>> {
        lock(&self.all).get(key).cloned()
    }

    /// Does this with the record of a key, if there is one.
    pub fn with<T>(&self, key: &K, act: impl FnOnce(&mut R) -> T) -> Option<T> {
        let record = self.get(key)?;
        let mut record = lock(&record);
        Some(act(&mut record))
    }

    /// The record of a key, new where there is none.
    pub fn of(&self, key: &K) -> Arc<Mutex<R>>
    where
        R: Default,
    {
        let mut all = lock(&self.all);
        if let Some(record) = all.get(key) {
            return Arc::clone(record);
        }
        Arc::clone(all.entry(key.clone()).or_default())
    }

    /// From now on this is the record of a key.
    pub fn set(&self, key: K, record: R) {
        lock(&self.all).insert(key, Arc::new(Mutex::new(record)));
    }

    /// Nothing is remembered of a key any more. Returns what was.
    pub fn forget(&self, key: &K) -> Option<Arc<Mutex<R>>> {
        lock(&self.all).remove(key)
    }

    /// Of how many keys anything is remembered.
    pub fn len(&self) -> usize {
        lock(&self.all).len()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All records.
    pub fn all(&self) -> Vec<(K, Arc<Mutex<R>>)> {
        lock(&self.all).iter().map(|(key, record)| (key.clone(), Arc::clone(record))).collect()
    }

    /// Keys of which anything is remembered, and that are such.
    pub fn keys(&self, is_one: impl Fn(&K) -> bool) -> Vec<K> {
        lock(&self.all).keys().filter(|key| is_one(key)).cloned().collect()
    }

    /// The same without looking at all: of those that are in a row from `first`, which itself may be missing.
    pub fn row(&self, first: &K, is_one: impl Fn(&K) -> bool) -> Vec<K> {
        let all = lock(&self.all);
        all.range(first..).map(|(key, _)| key).take_while(|key| is_one(key)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
    struct Job(ClusterName, u32);

    impl Key for Job {
        fn lane(&self) -> &ClusterName {
            &self.0
        }
    }

    fn job(lane: &str, number: u32) -> Job {
        Job(ClusterName::consumer(lane), number)
    }

    #[test]
    fn a_record_is_the_same_until_it_is_forgotten() {
        let records: Records<Job, u32> = Records::default();
        let key = job("a", 1);
        assert_eq!((records.with(&key, |record| *record), records.keys(|_| true)), (None, vec![]), "asking makes none");
        *lock(&records.of(&key)) = 7;
        assert!(Arc::ptr_eq(&records.of(&key), &records.get(&key).unwrap()));
        assert_eq!(records.with(&key, |record| std::mem::replace(record, 8)), Some(7));
        let held = records.forget(&key).unwrap();
        assert_eq!((*lock(&held), *lock(&records.of(&key))), (8, 0));
        records.set(key.clone(), 9);
        assert_eq!(records.with(&key, |record| *record), Some(9));
        assert_eq!(records.queue().stats().adds, 0, "what is remembered is not looked at for that");
    }

    #[test]
    fn whoever_holds_a_record_may_ask_for_others() {
        let records: Records<Job, u32> = Records::default();
        let (one, other) = (job("a", 1), job("a", 2));
        let held = records.of(&one);
        let _held = lock(&held);
        *lock(&records.of(&other)) = 2;
        let sees = records.with(&other, |record| (*record, records.keys(|_| true).len(), records.all().len()));
        assert_eq!(sees, Some((2, 2, 2)));
        records.forget(&one);
    }

    #[test]
    fn those_of_one_place_are_in_a_row() {
        let records: Records<Job, ()> = Records::default();
        for (lane, number) in [("b", 2), ("a", 9), ("c", 1), ("b", 1), ("b", 3)] {
            drop(records.of(&job(lane, number)));
        }
        let of_b = |key: &Job| key.0 == ClusterName::consumer("b");
        assert_eq!(records.row(&job("b", 0), of_b), [job("b", 1), job("b", 2), job("b", 3)]);
        assert_eq!(records.row(&job("b", 0), of_b), records.keys(of_b));
        assert_eq!(records.row(&job("d", 0), |_| true), []);
    }
}
