//! `Sorted`: the objects of one index by what is asked for beside their keys: an owner, a label.
//!
//! The index keeps it itself, each change under its own lock. What an object was last under is remembered, for its body may
//! not be held any more when it goes.

use std::sync::Arc;

use crate::{
    hashed::{HashMap, HashSet},
    object::{Object, ObjectKey},
};

/// By what the objects of a watch are sorted.
#[derive(Debug, Clone, Copy)]
pub struct Sort {
    /// What it is asked for by. Two of one name are the same.
    pub name: &'static str,
    /// The values that an object with a body is under; most are under few.
    pub by: fn(&Object) -> Vec<Arc<str>>,
}

/// What an object is under: for each sort that there was when it was looked at.
pub(crate) type Values = Vec<Vec<Arc<str>>>;

/// What an object takes for each value that it is under, beside the value itself: entries of maps, allocations.
const PLACE: usize = 240;

#[derive(Debug)]
struct Sorting {
    sort: Sort,
    keys: HashMap<Arc<str>, HashSet<ObjectKey>>,
    /// What each object was last under. Those that are under nothing are not here.
    values: HashMap<ObjectKey, Box<[Arc<str>]>>,
}

/// The objects of one index, sorted in each way that anybody asks for.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Others come, but none goes.
    all: Vec<Sorting>,
    /// Bytes that it takes.
    cost: usize,
}

impl Sorted {
    /// Bytes that it takes.
    pub(crate) fn cost(&self) -> usize {
        self.cost
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The sorts that there are.
    pub(crate) fn sorts(&self) -> Vec<Sort> {
        self.all.iter().map(|sorting| sorting.sort).collect()
    }

    /// The objects under a value.
    pub(crate) fn of(&self, name: &str, value: &str) -> Vec<ObjectKey> {
        let sorting = self.all.iter().find(|sorting| sorting.sort.name == name);
        sorting.and_then(|sorting| sorting.keys.get(value)).into_iter().flatten().cloned().collect()
    }

    /// Sorts in one more way. `held`: all objects.
    pub(crate) fn add<'o>(&mut self, sort: Sort, held: impl Iterator<Item = (&'o ObjectKey, &'o Arc<Object>)>) {
        if self.all.iter().any(|sorting| sorting.sort.name == sort.name) {
            return;
        }
        let mut sorting = Sorting { sort, keys: HashMap::default(), values: HashMap::default() };
        for (key, object) in held.filter(|(_, object)| object.has_body()) {
            self.cost += sorting.put(key, (sort.by)(object));
        }
        self.all.push(sorting);
    }

    /// An object came, or changed. `values`: what it was found to be under. One without a body stays where it was: what it
    /// is under now nobody knows.
    pub(crate) fn put(&mut self, key: &ObjectKey, object: &Object, values: Values) {
        if !object.has_body() {
            return;
        }
        let mut values = values.into_iter();
        for sorting in &mut self.all {
            let values = values.next().unwrap_or_else(|| (sorting.sort.by)(object));
            if sorting.values.get(key).map(Box::as_ref).unwrap_or_default() != values {
                self.cost -= sorting.remove(key);
                self.cost += sorting.put(key, values);
            }
        }
    }

    /// An object went.
    pub(crate) fn remove(&mut self, key: &ObjectKey) {
        for sorting in &mut self.all {
            self.cost -= sorting.remove(key);
        }
    }

    /// Only these objects are still there.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&ObjectKey) -> bool) {
        for sorting in &mut self.all {
            let gone: Vec<ObjectKey> = sorting.values.keys().filter(|key| !is_there(key)).cloned().collect();
            self.cost -= gone.iter().map(|key| sorting.remove(key)).sum::<usize>();
        }
    }
}

fn cost(values: &[Arc<str>]) -> usize {
    values.iter().map(|value| PLACE + value.len()).sum()
}

impl Sorting {
    /// Puts an object that is under nothing under these values. Returns how many bytes that takes.
    fn put(&mut self, key: &ObjectKey, values: Vec<Arc<str>>) -> usize {
        if values.is_empty() {
            return 0;
        }
        // Each value is held once.
        let held =
            |value: Arc<str>| self.keys.get_key_value(&value).map_or(value.clone(), |(held, _)| Arc::clone(held));
        let values: Box<[Arc<str>]> = values.into_iter().map(held).collect();
        for value in &values {
            self.keys.entry(Arc::clone(value)).or_default().insert(key.clone());
        }
        let cost = cost(&values);
        self.values.insert(key.clone(), values);
        cost
    }

    /// Takes an object from where it is. Returns how many bytes that frees.
    fn remove(&mut self, key: &ObjectKey) -> usize {
        let Some(values) = self.values.remove(key) else { return 0 };
        for value in &values {
            if let Some(keys) = self.keys.get_mut(value) {
                keys.remove(key);
                if keys.is_empty() {
                    self.keys.remove(value);
                }
            }
        }
        cost(&values)
    }
}

#[cfg(test)]
#[path = "sorted_tests.rs"]
mod tests;
