//! `Variables`: the names that an expression may take from outside, and their types.

use std::collections::BTreeMap;

use super::cel_type::Type;

/// The names that an expression may take from outside, and their types.
#[derive(Debug, Clone, Default)]
pub struct Variables(BTreeMap<String, Type>);

impl Variables {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more, or another type for one that is there.
    #[must_use]
    pub fn with(mut self, name: &str, value: Type) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// The type of a variable.
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.0.get(name)
    }
}
