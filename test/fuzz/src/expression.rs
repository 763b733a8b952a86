//! CEL of AcceptAPIs: what compiles says which names it takes, and gives the same whenever it is asked, within its bounds.

use std::sync::{Arc, LazyLock};

use runtime_cel::expression::Values;
use serde_json::{Value, json};

use crate::patience::{self, BROKER};

static OBJECT: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "apiVersion": "example.org/v1", "kind": "Certificate",
        "metadata": {"name": "a", "namespace": "n", "labels": {"tier": "gold"}, "creationTimestamp": "2026-01-31T01:02:03Z"},
        "spec": {
            "fqdn": "a.example.org", "days": 90, "ratio": 0.5, "wildcard": false, "memory": "4Gi", "none": null,
            "names": ["a", "b", "ä"], "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
            "limits": {"cpu": "500m", "memory": "1Gi"}, "big": 9_007_199_254_740_993_u64, "at": "2026-01-31T01:02:03+02:00",
        },
    }))
});

/// How deep a value is.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

pub(crate) fn run(source: &str) {
    let program = match BROKER.compile_for("owner", source) {
        Ok(program) => program,
        Err(error) => return patience::check(&error),
    };
    assert_eq!(program.source(), source);
    assert!(program.variables().is_sorted(), "{:?}", program.variables());
    for name in program.variables() {
        assert!(program.place_of(name).starts_with("line "));
    }
    let again = BROKER.compile_for("owner", source).map(|again| again.variables().to_vec());
    assert_eq!(again.as_deref(), Ok(program.variables()), "it compiles otherwise the second time");
    let variables = [("self", Arc::clone(&OBJECT))];
    let value = BROKER.evaluate(&program, &variables);
    assert_eq!(value, BROKER.evaluate(&program, &variables), "another value the second time");
    let (mut all, most) = (u64::MAX, Values::default());
    let truth = BROKER.evaluate_bool_for("party", &mut all, &program, &variables);
    let taken = u64::MAX - all;
    match &value {
        Ok(value) => {
            assert!(value.to_string().len() <= most.json, "{} bytes", value.to_string().len());
            assert!(depth(value) <= most.depth, "{} levels", depth(value));
            assert_eq!(value.as_bool(), truth.as_ref().ok().copied(), "{value} is {truth:?}");
        }
        Err(error) => patience::check(error),
    }
    if let Err(error) = &truth {
        patience::check(error);
    }
    // As many steps as it takes are enough, and the same are taken.
    let mut enough = taken;
    assert_eq!(
        BROKER.evaluate_bool_for("party", &mut enough, &program, &variables),
        truth,
        "{taken} steps are not enough"
    );
}
