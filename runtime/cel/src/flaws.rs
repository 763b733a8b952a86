//! `Flaws`: all that is wrong with what a person wrote, and whether it is wrong at all.

use std::{fmt, ops::Deref};

use crate::expression::ExpressionError;

/// All that is wrong, each led by its place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flaws {
    all: Vec<String>,
    /// How many of them say only that the machine was too busy to look.
    busy: usize,
}

impl Flaws {
    /// Whether nothing is known to be wrong: the machine was too busy to compile all of it, and may not be in a moment.
    pub fn is_transient(&self) -> bool {
        !self.all.is_empty() && self.busy == self.all.len()
    }

    /// One more, led by its place.
    pub fn push(&mut self, flaw: String) {
        self.all.push(flaw);
    }

    /// What is wrong with an expression at this place.
    pub fn push_error(&mut self, place: &str, error: &ExpressionError) {
        self.busy += usize::from(matches!(error, ExpressionError::Unavailable(_)));
        self.all.push(format!("{place}: {error}"));
    }

    /// Those of a part, whose places begin at this one.
    pub fn extend(&mut self, place: &str, part: &Self) {
        self.busy += part.busy;
        self.all.extend(part.all.iter().map(|flaw| format!("{place}.{flaw}")));
    }
}

impl Deref for Flaws {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.all
    }
}

/// All of them on one line.
impl fmt::Display for Flaws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_to_be_wrong_where_nobody_could_look() {
        let mut flaws = Flaws::default();
        assert!(!flaws.is_transient(), "nothing is wrong");
        flaws.push_error("spec", &ExpressionError::Unavailable("busy".to_owned()));
        assert!(flaws.is_transient());
        let mut whole = Flaws::default();
        whole.extend("resources", &flaws);
        assert!(whole.is_transient());
        assert_eq!(whole.to_string(), format!("resources.{flaws}"));
        whole.push("this is wrong".to_owned());
        assert!(!whole.is_transient());
    }
}
