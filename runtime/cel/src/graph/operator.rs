//! `+ - * / %` and the unary minus.

use super::{
    failure::{Answer, Failure, charge_made},
    value::Value,
};

fn overflow(what: &str) -> Failure {
    Failure::Wrong(format!("{what} overflow"))
}

/// No operator takes these.
pub(super) fn misfit(operator: &str, a: &Value<'_>, b: &Value<'_>) -> Failure {
    Failure::Wrong(format!("no such overload: {} {operator} {}", a.type_name(), b.type_name()))
}

pub(super) fn add<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_add(*b).ok_or_else(|| overflow("integer"))?),
        (Value::UInt(a), Value::UInt(b)) => Value::UInt(a.checked_add(*b).ok_or_else(|| overflow("unsigned integer"))?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a + b),
        (Value::Text(a), Value::Text(b)) => {
            charge_made(a.len() + b.len())?;
            Value::text([&**a, &**b].concat())
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            charge_made(a.len() + b.len())?;
            Value::bytes([&**a, &**b].concat())
        }
        (Value::List(a), Value::List(b)) => {
            let mut elements = a.to_vec()?;
            elements.extend(b.to_vec()?);
            Value::list(elements)
        }
        (Value::Duration(a), Value::Duration(b)) => {
            Value::Duration(a.checked_add(*b).ok_or_else(|| overflow("duration"))?)
        }
        (Value::Timestamp(moment), Value::Duration(duration))
        | (Value::Duration(duration), Value::Timestamp(moment)) => {
            Value::Timestamp(moment.add(*duration).ok_or_else(|| overflow("timestamp"))?)
        }
        _ => return Err(misfit("+", a, b)),
    })
}

pub(super) fn subtract<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_sub(*b).ok_or_else(|| overflow("integer"))?),
        (Value::UInt(a), Value::UInt(b)) => Value::UInt(a.checked_sub(*b).ok_or_else(|| overflow("unsigned integer"))?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a - b),
        (Value::Duration(a), Value::Duration(b)) => {
            Value::Duration(a.checked_sub(*b).ok_or_else(|| overflow("duration"))?)
        }
        (Value::Timestamp(a), Value::Timestamp(b)) => Value::Duration(a.since(*b).ok_or_else(|| overflow("duration"))?),
        (Value::Timestamp(moment), Value::Duration(duration)) => {
            let negated = duration.checked_neg().ok_or_else(|| overflow("duration"))?;
            Value::Timestamp(moment.add(negated).ok_or_else(|| overflow("timestamp"))?)
        }
        _ => return Err(misfit("-", a, b)),
    })
}

pub(super) fn multiply<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_mul(*b).ok_or_else(|| overflow("integer"))?),
        (Value::UInt(a), Value::UInt(b)) => Value::UInt(a.checked_mul(*b).ok_or_else(|| overflow("unsigned integer"))?),
        (Value::Double(a), Value::Double(b)) => Value::Double(a * b),
        _ => return Err(misfit("*", a, b)),
    })
}

pub(super) fn divide<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) => {
            return Err(Failure::wrong("division by zero"));
        }
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_div(*b).ok_or_else(|| overflow("integer"))?),
        (Value::UInt(a), Value::UInt(b)) => Value::UInt(a / b),
        (Value::Double(a), Value::Double(b)) => Value::Double(a / b),
        _ => return Err(misfit("/", a, b)),
    })
}

pub(super) fn modulo<'v>(a: &Value<'v>, b: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) => {
            return Err(Failure::wrong("modulus by zero"));
        }
        (Value::Int(a), Value::Int(b)) => Value::Int(a.checked_rem(*b).ok_or_else(|| overflow("integer"))?),
        (Value::UInt(a), Value::UInt(b)) => Value::UInt(a % b),
        _ => return Err(misfit("%", a, b)),
    })
}

pub(super) fn negate<'v>(value: &Value<'v>) -> Answer<Value<'v>> {
    Ok(match value {
        Value::Int(number) => Value::Int(number.checked_neg().ok_or_else(|| overflow("integer"))?),
        Value::Double(number) => Value::Double(-number),
        other => return Err(Failure::Wrong(format!("no such overload: -{}", other.type_name()))),
    })
}
