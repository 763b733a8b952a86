//! `Document`: what a person has written in a file, and where in it.

use std::{io::Read as _, path::Path};

use anyhow::Context as _;
use serde_json::Value;

use super::{
    place::{Places, Step, told},
    problem::Problem,
    shape::Flaw,
};

/// Stands for standard input in place of a file.
const INPUT: &str = "-";

/// One document of a file.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// The file, as it was named.
    pub(crate) file: String,
    /// What it says.
    pub(crate) value: Value,
    places: Option<Places>,
}

/// All documents of a file of YAML or JSON, without empty ones.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Document>> {
    let mut text = String::new();
    if file == Path::new(INPUT) {
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
    } else {
        text = std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    }
    documents(&file.display().to_string(), &text).map_err(|problem| super::problem::error(&[problem]))
}

/// All documents of a text.
pub(crate) fn documents(file: &str, text: &str) -> Result<Vec<Document>, Problem> {
    let values: Vec<Value> = serde_saphyr::from_multiple(text).map_err(|error| {
        // The line shows nothing of the text: its place does.
        let error = error.without_snippet();
        let place = error.location().map(Into::into);
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default();
        let what = first.rfind(" at line ").and_then(|end| first.get(..end)).unwrap_or(first);
        Problem::new(file, place, what)
    })?;
    let places = Places::of(text);
    let known = places.len() == values.len();
    let mut places = places.into_iter().filter(|_| known);
    let documents = values.into_iter().map(|value| Document { file: file.to_owned(), value, places: places.next() });
    Ok(documents.filter(|document| !document.value.is_null()).collect())
}

impl Document {
    /// A text in it; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it is an object of this group and kind, whatever the version.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        let of = self.text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        of == group && self.text("/kind") == kind
    }

    /// Something wrong at a place in it.
    pub(crate) fn problem(&self, path: &[Step], what: impl Into<String>) -> Problem {
        let place = self.places.as_ref().map(|places| places.find(path));
        Problem::new(self.file.as_str(), place, what)
    }

    /// What does not fit its kind, in the order of the file.
    pub(crate) fn flaws(&self, flaws: &[Flaw]) -> Vec<Problem> {
        let problem = |(path, what): &Flaw| {
            let at = told(path);
            self.problem(path, if at.is_empty() { what.clone() } else { format!("{at}: {what}") })
        };
        let mut problems: Vec<Problem> = flaws.iter().map(problem).collect();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simulate::place::path;

    #[test]
    fn what_is_no_yaml_is_told_with_its_place() {
        let problem = documents("a.yaml", "kind: A\nspec: [1, 2\n").unwrap_err();
        assert!(problem.line.is_some_and(|line| line >= 2), "{problem}");
        assert!(problem.to_string().starts_with("a.yaml:") && !problem.what.contains("at line"), "{problem}");
        let twice = documents("a.yaml", "kind: A\nkind: B\n").unwrap_err();
        assert_eq!((twice.line, twice.column), (Some(2), Some(1)), "{twice}");
    }

    #[test]
    fn documents_know_their_kinds_and_places() {
        let text = "apiVersion: kro.run/v1\nkind: A\n---\n---\napiVersion: v1\nkind: B\nspec: {x: 1}\n";
        let read = documents("a.yaml", text).unwrap();
        assert_eq!(read.len(), 2);
        assert!(read[0].is("kro.run", "A") && read[1].is("", "B") && !read[1].is("kro.run", "B"));
        assert_eq!(read[1].problem(&path("spec.x"), "wrong").to_string(), "a.yaml:7:8: wrong");
        let flaws =
            [(path("spec.y"), "wrong".to_owned()), (path("kind"), "strange".to_owned()), (path(""), "bad".to_owned())];
        let told: Vec<String> = read[1].flaws(&flaws).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["a.yaml:5:1: bad", "a.yaml:6:1: kind: strange", "a.yaml:7:1: spec.y: wrong"]);
    }
}
