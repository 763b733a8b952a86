//! Filters of an AcceptAPI, compiled, and what they say of an object.
//!
//! All filters, and all checks of a filter, must hold. Values are compared by value: the number 1 and the string "1"
//! are both the text `1`; numbers are written as plain decimals (`1.0` is `1`), bools as `true` and `false`.

use std::{borrow::Cow, collections::HashSet, fmt};

use broker_api::{Boundary, Filter, Missing, accept_api::Bound};
use runtime_cel::{
    pattern::{MAX_TEXT, Pattern},
    quantity::Quantity,
};
use serde::Serialize;
use serde_json::Value;

use crate::{allowance::Allowance, path::Path};

/// How much of a value or of a rule a refusal repeats, in characters.
const SHOWN: usize = 64;

/// Most filters of an AcceptAPI, as its CRD has it.
const MAX_FILTERS: usize = 64;

/// Most values of one filter, as the CRD has it.
const MAX_VALUES: usize = 256;

/// Filters that are looked at although others are unsound already.
const MAX_UNSOUND: usize = 16;

/// Bytes that the compiled patterns of an AcceptAPI may take in all.
const MAX_PATTERNS: usize = 256 * 1024;

/// Why an AcceptAPI does not accept an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The AcceptAPI, as `provider/namespace/name`.
    #[serde(rename = "acceptAPI")]
    pub accept_api: String,
    /// The filter's key, a path under `spec`; `expression` when the expression refused, `namespace`, `kind` or `consumer`
    /// when the object is not refused for what it says.
    pub key: String,
    /// What is wrong, for people: continues the sentence that the key begins.
    pub reason: String,
    /// The rule that was not met, as in the AcceptAPI: `boundary.max: 8Gi`.
    pub rule: String,
    /// The object's value, cut to 64 characters; empty when it has none.
    pub value: String,
}

impl Refusal {
    /// A rule about something else than the object's fields was not met.
    pub(crate) fn of_rule(accept_api: String, key: &str, reason: &str, rule: &str, value: &str) -> Self {
        Self { accept_api, key: key.into(), reason: reason.into(), rule: shown(rule), value: shown(value) }
    }

    /// The expression `source` was false or could not be evaluated.
    pub(crate) fn of_expression(accept_api: String, source: &str, reason: String) -> Self {
        Self { accept_api, key: "expression".into(), reason, rule: shown(source), value: String::new() }
    }
}

/// One line: `theseus/default/certs: fqdn "a.example.org" does not end so (suffix: .corp)`.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { accept_api, key, reason, rule, value } = self;
        write!(f, "{accept_api}: {key}")?;
        if !value.is_empty() {
            write!(f, " {value:?}")?;
        }
        write!(f, " {reason} ({rule})")
    }
}

/// Cut, and on one line.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).map(|char| if char.is_control() { ' ' } else { char }).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// The filters of one AcceptAPI.
#[derive(Debug, Clone, Default)]
pub struct FilterSet {
    filters: Vec<Compiled>,
}

#[derive(Debug, Clone)]
struct Compiled {
    key: String,
    path: Path,
    accept_missing: bool,
    value_in: Option<ValueIn>,
    min: Option<Limit>,
    max: Option<Limit>,
    suffix: Option<String>,
    prefix: Option<String>,
    pattern: Option<Pattern>,
    pattern_text: String,
}

#[derive(Debug, Clone)]
struct ValueIn {
    texts: HashSet<String>,
    /// Those that are plain numbers, as [`decimal`] writes them.
    numbers: HashSet<String>,
    rule: String,
}

#[derive(Debug, Clone)]
struct Limit {
    quantity: Quantity,
    rule: String,
}

impl FilterSet {
    /// Compiles `spec.filters`. The errors are all that is wrong, each led by its place: `spec.filters[2].pattern: …`.
    pub fn compile(filters: &[Filter]) -> Result<Self, Vec<String>> {
        if filters.len() > MAX_FILTERS {
            return Err(vec![format!("spec.filters: has {} filters; at most {MAX_FILTERS}", filters.len())]);
        }
        let mut errors = Vec::new();
        let mut compiled = Vec::with_capacity(filters.len());
        let (mut patterns, mut unsound) = (0, 0);
        for (index, filter) in filters.iter().enumerate() {
            let filter = compile(filter, &format!("spec.filters[{index}]"), &mut errors);
            patterns += filter.as_ref().and_then(|filter| filter.pattern.as_ref()).map_or(0, Pattern::size);
            unsound += usize::from(filter.is_none());
            compiled.extend(filter);
            // Compiling takes time as well: no more than it takes to say that this cannot be.
            if patterns > MAX_PATTERNS {
                errors.push(format!(
                    "spec.filters: the patterns take more than {MAX_PATTERNS} bytes when compiled; use fewer, or smaller repetitions"
                ));
            }
            if patterns > MAX_PATTERNS || unsound >= MAX_UNSOUND {
                break;
            }
        }
        let filters = compiled;
        if errors.is_empty() { Ok(Self { filters }) } else { Err(errors) }
    }

    /// Every check that does not hold for an object with this `spec` (`null` when it has none). What patterns cost is
    /// taken from the allowance; one that it does not suffice for does not hold.
    pub fn refusals(&self, accept_api: &str, spec: &Value, allowance: &mut Allowance) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        for filter in &self.filters {
            filter.check(spec, allowance, |reason, rule, value| {
                refusals.push(Refusal {
                    accept_api: accept_api.to_owned(),
                    key: filter.key.clone(),
                    reason: reason.to_owned(),
                    rule,
                    value: shown(value),
                });
            });
        }
        refusals
    }
}

fn compile(filter: &Filter, place: &str, errors: &mut Vec<String>) -> Option<Compiled> {
    // Named one by one: a check added to the API must be thought of here.
    let Filter { key, value_in, boundary, suffix, prefix, pattern, missing } = filter;
    let before = errors.len();
    let path = match Path::compile(key) {
        Ok(path) if path.parts().first().is_some_and(|part| part == "spec") => {
            let rest = key.strip_prefix("spec").unwrap_or_default().trim_start_matches('.');
            errors.push(format!("{place}.key: starts with spec; paths begin under spec, write {rest:?}"));
            None
        }
        Ok(path) => Some(path),
        Err(error) => {
            errors.push(format!("{place}.key: {error}"));
            None
        }
    };
    // An empty text checks nothing: as in the Go broker it is as good as not set.
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (suffix, prefix, pattern_text) = (set(suffix), set(prefix), set(pattern));
    let Boundary { min, max } = boundary.clone().unwrap_or_default();
    if value_in.is_empty()
        && [&suffix, &prefix, &pattern_text].iter().all(|text| text.is_none())
        && min.is_none()
        && max.is_none()
    {
        errors.push(format!("{place}: checks nothing; set valueIn, boundary, suffix, prefix or pattern, or remove it"));
    }
    if value_in.len() > MAX_VALUES {
        errors.push(format!("{place}.valueIn: has {} values; at most {MAX_VALUES} are allowed", value_in.len()));
    }
    let min = min.and_then(|bound| limit(&bound, "min", place, errors));
    let max = max.and_then(|bound| limit(&bound, "max", place, errors));
    if let (Some(min), Some(max)) = (&min, &max)
        && min.quantity > max.quantity
    {
        errors.push(format!("{place}.boundary: nothing lies between {} and {}; swap them", min.rule, max.rule));
    }
    let pattern = pattern_text
        .as_deref()
        .and_then(|text| Pattern::compile(text).map_err(|error| errors.push(format!("{place}.pattern: {error}"))).ok());
    let path = path.filter(|_| errors.len() == before)?;
    Some(Compiled {
        key: key.clone(),
        path,
        accept_missing: *missing == Some(Missing::Accept),
        value_in: (!value_in.is_empty()).then(|| ValueIn::of(value_in)),
        min,
        max,
        suffix,
        prefix,
        pattern,
        pattern_text: pattern_text.unwrap_or_default(),
    })
}

fn limit(bound: &Bound, name: &str, place: &str, errors: &mut Vec<String>) -> Option<Limit> {
    let text = match bound {
        Bound::Int(number) => number.to_string(),
        Bound::Text(text) => text.clone(),
    };
    match text.parse() {
        Ok(quantity) => Some(Limit { quantity, rule: shown(&format!("boundary.{name}: {text}")) }),
        Err(error) => {
            errors.push(format!("{place}.boundary.{name}: {:?} {error}", shown(&text)));
            None
        }
    }
}

impl ValueIn {
    fn of(texts: &[String]) -> Self {
        Self {
            texts: texts.iter().cloned().collect(),
            numbers: texts.iter().filter_map(|text| plain_number(text)).collect(),
            rule: shown(&format!("valueIn: {}", texts.join(", "))),
        }
    }

    /// A text equals itself; a number also every other way to write it (`1.0`, `1e0`), but no quantity.
    fn holds(&self, value: &Value, text: &str) -> bool {
        self.texts.contains(text) || value.is_number() && self.numbers.contains(text)
    }
}

impl Compiled {
    fn check(&self, spec: &Value, allowance: &mut Allowance, mut refuse: impl FnMut(&str, String, &str)) {
        let value = match self.path.lookup(spec) {
            None | Some(Value::Null) => {
                if !self.accept_missing {
                    refuse("is not set", self.rule(), "");
                }
                return;
            }
            Some(value) => value,
        };
        let text = match value {
            Value::Null => return,
            Value::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Value::Number(number) => Cow::Owned(decimal(number)),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Array(_) => {
                return refuse("is a list; filters take a single value", self.rule(), "");
            }
            Value::Object(_) => {
                return refuse("is an object; filters take a single value", self.rule(), "");
            }
        };
        if let Some(value_in) = self.value_in.as_ref().filter(|value_in| !value_in.holds(value, &text)) {
            refuse("is none of the accepted values", value_in.rule.clone(), &text);
        }
        self.check_bounds(&text, &mut refuse);
        if let Some(suffix) = &self.suffix
            && !text.ends_with(suffix)
        {
            refuse("does not end so", shown(&format!("suffix: {suffix}")), &text);
        }
        if let Some(prefix) = &self.prefix
            && !text.starts_with(prefix)
        {
            refuse("does not start so", shown(&format!("prefix: {prefix}")), &text);
        }
        if let Some(pattern) = &self.pattern {
            let rule = || shown(&format!("pattern: {}", self.pattern_text));
            if text.len() > MAX_TEXT {
                refuse("is too long for a pattern", rule(), &text);
            } else if !allowance.take_matching(pattern.cost(&text)) {
                refuse(
                    "is too costly to match: the provider's patterns are too many and too large for it",
                    rule(),
                    &text,
                );
            } else if !pattern.is_match(&text) {
                refuse("does not match the pattern", rule(), &text);
            }
        }
    }

    fn check_bounds(&self, text: &str, refuse: &mut impl FnMut(&str, String, &str)) {
        let Some(any) = self.min.as_ref().or(self.max.as_ref()) else {
            return;
        };
        let Ok(quantity) = text.parse::<Quantity>() else {
            return refuse("is not a number or quantity", any.rule.clone(), text);
        };
        if let Some(min) = self.min.as_ref().filter(|min| quantity < min.quantity) {
            refuse("is below the smallest accepted value", min.rule.clone(), text);
        }
        if let Some(max) = self.max.as_ref().filter(|max| quantity > max.quantity) {
            refuse("is above the largest accepted value", max.rule.clone(), text);
        }
    }

    /// The checks in short, for a value that none of them can be put to.
    fn rule(&self) -> String {
        let text = |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name}: {text}"));
        let parts = [
            self.value_in.as_ref().map(|value_in| value_in.rule.clone()),
            self.min.as_ref().map(|limit| limit.rule.clone()),
            self.max.as_ref().map(|limit| limit.rule.clone()),
            text("suffix", &self.suffix),
            text("prefix", &self.prefix),
            self.pattern.is_some().then(|| format!("pattern: {}", self.pattern_text)),
        ];
        shown(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The number that an accepted text writes, in plain decimals; `None` for a quantity or any other text.
fn plain_number(accepted: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    if !accepted.bytes().all(plain) || accepted.ends_with('E') {
        return None;
    }
    accepted.parse::<Quantity>().ok().map(|accepted| accepted.to_string())
}

/// The plain decimal text of a JSON number.
fn decimal(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.parse::<Quantity>().map_or(text, |quantity| quantity.to_string())
}
