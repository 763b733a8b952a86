//! Label selectors as `kubectl -l` takes them.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

use std::{collections::BTreeMap, fmt, str::FromStr};

/// Longest text.
const MAX_TEXT: usize = 1024;

/// Requirements, all of which must hold. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// Values, one of which the label has; any value when `None`.
    values: Option<Vec<String>>,
    /// The opposite. A label that is not there has none of the values.
    not: bool,
}

impl Selector {
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
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("is no label selector: {0}; write for example tier=gold,region in (eu,us),!trial")]
pub struct SelectorError(&'static str);

impl FromStr for Selector {
    type Err = SelectorError;

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
}
