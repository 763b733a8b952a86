//! `SchemaError`: what is wrong with a schema, where, and what to do.

use std::{borrow::Cow, fmt};

/// How much of a name, and of a wrong text, is told, in characters.
const SHOWN: usize = 80;

/// The beginning of a stranger's text.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
    }
}

/// What is wrong with a schema. In text `spec.port: unknown type: int (write integer)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// From the field outwards.
    path: Vec<String>,
    what: String,
}

impl SchemaError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { path: Vec::new(), what: what.into() }
    }

    /// The same, in a field of this name.
    pub(super) fn within(mut self, name: &str) -> Self {
        let plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        self.path.push(if plain { shown(name).into_owned() } else { format!("[{:?}]", shown(name)) });
        self
    }

    /// Where it is, such as `spec.database.port` or `types.Port`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for part in self.path.iter().rev() {
            if !path.is_empty() && !part.starts_with('[') {
                path.push('.');
            }
            path.push_str(part);
        }
        path
    }
}

impl From<String> for SchemaError {
    fn from(what: String) -> Self {
        Self::new(what)
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path(), self.what)
    }
}

impl std::error::Error for SchemaError {}
