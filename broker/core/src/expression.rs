//! CEL expressions (being written).

use std::sync::Arc;

use serde_json::Value;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<str>,
}

impl Program {
    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Not implemented yet.
    #[error("expressions are not implemented yet")]
    Missing,
}

/// Compiles and evaluates expressions.
#[derive(Debug, Default)]
pub struct Evaluator {}

impl Evaluator {
    /// An evaluator.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compiles an expression.
    pub fn compile(&self, _source: &str) -> Result<Program, ExpressionError> {
        Err(ExpressionError::Missing)
    }

    /// Evaluates an expression that must be a bool.
    pub fn evaluate_bool(
        &self,
        _: &Program,
        _: &[(&str, Arc<Value>)],
    ) -> Result<bool, ExpressionError> {
        Err(ExpressionError::Missing)
    }
}
