//! What an object says of itself, as far as it is shown: anybody may have written anything into it, and as much of it.

use serde_json::Value;

use super::trace::Said;

/// Longest text that is taken over, in characters. Pages show less of it, and that there is more.
const LONGEST: usize = 1100;

/// Conditions that are taken over.
const CONDITIONS: usize = 16;

/// A text; empty where there is none.
pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().chars().take(LONGEST).collect()
}

/// Some entries of a list; none where there is none.
pub(super) fn entries(value: &Value, most: usize) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten().take(most)
}

/// What the conditions of a status say.
pub(super) fn conditions(status: &Value) -> Vec<Said> {
    let read = |entry: &Value| Said {
        kind: text(&entry["type"]),
        status: text(&entry["status"]),
        reason: text(&entry["reason"]),
        message: text(&entry["message"]),
    };
    entries(&status["conditions"], CONDITIONS).map(read).collect()
}

/// What one of them says.
pub(super) fn said<'a>(conditions: &'a [Said], kind: &str) -> Option<&'a Said> {
    conditions.iter().find(|said| said.kind == kind)
}

/// Whether an object is being deleted.
pub(super) fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_of_another_type_is_nothing_and_what_is_long_is_cut() {
        assert_eq!(
            (text(&json!(7)), text(&Value::Null), text(&json!("a"))),
            (String::new(), String::new(), "a".into())
        );
        assert_eq!(text(&json!("ä".repeat(5000))).chars().count(), LONGEST);
        let many = json!({"conditions": vec![json!({"type": "T", "status": "True"}); 500]});
        assert_eq!(conditions(&many).len(), CONDITIONS);
        for status in [Value::Null, json!(1), json!({"conditions": {"type": "T"}})] {
            assert!(conditions(&status).is_empty(), "{status}");
        }
        assert_eq!(conditions(&json!({"conditions": [7]})), [Said::default()]);
        assert!(said(&conditions(&many), "T").is_some() && said(&conditions(&many), "U").is_none());
    }
}
