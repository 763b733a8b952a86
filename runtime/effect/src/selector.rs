//! `Selector`: labels that are asked for, as `kubectl -l` takes them or as a LabelSelector (meta/v1) says.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

use std::{collections::BTreeMap, error::Error, fmt, str::FromStr};

use serde_json::Value;

/// Longest text.
const MAX_TEXT: usize = 1024;

/// Requirements, all of which must hold. The default asks for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Requirement {
    key: String,
    /// Values, one of which the label has; any value when `None`.
    values: Option<Vec<String>>,
    /// The opposite. A label that is not there has none of the values.
    not: bool,
}

impl Selector {
    /// Of a LabelSelector (meta/v1). `Err`: for people.
    ///
    /// # Errors
    /// Where something is of another type, or an operator is not known.
    pub fn read(selector: &Value) -> Result<Self, String> {
        let mut all = Vec::new();
        let text =
            |value: &Value, what: &str| value.as_str().map(str::to_owned).ok_or_else(|| format!("{what} is no text"));
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let values = Some(vec![text(value, &format!("matchLabels[{key}]"))?]);
            all.push(Requirement { key: key.clone(), values, not: false });
        }
        for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
            let key = text(&expression["key"], "the key of an expression")?;
            let values = expression["values"].as_array().into_iter().flatten();
            let values: Result<Vec<String>, String> = values.map(|value| text(value, "a value")).collect();
            let (operator, values) = (text(&expression["operator"], "an operator")?, values?);
            let (values, not) = match operator.as_str() {
                "In" => (Some(values), false),
                "NotIn" => (Some(values), true),
                "Exists" => (None, false),
                "DoesNotExist" => (None, true),
                other => return Err(format!("{other:?} is no operator; use In, NotIn, Exists or DoesNotExist")),
            };
            all.push(Requirement { key, values, not });
        }
        Ok(Self(all))
    }

    /// Whether these labels are selected.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let holds = labels
                .get(&requirement.key)
                .is_some_and(|value| requirement.values.as_ref().is_none_or(|values| values.contains(value)));
            holds != requirement.not
        })
    }
}

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectorError(&'static str);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is no label selector: {}; write for example tier=gold,region in (eu,us),!trial", self.0)
    }
}

impl Error for SelectorError {}

impl FromStr for Selector {
    type Err = SelectorError;

    /// Of a text, which asks for something.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim().is_empty() {
            return Err(SelectorError("it is empty"));
        }
        if text.len() > MAX_TEXT {
            return Err(SelectorError("it is too long"));
        }
        let mut depth = 0_usize;
        let parts = text.split(|char| {
            match char {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            char == ',' && depth == 0
        });
        parts.map(requirement).collect::<Result<_, _>>().map(Self)
    }
}

fn requirement(text: &str) -> Result<Requirement, SelectorError> {
    let text = text.trim();
    let new = |key: &str, values, not| {
        let key = word(key, "/")?;
        if key.is_empty() { Err(SelectorError("a label has no name")) } else { Ok(Requirement { key, values, not }) }
    };
    if let Some((left, list)) = text.split_once('(') {
        let list = list.strip_suffix(')').ok_or(SelectorError("a list does not end with )"))?;
        let values = list.split(',').map(|value| word(value, "")).collect::<Result<_, _>>()?;
        let mut words = left.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => new(key, Some(values), false),
            (Some(key), Some("notin"), None) => new(key, Some(values), true),
            _ => Err(SelectorError("a list follows neither in nor notin")),
        };
    }
    if let Some((key, value)) = text.split_once("!=") {
        return new(key, Some(vec![word(value, "")?]), true);
    }
    if let Some((key, value)) = text.split_once("==").or_else(|| text.split_once('=')) {
        return new(key, Some(vec![word(value, "")?]), false);
    }
    match text.strip_prefix('!') {
        Some(key) => new(key, None, true),
        None => new(text, None, false),
    }
}

fn word(text: &str, more: &str) -> Result<String, SelectorError> {
    let text = text.trim();
    let fits = |char: char| char.is_ascii_alphanumeric() || "-_.".contains(char) || more.contains(char);
    if text.chars().all(fits) {
        Ok(text.to_owned())
    } else {
        Err(SelectorError("a name or value has other characters than letters, digits, -, _ and ."))
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Requirement { key, values, not }) in self.0.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "," })?;
            match (values, not) {
                (None, false) => write!(f, "{key}")?,
                (None, true) => write!(f, "!{key}")?,
                (Some(values), false) => write!(f, "{key} in ({})", values.join(","))?,
                (Some(values), true) => write!(f, "{key} notin ({})", values.join(","))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        selector.parse::<Selector>().unwrap().selects(&labels)
    }

    #[test]
    fn it_selects_as_kubectl_does() {
        let gold = [("tier", "gold"), ("example.org/region", "eu")];
        for (selector, expected) in [
            ("tier=gold", true),
            ("tier==gold", true),
            ("tier = silver", false),
            ("tier!=gold", false),
            ("tier!=silver", true),
            ("absent!=silver", true),
            ("tier in (silver, gold)", true),
            ("tier in (silver)", false),
            ("tier notin (silver,gold)", false),
            ("absent notin (silver)", true),
            ("absent in (silver)", false),
            ("tier", true),
            ("!tier", false),
            ("absent", false),
            ("!absent", true),
            ("tier=gold,example.org/region in (eu,us),!trial", true),
            ("tier=gold,example.org/region in (us)", false),
        ] {
            assert_eq!(selects(selector, &gold), expected, "{selector}");
            let again = selector.parse::<Selector>().unwrap().to_string();
            assert_eq!(again.parse::<Selector>().unwrap().to_string(), again);
        }
    }

    #[test]
    fn what_is_no_selector_is_an_error() {
        for text in ["", " ", "=gold", "tier in gold", "tier in (gold", "tier like (gold)", "a b", "tier=go*d", "a,,b"]
        {
            assert!(text.parse::<Selector>().is_err(), "{text:?}");
        }
        let long = |length: usize| "a".repeat(length).parse::<Selector>().is_ok();
        assert!(long(MAX_TEXT) && !long(MAX_TEXT + 1));
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
            selected(json!({"matchExpressions": [{"key": "ring", "operator": operator, "values": values}]}))
        };
        assert_eq!(selected(json!({})), [true, true, true]);
        assert_eq!(selected(json!({"matchLabels": {"ring": "b", "tier": "x"}})), [false, false, true]);
        assert_eq!(expression("In", json!(["a", "c"])), [false, true, false]);
        assert_eq!(expression("NotIn", json!(["a", "c"])), [true, false, true]);
        assert_eq!(expression("Exists", Value::Null), [false, true, true]);
        assert_eq!(expression("DoesNotExist", Value::Null), [true, false, false]);
        let other = json!({"matchExpressions": [{"key": "ring", "operator": "Like"}]});
        assert!(Selector::read(&other).unwrap_err().contains("no operator"));
    }
}
