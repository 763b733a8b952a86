//! `Ledger`: what one person was told by an API server of the objects that are theirs.

use std::collections::BTreeMap;

use serde_json::Value;

/// Namespace and name.
pub(crate) type Key = (String, String);

/// How an object should be, by the last edit that was acknowledged.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    /// Its deletion was acknowledged, or it was never made.
    Gone,
    /// It is there.
    There { uid: String, spec: Value },
}

/// All objects of one person.
#[derive(Debug, Default)]
pub(crate) struct Ledger(BTreeMap<Key, Wanted>);

impl Ledger {
    /// What was acknowledged last.
    pub(crate) fn wanted(&self, key: &Key) -> Wanted {
        self.0.get(key).cloned().unwrap_or(Wanted::Gone)
    }

    /// Takes in what was acknowledged.
    pub(crate) fn set(&mut self, key: Key, wanted: Wanted) {
        self.0.insert(key, wanted);
    }

    /// Those that should be there: key, uid, spec.
    pub(crate) fn there(&self) -> impl Iterator<Item = (&Key, &str, &Value)> {
        self.0.iter().filter_map(|(key, wanted)| match wanted {
            Wanted::Gone => None,
            Wanted::There { uid, spec } => Some((key, &**uid, spec)),
        })
    }
}
