//! CEL in the dialect of resource graphs: as recorded, and beyond.

mod functions;
mod limits;
mod missing;
mod text;
mod typed;
mod vectors;

use std::{sync::Arc, time::Duration};

use runtime_cel::{
    expression::{ExpressionError, Limits},
    graph::{Evaluator, Variable},
};
use serde_json::Value;

/// Steps bound these tests, time does not: a loaded machine must not fail them.
fn patient() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::graphs() })
}

/// The value of an expression over the fields of this object.
fn value_of(evaluator: &Evaluator, source: &str, variables: &Value) -> Result<Value, ExpressionError> {
    let program = evaluator.compile("", source)?;
    let fields = variables.as_object().unwrap();
    let variables: Vec<Variable<'_>> =
        fields.iter().map(|(name, value)| Variable::dynamic(name, Arc::new(value.clone()))).collect();
    evaluator.evaluate(&program, &variables)
}
