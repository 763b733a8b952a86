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
    /// Line in it, from 1; null: that cannot be told.
    pub(crate) line: Option<u64>,
    /// Column, in characters, from 1; null: that cannot be told.
    pub(crate) column: Option<u64>,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, what } = self;
        match (line, column) {
            (Some(line), Some(column)) => write!(f, "{file}:{line}:{column}: {what}"),
            _ => write!(f, "{file}: {what}"),
        }
    }
}

impl Problem {
    /// In a file; `place`: where in it, where that can be told.
    pub(crate) fn new(file: impl Into<String>, place: Option<Place>, what: impl Into<String>) -> Self {
        let (line, column) = place.map(|Place { line, column }| (line, column)).unzip();
        Self { file: file.into(), line, column, what: what.into() }
    }
}

/// Problems for which nothing can be done, as one error.
pub(crate) fn error(problems: &[Problem]) -> anyhow::Error {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    anyhow::Error::msg(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whether_the_place_is_known_or_not_it_has_its_fields() {
        let known = Problem::new("a.yaml", Some(Place { line: 2, column: 3 }), "no such field");
        assert_eq!(known.to_string(), "a.yaml:2:3: no such field");
        assert_eq!(json!(known), json!({ "file": "a.yaml", "line": 2, "column": 3, "what": "no such field" }));
        let unknown = Problem::new("a.yaml", None, "it is empty");
        assert_eq!(unknown.to_string(), "a.yaml: it is empty");
        assert_eq!(json!(unknown), json!({ "file": "a.yaml", "line": null, "column": null, "what": "it is empty" }));
    }
}
