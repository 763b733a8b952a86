//! Evaluates an expression, as cel-go does: from left to right, the first failure is the one that counts, and what is
//! not needed is not evaluated.
//!
//! The crate that parses has an interpreter too, with other semantics where it matters here: which of two failures is
//! told, what `?.` forgives, when `bind` evaluates, in what order a map is walked.

use std::collections::HashMap;

use cel_interpreter::{
    common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr, operators},
    parser::Expression,
};

use super::{
    equal,
    failure::{Answer, Failure, charge},
    field, fold,
    function::{self, Style},
    operator,
    provenance::Provenance,
    scope::{self, Bound, Evaluate, Names},
    value::{Key, TYPES, Text, Value},
};
use crate::types::Type;

/// Of what types sums are, by the numbers of their calls.
pub(crate) type Sums = HashMap<u64, Type>;

pub(super) struct Interpreter<'v> {
    pub(super) variables: &'v [Bound],
    pub(super) sums: &'v Sums,
}

impl<'v> Evaluate<'v> for Interpreter<'v> {
    fn value(&self, expression: &'v Expression, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        match &expression.expr {
            Expr::Literal(literal) => Ok(literal_value(literal)),
            Expr::Ident(name) => self.name(name.trim_start_matches('.'), names),
            Expr::Select(select) => self.select(expression, select, names),
            Expr::Call(call) => self.call(expression, call, names),
            Expr::List(list) => self.list(list, names),
            Expr::Map(map) => self.map(map, names),
            Expr::Comprehension(comprehension) => fold::fold(self, comprehension, names),
            Expr::Struct(_) | Expr::Unspecified => Err(Failure::wrong("a construct that is not allowed")),
        }
    }
}

impl<'v> Interpreter<'v> {
    fn name(&self, name: &'v str, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        if let Some(frame) = names.and_then(|frame| frame.find(name)) {
            return frame.value(self);
        }
        if scope::variable(self.variables, name).is_none()
            && let Some(known) = TYPES.iter().find(|known| **known == name)
        {
            return Ok(Value::Type(known));
        }
        scope::value_of(self.variables, name)
    }

    /// Whether a name stands for a value here.
    fn is_bound(&self, name: &str, names: Names<'_, 'v>) -> bool {
        names.is_some_and(|frame| frame.find(name).is_some()) || scope::variable(self.variables, name).is_some()
    }

    fn select(&self, all: &'v Expression, select: &'v SelectExpr, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        if !select.test
            && let Some(known) = type_name(all)
            && !self.is_bound(known.split('.').next().unwrap_or_default(), names)
        {
            return Ok(Value::Type(known));
        }
        let of = self.value(&select.operand, names)?;
        let key = Value::Text(Text::Given(&select.field));
        if select.test {
            return field::has(&of, &key).map(Value::Bool);
        }
        field::get(&of, &key, || self.root(all, names), || place(all))
    }

    /// The variable that a chain of fields begins with.
    fn root(&self, expression: &'v Expression, names: Names<'_, 'v>) -> Option<&'v Provenance> {
        let mut expression = expression;
        loop {
            expression = match &expression.expr {
                Expr::Ident(name) if names.is_none_or(|frame| frame.find(name).is_none()) => {
                    return scope::variable(self.variables, name).map(|bound| &bound.origin);
                }
                Expr::Select(select) => &select.operand,
                Expr::Call(CallExpr { func_name, args, .. }) if func_name == operators::INDEX => args.first()?,
                _ => return None,
            };
        }
    }

    fn call(&self, all: &'v Expression, call: &'v CallExpr, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        let name = call.func_name.as_str();
        let Some(target) = call.target.as_deref() else {
            return match call.args.as_slice() {
                [condition, then, otherwise] if name == operators::CONDITIONAL => {
                    match self.value(condition, names)? {
                        Value::Bool(true) => self.value(then, names),
                        Value::Bool(false) => self.value(otherwise, names),
                        other => Err(Failure::Wrong(format!("no such overload: {} ? … : …", other.type_name()))),
                    }
                }
                [a, b] if name == operators::LOGICAL_AND => self.logical(a, b, false, names),
                [a, b] if name == operators::LOGICAL_OR => self.logical(a, b, true, names),
                [a, b] => {
                    let (a, b) = (self.value(a, names)?, self.value(b, names)?);
                    self.binary(all, name, a, b, names)
                }
                [a] if name == operators::LOGICAL_NOT => match self.value(a, names)? {
                    Value::Bool(value) => Ok(Value::Bool(!value)),
                    other => Err(Failure::Wrong(format!("no such overload: !{}", other.type_name()))),
                },
                [a] if name == operators::NEGATE => operator::negate(&self.value(a, names)?),
                args => {
                    let args: Vec<Value<'v>> = args.iter().map(|arg| self.value(arg, names)).collect::<Answer<_>>()?;
                    function::call(name.trim_start_matches('.'), Style::Global, &args)
                }
            };
        };
        if let Expr::Ident(space) = &target.expr
            && let Some(function) = function::find(&format!("{space}.{name}"), Style::Global, call.args.len())
        {
            let args: Vec<Value<'v>> = call.args.iter().map(|arg| self.value(arg, names)).collect::<Answer<_>>()?;
            return function.call(&args);
        }
        let target = self.value(target, names)?;
        if let ([other], "or" | "orValue", Value::Optional(value)) = (call.args.as_slice(), name, &target) {
            // The other is looked at only where it is needed.
            return match value {
                Some(value) if name == "orValue" => Ok(value.as_ref().clone()),
                Some(_) => Ok(target),
                None => self.value(other, names),
            };
        }
        let mut args = vec![target];
        for arg in &call.args {
            args.push(self.value(arg, names)?);
        }
        if let ("sum", [Value::List(list)]) = (name, args.as_slice())
            && list.len() == 0
            && let Some(zero) = self.sums.get(&all.id).and_then(zero)
        {
            return Ok(zero);
        }
        function::call(name, Style::Method, &args)
    }

    /// `&&`, `||`: one side may decide it whatever became of the other.
    fn logical(&self, a: &'v Expression, b: &'v Expression, decides: bool, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        let left = self.value(a, names);
        match &left {
            Ok(Value::Bool(value)) if *value == decides => return left,
            Err(Failure::Stopped) => return left,
            _ => {}
        }
        match (left, self.value(b, names)) {
            (_, Ok(Value::Bool(right))) if right == decides => Ok(Value::Bool(right)),
            (_, Err(Failure::Stopped)) => Err(Failure::Stopped),
            (Err(failure), _) | (Ok(Value::Bool(_)), Err(failure)) => Err(failure),
            (Ok(Value::Bool(_)), Ok(Value::Bool(right))) => Ok(Value::Bool(right)),
            (Ok(Value::Bool(_)), Ok(other)) | (Ok(other), _) => {
                Err(Failure::Wrong(format!("no such overload: a {} is neither true nor false", other.type_name())))
            }
        }
    }

    fn binary(
        &self,
        all: &'v Expression,
        name: &str,
        a: Value<'v>,
        b: Value<'v>,
        names: Names<'_, 'v>,
    ) -> Answer<Value<'v>> {
        match name {
            operators::INDEX => field::get(&a, &b, || self.root(all, names), || place(all)),
            operators::OPT_INDEX | operators::OPT_SELECT => field::get_optional(&a, &b),
            operators::EQUALS => equal::equal(&a, &b).map(Value::Bool),
            operators::NOT_EQUALS => equal::equal(&a, &b).map(|equal| Value::Bool(!equal)),
            operators::ADD => operator::add(&a, &b),
            operators::SUBSTRACT => operator::subtract(&a, &b),
            operators::MULTIPLY => operator::multiply(&a, &b),
            operators::DIVIDE => operator::divide(&a, &b),
            operators::MODULO => operator::modulo(&a, &b),
            operators::LESS => equal::compare(&a, &b).map(|order| Value::Bool(order.is_lt())),
            operators::LESS_EQUALS => equal::compare(&a, &b).map(|order| Value::Bool(order.is_le())),
            operators::GREATER => equal::compare(&a, &b).map(|order| Value::Bool(order.is_gt())),
            operators::GREATER_EQUALS => equal::compare(&a, &b).map(|order| Value::Bool(order.is_ge())),
            operators::IN => contains(&a, &b).map(Value::Bool),
            name => function::call(name.trim_start_matches('.'), Style::Global, &[a, b]),
        }
    }

    fn list(&self, list: &'v ListExpr, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        charge(list.elements.len() as u64)?;
        let mut elements = Vec::with_capacity(list.elements.len());
        for (at, element) in list.elements.iter().enumerate() {
            let element = self.value(element, names)?;
            // Sorted, for they are found in the order of the text.
            if list.optional_indices.binary_search(&at).is_ok() {
                elements.extend(opened(element)?);
            } else {
                elements.push(element);
            }
        }
        Ok(Value::list(elements))
    }

    fn map(&self, map: &'v MapExpr, names: Names<'_, 'v>) -> Answer<Value<'v>> {
        charge(map.entries.len() as u64)?;
        let mut entries = std::collections::BTreeMap::new();
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(Failure::wrong("a construct that is not allowed"));
            };
            let key = self.value(&entry.key, names)?;
            let value = self.value(&entry.value, names)?;
            let key = Key::try_of(&key)?;
            let value = if entry.optional { opened(value)? } else { Some(value) };
            if let Some(value) = value {
                entries.insert(key, value);
            }
        }
        Ok(Value::map(entries))
    }
}

/// What a sum of nothing is, where it is of this type.
fn zero<'v>(of: &Type) -> Option<Value<'v>> {
    match of {
        Type::Int => Some(Value::Int(0)),
        Type::Uint => Some(Value::UInt(0)),
        Type::Double => Some(Value::Double(0.0)),
        Type::Duration => Some(Value::Duration(0)),
        _ => None,
    }
}

/// What is in an optional value, of an entry `?key: value` or an element `?value`.
fn opened(value: Value<'_>) -> Answer<Option<Value<'_>>> {
    match value {
        Value::Optional(value) => Ok(value.map(|value| value.as_ref().clone())),
        other => Err(Failure::Wrong(format!("behind '?' an optional value is expected, not a {}", other.type_name()))),
    }
}

/// `element in list`, `key in map`.
fn contains<'v>(element: &Value<'v>, of: &Value<'v>) -> Answer<bool> {
    match of {
        Value::List(list) => {
            for other in list.iter() {
                if equal::equal(&other?, element)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Value::Map(map) => Ok(map.contains(element)),
        other => Err(operator::misfit("in", element, other)),
    }
}

fn literal_value(literal: &LiteralValue) -> Value<'_> {
    match literal {
        LiteralValue::Null => Value::Null,
        LiteralValue::Boolean(value) => Value::Bool(*value.inner()),
        LiteralValue::Int(value) => Value::Int(*value.inner()),
        LiteralValue::UInt(value) => Value::UInt(*value.inner()),
        LiteralValue::Double(value) => Value::Double(*value.inner()),
        LiteralValue::String(value) => Value::Text(Text::Given(value.inner())),
        LiteralValue::Bytes(value) => Value::bytes(value.inner()),
    }
}

/// The type that a chain of fields names, as in `google.protobuf.Timestamp`.
pub(super) fn type_name(expression: &Expression) -> Option<&'static str> {
    TYPES.iter().copied().find(|known| {
        let mut expression = expression;
        for part in known.rsplit('.') {
            expression = match &expression.expr {
                Expr::Select(select) if select.field == part && !select.test => &select.operand,
                Expr::Ident(name) => return name == part && known.split('.').next() == Some(part),
                _ => return false,
            };
        }
        false
    })
}

/// How the expression writes it, for people: `schema.spec.ports[0]`.
fn place(expression: &Expression) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut expression = expression;
    loop {
        expression = match &expression.expr {
            Expr::Ident(name) => {
                parts.push(name.clone());
                break;
            }
            Expr::Select(select) => {
                parts.push(format!(".{}", select.field));
                &select.operand
            }
            Expr::Call(CallExpr { func_name, args, .. }) if func_name == operators::INDEX && args.len() == 2 => {
                parts.push(match &args[1].expr {
                    Expr::Literal(LiteralValue::String(key)) => format!("[{:?}]", key.inner()),
                    Expr::Literal(LiteralValue::Int(index)) => format!("[{}]", index.inner()),
                    _ => "[…]".to_owned(),
                });
                &args[0]
            }
            _ => {
                parts.push("(…)".to_owned());
                break;
            }
        };
    }
    parts.reverse();
    parts.concat()
}
