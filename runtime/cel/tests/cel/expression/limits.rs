//! Limits are what the evaluator was given, whether smaller or larger than the defaults.

use std::{sync::Arc, time::Duration};

use runtime_cel::expression::{Evaluator, ExpressionError, Limits};
use serde_json::{Value, json};

use super::{patient, value_of};

fn limits() -> Limits {
    let minute = Duration::from_mins(1);
    Limits { compile: minute, evaluate: minute, ..Limits::default() }
}

/// A limit, and what meets it.
struct Row {
    name: &'static str,
    get: fn(&mut Limits) -> &mut usize,
    /// Smaller than the default, and larger.
    values: [usize; 2],
    /// An expression and an object that just fit into this limit; of one more they do not.
    fits: fn(usize) -> (String, Value),
    says: fn(usize) -> String,
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

const TEXT: fn(usize) -> String = |most| format!("bytes, at most {most} are allowed");

const ROWS: &[Row] = &[
    Row {
        name: "bytes",
        get: |limits| &mut limits.shape.bytes,
        values: [10, 5000],
        fits: |most| (format!("{:most$}", 1), json!(0)),
        says: |most| format!("at most {most} are allowed"),
    },
    Row {
        name: "brackets",
        get: |limits| &mut limits.shape.brackets,
        values: [2, 60],
        fits: |most| (format!("{}1{}", "(".repeat(most), ")".repeat(most)), json!(0)),
        says: |most| format!("more than {most} brackets within brackets"),
    },
    Row {
        name: "operators",
        get: |limits| &mut limits.shape.operators,
        values: [1, 500],
        fits: |most| (vec!["1"; most + 1].join("+"), json!(0)),
        says: |most| format!("more than {most} operators"),
    },
    Row {
        name: "dots",
        get: |limits| &mut limits.shape.dots,
        values: [1, 400],
        fits: |most| (format!("[{}]", vec!["1.5"; most].join(",")), json!(0)),
        says: |most| format!("more than {most} fields and methods"),
    },
    Row {
        name: "loops",
        get: |limits| &mut limits.shape.loops,
        values: [1, 12],
        fits: |most| (format!("[1]{}", ".map(x, x)".repeat(most)), json!(0)),
        says: |most| format!("more than {most} loops (all"),
    },
    Row {
        name: "nested loops",
        get: |limits| &mut limits.shape.nested_loops,
        values: [1, 5],
        fits: |most| (format!("{}1{}", "[1].map(x, ".repeat(most), ")".repeat(most)), json!(0)),
        says: |most| format!("more than {most} loops within loops"),
    },
    Row {
        name: "looped list",
        get: |limits| &mut limits.values.looped,
        values: [3, 1500],
        fits: |most| ("self.all(x, x == 0)".to_owned(), json!(vec![0; most])),
        says: |most| format!("elements, at most {most} are allowed"),
    },
    Row {
        name: "looped map",
        get: |limits| &mut limits.values.looped,
        values: [3, 1500],
        fits: |most| {
            let fields = (0..most).map(|number| (number.to_string(), json!(0)));
            ("self.all(x, x != '')".to_owned(), Value::Object(fields.collect()))
        },
        says: |most| format!("elements, at most {most} are allowed"),
    },
    Row {
        name: "text by +",
        get: |limits| &mut limits.values.text,
        values: [100, 10_000],
        fits: |most| ("self + ''".to_owned(), json!("x".repeat(most))),
        says: TEXT,
    },
    Row {
        name: "text by replace",
        get: |limits| &mut limits.values.text,
        values: [100, 10_000],
        fits: |most| ("'x'.replace('x', self)".to_owned(), json!("x".repeat(most))),
        says: TEXT,
    },
    Row {
        name: "text by join",
        get: |limits| &mut limits.values.text,
        values: [100, 10_000],
        fits: |most| ("[self, ''].join()".to_owned(), json!("x".repeat(most))),
        says: TEXT,
    },
    Row {
        name: "json",
        get: |limits| &mut limits.values.json,
        values: [100, 100_000],
        fits: |most| ("self".to_owned(), json!("x".repeat(most - 2))),
        says: |most| format!("its result has more than {most} bytes of JSON"),
    },
    Row {
        name: "depth",
        get: |limits| &mut limits.values.depth,
        values: [1, 60],
        fits: |most| ("self".to_owned(), nested(most)),
        says: |most| format!("nested more than {most} levels deep"),
    },
    Row {
        name: "depth of maps",
        get: |limits| &mut limits.values.depth,
        values: [1, 60],
        fits: |most| ("self".to_owned(), (0..most).fold(json!(1), |inner, _| json!({"a": inner}))),
        says: |most| format!("nested more than {most} levels deep"),
    },
];

#[test]
fn a_limit_is_what_the_evaluator_was_given() {
    for Row { name, get, values, fits, says } in ROWS {
        let usual = *get(&mut limits());
        assert!(values[0] < usual && usual < values[1], "{name}: {usual}");
        for most in [values[0], usual, values[1]] {
            let mut limits = limits();
            *get(&mut limits) = most;
            let evaluator = Evaluator::with_limits(limits);
            let (source, object) = fits(most);
            let result = value_of(&evaluator, &source, &object);
            assert!(result.is_ok(), "{name} {most}: {:.200}", format!("{result:?}"));
            let (source, object) = fits(most + 1);
            let error = value_of(&evaluator, &source, &object).unwrap_err().to_string();
            assert!(error.contains(&says(most)), "{name} {most}: {error}");
        }
    }
}

/// As many bytes as serde_json writes; a list or map with something in it, one more for the comma behind its last.
#[test]
fn a_result_counts_as_it_is_written() {
    for (source, bytes) in [
        ("null", 4),
        ("-12", 3),
        ("1.5", 3),
        ("'ab'", 4),
        (r#"'a\"b'"#, 6),
        (r"'a\\b'", 6),
        (r"'\n\r\t\b\f'", 12),
        (r"'\u0001'", 8),
        ("'é'", 4),
        ("b''", 2),
        ("b'a'", 6),
        ("b'abc'", 6),
        ("b'abcd'", 10),
        ("[]", 2),
        ("[1, 22, 333]", 11),
        ("{}", 2),
        ("{'a': 1, 'bc': 22}", 16),
        ("[[], {}]", 8),
    ] {
        let most = |json: usize| {
            let mut limits = limits();
            limits.values.json = json;
            value_of(&Evaluator::with_limits(limits), source, &Value::Null)
        };
        let value = most(bytes).unwrap_or_else(|error| panic!("{source}: {error}"));
        let written = value.to_string().len();
        assert!(written <= bytes && bytes <= written + 1, "{source}: {value}");
        let error = most(bytes - 1).unwrap_err().to_string();
        assert!(error.contains("its result has more than"), "{source}: {error}");
    }
}

#[test]
fn steps_are_what_the_evaluator_was_given() {
    let list = |length: usize| json!(vec![1; length]);
    for (steps, fits, exceeds) in [(100, 50, 100), (20_000, 15_000, 20_000), (60_000, 50_000, 60_000)] {
        let evaluator = Evaluator::with_limits(Limits { steps, ..limits() });
        assert_eq!(value_of(&evaluator, "self.sum()", &list(fits)), Ok(json!(fits)), "{steps}");
        let error = value_of(&evaluator, "self.sum()", &list(exceeds)).unwrap_err().to_string();
        assert!(error.contains("it takes too many steps"), "{steps}: {error}");
    }
}

#[test]
fn time_is_what_the_evaluator_was_given() {
    let source = "self == 1";
    let hasty = Evaluator::with_limits(Limits { compile: Duration::ZERO, ..limits() });
    assert!(matches!(hasty.compile(source), Err(ExpressionError::TimedOut { milliseconds: 0, .. })));
    let hasty = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..limits() });
    assert!(matches!(value_of(&hasty, source, &json!(1)), Err(ExpressionError::TimedOut { milliseconds: 0, .. })));
    assert_eq!(value_of(&patient(), source, &json!(1)), Ok(json!(true)));
}

/// Each turn takes more steps than the time is looked at after, and there are turns for hours.
#[test]
fn time_ends_what_steps_do_not() {
    let mut limits = Limits { evaluate: Duration::ZERO, steps: u64::MAX, ..limits() };
    limits.shape.nested_loops = 3;
    let turn = format!("[{}].size() > 0", vec!["x"; 100].join(","));
    let source = format!("self.all(x, self.all(y, self.map(z, {turn}).size() > 0))");
    let error = value_of(&Evaluator::with_limits(limits), &source, &json!(vec![1; 1000])).unwrap_err();
    assert!(matches!(error, ExpressionError::TimedOut { .. }), "{error}");
}

/// On the thread that asks, so that a simulator's runs are the same on every machine.
#[test]
fn without_threads_steps_alone_end_an_evaluation() {
    let none = Duration::ZERO;
    let evaluator = Evaluator::inline(Limits { compile: none, evaluate: none, steps: 100, ..Limits::default() });
    let sum = |length: usize| value_of(&evaluator, "self.sum()", &json!(vec![1; length]));
    assert_eq!(sum(50), Ok(json!(50)));
    assert!(matches!(sum(100), Err(ExpressionError::TooCostly { .. })), "{:?}", sum(100));
}

/// Those that are kept cost no steps for compiling them again.
#[test]
fn so_many_patterns_are_kept() {
    let source = "['a', 'b', 'c'].all(p, 'abc'.matches(p))";
    for (patterns, compiled) in [(0, 3), (1, 3), (2, 3), (3, 0), (64, 0)] {
        let mut limits = limits();
        limits.values.patterns = patterns;
        let evaluator = Evaluator::with_limits(limits);
        let program = evaluator.compile(source).unwrap();
        let taken = || {
            let mut steps = 10_000;
            assert_eq!(
                evaluator.evaluate_bool_for("", &mut steps, &program, &[("self", Arc::new(json!(1)))]),
                Ok(true)
            );
            10_000 - steps
        };
        assert_eq!(taken() / 500, 3, "{patterns}: for the first time");
        assert_eq!(taken() / 500, compiled, "{patterns}: for the second time");
    }
}
