//! Puts the counters of `meter` into a parsed expression, finds the names it takes from outside, and refuses functions
//! that do not exist: the interpreter would tell only when it calls them.
//!
//! Counted are each turn of each loop and everything that can grow: sums, lists, maps, and the elements that `map` and
//! `filter` collect. All else takes time in proportion to the text of the expression and the values it is given.

use std::{collections::BTreeSet, mem, sync::Arc};

use cel_interpreter::{
    Context, Env, ExecutionError, Value,
    common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, operators},
    parser::Expression,
};

use super::counters::{JOINED, MADE, MATCHES, TURN};

/// Names that the interpreter knows by itself: types, and the namespace of optional values.
const KNOWN: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "google",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "optional_type",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// What is not allowed.
pub(super) struct Flaw {
    pub(super) what: String,
    /// The name that is to blame.
    pub(super) name: Option<String>,
}

impl Flaw {
    fn of(name: &str, what: String) -> Self {
        Self { what, name: Some(name.to_owned()) }
    }
}

/// Rewrites in place; the free names, sorted. An error names a construct that is not allowed.
pub(super) fn rewrite(expression: &mut Expression, env: &Arc<Env>) -> Result<Vec<String>, Flaw> {
    let mut rewriter =
        Rewriter { context: Context::with_env(Arc::clone(env)), scope: Vec::new(), free: BTreeSet::new() };
    rewriter.expression(expression)?;
    Ok(rewriter.free.into_iter().collect())
}

struct Rewriter {
    /// Without variables: to ask for functions.
    context: Context<'static, 'static>,
    /// Variables of the loops around, inner ones last.
    scope: Vec<String>,
    free: BTreeSet<String>,
}

impl Rewriter {
    fn expression(&mut self, expression: &mut Expression) -> Result<(), Flaw> {
        match &mut expression.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => {
                self.name(name);
                Ok(())
            }
            Expr::Select(select) => self.expression(&mut select.operand),
            Expr::Call(call) => {
                if call.func_name == "matches" {
                    MATCHES.clone_into(&mut call.func_name);
                }
                self.call(call)?;
                if call.func_name == operators::ADD {
                    wrap(expression, JOINED);
                }
                Ok(())
            }
            Expr::List(list) => {
                self.all(&mut list.elements)?;
                wrap(expression, MADE);
                Ok(())
            }
            Expr::Map(map) => {
                for entry in &mut map.entries {
                    let EntryExpr::MapEntry(entry) = &mut entry.expr else {
                        return Err(strange());
                    };
                    self.expression(&mut entry.key)?;
                    self.expression(&mut entry.value)?;
                }
                wrap(expression, MADE);
                Ok(())
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
            Expr::Struct(message) => {
                Err(Flaw::of(&message.type_name, format!("messages ({}{{…}}) are not known here", message.type_name)))
            }
            Expr::Unspecified => Err(strange()),
        }
    }

    fn all(&mut self, expressions: &mut [Expression]) -> Result<(), Flaw> {
        expressions.iter_mut().try_for_each(|expression| self.expression(expression))
    }

    fn call(&mut self, call: &mut CallExpr) -> Result<(), Flaw> {
        self.function(call)?;
        if let Some(target) = &mut call.target {
            self.expression(target)?;
        }
        self.all(&mut call.args)
    }

    /// Refuses a function that does not exist. Operators and counters begin with a sign, functions with a letter.
    fn function(&self, call: &CallExpr) -> Result<(), Flaw> {
        let name = call.func_name.trim_start_matches('.');
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(());
        }
        let exists = match call.target.as_deref().map(|target| &target.expr) {
            None => self.exists(false, name),
            // `optional.of(x)` calls `optional.of`.
            Some(Expr::Ident(space)) => self.exists(true, name) || self.exists(false, &format!("{space}.{name}")),
            Some(_) => self.exists(true, name),
        };
        if exists { Ok(()) } else { Err(Flaw::of(name, format!("there is no function {name:?}"))) }
    }

    /// Asks the interpreter, with more arguments than any function takes: it calls none, but says why not.
    fn exists(&self, method: bool, name: &str) -> bool {
        let nothing = Expression { id: 0, expr: Expr::List(ListExpr::new(Vec::new())) };
        let target = method.then(|| Box::new(nothing.clone()));
        let call = CallExpr { func_name: name.to_owned(), target, args: vec![nothing; 16] };
        let call = Expression { id: 0, expr: Expr::Call(call) };
        !matches!(Value::resolve_val(&call, &self.context), Err(ExecutionError::UndeclaredReference(_)))
    }

    fn name(&mut self, name: &str) {
        let plain = name.trim_start_matches('.');
        let inner = plain == name && self.scope.iter().any(|variable| variable == plain);
        if !inner && !KNOWN.contains(&plain) {
            self.free.insert(plain.to_owned());
        }
    }

    /// The macros make three kinds of loops; another shape is none of ours.
    fn comprehension(&mut self, comprehension: &mut ComprehensionExpr) -> Result<(), Flaw> {
        let ComprehensionExpr {
            iter_range,
            iter_var,
            iter_var2,
            accu_var,
            accu_init: _,
            loop_cond,
            loop_step,
            result: _,
        } = comprehension;
        self.expression(iter_range)?;
        let outer = self.scope.len();
        self.scope.extend([iter_var.clone(), accu_var.clone()]);
        self.scope.extend(iter_var2.clone());
        let counted = matches!(loop_cond.expr, Expr::Literal(_));
        if !counted {
            // `all` and `exists`: the condition is asked at every turn, and an error of it ends the loop.
            wrap(loop_cond, TURN);
        }
        let step = self.step(loop_step, accu_var, !counted);
        self.scope.truncate(outer);
        step
    }

    /// The step of a loop keeps its shape: the interpreter knows it, and then appends in place instead of copying.
    fn step(&mut self, step: &mut Expression, accu: &str, counted: bool) -> Result<(), Flaw> {
        let Expr::Call(CallExpr { func_name, target: None, args }) = &mut step.expr else {
            return Err(strange());
        };
        let is_accu = |expression: &Expression| matches!(&expression.expr, Expr::Ident(name) if name == accu);
        match (func_name.as_str(), args.as_mut_slice()) {
            // all, exists
            (operators::LOGICAL_AND | operators::LOGICAL_OR, [before, test]) if counted && is_accu(before) => {
                self.expression(test)
            }
            // filter, exists_one, map with a condition
            (operators::CONDITIONAL, [guard, then, otherwise]) if is_accu(otherwise) => {
                self.expression(guard)?;
                wrap(guard, TURN);
                self.append(then, accu)
            }
            // map
            (operators::ADD, _) => self.append(step, accu),
            _ => Err(strange()),
        }
    }

    /// `@result + [element]`, `@result + 1`
    fn append(&mut self, step: &mut Expression, accu: &str) -> Result<(), Flaw> {
        let Expr::Call(CallExpr { func_name, target: None, args }) = &mut step.expr else {
            return Err(strange());
        };
        let [before, added] = args.as_mut_slice() else {
            return Err(strange());
        };
        if func_name != operators::ADD || !matches!(&before.expr, Expr::Ident(name) if name == accu) {
            return Err(strange());
        }
        match &mut added.expr {
            Expr::Literal(_) => Ok(()),
            Expr::List(list) => {
                for element in &mut list.elements {
                    self.expression(element)?;
                    wrap(element, TURN);
                }
                Ok(())
            }
            _ => Err(strange()),
        }
    }
}

fn wrap(expression: &mut Expression, counter: &str) {
    let id = expression.id;
    let inner = mem::take(expression);
    let call = CallExpr { func_name: counter.to_owned(), target: None, args: vec![inner] };
    *expression = Expression { id, expr: Expr::Call(call) };
}

fn strange() -> Flaw {
    Flaw { what: "a construct that is not allowed".to_owned(), name: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use cel_interpreter::common::ast::LiteralValue;

    use super::*;
    use crate::expression::environment::environment;

    const SUBTRACT: &str = operators::SUBSTRACT;

    /// What is said of a loop that was changed since its macro made it.
    fn said_of(source: &str, change: fn(&mut ComprehensionExpr)) -> Option<String> {
        let env = Arc::new(environment());
        let mut expression = env.compile(source).unwrap().expression().clone();
        let Expr::Comprehension(comprehension) = &mut expression.expr else { panic!("{source} is no loop") };
        change(comprehension);
        rewrite(&mut expression, &env).err().map(|flaw| flaw.what)
    }

    fn call(expression: &mut Expression) -> &mut CallExpr {
        let Expr::Call(call) = &mut expression.expr else { panic!("no call") };
        call
    }

    /// What a guarded step does where the guard holds.
    fn then(of: &mut ComprehensionExpr) -> &mut Expression {
        &mut call(&mut of.loop_step).args[1]
    }

    fn another() -> Expression {
        Expression { id: 0, expr: Expr::Ident("another".to_owned()) }
    }

    /// Whatever a later interpreter's macros make: a loop that is not counted does not run.
    #[test]
    fn a_loop_of_another_shape_than_the_macros_is_refused() {
        let quantifiers: &[_] = &["[1].all(x, true)", "[1].exists(x, true)"];
        let map: &[_] = &["[1].map(x, x)"];
        let guarded: &[_] = &["[1].exists_one(x, true)", "[1].map(x, true, x)", "[1].filter(x, true)"];
        let refused = |sources: &[&[&str]], change: fn(&mut ComprehensionExpr)| {
            for source in sources.concat() {
                assert_eq!(said_of(source, |_| {}), None, "{source}");
                assert_eq!(said_of(source, change).as_deref(), Some("a construct that is not allowed"), "{source}");
            }
        };
        refused(&[quantifiers, map, guarded], |of| of.accu_var = "another".to_owned());
        refused(&[quantifiers, map, guarded], |of| of.loop_step = another());
        refused(&[quantifiers, map, guarded], |of| SUBTRACT.clone_into(&mut call(&mut of.loop_step).func_name));
        refused(&[quantifiers], |of| of.loop_cond.expr = Expr::Literal(LiteralValue::Boolean(true.into())));
        refused(&[quantifiers, map], |of| call(&mut of.loop_step).args[0] = another());
        refused(&[guarded], |of| call(&mut of.loop_step).args[2] = another());
        refused(&[guarded], |of| call(&mut of.loop_step).args[1] = another());
        refused(&[guarded], |of| call(then(of)).args[0] = another());
        refused(&[guarded], |of| call(then(of)).args[1] = another());
        refused(&[guarded], |of| SUBTRACT.clone_into(&mut call(then(of)).func_name));
    }
}
