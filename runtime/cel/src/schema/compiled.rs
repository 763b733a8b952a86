//! `Compiled`: schemas that are held somewhere, each compiled once and held once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::Schema;

/// Schemas by the digests of what they were compiled from. Holds none of them alive.
#[derive(Debug, Default)]
pub struct Compiled(Mutex<HashMap<[u8; 32], Weak<Schema>>>);

impl Compiled {
    /// The schema of this digest, compiled now where nobody holds it.
    pub fn get_or_compile(&self, digest: &[u8; 32], compile: impl FnOnce() -> Schema) -> Arc<Schema> {
        if let Some(held) = self.held(digest) {
            return held;
        }
        // Without the lock: another schema need not wait for this one.
        let schema = Arc::new(compile());
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = all.get(digest).and_then(Weak::upgrade) {
            return held;
        }
        all.retain(|_, schema| schema.strong_count() > 0);
        all.insert(*digest, Arc::downgrade(&schema));
        schema
    }

    fn held(&self, digest: &[u8; 32]) -> Option<Arc<Schema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(digest).and_then(Weak::upgrade)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_neither_compiled_nor_held_twice() {
        let compiled = Compiled::default();
        let count = std::cell::Cell::new(0);
        let get = |digest: u8| {
            compiled.get_or_compile(&[digest; 32], || {
                count.set(count.get() + 1);
                Schema::any()
            })
        };
        let (one, again, other) = (get(1), get(1), get(2));
        assert!(Arc::ptr_eq(&one, &again) && !Arc::ptr_eq(&one, &other));
        assert_eq!(count.get(), 2);

        drop((one, again));
        let _third = get(3);
        assert_eq!(compiled.0.lock().unwrap().len(), 2, "what nobody holds is forgotten");
        let _one = get(1);
        assert_eq!(count.get(), 4);
    }
}
