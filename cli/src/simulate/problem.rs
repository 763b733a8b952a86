//! `Problem`: what is wrong in a file, and where.

use std::fmt;

use serde_json::{Value, json};

use super::place::Place;

/// What is wrong in a file: `file:line:column: what`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The file, as it was named.
    pub(crate) file: String,
    /// Where in it, where that can be told.
    pub(crate) place: Option<Place>,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl Problem {
    /// As JSON.
    pub(crate) fn value(&self) -> Value {
        let Self { file, place, what } = self;
        json!({ "file": file, "line": place.map(|place| place.line), "column": place.map(|place| place.column), "what": what })
    }
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
