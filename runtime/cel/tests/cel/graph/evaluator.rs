//! The evaluator: what ends an evaluation, and for whom it rests then.

use std::{sync::Arc, time::Duration};

use runtime_cel::{
    expression::{ExpressionError, Limits},
    graph::{Evaluator, Program, Variable},
};
use serde_json::json;

use super::{patient, value_of, wide};

/// Whatever it is asked for, its time is up.
fn hasty() -> Evaluator {
    Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..wide() })
}

fn evaluated_for(evaluator: &Evaluator, party: &str, program: &Program) -> Result<serde_json::Value, ExpressionError> {
    let variables = [Variable::dynamic("a", Arc::new(json!(1)))];
    let mut steps = wide().steps;
    evaluator.evaluate_for(party, &mut steps, program, &variables)
}

#[test]
fn what_runs_out_of_time_again_and_again_is_told_by_how_many_it_does() {
    let evaluator = hasty();
    let program = evaluator.compile("", "a").unwrap();
    assert_eq!(program.slow_for(), 0);
    for (parties, party) in ["homer", "bart"].into_iter().enumerate() {
        for _ in 0..3 {
            assert_eq!(program.slow_for(), parties);
            let answer = evaluated_for(&evaluator, party, &program);
            assert!(matches!(answer, Err(ExpressionError::TimedOut { .. })), "{answer:?}");
        }
        let answer = evaluated_for(&evaluator, party, &program);
        assert!(matches!(answer, Err(ExpressionError::Quarantined { .. })), "{answer:?}");
    }
    assert_eq!(program.slow_for(), 2);
}

#[test]
fn a_text_is_not_compiled_on_when_its_time_is_up() {
    let evaluator = Evaluator::with_limits(Limits { compile: Duration::ZERO, ..wide() });
    let answer = evaluator.compile("", "a").map(|program| program.source().to_owned());
    // A machine that is too busy to begin within a second says so.
    assert!(matches!(answer, Err(ExpressionError::TimedOut { .. } | ExpressionError::Unavailable(_))), "{answer:?}");
}

#[test]
fn one_without_threads_ends_by_steps_alone() {
    let evaluator = Evaluator::inline(Limits { compile: Duration::ZERO, evaluate: Duration::ZERO, ..wide() });
    assert_eq!(value_of(&evaluator, "[1, 2].map(x, x + n)", &json!({"n": 1})), Ok(json!([2, 3])));
    let answer = value_of(&evaluator, "lists.range(1000000)", &json!({}));
    assert!(matches!(answer, Err(ExpressionError::TooCostly { .. })), "{answer:?}");
}

#[test]
fn what_is_shown_of_a_program_is_its_text() {
    let evaluator = patient();
    assert_eq!(format!("{:?}", evaluator.compile("", "a.b + 1").unwrap()), "Program(\"a.b + 1\")");
    let shown = format!("{evaluator:?}");
    assert!(shown.starts_with("Evaluator { limits: Limits {") && shown.contains("steps: 200000"), "{shown}");
}
