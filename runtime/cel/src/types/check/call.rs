//! Calls: which overloads of a function take these arguments, and what they give.

use cel_interpreter::common::ast::{CallExpr, Expr, LiteralValue, operators};

use super::{Checker, TypeError, strange};
use crate::types::{cel_type::Type, functions, signature::Overload};

impl<'a> Checker<'a> {
    /// The type of a call; that of what it is called on, or else of its first argument, is known.
    pub(super) fn call(&mut self, call: &'a CallExpr, first: Option<Type>) -> Result<Type, TypeError> {
        if call.func_name == operators::OPT_SELECT {
            return self.optional_select(call, first);
        }
        let namespaced = Self::namespaced(call);
        let method = call.target.is_some() && namespaced.is_none();
        let mut arguments = Vec::with_capacity(call.args.len() + 1);
        arguments.extend(first);
        for argument in call.args.iter().skip(usize::from(!method)) {
            let found = self.infer(argument)?;
            arguments.push(found);
        }
        let name = namespaced.as_ref().map_or(call.func_name.as_str(), |(name, _)| name.as_str());
        let name = name.trim_start_matches('.');
        let overloads = match &namespaced {
            Some((_, overloads)) => *overloads,
            None => functions::find(name).ok_or_else(|| TypeError::undeclared(name))?,
        };
        if matches!(name, operators::LOGICAL_AND | operators::LOGICAL_OR) {
            return self.logical(&arguments);
        }
        let found = self.resolve(name, method, overloads, &arguments)?;
        self.check_constants(call)?;
        Ok(found)
    }

    /// `a.?b`, which the parser writes as a call with the field as a text.
    fn optional_select(&mut self, call: &CallExpr, operand: Option<Type>) -> Result<Type, TypeError> {
        match (operand, call.args.as_slice()) {
            (Some(operand), [_, field]) => match &field.expr {
                Expr::Literal(LiteralValue::String(field)) => self.select(&operand, field.inner(), true),
                _ => Err(strange()),
            },
            _ => Err(strange()),
        }
    }

    /// `&&` and `||` say of each side what is wrong with it.
    fn logical(&mut self, sides: &[Type]) -> Result<Type, TypeError> {
        for side in sides {
            if !self.unifier.takes_one(side, &Type::Bool)? {
                return Err(TypeError::mismatch(&Type::Bool, &self.unifier.ground(side)?));
            }
        }
        Ok(Type::Bool)
    }

    /// What a call gives: what its overloads agree on, of those that take these arguments; else dyn.
    fn resolve(
        &mut self,
        name: &str,
        method: bool,
        overloads: &[Overload],
        arguments: &[Type],
    ) -> Result<Type, TypeError> {
        let mut agreed: Option<Type> = None;
        for overload in overloads.iter().filter(|overload| overload.method == method) {
            if overload.arguments.len() != arguments.len() {
                continue;
            }
            let first = self.unifier.fresh(overload.parameters)?;
            let taken: Vec<Type> = overload.arguments.iter().map(|taken| from(first, taken)).collect();
            if !self.unifier.takes(arguments, &taken)? {
                continue;
            }
            let result = self.unifier.resolve(&from(first, &overload.result))?;
            agreed = Some(match agreed {
                None => result,
                Some(Type::Dyn) => Type::Dyn,
                Some(agreed) if self.unifier.same(&agreed, &result)? => agreed,
                Some(_) => Type::Dyn,
            });
        }
        if let Some(agreed) = agreed {
            return Ok(agreed);
        }
        let mut shown = Vec::with_capacity(arguments.len());
        for argument in arguments {
            shown.push(self.unifier.ground(argument)?);
        }
        Err(TypeError::no_overload(name, method, &shown))
    }
}

/// A type of a signature, with its parameters numbered from here.
fn from(first: u32, of: &Type) -> Type {
    match of {
        Type::Param(number) => Type::Param(first.saturating_add(*number)),
        Type::List(inner) => Type::list(from(first, inner)),
        Type::Optional(inner) => Type::optional(from(first, inner)),
        Type::Type(inner) => Type::of(from(first, inner)),
        Type::Map(entry) => Type::map(from(first, &entry.0), from(first, &entry.1)),
        other => other.clone(),
    }
}
