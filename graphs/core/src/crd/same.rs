//! Whether two values are stored alike by an API server.

use serde_json::Value;

/// Whether two values are stored alike: a null and an empty list are not stored at all, and numbers are equal by value. Does
/// not recurse.
pub fn same(one: &Value, other: &Value) -> bool {
    let mut left = vec![(one, other)];
    while let Some((one, other)) = left.pop() {
        match (one, other) {
            (Value::Object(first), Value::Object(second)) => {
                for (key, value) in first {
                    left.push((value, second.get(key).unwrap_or(&Value::Null)));
                }
                let only_second = second.iter().filter(|(key, _)| !first.contains_key(*key));
                if only_second.into_iter().any(|(_, value)| !is_absent(value)) {
                    return false;
                }
            }
            (Value::Array(first), Value::Array(second)) if first.len() == second.len() => {
                left.extend(first.iter().zip(second));
            }
            (Value::Number(first), Value::Number(second)) => {
                if first != second && first.as_f64() != second.as_f64() {
                    return false;
                }
            }
            _ if is_absent(one) && is_absent(other) => {}
            _ if one == other => {}
            _ => return false,
        }
    }
    true
}

fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_stored_makes_no_difference() {
        let one = json!({"a": 1, "required": [], "default": {}, "list": [{"x": null}], "none": null});
        assert!(same(&one, &json!({"a": 1.0, "default": {}, "list": [{}]})));
        for other in [
            json!({"a": 1, "list": [{}]}),
            json!({"a": 2, "default": {}, "list": [{}]}),
            json!({"a": 1, "default": {}, "list": [{}], "b": ""}),
            json!({"a": 1, "default": {}, "list": [{}, {}]}),
            json!({"a": 1, "default": {}, "list": []}),
            json!(null),
        ] {
            assert!(!same(&one, &other) && !same(&other, &one), "{other}");
        }
    }

    #[test]
    fn depth_is_no_matter() {
        let deep = |end: i32| (0..100_000).fold(json!(end), |value, _| Value::Array(vec![value]));
        let [one, again, other] = [deep(1), deep(1), deep(2)];
        assert!(same(&one, &again) && !same(&one, &other));
        // Dropping them would recurse.
        std::mem::forget([one, again, other]);
    }
}
