//! What API servers say of their objects when they are asked.

use broker_core::{
    decision::{Decision, Step},
    snapshot::{Confirmed, Live, OriginKey},
};
use runtime_effect::{interest::Interest, reach::Reach};
use serde_json::Value;

use super::World;

impl World {
    /// What a live read says, whatever the broker's cache holds.
    pub(crate) fn ask(&self, object: &Interest) -> Confirmed {
        let server = &self.servers[&object.cluster];
        let found = server.get(&(object.kind.clone(), object.namespace.clone(), object.name.clone()));
        let live = match found.map(|found| &found["metadata"]) {
            _ if server.reach != Reach::Ready => Live::Unknown,
            None => Live::Absent,
            Some(metadata) => Live::Present {
                uid: metadata["uid"].as_str().unwrap().into(),
                deleting: metadata["deletionTimestamp"] != Value::Null,
            },
        };
        Confirmed { object: object.clone(), live }
    }

    /// Decides, with the answers to what it asks.
    pub(super) fn decide_asking(&self, key: &OriginKey) -> Decision {
        let mut decision = self.decide(key, None);
        let mut asked = Vec::new();
        while let Some(object) = question(&decision) {
            assert!(!asked.contains(&object), "asks again what was just answered: {object:?}");
            decision = self.decide(key, Some(&self.ask(&object)));
            asked.push(object);
        }
        decision
    }
}

/// What is asked first.
pub(crate) fn question(decision: &Decision) -> Option<Interest> {
    decision.steps.iter().find_map(|step| match step {
        Step::Confirm(object) => Some((**object).clone()),
        _ => None,
    })
}
