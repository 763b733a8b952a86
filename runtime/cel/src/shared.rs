//! `Shared`: what is made of something costs time or memory, and is made once and held once however many need it.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// Values by what they were made of. Holds none of them alive.
#[derive(Debug)]
pub struct Shared<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K, V> Default for Shared<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V> Shared<K, V> {
    /// The value of this key, made now where nobody holds it.
    pub fn get_or_make(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        if let Some(held) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).and_then(Weak::upgrade) {
            return held;
        }
        // Without the lock: another value need not wait for this one.
        let value = Arc::new(make());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = all.get(&key).and_then(Weak::upgrade) {
            return held;
        }
        all.retain(|_, value| value.strong_count() > 0);
        all.insert(key, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_neither_made_nor_held_twice() {
        let shared = Shared::default();
        let count = std::cell::Cell::new(0);
        let get = |key: u8| {
            shared.get_or_make(key, || {
                count.set(count.get() + 1);
                key.to_string()
            })
        };
        let (one, again, other) = (get(1), get(1), get(2));
        assert!(Arc::ptr_eq(&one, &again) && !Arc::ptr_eq(&one, &other));
        assert_eq!(count.get(), 2);

        drop((one, again));
        let _third = get(3);
        assert_eq!(shared.0.lock().unwrap().len(), 2, "what nobody holds is forgotten");
        let _one = get(1);
        assert_eq!(count.get(), 4);
    }
}
