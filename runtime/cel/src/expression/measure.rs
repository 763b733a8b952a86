//! What a value costs that is made, or copied.

use cel_interpreter::{
    ExecutionError,
    common::{
        types::{CelBytes, CelList, CelMap, CelOptional, CelString},
        value::Val,
    },
};

use super::{
    meter::{refused, spend, steps_of},
    view,
};

/// Counts a value that is made, or copied.
pub(super) fn copied(value: &dyn Val) -> Result<(), ExecutionError> {
    if measure(value) { Ok(()) } else { Err(refused()) }
}

/// Takes the steps for a value: one for itself, one for each part, one for each 64 bytes of text.
fn measure(value: &dyn Val) -> bool {
    if !spend(1) {
        return false;
    }
    if view::borrows(value) {
        // A view into the object: copying it copies a pointer.
        return true;
    }
    if let Some(text) = value.downcast_ref::<CelString>() {
        return measure_text(text.inner().len());
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes>() {
        return measure_text(bytes.inner().len());
    }
    if let Some(list) = value.downcast_ref::<CelList>() {
        return list.inner().iter().all(|element| measure(element.as_ref()));
    }
    if let Some(map) = value.downcast_ref::<CelMap>() {
        return map.inner().values().all(|element| measure(element.as_ref()));
    }
    if let Some(optional) = value.downcast_ref::<CelOptional>() {
        return optional.option().is_none_or(measure);
    }
    true
}

fn measure_text(length: usize) -> bool {
    spend(steps_of(length))
}
