//! What a rollout asks for, as people write it.

use graphs_core::rollout::Settings;
use serde_json::json;

use crate::rollout::fleet::{Fleet, settings};

#[test]
fn what_cannot_be_read_is_named() {
    for (spec, words) in [
        (json!({"failureThreshold": "many"}), "spec.failureThreshold: use a number"),
        (
            json!({"waves": [{"name": "a", "clusterSelector": {}, "maxUnavailable": "101%"}]}),
            "spec.waves[0].maxUnavailable",
        ),
        (
            json!({"pins": [{"revision": 1, "clusterSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}]}),
            "spec.pins[0].clusterSelector: \"Like\"",
        ),
    ] {
        let spec = serde_json::from_value(spec).unwrap();
        let told = Settings::of(Some(&spec)).unwrap_err().to_string();
        assert!(told.contains(words), "{told}");
    }
}

#[test]
fn percents_are_of_the_clusters_of_a_wave() {
    for (most, wanted) in [("50%", 2), ("74%", 2), ("20%", 1), ("100%", 4)] {
        let mut fleet = Fleet::of(&[("a", "one"), ("b", "one"), ("c", "one"), ("d", "one")]);
        let wave = json!({"name": "all", "clusterSelector": {}, "maxUnavailable": most, "soakSeconds": 60});
        fleet.turns(&settings(&json!({"waves": [wave]})), Some(1));
        assert_eq!(fleet.running().len(), wanted, "{most}");
    }
}

#[test]
fn whoever_asks_is_told_whether_it_is_paused_and_names_its_target() {
    let told = |spec| (settings(&spec).is_paused(), settings(&spec).names_target());
    assert_eq!(told(json!({})), (false, false));
    assert_eq!(told(json!({"paused": true})), (true, false));
    assert_eq!(told(json!({"revision": 3})), (false, true));
}
