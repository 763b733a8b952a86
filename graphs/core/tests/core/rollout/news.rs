//! What is told of a rollout.

use graphs_core::rollout::news;
use serde_json::{Value, json};

fn status(target: i64, wave: Option<&str>, reason: &str) -> Value {
    json!({"targetRevision": target, "wave": wave, "clusters": {"total": 3}, "conditions": [
        {"type": "Progressing", "reason": reason},
        {"type": "Degraded", "reason": "ClustersFailing", "message": "failing: spoke#a"},
    ]})
}

#[test]
fn starts_ends_and_failures_of_waves_are_told_once() {
    let story = [
        (status(3, Some("canary"), "RollingOut"), &["RolloutStarted"][..]),
        (status(3, Some("canary"), "Stopped"), &["WaveFailed"]),
        (status(3, Some("canary"), "RollingOut"), &[]),
        (status(3, Some("rest"), "RollingOut"), &["WaveCompleted"]),
        (status(3, Some("rest"), "Paused"), &[]),
        (status(3, Some(""), "RollingOut"), &["WaveCompleted"]),
        (status(3, None, "Complete"), &["RolloutCompleted"][..]),
        (status(3, None, "Complete"), &[]),
        (status(3, Some("rest"), "RollingOut"), &["WaveStarted"]),
        (status(4, Some("canary"), "RollingOut"), &["RolloutStarted"]),
        (status(4, Some("canary"), "RolledBack"), &["WaveFailed"]),
        (status(5, None, "Complete"), &["RolloutCompleted"]),
        // What lies between two statuses is told all the same.
        (status(6, Some("canary"), "Stopped"), &["RolloutStarted", "WaveFailed"]),
        (status(6, Some("rest"), "RollingOut"), &["WaveCompleted"]),
        (status(6, Some(""), "RolledBack"), &["WaveCompleted", "WaveFailed"]),
        (status(7, Some(""), "RolledBack"), &["RolloutStarted", "WaveFailed"]),
    ];
    let mut before = json!({});
    for (now, reasons) in story {
        let told = news(&before, &now);
        let told: Vec<&str> = told.iter().map(|note| &*note.reason).collect();
        assert_eq!(told, reasons, "{before} {now}");
        before = now;
    }
    let none = json!({"targetRevision": 8, "wave": null, "clusters": {"total": 0}});
    assert_eq!(news(&before, &none), [], "where there is no cluster, nothing is rolled out");
    let failed = news(&status(3, Some(""), "RollingOut"), &status(3, Some(""), "Stopped")).remove(0);
    let words = "revision 3: the last wave failed (failing: spoke#a); no further cluster begins";
    assert_eq!((failed.warning, failed.message.as_str()), (true, words));
}
