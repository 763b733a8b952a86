//! `Selector`: which objects of a kind are meant.

use serde_json::Value;

use crate::{failure::Failure, meta::is_qualified};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Term {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

/// By labels and fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<Term>,
    fields: Vec<(String, String, bool)>,
}

impl Selector {
    pub(crate) fn parse(labels: &str, fields: &str, known: &[&str]) -> Result<Self, Failure> {
        let terms = split(labels).into_iter().filter(|term| !term.trim().is_empty());
        let wrong = |text: &str| Failure::bad_request(format!("unable to parse requirement: {text}"));
        let named = |term: &Term| match term {
            Term::In(name, _) | Term::NotIn(name, _) | Term::Exists(name) | Term::Missing(name) => is_qualified(name),
        };
        let labels =
            terms.map(|text| term(text.trim()).filter(named).ok_or_else(|| wrong(text))).collect::<Result<_, _>>()?;
        let mut selected = Vec::new();
        for text in fields.split(',').filter(|text| !text.is_empty()) {
            let (name, value, equal) = match text.split_once("!=") {
                Some((name, value)) => (name, value, false),
                None => match text.split_once('=') {
                    Some((name, value)) => (name, value.trim_start_matches('='), true),
                    None => return Err(Failure::bad_request(format!("invalid field selector {text}"))),
                },
            };
            if !known.contains(&name) {
                return Err(Failure::bad_request(format!("field label not supported: {name}")));
            }
            selected.push((name.to_owned(), value.to_owned(), equal));
        }
        Ok(Self { labels, fields: selected })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub(crate) fn selects(&self, object: &Value) -> bool {
        let label = |name: &str| object["metadata"]["labels"][name].as_str();
        let has = |values: &[String], value: &str| values.iter().any(|one| one == value);
        let labels = self.labels.iter().all(|term| match term {
            Term::In(name, values) => label(name).is_some_and(|value| has(values, value)),
            Term::NotIn(name, values) => label(name).is_none_or(|value| !has(values, value)),
            Term::Exists(name) => label(name).is_some(),
            Term::Missing(name) => label(name).is_none(),
        });
        let at = |path: &str| path.split('.').fold(object, |value, name| &value[name]).as_str().unwrap_or_default();
        labels && self.fields.iter().all(|(name, value, equal)| (at(name) == value) == *equal)
    }
}

/// At the commas that are in no list.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_u32, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

fn term(text: &str) -> Option<Term> {
    let list = |values: &str| -> Option<Vec<String>> {
        let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
        Some(values.split(',').map(|value| value.trim().to_owned()).collect())
    };
    if let Some((name, values)) = text.split_once(" notin ") {
        return Some(Term::NotIn(name.trim().to_owned(), list(values)?));
    }
    if let Some((name, values)) = text.split_once(" in ") {
        return Some(Term::In(name.trim().to_owned(), list(values)?));
    }
    let one = |name: &str, value: &str| (name.trim().to_owned(), vec![value.trim_start_matches('=').trim().to_owned()]);
    if let Some((name, value)) = text.split_once("!=") {
        let (name, values) = one(name, value);
        return Some(Term::NotIn(name, values));
    }
    if let Some((name, value)) = text.split_once('=') {
        let (name, values) = one(name, value);
        return Some(Term::In(name, values));
    }
    let (name, missing) = text.strip_prefix('!').map_or((text, false), |name| (name.trim(), true));
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    Some(if missing { Term::Missing(name.to_owned()) } else { Term::Exists(name.to_owned()) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_selected_as_in_kubernetes() {
        let object = json!({"metadata": {"name": "x", "labels": {"a": "1", "b": "2"}}});
        let selects = |labels: &str| Selector::parse(labels, "", &[]).unwrap().selects(&object);
        for yes in ["", "a", "a=1", "a==1,b=2", "a in (0, 1)", "c notin (1)", "!c", "a!=2", "c!=1"] {
            assert!(selects(yes), "{yes}");
        }
        for no in ["c", "!a", "a=2", "a notin (1,2)", "a,b=1"] {
            assert!(!selects(no), "{no}");
        }
        assert!(
            Selector::parse("a in 1", "", &[]).is_err() && Selector::parse("", "spec.x=1", &["metadata.name"]).is_err()
        );
        let named = |name: &str| Selector::parse("", &format!("metadata.name={name}"), &["metadata.name"]).unwrap();
        assert!(named("x").selects(&object) && !named("y").selects(&object));
    }
}
