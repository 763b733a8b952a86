//! `TemplateError`: why nothing comes out of a template now.

use crate::expression::ExpressionError;

/// Why a template has no value now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct TemplateError {
    /// Where in the template, such as `spec.containers[0].image`.
    pub path: String,
    /// What is wrong, with the expression.
    pub what: String,
    /// Whether the same may work in a moment.
    pub transient: bool,
}

impl TemplateError {
    pub(super) fn new(path: &str, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), what: what.into(), transient: false }
    }

    pub(super) fn failed(path: &str, error: &ExpressionError) -> Self {
        Self { path: path.to_owned(), what: error.to_string(), transient: error.is_transient() }
    }
}
