//! Loops, as the macros make them: `all`, `map`, `transformMap`, …; and `cel.bind`, a loop over nothing.

use cel_interpreter::common::ast::ComprehensionExpr;

use super::{Checker, TypeError};
use crate::types::cel_type::Type;

impl<'a> Checker<'a> {
    pub(super) fn comprehension(&mut self, comprehension: &'a ComprehensionExpr) -> Result<Type, TypeError> {
        let ComprehensionExpr { iter_range, iter_var, iter_var2, accu_var, accu_init, loop_cond, loop_step, result } =
            comprehension;
        let range = self.infer(iter_range)?;
        let accumulated = self.infer(accu_init)?;
        let (first, second) = self.variables_of(&range, iter_var2.is_some())?;

        let outside = self.locals.len();
        self.locals.push((accu_var.as_str(), accumulated.clone()));
        let around = self.locals.len();
        self.locals.push((iter_var.as_str(), first));
        if let Some(name) = iter_var2 {
            self.locals.push((name.as_str(), second));
        }
        let condition = self.infer(loop_cond)?;
        self.expect(&condition, &Type::Bool)?;
        let step = self.infer(loop_step)?;
        self.expect(&step, &accumulated)?;
        // The result sees what was gathered, not the elements.
        self.locals.truncate(around);
        let found = self.infer(result)?;
        self.locals.truncate(outside);
        Ok(self.unifier.resolve(&found)?)
    }

    /// The types of a loop's variables: element; index and element; key; key and value.
    fn variables_of(&mut self, range: &Type, two: bool) -> Result<(Type, Type), TypeError> {
        let range = self.unifier.resolve(range)?;
        Ok(match &range {
            Type::List(element) if two => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn => (Type::Dyn, Type::Dyn),
            Type::Param(_) => {
                // Nothing more will be known of it.
                self.unifier.takes_one(&Type::Dyn, &range)?;
                (Type::Dyn, Type::Dyn)
            }
            other => return Err(TypeError::no_range(&self.unifier.ground(other)?)),
        })
    }

    pub(super) fn expect(&mut self, found: &Type, expected: &Type) -> Result<(), TypeError> {
        if self.unifier.takes_one(expected, found)? {
            return Ok(());
        }
        Err(TypeError::mismatch(&self.unifier.ground(expected)?, &self.unifier.ground(found)?))
    }
}
