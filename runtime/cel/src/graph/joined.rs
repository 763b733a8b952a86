//! A text with expressions in it, as the one expression that it becomes: its pieces, joined with `+`.
//!
//! Each expression is parsed by itself, and is held to what one may be: plain text around it is data, whatever it says. The
//! whole is bounded by what it may make, and by its pieces.

use std::collections::VecDeque;

use cel_interpreter::{
    common::{
        ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators},
        types::CelString,
    },
    parser::Expression,
};

use super::text::Part;
use crate::expression::{ExpressionError, Limits, shape};

/// Refuses pieces that are too large or too many, before anything is parsed.
pub(super) fn check(parts: &[Part], limits: &Limits) -> Result<(), ExpressionError> {
    let plain = |part: &Part| if let Part::Text(text) = part { text.len() } else { 0 };
    let (bytes, most) = (parts.iter().map(plain).sum(), limits.values.text);
    if bytes > most {
        return Err(ExpressionError::TextTooLong { bytes, most });
    }
    let (expressions, most) = (parts.iter().filter(|part| matches!(part, Part::Expression(_))), limits.shape.operators);
    let found = expressions.clone().count();
    if found > most {
        return Err(ExpressionError::TooManyInText { found, most });
    }
    expressions.into_iter().try_for_each(|part| match part {
        Part::Expression(source) => shape::check(source, &limits.shape),
        Part::Text(_) => Ok(()),
    })
}

/// A text as an expression.
pub(super) fn literal(text: String) -> Expression {
    Expression { id: 0, expr: Expr::Literal(LiteralValue::String(CelString::from(text))) }
}

/// All of them, one behind the other. `None` where there are none.
///
/// Halves are joined, not each with all before it: so nobody recurses deep, and no text is copied once for each piece
/// behind it.
pub(super) fn join(pieces: Vec<Expression>) -> Option<Expression> {
    if pieces.len() < 2 {
        return pieces.into_iter().next();
    }
    let mut row = VecDeque::from(pieces);
    while row.len() > 1 {
        let mut joined = VecDeque::with_capacity(row.len().div_ceil(2));
        while let Some(one) = row.pop_front() {
            joined.push_back(match row.pop_front() {
                Some(other) => sum(one, other),
                None => one,
            });
        }
        row = joined;
    }
    let mut whole = row.pop_front()?;
    // Each piece was numbered by itself.
    number(&mut whole, &mut 0);
    Some(whole)
}

fn sum(one: Expression, other: Expression) -> Expression {
    let call = CallExpr { func_name: operators::ADD.to_owned(), target: None, args: vec![one, other] };
    Expression { id: 0, expr: Expr::Call(call) }
}

/// Gives each part of an expression a number of its own.
fn number(expression: &mut Expression, count: &mut u64) {
    *count += 1;
    expression.id = *count;
    match &mut expression.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
        Expr::Call(call) => {
            call.target.as_deref_mut().into_iter().chain(&mut call.args).for_each(|of| number(of, count));
        }
        Expr::Select(select) => number(&mut select.operand, count),
        Expr::List(list) => list.elements.iter_mut().for_each(|of| number(of, count)),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| entries(&mut entry.expr, count)),
        Expr::Struct(message) => message.entries.iter_mut().for_each(|entry| entries(&mut entry.expr, count)),
        Expr::Comprehension(of) => {
            for part in [&mut of.iter_range, &mut of.accu_init, &mut of.loop_cond, &mut of.loop_step, &mut of.result] {
                number(part, count);
            }
        }
    }
}

fn entries(entry: &mut EntryExpr, count: &mut u64) {
    match entry {
        EntryExpr::StructField(field) => number(&mut field.value, count),
        EntryExpr::MapEntry(entry) => {
            number(&mut entry.key, count);
            number(&mut entry.value, count);
        }
    }
}
