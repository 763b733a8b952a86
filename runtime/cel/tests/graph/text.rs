//! Texts with `${…}` in them, and how this dialect differs from that of Migrations.

use runtime_cel::graph::{Part, TextError, TextTemplate};
use serde_json::Value;

fn parts(template: &TextTemplate) -> Vec<(&'static str, &str)> {
    let part = |part: &'_ Part| -> (&'static str, String) {
        match part {
            Part::Text(text) => ("text", text.clone()),
            Part::Expression(expression) => ("expr", expression.clone()),
        }
    };
    let _ = part;
    template
        .parts()
        .iter()
        .map(|part| match part {
            Part::Text(text) => ("text", text.as_str()),
            Part::Expression(expression) => ("expr", expression.as_str()),
        })
        .collect()
}

/// What differs from what was recorded, if anything does.
fn difference(entry: &Value) -> Option<String> {
    let text = entry["text"].as_str().unwrap();
    let template = match (TextTemplate::parse(text), entry.get("error")) {
        (Err(TextError::Nested), Some(_)) => return None,
        (Ok(template), None) => template,
        (answer, _) => return Some(format!("{answer:?}")),
    };
    let recorded: Vec<(&str, &str)> = entry["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| match part["text"].as_str() {
            Some(text) => ("text", text),
            None => ("expr", part["expr"].as_str().unwrap()),
        })
        .collect();
    let cel = template.cel().filter(|cel| !cel.is_empty());
    let right = parts(&template) == recorded
        && template.standalone().is_some() == entry["standalone"]
        && cel.as_deref() == entry["cel"].as_str();
    (!right).then(|| format!("{template:?}, {cel:?}"))
}

#[test]
fn reads_as_recorded() {
    let entries: Vec<Value> = serde_json::from_str(include_str!("../vectors/text-template.json")).unwrap();
    let recorded = entries.iter().filter(|entry| entry["better"] != true);
    let wrong: Vec<String> = recorded
        .filter_map(|entry| {
            difference(entry).map(|what| format!("{}\n    recorded {entry}\n    here {what}", entry["text"]))
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
