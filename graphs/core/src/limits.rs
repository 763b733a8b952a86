//! How far expressions of graphs may go: administrators write them, and they move whole objects about.

use std::time::Duration;

use runtime_cel::{
    expression::{Limits, Shape, Values},
    graph::Evaluator,
};

/// How far an expression of a graph may go.
pub fn limits() -> Limits {
    Limits {
        evaluate: Duration::from_millis(250),
        steps: 200_000,
        shape: Shape { bytes: 8 * 1024, brackets: 32, operators: 512, dots: 400, loops: 16, nested_loops: 3 },
        values: Values { looped: 5000, text: 256 * 1024, json: 256 * 1024, depth: 100, ..Values::default() },
        ..Limits::default()
    }
}

/// What evaluates expressions of graphs, and holds them to that. Each has threads of its own.
pub fn evaluator() -> Evaluator {
    Evaluator::with_limits(limits())
}
