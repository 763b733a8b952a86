//! CEL of graphs: what the checker of types accepts, and knows all of, has no type error when it is evaluated, and gives
//! what the checker says.

use std::sync::{Arc, LazyLock};

use runtime_cel::{
    expression::ExpressionError,
    graph::{ValueType, Variable, without_omitted},
    types::{self, Scope, Type, Variables},
};
use serde_json::{Value, json};

use crate::{
    patience::{self, GRAPHS, says},
    structural,
};

/// A field of every type.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let text = |format: &str| json!({"type": "string", "format": format});
    let list = |items: Value| json!({"type": "array", "items": items});
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    let integer = || json!({"type": "integer"});
    let port =
        json!({"type": "object", "properties": {"name": text(""), "port": integer(), "on": {"type": "boolean"}}});
    json!({"type": "object", "properties": {
        "data": map(text("")),
        "spec": {"type": "object", "properties": {
            "at": text("date-time"), "bytes": text("byte"), "count": integer(), "counts": list(integer()), "day": text("date"),
            "flag": {"type": "boolean"}, "grid": list(list(integer())), "keys": map(text("byte")), "limits": map(integer()),
            "name": text(""), "odd-name": text(""), "none": text(""), "ports": list(port.clone()), "byName": map(port),
            "ratio": {"type": "number"}, "tags": list(text("")), "wait": text("duration"),
        }},
    }})
});

static OBJECT: LazyLock<Arc<Value>> = LazyLock::new(|| {
    Arc::new(json!({
        "apiVersion": "v1", "kind": "Kind",
        "metadata": {"name": "one", "namespace": "n", "labels": {"a": "b"}, "creationTimestamp": "2026-01-31T01:02:03Z"},
        "data": {"a": "1", "b": "é"},
        "spec": {
            "at": "2026-01-31T01:02:03.5+02:00", "bytes": "YQ==", "count": 80, "counts": [1, 0, -1], "day": "2026-01-31",
            "flag": true, "grid": [[1], []], "keys": {"a": "YQ=="}, "limits": {"a": 1, "b": i64::MAX}, "name": "a",
            "odd-name": "1h", "ports": [{"name": "http", "port": 80, "on": true}, {"name": "https"}],
            "byName": {"a": {"port": 1}}, "ratio": 0.5, "tags": ["a", "b", ""], "wait": "1h30m",
        },
    }))
});

static VARIABLES: LazyLock<Variables> = LazyLock::new(|| {
    let all = Variables::new().with("o", types::object("o", &SCHEMA, Scope::Namespaced));
    all.with("all", types::collection("all", &SCHEMA))
});

/// Words by which the interpreter says that a value is of the wrong type.
const TYPE_ERRORS: [&str; 13] = [
    "no such overload",
    "unsupported index type",
    "cannot be looped over",
    "neither true nor false",
    "optional value is expected",
    "construct that is not allowed",
    "has no fields",
    "where its schema has",
    "must have the same type",
    "must be an object",
    "must be a list",
    "must be a string",
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

pub(crate) fn run(source: &str) {
    let program = match GRAPHS.compile("owner", source) {
        Ok(program) => program,
        Err(error) => return patience::check(&error),
    };
    let checked = types::typed(&program, &VARIABLES);
    assert_eq!(
        types::check(program.expression(), &VARIABLES),
        checked.as_ref().map(|(of, _)| of.clone()).map_err(Clone::clone)
    );
    let (of, program) = match checked {
        Ok(checked) => checked,
        Err(error) => return assert!(error.to_string().len() < 20_000, "{error}"),
    };
    assert_eq!(types::fits(&of, &of), Ok(()), "{of} does not fit itself");
    // The schema of a field of a status that holds it.
    assert_eq!(structural::flaw(&types::open_api(&of)), None, "the schema of {of}");
    let seen = ValueType::of_object(&SCHEMA);
    let all = Arc::new(Value::Array(vec![OBJECT.as_ref().clone(), OBJECT.as_ref().clone()]));
    let variables = [
        Variable { name: "o", value: Arc::clone(&OBJECT), of: seen.clone(), whole: source.len().is_multiple_of(2) },
        Variable { name: "all", value: all, of: ValueType::List(Arc::new(seen)), whole: false },
    ];
    let value = GRAPHS.evaluate(&program, &variables);
    assert_eq!(value, GRAPHS.evaluate(&program, &variables), "another value the second time");
    // `null` is taken for a moment, a duration, or whatever else may lack, as cel-go takes it, and fails where it is none.
    let known =
        types::is_known(program.expression(), &VARIABLES) == Ok(true) && !program.omits() && !source.contains("null");
    match &value {
        Ok(json) => {
            assert!(!known || is_of(json, &of), "{json} is no {of}");
            without_omitted(json.clone());
        }
        Err(ExpressionError::Failed { what, .. }) if known => {
            // JSON has no maps with other keys: what cannot be written is no fault of the expression's.
            let is_written = !what.starts_with("a map key must be a string");
            assert!(
                !is_written || !TYPE_ERRORS.iter().any(|words| says(what, words, source)),
                "of the type {of}: {what}"
            );
        }
        Err(_) => {}
    }
    if let Err(error) = &value {
        patience::check(error);
    }
}
