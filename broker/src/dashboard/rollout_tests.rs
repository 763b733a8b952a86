//! Tests of [`super`].

use serde_json::json;

use super::*;

/// Two waves, and a status about them.
fn rollout(status: &Value) -> Rollout {
    let spec = json!({"waves": [{"name": "canary"}, {"name": "rest"}], "paused": true});
    Rollout::of("web", &json!({"metadata": {"generation": 3}, "spec": spec, "status": status}))
}

/// A status of what is asked for now, in a wave.
fn status(wave: Option<&str>, reason: &str) -> Value {
    json!({
        "observedGeneration": 3, "targetRevision": 7, "wave": wave,
        "clusters": {"total": 14, "updated": 9, "updating": 1, "failed": 2, "unreachable": 1, "conflicted": 1},
        "failing": [
            {"cluster": "spoke#paris", "revision": 7, "reason": "Conflict", "message": "m", "since": "2026-01-01T00:00:00Z"},
        ],
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": reason, "message": "9/14"},
            {"type": "Degraded", "status": "False", "reason": "AsExpected", "message": "no cluster fails"},
        ],
    })
}

fn stands(status: &Value) -> [WaveState; 3] {
    let waves = rollout(status).waves;
    let names: Vec<&str> = waves.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["canary", "rest", ""]);
    [waves[0].1, waves[1].1, waves[2].1]
}

#[test]
fn it_is_told_as_the_status_has_it() {
    let shown = rollout(&status(Some("rest"), "RollingOut"));
    assert_eq!((shown.target, &*shown.word, shown.paused), (Some(7), "RollingOut", true));
    let Clusters { total, updated, updating, failed, unreachable, conflicted } = shown.clusters;
    assert_eq!((total, updated, updating, failed, unreachable, conflicted), (14, 9, 1, 2, 1, 1));
    assert_eq!((&*shown.failing[0].cluster, &*shown.failing[0].reason), ("spoke#paris", "Conflict"));
    assert_eq!((&*shown.why, shown.lacking()), ("9/14", 3));
    let brief = shown.brief();
    assert_eq!((&*brief.failing[0].message, brief.conditions.len()), ("", 0));
}

#[test]
fn waves_are_done_up_to_the_one_that_is_named() {
    use WaveState::{Done, Now, ToCome, Untold};
    assert_eq!(stands(&status(Some("canary"), "RollingOut")), [Now, ToCome, ToCome]);
    assert_eq!(stands(&status(Some("rest"), "RollingOut")), [Done, Now, ToCome]);
    assert_eq!(stands(&status(Some(""), "RollingOut")), [Done, Done, Now], "clusters that are in no wave");
    assert_eq!(stands(&status(None, "Complete")), [Done; 3]);
    assert_eq!(stands(&status(Some("of before"), "RollingOut")), [Untold; 3]);
    let mut first = status(None, "NoRevision");
    first["targetRevision"] = Value::Null;
    assert_eq!(stands(&first), [ToCome; 3]);
}

#[test]
fn what_is_said_of_an_earlier_edit_is_not_taken_for_now() {
    let mut earlier = status(None, "Complete");
    earlier["observedGeneration"] = json!(2);
    let shown = rollout(&earlier);
    assert_eq!((&*shown.word, shown.waves[0].1, shown.clusters.total), (UNTOLD, WaveState::Untold, 14));
    assert_eq!(rollout(&Value::Null).word, UNTOLD);
    assert_eq!(Rollout::of("web", &Value::Null).waves, [(String::new(), WaveState::Untold)]);
}

#[test]
fn what_fails_is_told_first() {
    let mut failing = status(Some("canary"), "Stopped");
    failing["conditions"][1]["status"] = json!("True");
    failing["conditions"][1]["message"] = json!("failing: spoke#paris");
    assert_eq!(rollout(&failing).why, "failing: spoke#paris");
}

#[test]
fn what_needs_a_look_is_bad() {
    let tone = |reason: &str, failed: u64| {
        let mut told = status(None, reason);
        told["clusters"]["failed"] = json!(failed);
        rollout(&told).tone()
    };
    assert_eq!((tone("RollingOut", 0), tone("Complete", 0), tone("Paused", 0)), (Tone::Busy, Tone::Good, Tone::Plain));
    assert_eq!((tone("RollingOut", 1), tone("Complete", 1), tone("Paused", 1)), (Tone::Bad, Tone::Bad, Tone::Bad));
    for reason in ["Stopped", "RolledBack", "InvalidSpec", "NoRevision"] {
        assert_eq!(tone(reason, 0), Tone::Bad, "{reason}");
    }
}
