//! The consumer's status: what a copy's says of it, and how much of that.

use std::{sync::Arc, thread, time::Duration};

use broker_api::ClusterName;
use broker_core::{
    snapshot::OriginKey,
    status::{self, Inputs, MOST_CONDITIONS, Own},
};
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, now::Now, view::View};
use serde_json::{Value, json};

/// As many conditions as an API server takes in one object.
const MANY: usize = 80_000;

fn view(uid: &str, generation: i64, status: &Value) -> View {
    let value = json!({"metadata": {"generation": generation}, "status": status});
    View {
        uid: uid.into(),
        resource_version: 7,
        deleting: false,
        applied_by_us: true,
        value: Arc::new(value),
        unread: None,
        conditions_known: true,
    }
}

fn key() -> OriginKey {
    let gvk = Kind { group: "g".into(), version: "v1".into(), kind: "Widget".into() };
    let cluster = ClusterName::consumer("homer");
    OriginKey { cluster, gvk: Arc::new(gvk), namespace: "n".into(), name: "a".into() }
}

/// The status that the consumer comes to show, and how many writes that takes.
fn settle(held: &Value, copy: Option<&Value>) -> (Value, usize) {
    let copy = copy.map(|status| view("copy", 1, status));
    let mut held = held.clone();
    for writes in 0..4 {
        let origin = view("origin", 3, &held);
        let inputs = Inputs {
            key: &key(),
            origin: &origin,
            copy: copy.as_ref(),
            in_sync: true,
            own: &[Own::placed("theseus")],
            unsaid: &[],
            schema: &Schema::any(),
            now: &Now { millis: 1, started: 0, text: "2026-01-01T00:00:00Z".into() },
        };
        match status::patch(&inputs) {
            None => return (held, writes),
            Some(patch) => held = patch.desired,
        }
    }
    panic!("it is written again and again");
}

fn conditions(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({"type": format!("T{n}"), "status": "True", "observedGeneration": 1})).collect()
}

fn types(status: &Value) -> Vec<&str> {
    status["conditions"].as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect()
}

/// What takes minutes where a long list is searched for each of its elements ends in a moment.
fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(Duration::from_secs(20)).expect("it takes too long")
}

#[test]
fn a_provider_shows_no_more_than_so_many_conditions() {
    let (status, writes) =
        at_once(|| settle(&json!({"conditions": conditions(MANY)}), Some(&json!({"conditions": conditions(MANY)}))));
    assert_eq!(writes, 1);
    let types = types(&status);
    assert_eq!(types.len(), MOST_CONDITIONS + 1);
    assert_eq!((types[0], types[MOST_CONDITIONS - 1], types[MOST_CONDITIONS]), ("T0", "T127", "Brokered"));
    assert_eq!(status["conditions"][5]["observedGeneration"], 3, "what is shown is translated");
}

#[test]
fn what_a_tenant_puts_there_itself_is_cut_once() {
    for extra in [json!({"type": "T1"}), json!({"no": "type"}), json!(7)] {
        let mut many = conditions(MANY);
        many.insert(1, extra);
        let (status, writes) = at_once(move || settle(&json!({"conditions": many}), None));
        assert!(writes <= 2, "{writes}");
        assert_eq!(status["conditions"].as_array().unwrap().len(), MOST_CONDITIONS + 1);
    }
}

#[test]
fn the_brokers_own_conditions_do_not_count() {
    let mut own = conditions(MOST_CONDITIONS);
    own.insert(0, json!({"type": "Brokered", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}));
    let held = json!({ "conditions": own });
    assert_eq!(status::curtailed(&view("origin", 1, &held), None), None);
    let (status, writes) = settle(&held, None);
    assert_eq!((writes, types(&status).len(), types(&status)[0]), (1, MOST_CONDITIONS + 1, "Brokered"));
    assert_eq!(settle(&status, None).1, 0);
}

#[test]
fn what_is_cut_is_counted() {
    let (few, many) = (json!({"conditions": conditions(128)}), json!({"conditions": conditions(129)}));
    let (few, many) = (view("a", 1, &few), view("b", 1, &many));
    assert_eq!(status::curtailed(&few, None), None);
    assert_eq!(status::curtailed(&many, None), Some(129));
    assert_eq!(status::curtailed(&few, Some(&many)), Some(129));
    assert_eq!(status::curtailed(&many, Some(&few)), None, "the copy's status is what is shown");
    assert_eq!(status::curtailed(&many, Some(&view("c", 1, &json!({})))), Some(129), "it says nothing yet");
}

#[test]
fn a_condition_keeps_its_place_and_the_time_of_its_turn() {
    let held = json!({"conditions": [
        {"type": "Brokered", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"},
        {"type": "Ready", "status": "False", "observedGeneration": 3},
    ]});
    let copy = json!({"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]});
    let (status, _) = settle(&held, Some(&copy));
    assert_eq!(types(&status), ["Brokered", "Ready"]);
    assert_eq!(status["conditions"][0]["lastTransitionTime"], "2020-01-01T00:00:00Z");
    let turned =
        json!({"conditions": [{"type": "Brokered", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}]});
    let (status, _) = settle(&turned, Some(&copy));
    assert_eq!(status["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
}

#[test]
fn what_is_current_there_looks_current_here_and_what_is_not_does_not() {
    let condition = |kind: &str| json!({"type": kind, "status": "True", "observedGeneration": 1});
    let copy = json!({"observedGeneration": 1, "conditions": [condition("A"), {"type": "B", "status": "True"}]});
    let (shown, _) = settle(&json!({}), Some(&copy));
    assert_eq!((&shown["observedGeneration"], &shown["conditions"][0]["observedGeneration"]), (&json!(3), &json!(3)));
    assert_eq!(shown["conditions"][1].get("observedGeneration"), None);
    // An older one that is there already is as good as any.
    for (held, expected) in
        [(json!({}), 2), (json!({"observedGeneration": 1}), 1), (json!({"observedGeneration": 3}), 2)]
    {
        assert_eq!(settle(&held, Some(&json!({"observedGeneration": 0}))).0["observedGeneration"], expected);
    }
}

#[test]
fn where_no_schema_says_so_conditions_are_for_who_shows_some() {
    let ours = |held: Value, copy: Value| {
        let (shown, _) = settle(&held, Some(&copy));
        shown["conditions"].as_array().is_some_and(|all| all.iter().any(|entry| entry["type"] == "Brokered"))
    };
    let some = || json!({"conditions": conditions(1)});
    assert!(!ours(json!({}), json!({"phase": "Up"})));
    assert!(ours(json!({}), some()) && ours(some(), json!({"phase": "Up"})));
}
