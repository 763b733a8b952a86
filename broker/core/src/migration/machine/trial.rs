//! Whether a stage has succeeded or failed, by its conditions.

use std::sync::Arc;

use runtime_cel::expression::{Evaluator, Program};
use serde_json::Value;

use crate::migration::configuration::Stage;

/// What the conditions of a stage say.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// All success conditions hold.
    Succeeded,
    /// A failure condition holds: which.
    Failed(String),
    /// Neither.
    Open,
    /// Nobody can tell: what is wrong.
    Error(String),
    /// The machine is too busy; in a moment it may be able to tell.
    Busy,
}

/// Failure wins. A condition that cannot be judged is neither success nor failure, and keeps the stage from succeeding.
pub(super) fn judge(stage: &Stage, variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Verdict {
    let failure = each("failureConditions", &stage.failure, variables, evaluator);
    if let Some(index) = failure.holds.iter().position(|holds| *holds) {
        return Verdict::Failed(format!("failureConditions[{index}] is true: {}", stage.failure[index].source()));
    }
    let success = each("successConditions", &stage.success, variables, evaluator);
    if let Some(error) = failure.error.or(success.error) {
        return Verdict::Error(error);
    }
    if failure.busy || success.busy {
        return Verdict::Busy;
    }
    if success.holds.iter().all(|holds| *holds) { Verdict::Succeeded } else { Verdict::Open }
}

struct Answers {
    holds: Vec<bool>,
    error: Option<String>,
    busy: bool,
}

fn each(field: &str, programs: &[Program], variables: &[(&str, Arc<Value>)], evaluator: &Evaluator) -> Answers {
    let mut answers = Answers { holds: Vec::new(), error: None, busy: false };
    for (index, program) in programs.iter().enumerate() {
        let answer = evaluator.evaluate_bool(program, variables);
        answers.holds.push(matches!(answer, Ok(true)));
        match answer {
            Ok(_) => {}
            Err(error) if error.is_transient() => answers.busy = true,
            Err(error) => {
                answers.error.get_or_insert_with(|| format!("{field}[{index}]: {error}"));
            }
        }
    }
    answers
}
