//! Whether a copy is ready to serve.

use std::sync::Arc;

use broker_core::readiness::unready;
use runtime_cel::schema::Schema;
use runtime_effect::view::{Unread, View};
use serde_json::{Value, json};

fn copy(status: &Value) -> View {
    View {
        uid: "u".into(),
        resource_version: 1,
        deleting: false,
        applied_by_us: true,
        value: Arc::new(json!({"metadata": {"generation": 2}, "status": status})),
        unread: None,
        conditions_known: true,
    }
}

fn is_ready(status: &Value) -> bool {
    unready(&copy(status), &Schema::any(), true).is_none()
}

#[test]
fn without_any_word_for_it_any_status_will_do_and_no_status_where_there_can_be_none() {
    assert!(is_ready(&json!({"phase": "Up"})));
    assert!(!is_ready(&Value::Null));
    assert!(unready(&copy(&Value::Null), &Schema::any(), false).is_none());
}

#[test]
fn what_goes_or_cannot_be_read_is_not_ready() {
    let status = json!({"status": "Available"});
    assert!(is_ready(&status));
    for copy in [View { deleting: true, ..copy(&status) }, View { unread: Some(Unread::Nested), ..copy(&status) }] {
        assert!(unready(&copy, &Schema::any(), true).is_some());
    }
}

#[test]
fn of_conditions_one_that_is_true_and_up_to_date_will_do() {
    let condition =
        |kind: &str, status: &str, seen: Value| json!({"type": kind, "status": status, "observedGeneration": seen});
    let of = |conditions: Value| is_ready(&json!({ "conditions": conditions }));
    assert!(of(json!([condition("Ready", "False", json!(2)), condition("Available", "True", json!(2))])));
    assert!(of(json!([condition("Ready", "True", Value::Null)])));
    assert!(!of(json!([condition("Ready", "True", json!(1))])), "an older generation");
    assert!(!of(json!([condition("Other", "True", json!(2))])));
    assert!(!of(json!([])));
    let overall =
        |seen: i64| json!({"observedGeneration": seen, "conditions": [condition("Ready", "True", Value::Null)]});
    assert!(is_ready(&overall(2)) && !is_ready(&overall(1)));
}
