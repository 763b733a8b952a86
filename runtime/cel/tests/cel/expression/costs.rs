//! What an expression costs, to the step: the same on every machine, or what one cluster evaluates another would refuse.

use std::time::Duration;

use runtime_cel::expression::{Evaluator, ExpressionError, Limits};
use serde_json::{Value, json};

use super::value_of;

/// An evaluator that allows so many steps.
fn allowing(steps: u64) -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, steps, ..Limits::default() })
}

/// The steps that it takes: it is refused with one less.
fn cost(source: &str, object: &Value) -> u64 {
    let fits = |steps: u64| match value_of(&allowing(steps), source, object) {
        Ok(_) => true,
        Err(ExpressionError::TooCostly { .. }) => false,
        Err(error) => panic!("{source}: {error}"),
    };
    let (mut refused, mut fit) = (0, 4096);
    assert!(fits(fit), "{source}");
    while fit - refused > 1 {
        let between = u64::midpoint(refused, fit);
        *if fits(between) { &mut fit } else { &mut refused } = between;
    }
    fit
}

/// An object with so many fields, each of which is its own number.
fn fields(count: usize) -> Value {
    (0..count).map(|number| (format!("f{number}"), json!(number))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn each_thing_that_is_read_or_made_has_its_price() {
    let object = json!({
        "short": "x", "long": "x".repeat(640), "few": [1, 2], "many": vec![1; 80], "wide": fields(80),
    });
    for (source, steps) in [
        // A result: one for each value, one for each 64 bytes of text. All that follow have one.
        ("1", 1),
        ("self.short", 1),
        ("self.long", 11),
        ("self.few", 3),
        // Lists and maps that are written out: one for each, and for each of their parts.
        ("[1, 2].size()", 4),
        ("{'a': 1}.size()", 3),
        // A part of the object is not copied, however large it is.
        ("[self.many, self.wide].size()", 4),
        // Looking into it costs one for each eight of its parts, once.
        ("self.many.size()", 11),
        ("self.wide.f7", 11),
        ("self.wide.f7 + self.wide.f8", 12),
        // Functions: one, and one for each 64 bytes of text or each element that they read, and for what they make.
        ("self.short.trim()", 2),
        ("self.long.trim()", 22),
        ("self.few.sum()", 4),
        ("self.short + self.short", 2),
        ("self.long + self.long", 42),
        // A pattern is compiled, and tried: longer ones on longer texts cost more.
        ("self.short.matches('y')", 502),
        // A turn of a loop: one, and what it makes.
        ("self.few.all(x, x > 0)", 3),
        ("self.few.map(x, [x]).size()", 9),
    ] {
        assert_eq!(cost(source, &object), steps, "{source}");
    }
}
