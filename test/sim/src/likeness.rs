//! Whether two states of an object are alike, without a copy of either.

use serde_json::{Map, Value};

/// Whether they have the same fields, but for the one of this name.
pub(crate) fn alike_but_for(name: &str, one: &Value, other: &Value) -> bool {
    alike(name, one, other, |_, one, other| one == other)
}

/// The same but for their version, and the moments at which somebody came to hold fields of them.
pub(crate) fn alike_at_any_time(one: &Value, other: &Value) -> bool {
    alike("apiVersion", one, other, |name, one, other| {
        if name == "metadata" { alike("", one, other, is_same_metadata) } else { one == other }
    })
}

fn is_same_metadata(name: &str, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Array(one), Value::Array(other)) if name == "managedFields" => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike_but_for("time", one, other))
        }
        _ => one == other,
    }
}

/// Whether all fields but the one of this name are the same on both sides.
fn alike(but_for: &str, one: &Value, other: &Value, is_same: impl Fn(&str, &Value, &Value) -> bool) -> bool {
    let (Value::Object(one), Value::Object(other)) = (one, other) else { return one == other };
    let count = |fields: &Map<String, Value>| fields.len() - usize::from(fields.contains_key(but_for));
    let mut fields = one.iter().filter(|(name, _)| *name != but_for);
    count(one) == count(other)
        && fields.all(|(name, value)| other.get(name).is_some_and(|other| is_same(name, value, other)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_and_versions_do_not_count_and_all_else_does() {
        let object = |version: &str, time: Option<&str>, manager: &str, size: u32| {
            let mut entry = json!({"manager": manager});
            if let Some(time) = time {
                entry["time"] = json!(time);
            }
            json!({"apiVersion": version, "metadata": {"name": "a", "managedFields": [entry]}, "spec": {"size": size}})
        };
        let held = object("v1", Some("now"), "me", 1);
        assert!(alike_at_any_time(&held, &object("v2", Some("then"), "me", 1)));
        assert!(alike_at_any_time(&held, &object("v1", None, "me", 1)));
        for other in [object("v1", Some("now"), "you", 1), object("v1", Some("now"), "me", 2)] {
            assert!(!alike_at_any_time(&held, &other) && !alike_but_for("spec", &held, &json!({"spec": 1})), "{other}");
        }
        let mut more = held.clone();
        more["metadata"]["labels"] = json!({});
        assert!(!alike_at_any_time(&held, &more) && !alike_at_any_time(&more, &held));
        assert!(alike_but_for("metadata", &held, &more) && !alike_but_for("spec", &held, &more));
    }
}
