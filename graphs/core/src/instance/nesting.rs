//! Instances that make instances: how deep, and where that ends.
//!
//! An instance may have instances as children, and these again. One that makes the next one of its own kind, or of a kind for
//! which it makes an RGD, goes on for ever: so each child of a child says how deep it is, and nothing is made below a bound.

use broker_api::graphs::keys;
use runtime_effect::view::View;

/// Instances that may be children of each other. People nest two or three.
pub const DEEPEST: u32 = 16;

/// Why nothing is made of an instance that is deeper.
pub const TOO_DEEP: &str = "this instance was made by an instance, that by another, and so on, 16 times: nothing more is made. \
     If instances make each other without end, take the child out of the RGD that does; else create an instance by hand";

/// How many instances there are above one: 0 for one that a person made.
pub(super) fn depth(instance: &View) -> u32 {
    if instance.label(keys::INSTANCE_ID).is_none() {
        return 0;
    }
    // What an earlier owner made says no depth.
    instance.annotation(keys::NESTING).and_then(|text| text.parse().ok()).unwrap_or(1).clamp(1, DEEPEST)
}

/// Whether an instance is so deep that nothing is made of it.
pub fn is_too_deep(instance: &View) -> bool {
    depth(instance) >= DEEPEST
}
