//! `Selector`: labels that are asked for.

use std::collections::BTreeMap;

use serde_json::Value;

/// Labels that are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    DoesNotExist(String),
}

impl Selector {
    /// Of a LabelSelector (meta/v1). `Err`: for people.
    pub fn read(selector: &Value) -> Result<Self, String> {
        let mut all = Vec::new();
        let text =
            |value: &Value, what: &str| value.as_str().map(str::to_owned).ok_or_else(|| format!("{what} is no text"));
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            all.push(Requirement::In(key.clone(), vec![text(value, &format!("matchLabels[{key}]"))?]));
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let key = text(&expression["key"], "the key of an expression")?;
            let values = expression["values"].as_array().into_iter().flatten();
            let values: Result<Vec<String>, String> = values.map(|value| text(value, "a value")).collect();
            let (operator, values) = (text(&expression["operator"], "an operator")?, values?);
            all.push(match operator.as_str() {
                "In" => Requirement::In(key, values),
                "NotIn" => Requirement::NotIn(key, values),
                "Exists" => Requirement::Exists(key),
                "DoesNotExist" => Requirement::DoesNotExist(key),
                other => {
                    return Err(format!("{other:?} is no operator; use In, NotIn, Exists or DoesNotExist"));
                }
            });
        }
        Ok(Self(all))
    }

    /// Whether an object with these labels is meant.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels.get(key).is_some_and(|held| values.contains(held)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|held| !values.contains(held)),
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::DoesNotExist(key) => !labels.contains_key(key),
        })
    }
}

#[test]
fn each_operator_selects_what_it_says() {
    let selected = |selector: Value| {
        let selector = Selector::read(&selector).unwrap();
        let objects: [&[(&str, &str)]; 3] = [&[], &[("ring", "a")], &[("ring", "b"), ("tier", "x")]];
        objects.map(|labels| {
            selector.selects(&labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
        })
    };
    let expression = |operator: &str, values: Value| {
        selected(serde_json::json!({"matchExpressions": [{"key": "ring", "operator": operator, "values": values}]}))
    };
    assert_eq!(selected(serde_json::json!({})), [true, true, true]);
    assert_eq!(selected(serde_json::json!({"matchLabels": {"ring": "b", "tier": "x"}})), [false, false, true]);
    assert_eq!(expression("In", serde_json::json!(["a", "c"])), [false, true, false]);
    assert_eq!(expression("NotIn", serde_json::json!(["a", "c"])), [true, false, true]);
    assert_eq!(expression("Exists", Value::Null), [false, true, true]);
    assert_eq!(expression("DoesNotExist", Value::Null), [true, false, false]);
}
