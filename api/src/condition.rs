//! Conditions: their types and reasons, how one is set, and their schema in a CRD.

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use schemars::{Schema, SchemaGenerator, json_schema};

/// Type: the object is usable as it is.
pub const READY: &str = "Ready";
/// Type, on a consumer object: a provider serves it.
pub const BROKERED: &str = "Brokered";
/// Type, on a consumer object: its provider accepts it as it is now.
pub const ACCEPTED: &str = "Accepted";
/// Type, on a consumer object: it is being moved to another provider.
pub const MOVING: &str = "Moving";
/// Type, on an AcceptAPI: copies that have lost their origins are kept until a person says that they may go.
pub const DELETIONS_HELD: &str = "DeletionsHeld";

/// Reason: most of a consumer's origins have vanished, and nobody was seen to delete them.
pub const ORIGINS_VANISHED: &str = "OriginsVanished";
/// Reason: a provider was found.
pub const PLACED: &str = "Placed";
/// Reason: no provider accepts the object.
pub const NO_PROVIDER: &str = "NoProvider";
/// Reason: an AcceptAPI's expression has run out of time again and again, or could not be compiled yet: it says nothing.
pub const EXPRESSION_SILENT: &str = "ExpressionSilent";
/// Reason of an Event: the status has more conditions than the broker shows.
pub const STATUS_TRUNCATED: &str = "StatusTruncated";
/// Reason: the copy's name is taken by an object that is not ours.
pub const NAME_CONFLICT: &str = "NameConflict";
/// Reason: the provider's API server does not answer.
pub const PROVIDER_UNREACHABLE: &str = "ProviderUnreachable";
/// Reason: the provider that serves the object no longer accepts it.
pub const NOT_ACCEPTED: &str = "NotAccepted";
/// Reason: another writer keeps changing what the broker writes.
pub const FIGHTING: &str = "Fighting";
/// Reason: the broker's credentials do not allow a call it needs.
pub const FORBIDDEN: &str = "Forbidden";
/// Reason: a webhook that has to be asked before anything is stored gives no answer.
pub const ADMISSION_FAILED: &str = "AdmissionFailed";
/// Reason: an API server that answers otherwise fails at the write again and again.
pub const WRITE_FAILED: &str = "WriteFailed";
/// Reason: the namespace at the provider is being deleted.
pub const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";
/// Reason: the object, or what it names, may not be in its namespace of the coordination cluster.
pub const NAMESPACE_NOT_ALLOWED: &str = "NamespaceNotAllowed";
/// Reason: the provider does not serve the kind.
pub const KIND_MISSING: &str = "KindMissing";
/// Reason: the broker does not watch the kind.
pub const NOT_WATCHED: &str = "NotWatched";

/// Reason: the platform's policy does not let the provider serve the kind.
pub const NOT_PERMITTED: &str = "NotPermitted";

/// Reason: the platform's policy for the provider cannot be read.
pub const POLICY_INVALID: &str = "PolicyInvalid";
/// Reason: the object, or what it says, is not valid.
pub const INVALID: &str = "Invalid";
/// The provider has more of them than count.
pub const TOO_MANY: &str = "TooMany";
/// Reason: a person paused the object.
pub const PAUSED: &str = "Paused";
/// Reason: the object is larger than an API server takes.
pub const TOO_LARGE: &str = "TooLarge";
/// Reason: the object nests too deep to be read.
pub const UNREADABLE: &str = "Unreadable";
/// Reason: the object holds more values than are read.
pub const TOO_COMPLEX: &str = "TooComplex";
/// Reason: the provider's status is larger than the broker brings.
pub const STATUS_TOO_LARGE: &str = "StatusTooLarge";
/// Reason: a provider's finalizers keep a copy that is being deleted.
pub const HELD_BY_PROVIDER: &str = "HeldByProvider";
/// Reason: the consumer has as many objects as it may have.
pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";

/// A condition that turned `status` at `now`; `generation` is the one that was looked at.
pub fn condition(
    kind: &str,
    status: bool,
    reason: &str,
    message: impl Into<String>,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: kind.to_owned(),
        status: if status { "True" } else { "False" }.to_owned(),
        reason: reason.to_owned(),
        message: message.into(),
        observed_generation: generation,
        last_transition_time: Time(now),
    }
}

/// Puts `new` in the place of the condition of its type, or at the end. Says whether anything changed.
///
/// `new.last_transition_time` counts only when the status differs from the one before: that is what the field means
/// (Kubernetes API conventions, "Typical status properties"), and a time of its own would make every pass a write.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) -> bool {
    let Some(old) = conditions.iter_mut().find(|old| old.type_ == new.type_) else {
        conditions.push(new);
        return true;
    };
    if old.status == new.status {
        new.last_transition_time = old.last_transition_time.clone();
    }
    let changed = *old != new;
    *old = new;
    changed
}

/// Schema of a list of conditions: a map by type, each with the limits of `metav1.Condition`, which the schema that
/// k8s-openapi derives leaves out.
pub(crate) fn conditions_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the object's state.",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "What this condition is about, in CamelCase.",
                    "maxLength": 316,
                    "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
                },
                "status": {
                    "type": "string",
                    "description": "True, False or Unknown.",
                    "enum": ["True", "False", "Unknown"],
                },
                "reason": {
                    "type": "string",
                    "description": "Why, as one CamelCase word for programs.",
                    "minLength": 1,
                    "maxLength": 1024,
                    "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                },
                "message": {
                    "type": "string",
                    "description": "Why, for people. May be empty.",
                    "maxLength": 32768,
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When `status` last changed.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "minimum": 0,
                    "description": "Value of metadata.generation that this condition speaks of.",
                },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_time_moves_only_with_the_status() {
        let mut list = vec![];
        assert!(set_condition(&mut list, condition(READY, false, INVALID, "a", Some(1), at(1))));
        assert!(!set_condition(&mut list, condition(READY, false, INVALID, "a", Some(1), at(2))), "nothing new");
        assert!(set_condition(&mut list, condition(READY, false, INVALID, "b", Some(2), at(3))), "a new message");
        assert_eq!(list[0].last_transition_time, Time(at(1)));
        assert_eq!(list[0].observed_generation, Some(2));
        assert!(set_condition(&mut list, condition(READY, true, PLACED, "", Some(2), at(4))));
        assert_eq!(list[0].last_transition_time, Time(at(4)));
    }

    #[test]
    fn types_do_not_disturb_each_other() {
        let mut list = vec![condition(BROKERED, true, PLACED, "", None, at(1))];
        assert!(set_condition(&mut list, condition(READY, false, PAUSED, "", None, at(2))));
        assert_eq!(list.iter().map(|c| c.type_.as_str()).collect::<Vec<_>>(), [BROKERED, READY]);
        assert_eq!(list[0].status, "True");
    }
}
