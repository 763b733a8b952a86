//! Quantities, and the order that they share with versions.

use std::cmp::Ordering;

use super::{
    argument,
    entry::{Entry, Style},
    semver,
};
use crate::graph::{
    failure::{Answer, Failure, charge},
    quantity::Quantity,
    value::{Foreign, Value},
};

/// Steps for parsing or adding: some hundred digits at the most.
const DIGITS: u64 = 8;

pub(super) const FUNCTIONS: &[Entry] = &[
    ("add", Style::Method, &[1], |args| computed(args, Quantity::add)),
    ("asApproximateFloat", Style::Method, &[0], |args| Ok(Value::Double(own(args, 0)?.as_float()))),
    ("asInteger", Style::Method, &[0], as_integer),
    ("compareTo", Style::Method, &[1], |args| Ok(Value::Int(compared(args)? as i64))),
    ("isGreaterThan", Style::Method, &[1], |args| Ok(Value::Bool(compared(args)?.is_gt()))),
    ("isInteger", Style::Method, &[0], |args| Ok(Value::Bool(own(args, 0)?.as_integer().is_some()))),
    ("isLessThan", Style::Method, &[1], |args| Ok(Value::Bool(compared(args)?.is_lt()))),
    ("isQuantity", Style::Global, &[1], |args| Ok(Value::Bool(parsed(args)?.is_some()))),
    ("quantity", Style::Global, &[1], quantity),
    ("sign", Style::Global, &[1], |args| Ok(Value::Int(own(args, 0)?.sign() as i64))),
    ("sub", Style::Method, &[1], |args| computed(args, Quantity::sub)),
];

fn parsed(args: &[Value<'_>]) -> Answer<Option<Quantity>> {
    charge(DIGITS)?;
    Ok(Quantity::parse(argument::text(args, 0)?))
}

fn quantity<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let quantity = parsed(args)?.ok_or_else(|| Failure::wrong("not a quantity such as 4, -1.5, 250m or 8Gi"))?;
    Ok(Value::foreign(Foreign::Quantity(quantity)))
}

fn own<'a>(args: &'a [Value<'_>], index: usize) -> Answer<&'a Quantity> {
    if let Value::Foreign(value) = argument::value(args, index)?
        && let Foreign::Quantity(quantity) = value.as_ref()
    {
        return Ok(quantity);
    }
    Err(Failure::Misfit)
}

/// With another quantity, or a whole number.
fn computed<'v>(args: &[Value<'v>], compute: fn(&Quantity, &Quantity) -> Quantity) -> Answer<Value<'v>> {
    charge(DIGITS)?;
    let other = match argument::value(args, 1)? {
        Value::Int(number) => Quantity::of_int(*number),
        _ => own(args, 1)?.clone(),
    };
    Ok(Value::foreign(Foreign::Quantity(compute(own(args, 0)?, &other))))
}

fn as_integer<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let number = own(args, 0)?.as_integer();
    number.map(Value::Int).ok_or_else(|| Failure::wrong("cannot convert value to integer"))
}

fn compared(args: &[Value<'_>]) -> Answer<Ordering> {
    charge(DIGITS)?;
    match own(args, 0) {
        Ok(quantity) => Ok(quantity.compare(own(args, 1)?)),
        Err(_) => Ok(semver::own(args, 0)?.cmp_precedence(semver::own(args, 1)?)),
    }
}
