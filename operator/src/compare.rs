//! Whether a live object already is as it shall be.
//!
//! A live object holds more than was applied (defaults, status, what others own), and some of it in another form
//! (`1000m` is stored as `1`, empty lists are dropped). So: everything that is desired is there, with the same meaning.

use runtime_cel::quantity::Quantity;
use serde_json::Value;

/// Lists whose items the API server tells apart by a field, so that others may add to them, and that field.
const KEYED: [(&str, &str); 8] = [
    ("ownerReferences", "uid"),
    ("containers", "name"),
    ("env", "name"),
    ("volumes", "name"),
    ("imagePullSecrets", "name"),
    ("volumeMounts", "mountPath"),
    ("hostAliases", "ip"),
    ("topologySpreadConstraints", "topologyKey"),
];

/// Fields whose values are quantities.
const QUANTITIES: [&str; 3] = ["limits", "requests", "sizeLimit"];

/// Whether `live` has all that `desired` says.
pub fn contains(live: &Value, desired: &Value) -> bool {
    subset("", live, desired)
}

fn subset(field: &str, live: &Value, desired: &Value) -> bool {
    if live.is_null() && is_zero(desired) {
        return true;
    }
    match (live, desired) {
        (Value::Object(live), Value::Object(desired)) => desired.iter().all(|(key, wanted)| {
            let field = if QUANTITIES.contains(&field) { field } else { key };
            subset(field, live.get(key).unwrap_or(&Value::Null), wanted)
        }),
        (Value::Array(live), Value::Array(desired)) => list(field, live, desired),
        _ => live == desired || QUANTITIES.contains(&field) && same_quantity(live, desired),
    }
}

fn list(field: &str, live: &[Value], desired: &[Value]) -> bool {
    if let Some((_, key)) = KEYED.iter().find(|(name, _)| *name == field) {
        let found = |wanted: &Value| live.iter().find(|item| !item[*key].is_null() && item[*key] == wanted[*key]);
        return desired.iter().all(|wanted| found(wanted).is_some_and(|item| subset("", item, wanted)));
    }
    live.len() == desired.len() && live.iter().zip(desired).all(|(live, desired)| subset("", live, desired))
}

/// What an API server may leave out.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
        _ => false,
    }
}

fn same_quantity(live: &Value, desired: &Value) -> bool {
    let quantity = |value: &Value| match value {
        Value::String(text) => text.parse::<Quantity>().ok(),
        Value::Number(number) => number.to_string().parse::<Quantity>().ok(),
        _ => None,
    };
    quantity(live).is_some_and(|live| Some(live) == quantity(desired))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_others_add_does_not_matter() {
        let desired = json!({"metadata": {"labels": {"a": "1"}, "ownerReferences": [{"uid": "u", "name": "b"}]},
            "spec": {"containers": [{"name": "b", "env": [{"name": "X", "value": "1"}]}]}});
        let live = json!({"metadata": {"labels": {"a": "1", "z": "2"},
                "ownerReferences": [{"uid": "v"}, {"uid": "u", "name": "b", "controller": true}]},
            "spec": {"replicas": 1, "containers": [{"name": "side"},
                {"name": "b", "tty": true, "env": [{"name": "Y"}, {"name": "X", "value": "1"}]}]}, "status": {}});
        assert!(contains(&live, &desired));
        assert!(!contains(&desired, &live));
    }

    #[test]
    fn what_others_change_does() {
        let desired = json!({"args": ["--a", "--b"], "replicas": 1, "roleRef": {"name": "r"}, "subjects": [{"name": "s"}],
            "escalate": false});
        for (field, value) in [
            ("args", json!(["--a"])),
            ("args", json!(["--a", "--b", "--c"])),
            ("args", json!(["--b", "--a"])),
            ("replicas", json!(2)),
            ("replicas", json!(null)),
            ("roleRef", json!({"name": "cluster-admin"})),
            ("subjects", json!([{"name": "s"}, {"name": "mallory"}])),
            ("escalate", json!(true)),
        ] {
            let mut live = desired.clone();
            live[field] = value.clone();
            assert!(!contains(&live, &desired), "{field}: {value}");
        }
    }

    #[test]
    fn zero_values_may_be_left_out_but_not_be_something_else() {
        let desired = json!({"a": "", "b": [], "c": {"d": false, "e": null}, "f": null});
        assert!(contains(&json!({}), &desired));
        assert!(contains(&json!({"b": null}), &desired));
        for live in [json!({"a": "x"}), json!({"b": [1]}), json!({"c": {"d": true}}), json!({"f": 1})] {
            assert!(!contains(&live, &desired), "{live}");
        }
        assert!(!contains(&json!({}), &json!({"replicas": 0})));
    }

    #[test]
    fn quantities_are_compared_by_value_where_they_are_quantities() {
        let limits = |cpu: &str| json!({"resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}});
        assert!(contains(&limits("1"), &limits("1000m")));
        assert!(contains(&json!({"limits": {"memory": "1Gi"}}), &json!({"limits": {"memory": "1024Mi"}})));
        assert!(!contains(&limits("1"), &limits("1001m")));
        assert!(!contains(&json!({"value": "1"}), &json!({"value": "1000m"})), "no quantity");
    }
}
