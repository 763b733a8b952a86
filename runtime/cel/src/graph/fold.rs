//! Loops: those that the macros make, and no others. Each turn is counted.

use std::{collections::BTreeMap, rc::Rc};

use cel_interpreter::{
    common::ast::{CallExpr, ComprehensionExpr, Expr, operators},
    parser::Expression,
};

use super::{
    failure::{Answer, Failure, charge, turn},
    macros::{self, MAP_INSERT},
    scope::{Evaluate, Frame, Names},
    value::{Key, List, Map, Value},
};
use crate::expression::meter;

/// What a loop does at each turn.
pub(super) enum Shape<'v> {
    /// No loop: a variable.
    Bound,
    /// `all` where it decides on false, `exists` where on true.
    Quantified { test: &'v Expression, decides: bool },
    /// `exists_one`
    One { test: &'v Expression },
    /// `map`, `filter`, `transformList`
    Append { guard: Option<&'v Expression>, element: &'v Expression },
    /// `transformMap`, `transformMapEntry`: a key and a value, or an entry.
    Insert { guard: Option<&'v Expression>, args: &'v [Expression] },
}

/// The shape of a loop; `None` for one that no macro makes. Nobody else can make one, so it is told by its step alone: each
/// begins with the accumulator, and what is guarded ends with it.
pub(super) fn shape(comprehension: &ComprehensionExpr) -> Option<Shape<'_>> {
    if macros::bound(comprehension) {
        return Some(Shape::Bound);
    }
    let (guard, name, args) = match global(&comprehension.loop_step)? {
        (operators::LOGICAL_AND, [_, test]) => return Some(Shape::Quantified { test, decides: false }),
        (operators::LOGICAL_OR, [_, test]) => return Some(Shape::Quantified { test, decides: true }),
        (operators::CONDITIONAL, [guard, step, _]) => {
            let (name, args) = global(step)?;
            (Some(guard), name, args)
        }
        (name, args) => (None, name, args),
    };
    match (name, args) {
        (operators::ADD, [_, added]) => match &added.expr {
            Expr::List(list) => match list.elements.as_slice() {
                [element] => Some(Shape::Append { guard, element }),
                _ => None,
            },
            Expr::Literal(_) => guard.map(|test| Shape::One { test }),
            _ => None,
        },
        (MAP_INSERT, [_, args @ ..]) => Some(Shape::Insert { guard, args }),
        _ => None,
    }
}

/// Name and arguments of a call without a target.
fn global(expression: &Expression) -> Option<(&str, &[Expression])> {
    match &expression.expr {
        Expr::Call(CallExpr { func_name, target: None, args }) => Some((func_name, args)),
        _ => None,
    }
}

/// Whether the loop goes on.
enum Next {
    Turn,
    End,
}

pub(super) fn fold<'v>(
    evaluate: &impl Evaluate<'v>,
    comprehension: &'v ComprehensionExpr,
    names: Names<'_, 'v>,
) -> Answer<Value<'v>> {
    let looping = Looping { evaluate, comprehension, names };
    match shape(comprehension) {
        Some(Shape::Bound) => {
            let frame = Frame::later(names, &comprehension.accu_var, &comprehension.accu_init);
            evaluate.value(&comprehension.result, Some(&frame))
        }
        Some(Shape::Quantified { test, decides }) => looping.quantified(test, decides),
        Some(Shape::One { test }) => looping.one(test),
        Some(Shape::Append { guard, element }) => looping.append(guard, element),
        Some(Shape::Insert { guard, args }) => looping.insert(guard, args),
        None => Err(Failure::wrong("a construct that is not allowed")),
    }
}

struct Looping<'l, 'f, 'v, E> {
    evaluate: &'l E,
    comprehension: &'v ComprehensionExpr,
    names: Names<'f, 'v>,
}

impl<'v, E: Evaluate<'v>> Looping<'_, '_, 'v, E> {
    /// Calls this for each element, or entry, with its variables.
    fn each(&self, mut body: impl FnMut(&Frame<'_, 'v>) -> Answer<Next>) -> Answer<()> {
        let ComprehensionExpr { iter_var, iter_var2, iter_range, .. } = self.comprehension;
        let mut run = |first: Answer<Value<'v>>, second: Option<Answer<Value<'v>>>| {
            turn()?;
            let outer = Frame::ready(self.names, iter_var, first);
            match (iter_var2, second) {
                (Some(name), Some(second)) => body(&Frame::ready(Some(&outer), name, second)),
                _ => body(&outer),
            }
        };
        match self.evaluate.value(iter_range, self.names)? {
            Value::List(list) => {
                if let List::Given(_) = list {
                    may_loop(list.len())?;
                }
                for at in 0..list.len() {
                    let Some(element) = list.get(at) else { break };
                    let index = || Ok(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
                    let next = match iter_var2 {
                        Some(_) => run(index(), Some(element))?,
                        None => run(element, None)?,
                    };
                    if let Next::End = next {
                        break;
                    }
                }
                Ok(())
            }
            Value::Map(map) => {
                if let Map::Given(_) = map {
                    may_loop(map.len())?;
                }
                for key in map.keys() {
                    let key = key.value();
                    let value = iter_var2.as_ref().and_then(|_| map.get(&key));
                    if let Next::End = run(Ok(key), value)? {
                        break;
                    }
                }
                Ok(())
            }
            other => Err(Failure::Wrong(format!("a {} cannot be looped over", other.type_name()))),
        }
    }

    /// Whether a condition holds.
    fn holds(&self, test: &'v Expression, frame: &Frame<'_, 'v>) -> Answer<bool> {
        match self.evaluate.value(test, Some(frame))? {
            Value::Bool(holds) => Ok(holds),
            other => {
                Err(Failure::Wrong(format!("no such overload: a {} is neither true nor false", other.type_name())))
            }
        }
    }

    /// A failure counts only when no element decides.
    fn quantified(&self, test: &'v Expression, decides: bool) -> Answer<Value<'v>> {
        let mut result = Ok(Value::Bool(!decides));
        self.each(|frame| match self.holds(test, frame) {
            Ok(holds) if holds == decides => {
                result = Ok(Value::Bool(decides));
                Ok(Next::End)
            }
            Err(Failure::Stopped) => Err(Failure::Stopped),
            Err(failure) if result.is_ok() => {
                result = Err(failure);
                Ok(Next::Turn)
            }
            Ok(_) | Err(_) => Ok(Next::Turn),
        })?;
        result
    }

    fn one(&self, test: &'v Expression) -> Answer<Value<'v>> {
        let mut count = 0_usize;
        self.each(|frame| {
            count += usize::from(self.holds(test, frame)?);
            Ok(Next::Turn)
        })?;
        Ok(Value::Bool(count == 1))
    }

    fn append(&self, guard: Option<&'v Expression>, element: &'v Expression) -> Answer<Value<'v>> {
        let mut elements = Vec::new();
        self.each(|frame| {
            if guard.map_or(Ok(true), |guard| self.holds(guard, frame))? {
                elements.push(self.evaluate.value(element, Some(frame))?);
            }
            Ok(Next::Turn)
        })?;
        Ok(Value::list(elements))
    }

    fn insert(&self, guard: Option<&'v Expression>, args: &'v [Expression]) -> Answer<Value<'v>> {
        let mut entries: BTreeMap<Key<'v>, Value<'v>> = BTreeMap::new();
        self.each(|frame| {
            if !guard.map_or(Ok(true), |guard| self.holds(guard, frame))? {
                return Ok(Next::Turn);
            }
            let mut args = args.iter().map(|arg| self.evaluate.value(arg, Some(frame)));
            match (args.next().transpose()?, args.next().transpose()?) {
                (Some(key), Some(value)) => insert(&mut entries, Key::try_of(&key)?, value)?,
                (Some(Value::Map(map)), None) => {
                    for (key, value) in map.to_entries()? {
                        insert(&mut entries, key, value)?;
                    }
                }
                (Some(other), None) => {
                    return Err(Failure::Wrong(format!(
                        "no such overload: an entry is a map, not a {}",
                        other.type_name()
                    )));
                }
                (None, _) => return Err(Failure::wrong("a construct that is not allowed")),
            }
            Ok(Next::Turn)
        })?;
        Ok(Value::Map(Map::Made(Rc::new(entries))))
    }
}

fn insert<'v>(entries: &mut BTreeMap<Key<'v>, Value<'v>>, key: Key<'v>, value: Value<'v>) -> Answer<()> {
    charge(1)?;
    match entries.entry(key) {
        std::collections::btree_map::Entry::Vacant(vacant) => {
            vacant.insert(value);
            Ok(())
        }
        std::collections::btree_map::Entry::Occupied(_) => Err(Failure::wrong("insert failed: the key already exists")),
    }
}

/// Refuses to loop over a list or object of a variable that is too long.
fn may_loop(length: usize) -> Answer<()> {
    let most = meter::values().looped;
    if length > most {
        return Err(Failure::bound(|| format!("it loops over {length} elements, at most {most} are allowed")));
    }
    Ok(())
}
