//! Reports: what a status is to say, written when it says anything else.

use serde_json::{Value, json};

use crate::{merge, version::Version};

/// The merge patch that makes a status of `held` (none: nothing is said yet) say what is `wanted`; `None` where it does.
pub fn patch(of: Version<'_>, held: Option<&Value>, wanted: &Value) -> Option<Value> {
    let nothing = json!({});
    let status = merge::diff(held.unwrap_or(&nothing), wanted)?;
    Some(of.guard(json!({"status": status})))
}

/// A digest of what a status says, whenever it says so: the same said at another moment is a repeat. `times`: the lists in it
/// whose entries hold times, and in which fields.
pub fn intent(mut status: Value, times: &[(&str, &[&str])]) -> [u8; 8] {
    for (list, fields) in times {
        for entry in status.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.retain(|field, _| !fields.contains(&field.as_str()));
            }
        }
    }
    merge::digest(&status)
}

/// Where conditions hold a time: see [`intent`].
pub const CONDITIONS: (&str, &[&str]) = ("conditions", &["lastTransitionTime"]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_written_where_it_says_something_else_and_for_the_version_that_was_seen() {
        let of = Version { uid: "u", resource_version: 7 };
        let wanted = json!({"a": 1});
        assert_eq!(patch(of, Some(&wanted), &wanted), None);
        let metadata = json!({"resourceVersion": "7", "uid": "u"});
        assert_eq!(patch(of, None, &wanted), Some(json!({"metadata": metadata, "status": {"a": 1}})));
        let held = json!({"a": 2, "b": 3});
        assert_eq!(patch(of, Some(&held), &wanted).unwrap()["status"], json!({"a": 1, "b": null}));
    }

    #[test]
    fn the_same_at_another_moment_is_the_same() {
        let said = |message: &str, at: &str| json!({"conditions": [{"message": message, "lastTransitionTime": at}, 7]});
        let of = |status| intent(status, &[CONDITIONS, ("failing", &["since"])]);
        assert_eq!(of(said("m", "then")), of(said("m", "now")));
        assert_ne!(of(said("m", "then")), of(said("n", "then")));
        assert_ne!(of(json!({"since": 1})), of(json!({"since": 2})), "it is in no list");
        assert_eq!(of(json!({"failing": [{"since": 1}]})), of(json!({"failing": [{"since": 2}]})));
    }
}
