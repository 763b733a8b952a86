//! `Problem`: what is wrong in a file, and where.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::place::Place;

/// What is wrong in a file: `file:line:column: what`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// The file, as it was named.
    pub(crate) file: String,
    /// Where in it, where that can be told.
    #[serde(flatten)]
    pub(crate) place: Option<Place>,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, what } = self;
        match place {
            Some(Place { line, column }) => write!(f, "{file}:{line}:{column}: {what}"),
            None => write!(f, "{file}: {what}"),
        }
    }
}

/// Problems for which nothing can be done, as one error.
pub(crate) fn error(problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    anyhow::Error::msg(lines.join("\n"))
}
