//! The content of a store: its entries, and whether writers are held off. Kept in a ConfigMap; pure, no I/O.

use std::collections::BTreeMap;

use k8s_openapi::{api::core::v1::ConfigMap, jiff::Timestamp};

/// Annotation: writers are refused until this time.
pub const HELD_UNTIL: &str = "keyvalue.example.platform-mesh.io/held-until";

/// Longest hold, in seconds.
pub const LONGEST_HOLD: u32 = 3600;

/// What a store holds.
pub type Entries = BTreeMap<String, String>;

/// Something that is to be done to a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Set one entry.
    Put {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
    /// Delete one entry, if it is there.
    Delete {
        /// Its key.
        key: String,
    },
    /// Hold exactly these entries.
    Replace(Entries),
    /// Refuse all of the above for so many seconds, counted from now. 0 lets writers in again.
    Hold {
        /// How long.
        seconds: u32,
    },
}

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A migration holds writers off.
    #[error("the store is being migrated and takes no writes until {0}: read the Secret again and retry")]
    Held(Timestamp),
    /// The key cannot be one.
    #[error("key {0:?}: 1 to 253 characters a-z, A-Z, 0-9, '-', '_' and '.', not beginning with two dots")]
    Key(String),
    /// The hold is too long.
    #[error("a hold lasts at most {LONGEST_HOLD} seconds")]
    Hold,
}

/// The entries of a store.
pub fn entries(store: &ConfigMap) -> Entries {
    store.data.clone().unwrap_or_default()
}

/// Until when writers are held off, if they are.
pub fn held_until(store: &ConfigMap, now: Timestamp) -> Option<Timestamp> {
    let until = store.metadata.annotations.as_ref()?.get(HELD_UNTIL)?.parse().ok()?;
    (until > now).then_some(until)
}

/// The store after the change. It keeps its `resourceVersion`, so that a hold and a write that cross do not both win.
pub fn changed(mut store: ConfigMap, change: Change, now: Timestamp) -> Result<ConfigMap, Refusal> {
    if let Change::Hold { seconds } = change {
        if seconds > LONGEST_HOLD {
            return Err(Refusal::Hold);
        }
        let annotations = store.metadata.annotations.get_or_insert_default();
        if seconds == 0 {
            annotations.remove(HELD_UNTIL);
        } else {
            let until = now + std::time::Duration::from_secs(seconds.into());
            annotations.insert(HELD_UNTIL.to_owned(), until.to_string());
        }
        return Ok(store);
    }
    if let Some(until) = held_until(&store, now) {
        return Err(Refusal::Held(until));
    }
    let data = store.data.get_or_insert_default();
    match change {
        Change::Put { key, value } => {
            check(&key)?;
            data.insert(key, value);
        }
        Change::Delete { key } => {
            data.remove(&key);
        }
        Change::Replace(entries) => {
            entries.keys().try_for_each(|key| check(key))?;
            *data = entries;
        }
        Change::Hold { .. } => {}
    }
    Ok(store)
}

/// What the API server asks of a key in a ConfigMap.
fn check(key: &str) -> Result<(), Refusal> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let good = (1..=253).contains(&key.len()) && key.bytes().all(allowed) && key != "." && !key.starts_with("..");
    if good { Ok(()) } else { Err(Refusal::Key(key.to_owned())) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(key: &str) -> Change {
        Change::Put { key: key.to_owned(), value: "1".to_owned() }
    }

    #[test]
    fn entries_come_and_go() {
        let now = Timestamp::now();
        let store = changed(ConfigMap::default(), put("a"), now).unwrap();
        assert_eq!(entries(&store), Entries::from([("a".into(), "1".into())]));
        let store = changed(store, Change::Delete { key: "a".into() }, now).unwrap();
        assert_eq!(entries(&store), Entries::new());
        let all = Entries::from([("b".into(), "2".into()), ("c".into(), String::new())]);
        let store = changed(changed(store, put("a"), now).unwrap(), Change::Replace(all.clone()), now).unwrap();
        assert_eq!(entries(&store), all);
    }

    #[test]
    fn a_hold_refuses_every_write_and_ends_by_itself() {
        let now = Timestamp::now();
        let hold = |seconds| Change::Hold { seconds };
        let store = changed(changed(ConfigMap::default(), put("a"), now).unwrap(), hold(60), now).unwrap();
        for change in [put("b"), Change::Delete { key: "a".into() }, Change::Replace(Entries::new())] {
            assert!(matches!(changed(store.clone(), change, now), Err(Refusal::Held(_))));
        }
        assert_eq!(entries(&store).len(), 1);
        let later = now + std::time::Duration::from_secs(61);
        changed(store.clone(), put("b"), later).unwrap();
        let released = changed(store.clone(), hold(0), now).unwrap();
        changed(released, put("b"), now).unwrap();
        assert_eq!(changed(store, hold(LONGEST_HOLD + 1), now), Err(Refusal::Hold));
    }

    #[test]
    fn keys_are_those_of_a_config_map() {
        let long = "a".repeat(254);
        for key in ["", ".", "..a", "a/b", "a b", "ä", long.as_str()] {
            assert_eq!(changed(ConfigMap::default(), put(key), Timestamp::now()), Err(Refusal::Key(key.to_owned())));
        }
        for key in ["a", ".a", "A-b_c.9"] {
            changed(ConfigMap::default(), put(key), Timestamp::now()).unwrap();
        }
    }
}
