//! Maps and sets whose order is chance, and in a simulator follows from its seed: what is done in the order of one would
//! else be another story each time.
//!
//! Names come from people who may wish us ill, so that the hash has a key that nobody can guess.

use std::{
    collections,
    hash::{BuildHasher, DefaultHasher, Hasher as _},
    sync::OnceLock,
};

use crate::random;

/// A map in the order of chance.
pub type HashMap<K, V> = collections::HashMap<K, V, Keyed>;

/// A set in the order of chance.
pub type HashSet<K> = collections::HashSet<K, Keyed>;

/// Hashes with the process's key, or in a simulator with its seed.
#[derive(Debug, Clone, Copy)]
pub struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        static KEY: OnceLock<u64> = OnceLock::new();
        Self(random::seeded().unwrap_or_else(|| *KEY.get_or_init(random::number)))
    }
}

impl BuildHasher for Keyed {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// The order of a set that is made on a thread of its own.
    fn order(seed: Option<u64>) -> Vec<u32> {
        let made = thread::spawn(move || {
            seed.into_iter().for_each(random::seed);
            (0..1000).collect::<HashSet<u32>>().into_iter().collect()
        });
        made.join().unwrap()
    }

    #[test]
    fn a_seed_fixes_the_order() {
        assert_eq!(order(Some(1)), order(Some(1)));
        assert_ne!(order(Some(1)), order(Some(2)));
        assert_ne!(order(None), order(Some(1)), "nobody knows a process's key");
    }

    #[test]
    fn all_of_a_process_have_one_key() {
        let words = || HashSet::from_iter(["a", "b", "c"]);
        assert_eq!(words(), words());
    }
}
