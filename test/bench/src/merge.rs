//! JSON merge patches (RFC 7396), as stubs of an API server do them.

use serde_json::{Value, json};

/// Changes what a patch names, and takes away what it says is null.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in fields {
        if value.is_null() {
            target.as_object_mut().map(|held| held.remove(key));
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_changes_and_nothing_else() {
        let mut object = json!({"a": {"b": 1, "c": 2}, "d": [1, 2]});
        merge(&mut object, &json!({"a": {"b": null, "e": {"f": 3}}, "d": [3]}));
        assert_eq!(object, json!({"a": {"c": 2, "e": {"f": 3}}, "d": [3]}));
    }
}
