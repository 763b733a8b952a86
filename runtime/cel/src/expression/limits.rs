//! `Limits`: how far an expression may go. What is allowed is for whoever has the evaluator to say; the defaults are for
//! expressions that anybody may write, and that are evaluated again and again.

use std::time::Duration;

/// How far an expression may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processor time to compile an expression.
    pub compile: Duration,
    /// Processor time to evaluate one.
    pub evaluate: Duration,
    /// Steps of one evaluation: turns of loops, elements made, 64 bytes of text made. Any number is safe: time ends it too.
    pub steps: u64,
    /// What may be written.
    pub shape: Shape,
    /// What an evaluation may read, make and keep.
    pub values: Values,
}

/// What may be written. Counted in the text, before anything recurses over it.
///
/// Parser and interpreter recurse on threads with 32 MiB of stack, and an overflow ends the process. So `operators` and
/// `dots` are safe up to a point only, together: chains of 8,000 were seen to hold and of 12,000 to overflow with the
/// interpreter optimised, which one that is not does much sooner. Stay below 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Longest expression, in bytes. The parser is not interrupted when its time is up: it takes time and memory in
    /// proportion to this.
    pub bytes: usize,
    /// Brackets within brackets. The parser refuses more than 96 by itself, in its own words, and the stack is enough for
    /// these.
    pub brackets: usize,
    /// Operators in all; a chain of them is as deep as it is long.
    pub operators: usize,
    /// Dots in all: fields, methods. A chain of them is as deep as it is long.
    pub dots: usize,
    /// Loops in all. Any number is safe: their turns are counted.
    pub loops: usize,
    /// Loops within loops. Any number is safe, as for `loops`; each is a bracket too.
    pub nested_loops: usize,
}

/// What an evaluation may read, make and keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    /// Most elements of a list or map that is looped over, of those that are given. What an expression makes itself is
    /// bounded by [`Limits::steps`].
    pub looped: usize,
    /// Longest text that `+` and the like may make, in bytes. Texts of the object may be longer.
    pub text: usize,
    /// Largest result, in bytes of JSON.
    pub json: usize,
    /// Lists and maps within each other, in a result. Whoever takes it recurses over it on a stack of his own, and
    /// `serde_json` reads no more than 128 back: stay below.
    pub depth: usize,
    /// Compiled patterns of `matches` that each thread keeps, one at the least; they take up to 256 KiB each. One that is
    /// not kept is compiled, and counted, again.
    pub patterns: usize,
}

impl Limits {
    /// No bound but that of steps, which is the same on every machine: what is evaluated is waited for however long it
    /// takes.
    pub(crate) fn steps_only(self) -> Self {
        Self { compile: Duration::MAX, evaluate: Duration::MAX, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            compile: Duration::from_secs(1),
            evaluate: Duration::from_millis(100),
            steps: 20_000,
            shape: Shape::default(),
            values: Values::DEFAULT,
        }
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self { bytes: 2048, brackets: 16, operators: 128, dots: 256, loops: 8, nested_loops: 2 }
    }
}

impl Values {
    pub(super) const DEFAULT: Self = Self { looped: 1000, text: 8 * 1024, json: 64 * 1024, depth: 32, patterns: 64 };
}

impl Default for Values {
    fn default() -> Self {
        Self::DEFAULT
    }
}
