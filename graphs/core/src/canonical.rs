//! One text for each JSON value, whatever the order of its keys and however its numbers are written.

use serde_json::{Map, Number, Value};

/// Lists and objects within each other, at the most: `serde_json` reads no more, and what goes through a value recurses.
pub const MAX_DEPTH: usize = 128;

/// Lists and objects are within each other more than [`MAX_DEPTH`] deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("lists and objects are within each other more than {MAX_DEPTH} deep")]
pub struct TooDeep;

/// Whether lists and objects are within each other no more than `limit` deep; a scalar is 0 deep. Does not recurse.
pub fn is_within(value: &Value, limit: usize) -> bool {
    let mut left = vec![(value, 0)];
    while let Some((value, depth)) = left.pop() {
        let inner = depth + 1;
        match value {
            Value::Array(_) | Value::Object(_) if inner > limit => return false,
            Value::Array(items) => left.extend(items.iter().map(|item| (item, inner))),
            Value::Object(fields) => left.extend(fields.values().map(|field| (field, inner))),
            _ => {}
        }
    }
    true
}

/// The same for an object that is not wrapped in a [`Value`].
pub fn fields_are_within(fields: &Map<String, Value>, limit: usize) -> bool {
    limit.checked_sub(1).is_some_and(|limit| fields.values().all(|value| is_within(value, limit)))
}

/// The value as compact JSON with sorted keys; `1.0` is `1`.
pub fn text(value: &Value) -> Result<String, TooDeep> {
    if !is_within(value, MAX_DEPTH) {
        return Err(TooDeep);
    }
    let mut out = String::new();
    write(value, &mut out);
    Ok(out)
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Number(number) => out.push_str(&written(number)),
        Value::String(text) => write_text(text, out),
        Value::Bool(_) | Value::Null => out.push_str(&value.to_string()),
    }
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// A number without a fraction that is zero, if all of its digits are sure.
fn written(number: &Number) -> String {
    const SURE: f64 = 9_007_199_254_740_992.0;
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) if float.fract() == 0.0 && float.abs() < SURE => format!("{:.0}", float + 0.0),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_and_numbers_written_one_way() {
        let value = json!({"b": [1.0, -0.0, 0.5, 1e300, u64::MAX], "a": {"d": null, "c": "\"é\n"}});
        assert_eq!(text(&value).unwrap(), r#"{"a":{"c":"\"é\n","d":null},"b":[1,0,0.5,1e+300,18446744073709551615]}"#);
        // The last whole number that no other is rounded to, and the first that one may be.
        let numbers = json!([9_007_199_254_740_991.0, 9_007_199_254_740_992.0]);
        assert_eq!(text(&numbers).unwrap(), "[9007199254740991,9007199254740992.0]");
    }

    #[test]
    fn what_is_too_deep_is_refused_without_recursion() {
        let mut value = json!(1);
        for depth in 0..MAX_DEPTH + 1000 {
            assert_eq!(text(&value).is_ok(), depth <= MAX_DEPTH, "{depth}");
            value = Value::Array(vec![value]);
        }
        let fields = json!({"a": {"b": 1}});
        assert!(
            fields_are_within(fields.as_object().unwrap(), 2) && !fields_are_within(fields.as_object().unwrap(), 1)
        );
    }
}
