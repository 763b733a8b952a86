//! What the API server made of what was applied.
//!
//! [`crate::compare`] knows in which other forms an API server keeps what it is given. Should one be missing there, then
//! the object never looks as desired; what is remembered here makes of that one write more, not one after the other.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use kube::api::DynamicObject;

use crate::{
    desired::{Desired, Key, hash},
    owner::Owner,
};

/// What the API server made of what was applied, by Broker.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<String, HashMap<Key, Applied>>>);

/// So many writes of the same within [`FIGHT`] are a fight.
const WRITES: usize = 5;
/// See [`WRITES`].
const FIGHT: Duration = Duration::from_mins(1);

#[derive(Debug)]
struct Applied {
    desired: String,
    live: String,
    written: Vec<Instant>,
}

impl Memory {
    /// This came of it.
    pub fn remember(&self, owner: &Owner, desired: &Desired, live: &DynamicObject) {
        let mut brokers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = brokers.entry(owner.uid.clone()).or_default();
        let before = objects.remove(&desired.key).filter(|before| before.desired == desired.hash);
        let mut written = before.map(|before| before.written).unwrap_or_default();
        written.retain(|at| at.elapsed() < FIGHT);
        written.push(Instant::now());
        let outcome = Applied { desired: desired.hash.clone(), live: digest(live), written };
        objects.insert(desired.key.clone(), outcome);
    }

    /// Whether the same was written so often in a short time that somebody else must be changing it back.
    pub fn is_fought(&self, owner: &Owner, desired: &Desired) -> bool {
        let brokers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = brokers.get(&owner.uid).and_then(|objects| objects.get(&desired.key));
        let outcome = outcome.filter(|outcome| outcome.desired == desired.hash);
        outcome.is_some_and(|outcome| outcome.written.iter().filter(|at| at.elapsed() < FIGHT).count() >= WRITES)
    }

    /// Whether the object is what came of applying the same before.
    pub fn knows(&self, owner: &Owner, desired: &Desired, live: &DynamicObject) -> bool {
        let brokers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = brokers.get(&owner.uid).and_then(|objects| objects.get(&desired.key));
        outcome.is_some_and(|outcome| outcome.desired == desired.hash && outcome.live == digest(live))
    }

    /// The Broker is gone.
    pub fn forget(&self, owner: &Owner) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&owner.uid);
    }
}

/// Of all that somebody wants of an object, without what says how it fares.
fn digest(live: &DynamicObject) -> String {
    let metadata = &live.metadata;
    let (annotations, labels) = (&metadata.annotations, &metadata.labels);
    let mut data = live.data.clone();
    if let Some(fields) = data.as_object_mut() {
        fields.remove("status");
    }
    hash(&serde_json::json!([metadata.uid, annotations, labels, metadata.owner_references, data]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::desired::OwnedKind;

    fn live(spec: &Value, version: &str) -> DynamicObject {
        serde_json::from_value(json!({"metadata": {"name": "b", "resourceVersion": version}, "spec": spec,
            "status": {"seen": version}}))
        .unwrap()
    }

    #[test]
    fn the_same_write_again_and_again_is_a_fight() {
        let memory = Memory::default();
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        let desired = |replicas: i32| {
            Desired::new(OwnedKind::Deployment, json!({"metadata": {"name": "b"}, "spec": {"replicas": replicas}}))
        };
        for count in 1..=WRITES {
            assert!(!memory.is_fought(&owner, &desired(1)), "{count}");
            memory.remember(&owner, &desired(1), &live(&json!({}), "1"));
        }
        assert!(memory.is_fought(&owner, &desired(1)));
        assert!(!memory.is_fought(&owner, &desired(2)), "a person changed the Broker");
    }

    #[test]
    fn the_same_outcome_is_known_and_another_is_not() {
        let memory = Memory::default();
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        let desired = |replicas: i32| {
            Desired::new(OwnedKind::Deployment, json!({"metadata": {"name": "b"}, "spec": {"replicas": replicas}}))
        };
        let normalised = json!({"replicas": "one"});
        assert!(!memory.knows(&owner, &desired(1), &live(&normalised, "1")));
        memory.remember(&owner, &desired(1), &live(&normalised, "1"));
        assert!(memory.knows(&owner, &desired(1), &live(&normalised, "2")), "its status may change");
        assert!(!memory.knows(&owner, &desired(1), &live(&json!({"replicas": "two"}), "2")), "somebody changed it");
        assert!(!memory.knows(&owner, &desired(2), &live(&normalised, "2")), "something else is desired");
        memory.forget(&owner);
        assert!(!memory.knows(&owner, &desired(1), &live(&normalised, "2")));
    }
}
