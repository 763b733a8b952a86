//! Arguments that are literals, and that are looked at before anything is evaluated: formats and patterns.

use cel_interpreter::common::ast::{CallExpr, Expr, LiteralValue};
use regex::RegexBuilder;

use super::{Checker, TypeError};

/// How large a compiled pattern may be, in bytes.
const PATTERN: usize = 256 * 1024;

impl Checker<'_> {
    /// Refuses a format that does not go with its arguments, and a pattern that is none. That of `matches` is looked at only
    /// when it is evaluated, as in kro.
    pub(super) fn check_constants(&mut self, call: &CallExpr) -> Result<(), TypeError> {
        let (Some(target), Some(first)) = (&call.target, call.args.first()) else {
            return Ok(());
        };
        match (call.func_name.as_str(), &target.expr, &first.expr) {
            ("format", Expr::Literal(LiteralValue::String(format)), Expr::List(arguments)) => {
                self.check_format(format.inner(), &arguments.elements)
            }
            ("find" | "findAll", _, Expr::Literal(LiteralValue::String(pattern))) => {
                let compiled = RegexBuilder::new(pattern.inner()).size_limit(PATTERN).build();
                compiled.map(drop).map_err(|error| flawed(&error))
            }
            _ => Ok(()),
        }
    }
}

fn flawed(error: &regex::Error) -> TypeError {
    let text = error.to_string();
    // The first lines show the pattern, with a mark below it.
    let what = text.lines().last().unwrap_or_default();
    TypeError::new(format!("error parsing regexp: {}", what.trim_start_matches("error: ")))
}
