//! CEL in the dialect of resource graphs: as recorded, and beyond.

mod addresses;
mod evaluator;
mod functions;
mod limits;
mod missing;
mod moments;
mod numbers;
mod quantities;
mod steps;
mod text;
mod typed;
mod vectors;

use std::{sync::Arc, time::Duration};

use runtime_cel::{
    expression::{ExpressionError, Limits, Shape, Values},
    graph::{Evaluator, Variable},
};
use serde_json::{Value, json};

/// As wide as what is recorded takes. Steps bound these tests, time does not: a loaded machine must not fail them.
fn wide() -> Limits {
    let minute = Duration::from_mins(1);
    Limits {
        compile: minute,
        evaluate: minute,
        steps: 200_000,
        shape: Shape { bytes: 8 * 1024, brackets: 32, operators: 512, dots: 400, loops: 16, nested_loops: 3 },
        values: Values { looped: 5000, text: 256 * 1024, json: 256 * 1024, depth: 100, ..Values::default() },
    }
}

fn patient() -> Evaluator {
    Evaluator::with_limits(wide())
}

/// The value of an expression over the fields of this object.
fn value_of(evaluator: &Evaluator, source: &str, variables: &Value) -> Result<Value, ExpressionError> {
    let program = evaluator.compile("", source)?;
    let fields = variables.as_object().cloned().unwrap_or_default();
    let variables: Vec<Variable<'_>> =
        fields.iter().map(|(name, value)| Variable::dynamic(name, Arc::new(value.clone()))).collect();
    evaluator.evaluate(&program, &variables)
}

fn all_true(sources: &[&str]) {
    let evaluator = patient();
    for source in sources {
        assert_eq!(value_of(&evaluator, source, &json!({})), Ok(json!(true)), "{source}");
    }
}

fn all_fail(sources: &[(&str, &str)]) {
    let evaluator = patient();
    for (source, says) in sources {
        let error = value_of(&evaluator, source, &json!({})).unwrap_err().to_string();
        assert!(error.contains(says), "{source}: {error}");
    }
}
