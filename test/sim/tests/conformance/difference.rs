//! Where two values differ, for people.

use serde_json::Value;

/// One line for each place.
pub(crate) fn differences(model: &Value, real: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", Some(model), Some(real), &mut found);
    found
}

fn compare(path: &str, model: Option<&Value>, real: Option<&Value>, found: &mut Vec<String>) {
    match (model, real) {
        (Some(Value::Object(one)), Some(Value::Object(two))) => {
            let names: std::collections::BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for name in names {
                compare(&format!("{path}.{name}"), one.get(name), two.get(name), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(two))) => {
            for at in 0..one.len().max(two.len()) {
                compare(&format!("{path}[{at}]"), one.get(at), two.get(at), found);
            }
        }
        (one, two) if one == two => {}
        (one, two) => found.push(format!("{path}\n        model {}\n        real  {}", shown(one), shown(two))),
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "(nothing)".to_owned(), ToString::to_string);
    text.chars().take(400).collect()
}
