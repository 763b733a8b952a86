//! Dotted paths into JSON: `network.ports.0.name`.
//!
//! A dot inside a key is written `\.`, a backslash `\\`. A part made of digits is an index where the value is a list
//! and a key where it is an object.

use serde_json::Value;

/// Most parts of a path; no CRD nests deeper in practice.
const MAX_PARTS: usize = 64;

/// A path, taken apart once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    parts: Vec<String>,
}

/// Why a text is not a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing at all.
    #[error("is empty; name a field under spec, for example network.cidr")]
    Empty,
    /// Two dots in a row, or one at an end.
    #[error("has an empty part; write one dot between names, and \\. for a dot inside a name")]
    EmptyPart,
    /// A backslash in front of anything but a dot or a backslash.
    #[error("has a stray backslash; write \\. for a dot inside a name and \\\\ for a backslash")]
    Escape,
    /// More than 64 parts.
    #[error("has more than {MAX_PARTS} parts")]
    TooDeep,
}

impl Path {
    /// Takes the text apart.
    pub fn compile(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        let mut parts = vec![String::new()];
        let mut rest = text.chars();
        while let Some(char) = rest.next() {
            let literal = match char {
                '.' => {
                    parts.push(String::new());
                    continue;
                }
                '\\' => match rest.next() {
                    Some(escaped @ ('.' | '\\')) => escaped,
                    _ => return Err(PathError::Escape),
                },
                other => other,
            };
            if let Some(part) = parts.last_mut() {
                part.push(literal);
            }
        }
        if parts.len() > MAX_PARTS {
            return Err(PathError::TooDeep);
        }
        if parts.iter().any(String::is_empty) {
            return Err(PathError::EmptyPart);
        }
        Ok(Self { parts })
    }

    /// The value at the path; `None` when a part is missing, an index is out of range, or the path leads into a scalar.
    pub fn lookup<'a>(&self, root: &'a Value) -> Option<&'a Value> {
        self.parts.iter().try_fold(root, |value, part| match value {
            Value::Object(fields) => fields.get(part),
            Value::Array(elements) => elements.get(index(part)?),
            _ => None,
        })
    }

    /// The parts, unescaped.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }
}

/// Only the plain form: `+1` and `01` are no indices.
fn index(part: &str) -> Option<usize> {
    part.parse().ok().filter(|index: &usize| index.to_string() == part)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_fields_elements_and_keys_with_dots() {
        let value = json!({"a": {"b.c": [10, {"d": 20}]}, "0": "zero", "x\\y": 1});
        for (path, found) in [
            (r"a.b\.c.0", Some(json!(10))),
            (r"a.b\.c.1.d", Some(json!(20))),
            ("0", Some(json!("zero"))),
            (r"x\\y", Some(json!(1))),
            (r"a.b\.c.2", None),
            (r"a.b\.c.01", None),
            (r"a.b\.c.+1", None),
            (r"a.b\.c.-1", None),
            (r"a.b.c", None),
            ("0.more", None),
        ] {
            assert_eq!(Path::compile(path).unwrap().lookup(&value), found.as_ref(), "{path}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (path, error) in [
            ("", PathError::Empty),
            (".a", PathError::EmptyPart),
            ("a.", PathError::EmptyPart),
            ("a..b", PathError::EmptyPart),
            (r"a\b", PathError::Escape),
            (r"a\", PathError::Escape),
        ] {
            assert_eq!(Path::compile(path), Err(error), "{path}");
        }
        assert_eq!(Path::compile(&vec!["a"; 65].join(".")), Err(PathError::TooDeep));
    }

    proptest! {
        #[test]
        fn any_key_can_be_written(keys in prop::collection::vec(".{1,8}", 1..6)) {
            let text: Vec<String> = keys.iter().map(|key| key.replace('\\', r"\\").replace('.', r"\.")).collect();
            let value = keys.iter().rev().fold(json!("leaf"), |inner, key| json!({ key.as_str(): inner }));
            let path = Path::compile(&text.join(".")).unwrap();
            prop_assert_eq!(path.parts(), &keys[..]);
            prop_assert_eq!(path.lookup(&value), Some(&json!("leaf")));
        }

        #[test]
        fn any_text_is_a_path_or_an_error(text in "\\PC{0,40}") {
            let _ = Path::compile(&text);
        }
    }
}
