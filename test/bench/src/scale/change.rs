//! What has changed in a stub, for those who time it.

use std::time::Instant;

use serde_json::Value;

/// What a cluster is to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Consumer,
    Provider,
}

/// A Widget after a change.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Of its cluster.
    pub(super) role: Role,
    /// Which cluster.
    pub(super) cluster: usize,
    /// Its name.
    pub(super) name: String,
    /// `metadata.generation`.
    pub(super) generation: u64,
    /// `status.revision`: the generation of the copy that the provider's controller has seen; 0 without one.
    pub(super) revision: u64,
    /// Whether its condition `Brokered` is true.
    pub(super) brokered: bool,
    /// When.
    pub(super) at: Instant,
}

impl Change {
    /// What there is to say of an object that has just changed.
    pub(super) fn of(role: Role, cluster: usize, object: &Value) -> Self {
        let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        Self {
            role,
            cluster,
            name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            generation: object["metadata"]["generation"].as_u64().unwrap_or_default(),
            revision: object["status"]["revision"].as_u64().unwrap_or_default(),
            brokered: conditions.any(|one| one["type"] == "Brokered" && one["status"] == "True"),
            at: Instant::now(),
        }
    }

    /// Whether a consumer knows by it that a provider serves the object at this revision, or a later one.
    pub(super) fn tells(&self, revision: u64) -> bool {
        self.role == Role::Consumer && self.brokered && self.revision >= revision
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_consumer_knows_by_condition_and_revision() {
        let object = |brokered, revision| {
            json!({"metadata": {"name": "a", "generation": 2}, "status": {"revision": revision,
                "conditions": [{"type": "Ready", "status": "True"}, {"type": "Brokered", "status": brokered}]}})
        };
        let tells = |role, brokered, revision| Change::of(role, 7, &object(brokered, revision)).tells(2);
        assert!(tells(Role::Consumer, "True", 2));
        assert!(!tells(Role::Consumer, "True", 1) && !tells(Role::Consumer, "False", 2));
        assert!(!tells(Role::Provider, "True", 2));
        let bare = Change::of(Role::Provider, 7, &json!({"metadata": {"name": "a", "generation": 1}}));
        assert_eq!((bare.generation, bare.revision, bare.brokered), (1, 0, false));
    }
}
