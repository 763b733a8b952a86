//! `==` and order: numbers are compared by value whatever their kind, all else with its own kind only.

use std::{
    cmp::Ordering,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{
    failure::{Answer, Failure, charge, charge_text},
    go::number,
    value::{Foreign, List, Map, Value},
};
use crate::expression::meter;

/// Refuses values that are nested so deep that the stack would not do.
pub(super) fn not_too_deep(depth: usize) -> Answer<()> {
    // Twice what a result may have: a value may lie in another.
    let most = meter::values().depth * 2;
    if depth > most {
        return Err(Failure::bound(|| format!("a value is nested more than {most} levels deep")));
    }
    Ok(())
}

/// Whether two values are equal.
pub(super) fn equal<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<bool> {
    same(a, b, 0)
}

fn same<'v>(a: &Value<'v>, b: &Value<'v>, depth: usize) -> Answer<bool> {
    not_too_deep(depth)?;
    charge(1)?;
    Ok(match (a, b) {
        (Value::Null, other) | (other, Value::Null) => matches!(other, Value::Null),
        (Value::Omit, _) => {
            return Err(Failure::wrong("omit() is a field-removal sentinel and cannot be compared"));
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => {
            charge_text(a.len().min(b.len()))?;
            **a == **b
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            charge_text(a.len().min(b.len()))?;
            a == b
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => a.compare(*b) == Ordering::Equal,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Condition(a), Value::Condition(b)) => a == b,
        (Value::List(a), Value::List(b)) => return same_lists(a, b, depth),
        (Value::Map(a), Value::Map(b)) => return same_maps(a, b, depth),
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => return same(a, b, depth + 1),
        (Value::Foreign(a), Value::Foreign(b)) => match (a.as_ref(), b.as_ref()) {
            (Foreign::Url(a), Foreign::Url(b)) => a == b,
            (Foreign::Ip(a), Foreign::Ip(b)) => a == b,
            (Foreign::Cidr(a), Foreign::Cidr(b)) => a == b,
            (Foreign::Quantity(a), Foreign::Quantity(b)) => a.compare(b) == Ordering::Equal,
            (Foreign::Semver(a), Foreign::Semver(b)) => a.cmp_precedence(b) == Ordering::Equal,
            _ => return Err(Failure::wrong("no such overload")),
        },
        (Value::Foreign(_), _) => return Err(Failure::wrong("no such overload")),
        _ => matches!(compare_numbers(a, b), Ok(Ordering::Equal)),
    })
}

fn same_lists<'v>(a: &List<'v>, b: &List<'v>, depth: usize) -> Answer<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        if !same(&a?, &b?, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_maps<'v>(a: &Map<'v>, b: &Map<'v>, depth: usize) -> Answer<bool> {
    if a.len() != b.len() {
        return Ok(false);
    }
    charge(a.len() as u64)?;
    for key in a.keys() {
        let key = key.value();
        let (Some(a), Some(b)) = (a.get(&key), b.get(&key)) else { return Ok(false) };
        if !same(&a?, &b?, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Why two values have no order of numbers.
enum Unordered {
    NoNumbers,
    NaN,
}

fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, Unordered> {
    let whole = |value: &Value<'_>| match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::UInt(number) => Some(i128::from(*number)),
        _ => None,
    };
    let double = |value: &Value<'_>| match value {
        Value::Int(number) => Some(number::of_int(*number)),
        Value::UInt(number) => Some(number::of_uint(*number)),
        Value::Double(number) => Some(*number),
        _ => None,
    };
    if let (Some(a), Some(b)) = (whole(a), whole(b)) {
        return Ok(a.cmp(&b));
    }
    let (Some(a), Some(b)) = (double(a), double(b)) else { return Err(Unordered::NoNumbers) };
    a.partial_cmp(&b).ok_or(Unordered::NaN)
}

/// The order of two values of a kind that has one.
pub(super) fn compare(a: &Value<'_>, b: &Value<'_>) -> Answer<Ordering> {
    Ok(match (a, b) {
        (Value::Text(a), Value::Text(b)) => {
            charge_text(a.len().min(b.len()))?;
            a.as_bytes().cmp(b.as_bytes())
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            charge_text(a.len().min(b.len()))?;
            a.cmp(b)
        }
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.compare(*b),
        (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        _ => match compare_numbers(a, b) {
            Ok(order) => order,
            Err(Unordered::NaN) => return Err(Failure::wrong("NaN values cannot be ordered")),
            Err(Unordered::NoNumbers) => {
                return Err(Failure::wrong(format!(
                    "no such overload: a {} and a {} have no order",
                    a.type_name(),
                    b.type_name()
                )));
            }
        },
    })
}

/// A number that equal values have in common, for finding them.
pub(super) fn hash(value: &Value<'_>) -> Answer<u64> {
    let mut hasher = DefaultHasher::new();
    add(value, &mut hasher, 0)?;
    Ok(hasher.finish())
}

fn add(value: &Value<'_>, hasher: &mut DefaultHasher, depth: usize) -> Answer<()> {
    not_too_deep(depth)?;
    charge(1)?;
    match value {
        Value::Text(text) => {
            charge_text(text.len())?;
            text.hash(hasher);
        }
        Value::Bytes(bytes) => {
            charge_text(bytes.len())?;
            bytes.hash(hasher);
        }
        Value::Int(number) => number::of_int(*number).to_bits().hash(hasher),
        Value::UInt(number) => number::of_uint(*number).to_bits().hash(hasher),
        // Both zeros are the same number.
        Value::Double(number) => (number + 0.0).to_bits().hash(hasher),
        Value::Bool(value) => value.hash(hasher),
        Value::Timestamp(moment) => moment.seconds().hash(hasher),
        Value::Duration(nanos) => (*nanos, 1).hash(hasher),
        Value::List(list) => list.iter().try_for_each(|element| add(&element?, hasher, depth + 1))?,
        Value::Map(map) => {
            // In no order: keys that are the same number may stand at different places.
            let mut sum: u64 = 0;
            charge(map.len() as u64)?;
            for key in map.keys() {
                let (key, mut entry) = (key.value(), DefaultHasher::new());
                add(&key, &mut entry, depth + 1)?;
                if let Some(value) = map.get(&key) {
                    add(&value?, &mut entry, depth + 1)?;
                }
                sum = sum.wrapping_add(entry.finish());
            }
            sum.hash(hasher);
        }
        Value::Optional(Some(value)) => add(value, hasher, depth + 1)?,
        other => other.type_name().hash(hasher),
    }
    Ok(())
}
