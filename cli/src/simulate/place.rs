//! `Places`: on which line and in which column of a YAML text something stands, by its path, such as
//! `spec.resources[2].template.spec.x`.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{Location, Spanned};

/// A line and a column, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Line, from 1.
    pub(crate) line: u64,
    /// Column, in characters, from 1.
    pub(crate) column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A step from an object or list to what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// To the field of this name.
    Key(String),
    /// To the element at this place, from 0.
    Index(usize),
}

/// To the field of a name.
pub(crate) fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// The path to a field through fields alone.
pub(crate) fn keys(names: &[&str]) -> Vec<Step> {
    names.iter().map(|name| key(name)).collect()
}

/// Reads a path as errors have it: `spec.containers[0].image`, `metadata.labels["a.b/c"]`.
pub(crate) fn path(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '.' {
            rest = &rest[1..];
        } else if let Some(quoted) = rest.strip_prefix("[\"") {
            let end = quoted.find("\"]").unwrap_or(quoted.len());
            let name = &quoted[..end];
            let read = serde_json::from_str::<String>(&format!("\"{name}\""));
            steps.push(Step::Key(read.unwrap_or_else(|_| name.to_owned())));
            rest = quoted.get(end + 2..).unwrap_or_default();
        } else if let Some(index) = rest.strip_prefix('[') {
            let end = index.find(']').unwrap_or(index.len());
            match index[..end].parse() {
                Ok(index) => steps.push(Step::Index(index)),
                Err(_) => steps.push(key(&index[..end])),
            }
            rest = index.get(end + 1..).unwrap_or_default();
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            steps.push(key(&rest[..end]));
            rest = &rest[end..];
        }
    }
    steps
}

/// A path as errors have it.
pub(crate) fn told(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(name) if name.contains(['.', '[', ' ']) || name.is_empty() => {
                text.push_str(&format!("[{name:?}]"));
            }
            Step::Key(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
        }
    }
    text
}

/// Where everything stands that a document holds.
#[derive(Debug, Clone)]
pub(crate) struct Places(Spanned<Tree>);

#[derive(Debug, Clone)]
enum Tree {
    Scalar,
    List(Vec<Spanned<Tree>>),
    Object(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl Places {
    /// Of all documents of a text, without empty ones. Nothing where it cannot be told.
    pub(crate) fn of(text: &str) -> Vec<Self> {
        serde_saphyr::from_multiple::<Spanned<Tree>>(text).unwrap_or_default().into_iter().map(Self).collect()
    }

    /// Where a path leads: to the name of a field, to the beginning of an element. Where it leads to nothing, the nearest
    /// that there is.
    pub(crate) fn find(&self, path: &[Step]) -> Place {
        let (mut at, mut tree) = (self.0.referenced, &self.0.value);
        for step in path {
            let found = match (tree, step) {
                (Tree::Object(fields), Step::Key(name)) => {
                    let field = fields.iter().find(|(known, _)| known.value == *name);
                    field.map(|(name, value)| (name.referenced, &value.value))
                }
                (Tree::List(elements), Step::Index(index)) => {
                    elements.get(*index).map(|element| (element.referenced, &element.value))
                }
                _ => None,
            };
            let Some(found) = found else { break };
            (at, tree) = found;
        }
        at.into()
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walker)
    }
}

struct Walker;

impl<'de> Visitor<'de> for Walker {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_none<E: de::Error>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        Tree::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Tree::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Tree::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A comment.
kind: First
---
kind: Second
spec:
  list:
    - name: a
      value: 1
    - {name: b, \"x.y\": [true, null]}
  text: |
    kind: no
    value: none
";

    fn find(document: usize, at: &str) -> (u64, u64) {
        let Place { line, column } = Places::of(TEXT)[document].find(&path(at));
        (line, column)
    }

    #[test]
    fn what_stands_in_a_document_is_found_by_its_path() {
        assert_eq!(Places::of(TEXT).len(), 2);
        assert_eq!(find(0, "kind"), (2, 1));
        assert_eq!(find(1, "kind"), (4, 1));
        assert_eq!(find(1, "spec.list"), (6, 3));
        assert_eq!(find(1, "spec.list[0]"), (7, 7));
        assert_eq!(find(1, "spec.list[0].value"), (8, 7));
        assert_eq!(find(1, "spec.list[1].name"), (9, 8));
        assert_eq!(find(1, "spec.list[1][\"x.y\"][1]").0, 9);
        assert_eq!(find(1, "spec.text"), (10, 3));
    }

    #[test]
    fn what_is_not_there_is_where_its_nearest_parent_is() {
        assert_eq!(find(1, "spec.list[0].value.more[3]"), (8, 7));
        assert_eq!(find(1, "spec.list[7].value"), (6, 3));
        assert_eq!(find(1, "spec.none.at.all"), (5, 1));
        assert_eq!(find(1, "spec[0]"), (5, 1));
        assert_eq!(find(0, "none").0, 2);
    }

    #[test]
    fn json_is_yaml() {
        let places = Places::of("{\"spec\": {\n  \"a\": [1,\n    {\"b\": 2}]}}");
        assert_eq!(places[0].find(&path("spec.a[1].b")), Place { line: 3, column: 6 });
    }

    #[test]
    fn paths_are_read_as_they_are_told() {
        for text in ["spec.resources[2].template", "metadata.labels[\"a.b/c\"]", "[0][1].x", "a"] {
            assert_eq!(told(&path(text)), text);
        }
        assert_eq!(path("a[\"b\\\"c\"].d"), [key("a"), key("b\"c"), key("d")]);
        assert_eq!(path("a[b"), [key("a"), key("b")]);
        assert_eq!(path(""), []);
    }
}
