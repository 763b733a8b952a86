//! Compiled patterns, kept by the thread for the evaluations to come. Compiling and matching are counted.

use std::{cell::RefCell, collections::HashMap};

use super::meter::{spend, values};
use crate::pattern::Pattern;

/// Steps for compiling a pattern.
const PATTERN: u64 = 500;

/// What matching may cost for one step ([`Pattern::cost`]).
const MATCHED: u64 = 1 << 15;

thread_local! {
    static PATTERNS: RefCell<HashMap<String, Pattern>> = RefCell::new(HashMap::new());
}

/// Why a pattern is not tried.
pub(crate) enum Unusable {
    /// There are no steps left.
    Stopped,
    /// What is wrong with it.
    Wrong(String),
}

/// Tries a pattern on a text, once.
pub(crate) fn with<T>(pattern: &str, text: &str, run: impl FnOnce(&Pattern) -> T) -> Result<T, Unusable> {
    let charge = |steps: u64| if spend(steps) { Ok(()) } else { Err(Unusable::Stopped) };
    PATTERNS.with_borrow_mut(|patterns| {
        if !patterns.contains_key(pattern) {
            charge(PATTERN)?;
            let compiled = Pattern::compile(pattern).map_err(Unusable::Wrong)?;
            if patterns.len() >= values().patterns {
                patterns.clear();
            }
            patterns.insert(pattern.to_owned(), compiled);
        }
        let Some(pattern) = patterns.get(pattern) else { return Err(Unusable::Stopped) };
        charge(1 + pattern.cost(text) / MATCHED)?;
        Ok(run(pattern))
    })
}
