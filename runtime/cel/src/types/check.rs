//! The checker: the type of a parsed expression, or the first thing that is wrong with it.
//!
//! It takes what the parser makes, with macros expanded, before counters are put in. A chain (`a.b.c()`, `a + b + c`) is
//! walked, not recursed over, so it may be as long as the text allows; only brackets, `?:` and loops within each other are
//! recursion, and those the parser bounds at 96.

mod call;
mod comprehension;
mod constant;
mod format;
mod literal;
mod names;
mod select;

use std::collections::HashMap;

use cel_interpreter::{
    common::ast::{Expr, LiteralValue},
    parser::Expression,
};

use super::{cel_type::Type, error::TypeError, unify::Unifier, variables::Variables};
use crate::graph::{Program, Sums};

/// Brackets within brackets; a macro is four of them. 96 of the parser's, at the most, within 16 loops.
const DEPTH: usize = 256;

/// The type of a parsed expression over these variables. Takes time in proportion to its text, and less than 1 MiB of stack.
pub fn check(expression: &Expression, variables: &Variables) -> Result<Type, TypeError> {
    checked(expression, variables).map(|(found, _)| found)
}

/// The type of a compiled expression, and the expression told what the checker alone knows: a list that an expression makes, and
/// that is empty, does not say what it would be a list of.
pub fn typed(program: &Program, variables: &Variables) -> Result<(Type, Program), TypeError> {
    let (found, sums) = checked(program.expression(), variables)?;
    let program = if sums.is_empty() { program.clone() } else { program.with_sums(sums) };
    Ok((found, program))
}

/// Whether all of an expression is of types that are known before it is evaluated: nothing in it is dyn. What is fuzzed is judged
/// by it.
pub fn is_known(expression: &Expression, variables: &Variables) -> Result<bool, TypeError> {
    let mut checker = Checker::new(variables);
    checker.infer(expression)?;
    let Checker { mut unifier, types, .. } = checker;
    for open in types.values() {
        if unifier.ground(open)?.is_open() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn checked(expression: &Expression, variables: &Variables) -> Result<(Type, Sums), TypeError> {
    let mut checker = Checker::new(variables);
    let open = checker.infer(expression)?;
    let found = checker.unifier.ground(&open)?;
    let mut sums = std::mem::take(&mut checker.sums);
    for of in sums.values_mut() {
        *of = checker.unifier.ground(of)?;
    }
    Ok((found, sums))
}

struct Checker<'a> {
    variables: &'a Variables,
    /// Variables of the loops around, inner ones last.
    locals: Vec<(&'a str, Type)>,
    unifier: Unifier,
    /// What has been found out, by the ids of expressions.
    types: HashMap<u64, Type>,
    /// Of what types sums are, by the ids of their calls.
    sums: Sums,
    depth: usize,
}

impl<'a> Checker<'a> {
    fn new(variables: &'a Variables) -> Self {
        Self {
            variables,
            locals: Vec::new(),
            unifier: Unifier::default(),
            types: HashMap::new(),
            sums: Sums::new(),
            depth: 0,
        }
    }

    fn infer(&mut self, expression: &'a Expression) -> Result<Type, TypeError> {
        if self.depth >= DEPTH {
            return Err(TypeError::too_deep());
        }
        self.depth += 1;
        // From the outside to what it all begins with, and back.
        let mut chain = Vec::new();
        let mut at = expression;
        while let Some(first) = self.first(at) {
            chain.push(at);
            at = first;
        }
        let mut found = self.begin(at)?;
        self.note(at, &found);
        while let Some(link) = chain.pop() {
            found = self.go_on(link, found)?;
            self.note(link, &found);
        }
        self.depth -= 1;
        Ok(found)
    }

    fn note(&mut self, expression: &Expression, found: &Type) {
        self.types.insert(expression.id, found.clone());
    }

    /// What an expression begins with: what a field is selected of, a method called on, the first argument.
    fn first(&self, of: &'a Expression) -> Option<&'a Expression> {
        match &of.expr {
            Expr::Select(select) if self.type_name(of).is_none() => Some(&select.operand),
            Expr::Call(call) => match &call.target {
                Some(target) if Self::namespaced(call).is_none() => Some(target),
                _ => call.args.first(),
            },
            _ => None,
        }
    }

    /// The type of an expression that begins with no other.
    fn begin(&mut self, expression: &'a Expression) -> Result<Type, TypeError> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(of_literal(literal)),
            Expr::Ident(name) => self.name(name),
            Expr::Select(_) => self.type_name(expression).map(Type::of).ok_or_else(strange),
            Expr::Call(call) => self.call(call, None),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(message) => Err(TypeError::undeclared(&message.type_name)),
            Expr::Unspecified => Err(strange()),
        }
    }

    /// The type of an expression, from that of what it begins with.
    fn go_on(&mut self, expression: &'a Expression, first: Type) -> Result<Type, TypeError> {
        match &expression.expr {
            Expr::Select(select) if select.test => {
                self.select(&first, &select.field, false)?;
                Ok(Type::Bool)
            }
            Expr::Select(select) => self.select(&first, &select.field, false),
            Expr::Call(call) => {
                let found = self.call(call, Some(first))?;
                if call.func_name == "sum" {
                    self.sums.insert(expression.id, found.clone());
                }
                Ok(found)
            }
            _ => Err(strange()),
        }
    }
}

fn of_literal(literal: &LiteralValue) -> Type {
    match literal {
        LiteralValue::Boolean(_) => Type::Bool,
        LiteralValue::Bytes(_) => Type::Bytes,
        LiteralValue::Double(_) => Type::Double,
        LiteralValue::Int(_) => Type::Int,
        LiteralValue::Null => Type::Null,
        LiteralValue::String(_) => Type::String,
        LiteralValue::UInt(_) => Type::Uint,
    }
}

/// The parser makes no such thing.
fn strange() -> TypeError {
    TypeError::new("a construct that is not allowed")
}
