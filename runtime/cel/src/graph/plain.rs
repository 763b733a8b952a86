//! Whether an expression is so plain that whoever wants its value may work it out himself: `schema.spec.name + "-config"`.
//!
//! Handing work to a thread and waiting for it takes many times as long as that of most expressions of a graph, which pick
//! fields and put texts together. Those end by themselves: nothing in them repeats, and all they make is metered.

use cel_interpreter::{
    common::ast::{CallExpr, Expr, operators},
    parser::Expression,
};

/// Most parts of one: it is no deeper than that on the stack of whoever evaluates it.
const MOST: usize = 32;

/// What is done in one step, or in proportion to what is given.
const QUICK: [&str; 14] = [
    operators::ADD,
    operators::INDEX,
    operators::OPT_INDEX,
    operators::OPT_SELECT,
    operators::CONDITIONAL,
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
];

/// Whether it has few parts, each a name, a fixed value, a field, or an operator.
pub(super) fn is_plain(expression: &Expression) -> bool {
    fits(expression, &mut 0)
}

fn fits(expression: &Expression, parts: &mut usize) -> bool {
    *parts += 1;
    *parts <= MOST
        && match &expression.expr {
            Expr::Literal(_) | Expr::Ident(_) => true,
            Expr::Select(select) => fits(&select.operand, parts),
            Expr::Call(CallExpr { func_name, target: None, args }) => {
                QUICK.contains(&func_name.as_str()) && args.iter().all(|arg| fits(arg, parts))
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::graph::macros;

    fn plain(source: &str) -> bool {
        let env = macros::environment();
        is_plain(&env.parser().enable_ident_escape_syntax(true).parse(source).unwrap())
    }

    #[test]
    fn fields_and_texts_put_together_are_plain() {
        for source in [
            "schema.spec.name",
            "\"a-\" + (schema.metadata.name) + \"-b\"",
            "a.b[0].?c",
            "has(a.b) ? a.b : 7",
            "a == b && !c",
        ] {
            assert!(plain(source), "{source}");
        }
    }

    #[test]
    fn what_repeats_calls_or_is_long_is_not() {
        let long = vec!["a"; MOST].join(" + ");
        for source in ["[1].map(x, x)", "a.matches(\"(a*)*\")", "string(1)", "cel.bind(x, a, x)", "{\"a\": 1}", &long] {
            assert!(!plain(source), "{source}");
        }
        // Names and what joins them are one less than twice the names.
        let most = vec!["a"; MOST / 2].join(" + ");
        assert!(plain(&format!("!{most}")) && !plain(&format!("!(!{most})")));
    }
}
