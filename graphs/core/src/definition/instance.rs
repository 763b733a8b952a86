//! `Instance`: an object of the kind that a CRD of ours defines, which has to go before that can.

use runtime_effect::{object_key::ObjectKey, view::View, write::Op};
use serde_json::{Value, json};

/// So many are written at once.
pub const AT_ONCE: usize = 50;

/// An instance, as far as an RGD that goes has to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Its namespace, empty where it has none, and its name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Box<str>,
    /// Whether it is being deleted already.
    pub deleting: bool,
}

/// Deletes an instance of this uid; and what is intended by that.
pub(crate) fn deletion(uid: &str) -> (Op, Value) {
    (Op::delete(uid), json!(["delete", uid]))
}

/// Deletes the CRD as it was seen: another hub may have taken it over since, with instances of its own.
pub(crate) fn crd_deletion(crd: &View) -> (Op, Value) {
    (Op::delete_seen(crd), json!(["delete", crd.uid]))
}
