//! Filters (being written).

use std::fmt;

use broker_api::Filter;
use serde::Serialize;
use serde_json::Value;

/// Longest part of a value or rule that a refusal repeats, in characters.
const SHOWN: usize = 64;

/// Why an AcceptAPI does not accept an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// The AcceptAPI, as `provider/namespace/name`.
    #[serde(rename = "acceptAPI")]
    pub accept_api: String,
    /// The filter's key, a path under `spec`; `expression` when the expression refused.
    pub key: String,
    /// What is wrong, for people.
    pub reason: String,
    /// The rule that was not met.
    pub rule: String,
    /// The object's value, cut to 64 characters; empty when it has none.
    pub value: String,
}

impl Refusal {
    pub(crate) fn of_expression(accept_api: String, source: &str, reason: String) -> Self {
        Self {
            accept_api,
            key: "expression".into(),
            reason,
            rule: shown(source),
            value: String::new(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            accept_api,
            key,
            reason,
            rule,
            value,
        } = self;
        write!(f, "{accept_api}: {key}")?;
        if !value.is_empty() {
            write!(f, " {value:?}")?;
        }
        write!(f, " {reason} ({rule})")
    }
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// Compiled filters.
#[derive(Debug, Clone, Default)]
pub struct FilterSet {}

impl FilterSet {
    /// Compiles.
    pub fn compile(_: &[Filter]) -> Result<Self, Vec<String>> {
        Ok(Self {})
    }

    /// Refusals.
    pub fn refusals(&self, _: &str, _: &Value) -> Vec<Refusal> {
        Vec::new()
    }
}
