//! What to do about one object. Knows no client.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::Memory;
use crate::{
    NAME,
    build::bindings,
    compare::contains,
    desired::{APPLIED, Desired, OwnedKind},
    owner::{MANAGED_BY_LABEL, Owner},
};

/// What to do about one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// It is as it shall be.
    Keep,
    /// Apply it.
    Write,
    /// Delete it and apply it anew: it differs where it cannot be changed.
    Replace,
    /// It is going. Its end brings another pass.
    Wait,
    /// It is somebody else's.
    Conflict,
}

/// What to do about `desired`, where there is `live`.
pub fn decide(owner: &Owner, desired: &Desired, live: Option<&DynamicObject>, memory: &Memory) -> Decision {
    let Some(live) = live else { return Decision::Write };
    if !owner.owns(&live.metadata) && !is_of_its_name(desired, live) {
        if owner.is_heir_of(&live.metadata) {
            return Decision::Wait;
        }
        // Somebody made an account for the broker, with an identity at a cloud perhaps: it is used as it is.
        return if desired.key.kind == OwnedKind::ServiceAccount { Decision::Keep } else { Decision::Conflict };
    }
    if live.metadata.deletion_timestamp.is_some() {
        return Decision::Wait;
    }
    let Ok(value) = serde_json::to_value(live) else { return Decision::Write };
    if value["metadata"]["annotations"][APPLIED] == desired.hash.as_str()
        && (contains(&value, &desired.object) || memory.knows(owner, desired, live))
    {
        return Decision::Keep;
    }
    let role = &desired.object["roleRef"];
    if role.is_object() && !contains(&value["roleRef"], role) { Decision::Replace } else { Decision::Write }
}

/// Whether a binding outside the Broker's namespace was made for a Broker of this name, one perhaps that lost its
/// finalizer before it could be removed: the name says for whom it is.
fn is_of_its_name(desired: &Desired, live: &DynamicObject) -> bool {
    let labels = live.metadata.labels.as_ref();
    bindings::broker_of(&desired.key.name).is_some()
        && labels.and_then(|labels| labels.get(MANAGED_BY_LABEL)).is_some_and(|manager| manager == NAME)
}

/// A merge patch that has to come first. A server-side apply leaves what other managers own, and the API server's own
/// defaults are somebody's: the numbers of a rolling update, which are refused next to `Recreate`.
pub fn obstacle(desired: &Desired, live: &DynamicObject) -> Option<Value> {
    let recreate = desired.object["spec"]["strategy"]["type"] == "Recreate";
    let rolling = !live.data["spec"]["strategy"]["rollingUpdate"].is_null();
    (recreate && rolling).then(|| json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": null}}}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::program::Program;

    fn owner() -> Owner {
        Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() }
    }

    fn desired(kind: OwnedKind) -> Desired {
        let metadata =
            json!({"name": "b", "labels": Program::Broker.labels(&owner()), "ownerReferences": [owner().reference()]});
        Desired::new(kind, json!({"apiVersion": "v1", "kind": "X", "metadata": metadata, "spec": {"replicas": 1}}))
    }

    fn decided(kind: OwnedKind, change: impl FnOnce(&mut Value)) -> Decision {
        let desired = desired(kind);
        let mut live = desired.object.clone();
        live["metadata"]["uid"] = "x".into();
        live["status"] = json!({});
        change(&mut live);
        let live: DynamicObject = serde_json::from_value(live).unwrap();
        decide(&owner(), &desired, Some(&live), &Memory::default())
    }

    #[test]
    fn nothing_is_written_where_nothing_changed() {
        assert_eq!(decided(OwnedKind::Deployment, |_| {}), Decision::Keep);
        assert_eq!(decided(OwnedKind::Deployment, |live| live["spec"]["paused"] = true.into()), Decision::Keep);
        assert_eq!(decide(&owner(), &desired(OwnedKind::Deployment), None, &Memory::default()), Decision::Write);
    }

    #[test]
    fn what_others_changed_is_put_back() {
        assert_eq!(decided(OwnedKind::Deployment, |live| live["spec"]["replicas"] = 2.into()), Decision::Write);
        assert_eq!(decided(OwnedKind::Deployment, |live| live["metadata"]["labels"] = json!({})), Decision::Write);
        assert_eq!(decided(OwnedKind::Deployment, |live| live["metadata"]["annotations"] = json!({})), Decision::Write);
        let orphan = |live: &mut Value| live["metadata"]["ownerReferences"] = json!([]);
        assert_eq!(decided(OwnedKind::Deployment, orphan), Decision::Write, "its label is still ours");
    }

    #[test]
    fn an_older_version_of_it_is_written_anew() {
        let older = |live: &mut Value| live["metadata"]["annotations"][APPLIED] = "0".into();
        assert_eq!(decided(OwnedKind::Deployment, older), Decision::Write);
    }

    #[test]
    fn what_is_somebody_else_s_is_left_alone() {
        let foreign = |live: &mut Value| live["metadata"] = json!({"name": "b"});
        assert_eq!(decided(OwnedKind::Deployment, foreign), Decision::Conflict);
        assert_eq!(decided(OwnedKind::ServiceAccount, foreign), Decision::Keep);
    }

    #[test]
    fn what_an_earlier_broker_of_this_name_left_is_waited_out() {
        for kind in [OwnedKind::Deployment, OwnedKind::ServiceAccount] {
            let earlier = |live: &mut Value| live["metadata"]["ownerReferences"][0]["uid"] = "before".into();
            assert_eq!(decided(kind, earlier), Decision::Wait);
            let other = |live: &mut Value| {
                live["metadata"]["ownerReferences"][0]["uid"] = "before".into();
                live["metadata"]["ownerReferences"][0]["name"] = "c".into();
            };
            assert_ne!(decided(kind, other), Decision::Wait);
        }
    }

    #[test]
    fn what_is_going_is_waited_for() {
        let going = |live: &mut Value| live["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        assert_eq!(decided(OwnedKind::Service, going), Decision::Wait);
    }

    #[test]
    fn a_binding_to_another_role_is_made_anew() {
        let mut wanted = desired(OwnedKind::RoleBinding).object;
        wanted["roleRef"] = json!({"name": "new"});
        let wanted = Desired::new(OwnedKind::RoleBinding, wanted);
        let mut live = wanted.object.clone();
        live["roleRef"] = json!({"name": "old"});
        let live: DynamicObject = serde_json::from_value(live).unwrap();
        assert_eq!(decide(&owner(), &wanted, Some(&live), &Memory::default()), Decision::Replace);
    }

    #[test]
    fn a_form_that_nobody_foresaw_is_written_once() {
        let (desired, memory) = (desired(OwnedKind::Deployment), Memory::default());
        let mut live = desired.object.clone();
        live["spec"]["replicas"] = "one".into();
        let live: DynamicObject = serde_json::from_value(live).unwrap();
        assert_eq!(decide(&owner(), &desired, Some(&live), &memory), Decision::Write);
        memory.remember(&owner(), &desired, &live);
        assert_eq!(decide(&owner(), &desired, Some(&live), &memory), Decision::Keep);
    }
}
