//! Templates of stage objects: text with CEL in `${…}`.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{expression::Evaluator, snapshot::Kind};

/// A template, its expressions compiled.
#[derive(Debug, Clone)]
pub struct Template {
    kind: Kind,
}

/// Why a template has no object now.
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

impl Template {
    /// Compiles a template. `variables` are the names that its expressions may use. The errors are all that is wrong
    /// with it, each led by its place in the template.
    pub fn compile(
        template: &Map<String, Value>,
        variables: &[&str],
        evaluator: &Evaluator,
    ) -> Result<Self, Vec<String>> {
        let _ = (template, variables, evaluator);
        Err(vec!["not written yet".into()])
    }

    /// Kind of the object: a template says it in fixed text.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The object, with these values for the variables. Its name and namespace are as the template has them.
    pub fn render(&self, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Result<Value, TemplateError> {
        let _ = (variables, evaluator);
        Ok(Value::Null)
    }
}
