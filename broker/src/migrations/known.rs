//! `Known`: one Migration, as it was read.

use broker_api::{ClusterName, Migration, MigrationRef, MigrationState, keys};
use broker_core::{migration_object, movement::MigrationView, snapshot::Kind};
use broker_fleet::object::{Object, ObjectKey};

/// The copy on one side of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Its provider.
    pub provider: ClusterName,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub key: ObjectKey,
}

/// The origin that a Migration says it is about. The broker writes this, in a cluster whose writers are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// Consumer cluster.
    pub cluster: ClusterName,
    /// Namespace and name.
    pub key: ObjectKey,
    /// uid.
    pub uid: Box<str>,
}

/// One Migration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its namespace and name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Box<str>,
    /// What concerns the origin.
    pub view: MigrationView,
    /// The copy that is left.
    pub from: Side,
    /// The copy that takes over.
    pub to: Side,
    /// Whether a finalizer holds it: something of it may be left although it has ended.
    pub held: bool,
    /// `status.id`.
    pub id: Option<String>,
    /// The origin that its annotations name.
    pub carried: Option<Carried>,
}

/// `core` is the core group, as in `status.relatedResources`.
pub fn kind_of(gvk: &broker_api::Gvk) -> Kind {
    let group = if gvk.group == "core" { "" } else { gvk.group.as_str() };
    Kind { group: group.into(), version: gvk.version.clone(), kind: gvk.kind.clone() }
}

fn side(place: &MigrationRef, namespace: &str) -> Side {
    let provider = ClusterName::provider(place.cluster_name.as_str());
    let namespace = place.namespace.as_deref().unwrap_or(namespace);
    Side { provider, kind: kind_of(&place.gvk), key: ObjectKey::new(namespace, place.name.as_str()) }
}

fn millis(timestamp: k8s_openapi::jiff::Timestamp) -> u64 {
    u64::try_from(timestamp.as_millisecond()).unwrap_or_default()
}

impl Known {
    /// Reads a Migration. The API server has checked it against the CRD; what it let through nevertheless is an error.
    pub fn parse(key: &ObjectKey, object: &Object) -> Result<Self, String> {
        let value = object.value().map_err(|error| error.to_string())?;
        let Migration { metadata, spec, status } = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let status = status.unwrap_or_default();
        let annotations = metadata.annotations.unwrap_or_default();
        let mark = |name: &str| annotations.get(name).map(String::as_str);
        let carried = match (mark(keys::CONSUMER_CLUSTER), mark(keys::CONSUMER_NAME), mark(keys::CONSUMER_UID)) {
            (Some(cluster), Some(name), Some(uid)) => Some(Carried {
                cluster: ClusterName::consumer(cluster),
                key: ObjectKey::new(mark(keys::CONSUMER_NAMESPACE).unwrap_or_default(), name),
                uid: uid.into(),
            }),
            _ => None,
        };
        let managed = metadata.labels.as_ref().and_then(|labels| labels.get(keys::MANAGED_BY));
        let ended = matches!(status.state, MigrationState::CutoverCompleted | MigrationState::Failed);
        let created = metadata.creation_timestamp.map_or(0, |time| millis(time.0));
        // The conditions turn when it ends, and not again.
        let turned = status.conditions.iter().map(|condition| millis(condition.last_transition_time.0)).max();
        let (from, to) = (side(&spec.from, &key.namespace), side(&spec.to, &key.namespace));
        Ok(Self {
            key: key.clone(),
            uid: object.uid.clone(),
            view: MigrationView {
                namespace: key.namespace.to_string(),
                name: key.name.to_string(),
                by_person: managed.is_none_or(|manager| manager != keys::MANAGER),
                from: from.provider.clone(),
                to: to.provider.clone(),
                force: spec.force,
                state: status.state,
                deleting: object.deleting,
                aborted: spec.abort,
                created,
                ended: ended.then(|| turned.unwrap_or(created)),
            },
            from,
            to,
            held: object.has_finalizers,
            id: status.id,
            carried,
        })
    }

    /// Whether nothing has been begun for it.
    pub fn is_new(&self) -> bool {
        matches!(self.view.state, MigrationState::Unknown | MigrationState::Pending)
    }

    /// The epoch of the move that the broker made it for: the end of its name.
    pub fn epoch(&self) -> Option<u64> {
        if self.view.by_person {
            return None;
        }
        migration_object::epoch_of(&self.key.name)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A person's Migration of `a8b70b353e97-cert` from `one` to `two`, with these fields put over it.
    pub(crate) fn migration(patch: &Value) -> Known {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        let side =
            |cluster: &str| json!({"gvk": gvk, "name": "a8b70b353e97-cert", "namespace": "n", "clusterName": cluster});
        let mut value = json!({
            "metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"from": side("one"), "to": side("two")},
        });
        json_patch(&mut value, patch);
        let (key, object) = Object::parse(value.to_string().as_bytes(), None).unwrap();
        Known::parse(&key, &object).unwrap()
    }

    fn json_patch(target: &mut Value, patch: &Value) {
        match patch.as_object() {
            Some(fields) => {
                for (name, value) in fields {
                    json_patch(&mut target[name], value);
                }
            }
            None => *target = patch.clone(),
        }
    }

    #[test]
    fn a_migration_of_the_broker_is_told_from_a_persons() {
        let known = migration(&json!({}));
        assert!(known.view.by_person && known.epoch().is_none() && known.is_new());
        assert_eq!(known.view.from, ClusterName::provider("one"));
        assert_eq!(known.view.created, 1_767_225_600_000);

        let labels = json!({keys::MANAGED_BY: keys::MANAGER});
        let known =
            migration(&json!({"metadata": {"name": "certificate-a8b70b353e97-1767225600123", "labels": labels}}));
        assert!(!known.view.by_person);
        assert_eq!(known.epoch(), Some(1_767_225_600_123));
    }

    #[test]
    fn the_origin_is_the_one_that_the_annotations_name() {
        let annotations = json!({keys::CONSUMER_CLUSTER: "homer", keys::CONSUMER_NAMESPACE: "x", keys::CONSUMER_NAME: "c", keys::CONSUMER_UID: "1"});
        let known = migration(&json!({"metadata": {"annotations": annotations}}));
        let expected =
            Carried { cluster: ClusterName::consumer("homer"), key: ObjectKey::new("x", "c"), uid: "1".into() };
        assert_eq!(known.carried, Some(expected));
        let known = migration(&json!({"metadata": {"annotations": {keys::CONSUMER_CLUSTER: "homer"}}}));
        assert_eq!(known.carried, None);
    }

    #[test]
    fn it_ended_when_its_conditions_turned_last() {
        let condition = |kind: &str, at: &str| json!({"type": kind, "status": "True", "reason": "R", "message": "", "lastTransitionTime": at});
        let conditions = json!([condition("A", "2026-01-01T00:00:05Z"), condition("B", "2026-01-01T00:00:09Z")]);
        let status = json!({"state": "InitialCompleted", "conditions": conditions});
        assert_eq!(migration(&json!({"status": status})).view.ended, None);
        let status = json!({"state": "Failed", "conditions": conditions});
        assert_eq!(migration(&json!({"status": status})).view.ended, Some(1_767_225_609_000));
    }

    #[test]
    fn core_is_the_group_without_a_name() {
        let gvk = broker_api::Gvk { group: "core".into(), version: "v1".into(), kind: "Secret".into() };
        assert_eq!(kind_of(&gvk).group, "");
    }
}
