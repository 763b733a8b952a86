//! `migrate`: from what was seen of one Migration to what to do about it.

use super::observed::{Observed, Outcome};

/// What to do about the Migration.
pub fn migrate(observed: &Observed<'_>) -> Outcome {
    let _ = observed;
    Outcome::default()
}
