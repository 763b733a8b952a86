//! What the checker accepts never fails with a type error: it may lack data, or meet a bound, or be told that `'a'` is no
//! number. And what it gives is of the type that the checker said.
//!
//! Expressions are written by type, over every overload of every function that is declared: whoever declares one that the
//! interpreter does not know, or that gives something else, hears of it here.
#![allow(clippy::unwrap_used)]

mod choices;
mod sample;
mod writer;

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::Value;

use self::{
    choices::Choices,
    sample::{SCHEMA, Sample},
    writer::Writer,
};
use super::{Scope, Type, Variables, collection, object, typed};
use crate::{
    expression::{ExpressionError, Limits, Shape, Values},
    graph::{Evaluator, ValueType, Variable},
};

static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(|| {
    let minute = Duration::from_mins(1);
    let shape = Shape { bytes: 8 * 1024, brackets: 32, operators: 512, dots: 400, loops: 16, nested_loops: 3 };
    let values = Values { looped: 5000, text: 256 * 1024, json: 256 * 1024, depth: 100, ..Values::default() };
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, steps: 200_000, shape, values })
});

static VARIABLES: LazyLock<Variables> = LazyLock::new(|| {
    let all = Variables::new().with("o", object("o", &SCHEMA, Scope::Namespaced));
    all.with("all", collection("all", &SCHEMA))
});

/// Words by which the interpreter says that a value is of the wrong type.
const TYPE_ERRORS: [&str; 17] = [
    "no such overload",
    "unsupported key type",
    "unsupported index type",
    "cannot be looped over",
    "neither true nor false",
    "optional value is expected",
    "construct that is not allowed",
    "has no fields",
    "where its schema has",
    "must be comparable",
    "must have the same type",
    "must be an object",
    "must be a list",
    "must be a string",
    "has no form in JSON",
    "cannot be written into an object",
    "cannot be compared",
];

/// Whether JSON is what an expression of this type gives.
fn is_of(json: &Value, of: &Type) -> bool {
    match of {
        Type::Null => json.is_null(),
        Type::Bool => json.is_boolean(),
        Type::Int => json.is_i64(),
        Type::Uint => json.is_u64(),
        Type::Double => json.is_number(),
        Type::String | Type::Duration => json.is_string(),
        Type::Timestamp => json.is_string() || json.is_null(),
        Type::Optional(held) => json.is_null() || is_of(json, held),
        Type::List(element) => json.as_array().is_some_and(|all| all.iter().all(|one| is_of(one, element))),
        Type::Map(entry) => json.as_object().is_some_and(|all| all.values().all(|one| is_of(one, &entry.1))),
        Type::Struct(_) => json.is_object(),
        _ => true,
    }
}

/// What the checker says of an expression, and its value; `None` for one with too many loops.
#[allow(clippy::type_complexity)]
fn evaluate(
    source: &str,
    variables: &[Variable<'_>],
) -> Result<Option<(Type, Result<Value, ExpressionError>)>, TestCaseError> {
    let program = match EVALUATOR.compile("", source) {
        Ok(program) => program,
        Err(ExpressionError::TooComplex { .. }) => return Ok(None),
        Err(error) => return Err(TestCaseError::fail(format!("{source}: {error}"))),
    };
    let checked = typed(&program, &VARIABLES);
    prop_assert!(checked.is_ok(), "{source}: {}", checked.unwrap_err());
    let (of, program) = checked.unwrap();
    Ok(Some((of, EVALUATOR.evaluate(&program, variables))))
}

fn agree(choices: Vec<u16>, sizes: Vec<u16>) -> Result<(), TestCaseError> {
    let mut writer = Writer::new(Choices(choices.into_iter()), &VARIABLES);
    let (source, of) = writer.write();
    let mut sample = Sample(Choices(sizes.into_iter()));
    let seen = ValueType::of_object(&SCHEMA);
    let whole = sample.0.below(2) == 1;
    let (one, all) = (sample.object(), Value::Array(vec![sample.object(), sample.object()]));
    let variables = [
        Variable { name: "o", value: Arc::new(one.clone()), of: seen.clone(), whole },
        Variable { name: "all", value: Arc::new(all.clone()), of: ValueType::List(Arc::new(seen)), whole: false },
    ];
    let Some((checked, result)) = evaluate(&source, &variables)? else { return Ok(()) };
    prop_assert!(checked == of, "{source} is said to be a {checked}, not a {of}");
    match result {
        Ok(json) => prop_assert!(is_of(&json, &of), "{source} gives {json}, not a {of}, over {one}, {all}"),
        Err(ExpressionError::Failed { what, .. }) => {
            let wrong = TYPE_ERRORS.iter().any(|words| what.contains(words));
            prop_assert!(!wrong, "{source}: {what}, over {one}, {all}");
        }
        Err(_) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_checked_has_no_type_error(
        all in prop::collection::vec(
            (prop::collection::vec(any::<u16>(), 0..60), prop::collection::vec(any::<u16>(), 0..30)), 8),
    ) {
        for (choices, sizes) in all {
            agree(choices, sizes)?;
        }
    }
}
