//! Optional values. `or` and `orValue` of one are the interpreter's: what they do not need is not evaluated.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure},
    value::Value,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("hasValue", Style::Method, &[0], has_value),
    ("optional.none", Style::Global, &[0], none),
    ("optional.of", Style::Global, &[1], of),
    ("optional.ofNonZeroValue", Style::Global, &[1], of_non_zero),
    ("optional.unwrap", Style::Global, &[1], unwrap),
    ("or", Style::Method, &[1], misfit),
    ("orValue", Style::Method, &[1], misfit),
    ("unwrapOpt", Style::Method, &[0], unwrap),
    ("value", Style::Method, &[0], value),
];

#[expect(clippy::unnecessary_wraps, reason = "the signature that the interpreter calls")]
fn none<'v>(_: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Optional(None))
}

fn misfit<'v>(_: &[Value<'v>]) -> Answer<Value<'v>> {
    Err(Failure::Misfit)
}

fn of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::some(argument::value(args, 0)?.clone()))
}

fn of_non_zero<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let is_zero = match argument::value(args, 0)? {
        Value::Null | Value::Optional(None) | Value::Bool(false) => true,
        Value::Int(number) | Value::Duration(number) => *number == 0,
        Value::UInt(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::Text(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.len() == 0,
        Value::Map(map) => map.len() == 0,
        Value::Timestamp(moment) => moment.is_zero(),
        _ => false,
    };
    if is_zero { none(args) } else { of(args) }
}

fn optional<'a, 'v>(args: &'a [Value<'v>]) -> Answer<Option<&'a Value<'v>>> {
    match argument::value(args, 0)? {
        Value::Optional(value) => Ok(value.as_deref()),
        _ => Err(Failure::Misfit),
    }
}

fn has_value<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Bool(optional(args)?.is_some()))
}

fn value<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    optional(args)?.cloned().ok_or_else(|| Failure::wrong("optional.none() dereference"))
}

/// What is in those of a list that have a value.
fn unwrap<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let mut elements = Vec::new();
    for element in argument::list(args, 0)?.iter() {
        match element? {
            Value::Optional(value) => elements.extend(value.map(|value| value.as_ref().clone())),
            _ => return Err(Failure::Misfit),
        }
    }
    Ok(Value::list(elements))
}
