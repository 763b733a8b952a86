//! Reports: what a status is to say, written when it says anything else.

use serde_json::{Value, json};

use crate::{merge, version::Version};

/// What is to be written of a status.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// A merge patch of the object, of nothing but its status, for the version that was seen.
    pub patch: Value,
    /// Digest of what it says of which object, whenever it says so: the same said at another moment is a repeat.
    pub intent: [u8; 8],
}

/// What makes a status of `held` (none: nothing is said yet) say what is `wanted`; `None` where it does. `times`: the lists in
/// it whose entries hold times, and in which fields.
pub fn report(of: Version<'_>, held: Option<&Value>, wanted: &Value, times: &[(&str, &[&str])]) -> Option<Report> {
    let patch = patch(of, held, wanted)?;
    let mut timeless = wanted.clone();
    for (list, fields) in times {
        for entry in timeless.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.retain(|field, _| !fields.contains(&field.as_str()));
            }
        }
    }
    Some(Report { patch, intent: merge::digest(&json!([of.uid, timeless])) })
}

/// Where conditions hold a time: see [`report`].
pub const CONDITIONS: (&str, &[&str]) = ("conditions", &["lastTransitionTime"]);

/// [`Report::patch`] alone.
pub fn patch(of: Version<'_>, held: Option<&Value>, wanted: &Value) -> Option<Value> {
    let nothing = json!({});
    let status = merge::diff(held.unwrap_or(&nothing), wanted)?;
    Some(of.guard(json!({"status": status})))
}

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
        let intent = |uid, status| {
            report(Version { uid, resource_version: 7 }, None, &status, &[CONDITIONS, ("failing", &["since"])])
                .unwrap()
                .intent
        };
        let of = |status| intent("u", status);
        assert_eq!(of(said("m", "then")), of(said("m", "now")));
        assert_ne!(of(said("m", "then")), of(said("n", "then")));
        assert_ne!(of(said("m", "then")), intent("another", said("m", "then")), "nothing has been said of that");
        assert_ne!(of(json!({"since": 1})), of(json!({"since": 2})), "it is in no list");
        assert_eq!(of(json!({"failing": [{"since": 1}]})), of(json!({"failing": [{"since": 2}]})));
    }
}
