//! Steps: what an expression takes of them, to the last one. Whoever makes something cheaper, or dearer, finds it here.

use std::sync::Arc;

use runtime_cel::graph::Variable;
use serde_json::json;

use super::{patient, wide};

fn taken(source: &str) -> u64 {
    let evaluator = patient();
    let program = evaluator.compile("", source).unwrap();
    // Ten times as long as what a step is taken for.
    let variables = [Variable::dynamic("s", Arc::new(json!("x".repeat(640))))];
    let most = wide().steps;
    let mut left = most;
    assert!(evaluator.evaluate_for("", &mut left, &program, &variables).is_ok(), "{source}");
    most - left
}

#[test]
fn each_text_that_is_read_or_made_is_counted_by_its_length() {
    for (source, steps) in [
        // The result.
        ("null", 1),
        // The comparison, the text that is read, the result.
        ("'ab' == 'ab'", 3),
        ("s == s", 13),
        // The list, a function, what it takes of the list, a function, the result.
        ("[1, 2, 3, 4, 5].slice(3, 5).size()", 10),
        ("[1, 2, 3, 4, 5].slice(4, 5).size()", 9),
        // A list of one, two functions, and the result; the clause is read; twice as many digits are counted before they are
        // made, when they are there, when all is, and when they are read.
        ("'%x'.format([s]).size()", 4 + 1 + 4 * 21),
        ("'ab%x'.format([s]).size()", 4 + 1 + 4 * 21),
    ] {
        assert_eq!(taken(source), steps, "{source}");
    }
}
