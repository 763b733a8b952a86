//! `Interests`: who listens to which objects, besides those that its watches tell it of.

use std::{fmt, hash::Hash};

use runtime_effect::interest::Interest;
use runtime_fleet::hashed::{HashMap, HashSet};

/// Who listens to what. Whoever listens holds the list of its own.
pub struct Interests<K>(HashMap<Interest, HashSet<K>>);

impl<K> Default for Interests<K> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K> fmt::Debug for Interests<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interests").finish_non_exhaustive()
    }
}

impl<K: Clone + Hash + Ord> Interests<K> {
    /// From `now` on these are what `key` listens to; `held` is what it has listened to, and is the same afterwards. Returns
    /// whether any is new: that may have changed meanwhile.
    pub fn listen(&mut self, key: &K, held: &mut Vec<Interest>, now: &[Interest]) -> bool {
        if held == now {
            return false;
        }
        self.leave(key, held.iter().filter(|interest| !now.contains(interest)));
        let mut is_new = false;
        for interest in now.iter().filter(|interest| !held.contains(interest)) {
            self.0.entry(interest.clone()).or_default().insert(key.clone());
            is_new = true;
        }
        *held = now.to_vec();
        is_new
    }

    /// `key` listens to these no longer.
    pub fn leave<'i>(&mut self, key: &K, gone: impl IntoIterator<Item = &'i Interest>) {
        for interest in gone {
            if let Some(keys) = self.0.get_mut(interest) {
                keys.remove(key);
                if keys.is_empty() {
                    self.0.remove(interest);
                }
            }
        }
    }

    /// Who listens to an object, in order.
    pub fn of(&self, interest: &Interest) -> Vec<K> {
        let mut keys: Vec<K> = self.0.get(interest).into_iter().flatten().cloned().collect();
        keys.sort_unstable();
        keys
    }
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use runtime_effect::kind::Kind;

    use super::*;

    fn interest(name: &str) -> Interest {
        let kind = Kind { group: String::new(), version: "v1".into(), kind: "Secret".into() };
        Interest { cluster: ClusterName::provider("p"), kind, namespace: "n".into(), name: name.into() }
    }

    #[test]
    fn who_listens_hears_until_it_listens_to_something_else() {
        let mut interests = Interests::<u8>::default();
        let (a, b, c) = (interest("a"), interest("b"), interest("c"));
        let (mut one, mut two) = (Vec::new(), Vec::new());
        assert!(interests.listen(&1, &mut one, &[a.clone(), b.clone()]));
        assert!(interests.listen(&2, &mut two, std::slice::from_ref(&b)));
        assert_eq!((interests.of(&a), interests.of(&b)), (vec![1], vec![1, 2]));
        assert!(!interests.listen(&1, &mut one, &[b.clone(), a.clone()]), "it has listened to both");
        assert!(!interests.listen(&1, &mut one, std::slice::from_ref(&a)));
        assert_eq!((interests.of(&a), interests.of(&b)), (vec![1], vec![2]));
        assert!(interests.listen(&1, &mut one, &[c.clone(), a.clone()]));
        interests.leave(&1, &one);
        interests.leave(&2, &two);
        assert!(interests.0.is_empty(), "nobody listens any more: {:?}", interests.of(&c));
    }
}
