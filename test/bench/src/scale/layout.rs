//! How many clusters and objects there are, and which object is whose.

use broker_api::keys;
use serde_json::{Value, json};

use crate::widget;

/// Objects of the tenant that asks for much, in the real consumer; the first real provider takes them.
pub(super) const BUSY: &str = "busy";
/// Objects of the provider that is lost; the others would take them, too.
pub(super) const LOST: &str = "lost";
/// All others.
pub(super) const COMMON: &str = "common";

/// After so many seconds without contact the objects of the lost provider are placed anew.
pub(super) const UNREACHABLE_AFTER: u64 = 10;

/// Real consumers and providers, which the stage has.
const REAL: (usize, usize) = (1, 2);

/// How many there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Consumers that are stubs.
    pub(super) consumers: usize,
    /// Providers that are stubs. The first of them is the one that is lost.
    pub(super) providers: usize,
    /// Objects by the word that their names begin with.
    pub(super) busy: usize,
    pub(super) lost: usize,
    pub(super) common: usize,
    /// Edits of the tenant that asks for much.
    pub(super) edits: usize,
    /// How often the page is loaded while nothing happens.
    pub(super) loads: usize,
}

impl Layout {
    /// Such a share of 1,000 consumers, 100 providers and 50,000 objects, but never too little to see anything.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn of(scale: f64) -> Self {
        let share = |whole: f64, least: usize| ((whole * scale).round() as usize).max(least);
        Self {
            consumers: share(1_000.0, 5) - REAL.0,
            providers: share(100.0, 5) - REAL.1,
            busy: share(2_000.0, 20),
            lost: share(10_000.0, 40),
            common: share(38_000.0, 100),
            edits: share(10_000.0, 100),
            loads: share(50.0, 5),
        }
    }

    /// All clusters but the hub.
    pub(super) fn clusters(&self) -> usize {
        self.consumers + self.providers + REAL.0 + REAL.1
    }

    /// All objects.
    pub(super) fn objects(&self) -> usize {
        self.busy + self.at_stubs()
    }

    /// Those in consumers that are stubs.
    pub(super) fn at_stubs(&self) -> usize {
        self.lost + self.common
    }
}

/// Name of an object. No other cluster has one of this name.
pub(super) fn name(part: &str, number: usize) -> String {
    format!("{part}-{number:05}")
}

/// Whether an object of this name is one of these.
pub(super) fn is_of(part: &str, name: &str) -> bool {
    name.strip_prefix(part).is_some_and(|rest| rest.starts_with('-'))
}

/// What a provider says that takes objects of these parts.
fn accept_api(parts: &[&str], rest: Value) -> Value {
    let mut spec = rest;
    spec["gvr"] = json!({"group": "bench.example.org", "version": "v1", "resource": widget::RESOURCE});
    spec["filters"] = json!([{"key": "part", "valueIn": parts}]);
    json!({
        "apiVersion": format!("{}/v1alpha1", keys::GROUP),
        "kind": "AcceptAPI",
        "metadata": {"name": widget::RESOURCE, "namespace": "default"},
        "spec": spec,
    })
}

/// What the provider says that is lost: it comes before the others.
pub(super) fn accept_lost() -> Value {
    accept_api(&[LOST], json!({"priority": 10, "unreachableAfterSeconds": UNREACHABLE_AFTER}))
}

/// What the others say.
pub(super) fn accept_all() -> Value {
    accept_api(&[LOST, COMMON], json!({}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_numbers_are_those_that_are_promised() {
        let full = Layout::of(1.0);
        assert_eq!((full.objects(), full.lost, full.edits), (50_000, 10_000, 10_000));
        assert_eq!((full.consumers + 1, full.providers + 2, full.clusters()), (1_000, 100, 1_100));
        let small = Layout::of(0.000_1);
        assert!(small.providers > 2 && small.consumers > 2 && small.edits >= small.busy);
    }

    #[test]
    fn names_tell_whose_an_object_is() {
        assert_eq!(name(BUSY, 7), "busy-00007");
        assert!(is_of(LOST, "lost-00001") && !is_of(LOST, "lost") && !is_of(LOST, "lostness-1"));
        assert_eq!(accept_lost()["spec"]["filters"][0]["valueIn"], json!([LOST]));
    }
}
