//! Evaluators whose bounds are those of steps, which are the same on every machine.

use std::{sync::LazyLock, time::Duration};

use graphs_core::limits::limits;
use runtime_cel::{
    expression::{self, ExpressionError, Limits},
    graph,
};

const LONG: Duration = Duration::from_mins(1);

/// For expressions of AcceptAPIs and Migrations.
pub(crate) static BROKER: LazyLock<expression::Evaluator> =
    LazyLock::new(|| expression::Evaluator::with_limits(Limits { compile: LONG, evaluate: LONG, ..Limits::default() }));

/// For expressions of graphs.
pub(crate) static GRAPHS: LazyLock<graph::Evaluator> =
    LazyLock::new(|| graph::Evaluator::with_limits(Limits { compile: LONG, evaluate: LONG, ..limits() }));

/// Whether it is us who say these words, not whoever wrote what is quoted: whoever fuzzes learns what is looked for.
pub(crate) fn says(told: &str, words: &str, written: &str) -> bool {
    told.contains(words) && !written.contains(words)
}

/// An error is one short line; and nobody was told that there was no time, nor that the interpreter panicked.
pub(crate) fn check(error: &ExpressionError) {
    let told = error.to_string();
    assert!(told.len() < 2000, "an error of {} bytes: {told}", told.len());
    assert!(!told.chars().any(char::is_control), "an error of several lines: {told:?}");
    let panicked = matches!(error, ExpressionError::Failed { what, .. } if what == "the interpreter panicked");
    assert!(!panicked, "{told}");
    assert!(!error.is_transient() && !error.is_resting(), "{told}");
}
