//! `Entry`: a function as it stands in its table.

use crate::graph::{failure::Answer, value::Value};

/// How a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Style {
    /// `f(x)`, `space.f(x)`
    Global,
    /// `x.f()`
    Method,
}

/// What a function does with its arguments; a method's target is the first.
pub(super) type Run = for<'v> fn(&[Value<'v>]) -> Answer<Value<'v>>;

/// Name, style, numbers of arguments without a method's target, and what it does.
pub(super) type Entry = (&'static str, Style, &'static [usize], Run);
