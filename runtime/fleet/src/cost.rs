//! What an object is charged.

use crate::object::{Object, ObjectKey};

/// What an object takes beside its body, its names and its uid: the entries of maps, counters, allocations.
const OBJECT: usize = 240;

/// What an object is charged.
pub(crate) fn cost(key: &ObjectKey, object: &Object) -> usize {
    OBJECT + key.namespace.len() + key.name.len() + object.uid.len() + object.size()
}
