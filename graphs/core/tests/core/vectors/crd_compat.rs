use graphs_core::crd::{compare_versions, same};
use serde_json::{Value, json};

use super::{each, equal, is_better, text};

/// The version around a schema.
fn version(around: &Value, schema: &Value) -> Value {
    let mut version = match around {
        Value::Null => json!({"name": "v1alpha1", "served": true, "storage": true, "subresources": {"status": {}}}),
        around => around.clone(),
    };
    if !schema.is_null() {
        version["schema"] = json!({"openAPIV3Schema": schema});
    }
    version
}

/// Types, paths, values and texts of changes, in one order.
fn sorted(changes: impl Iterator<Item = [String; 6]>) -> Vec<[String; 6]> {
    let mut changes: Vec<_> = changes.collect();
    changes.sort();
    changes
}

#[test]
fn changes_are_as_recorded() {
    each("crd-compat.json", |entry| {
        let old = version(&entry["old_version"], &entry["old"]);
        let new = version(&entry["new_version"], &entry["new"]);
        let report = match compare_versions(&old, &new) {
            Err(error) if entry["error"].is_null() => return Err(format!("fails: {error}")),
            Err(error) => return contains(&error.to_string(), text(entry, "error")),
            Ok(_) if !entry["error"].is_null() => return Err("does not fail".to_owned()),
            Ok(report) => report,
        };
        if is_better(entry) {
            let breaks = text(entry, "better_note").contains("breaking");
            equal("breaking", &report.is_breaking(), &(breaks || entry["breaking"] == true))?;
            return equal("nothing to write", &same(&old, &new), &false);
        }
        equal("breaking", &report.is_breaking(), &(entry["breaking"] == true))?;
        equal("has_changes", &!report.changes.is_empty(), &(entry["has_changes"] == true))?;
        let found = sorted(report.changes.iter().map(|change| {
            let breaking = change.breaking.to_string();
            let (code, text) = (change.kind.code().into_owned(), change.to_string());
            [change.path.clone(), code, breaking, change.old.clone(), change.new.clone(), text]
        }));
        let recorded = entry["changes"].as_array().into_iter().flatten();
        let wanted = sorted(recorded.map(|change| {
            let of = |key: &str| text(change, key).to_owned();
            [of("path"), of("type"), change["breaking"].to_string(), of("old"), of("new"), of("text")]
        }));
        equal("changes", &found, &wanted)?;
        match entry["summary"].as_str() {
            Some(summary) => equal("the summary", report.summary().as_str(), summary),
            None => Ok(()),
        }
    });
}

fn contains(text: &str, part: &str) -> Result<(), String> {
    if text.contains(part) { Ok(()) } else { Err(format!("{text:?} does not contain {part:?}")) }
}
