//! Arguments of functions, by their kind. Texts and bytes are counted as read.

use super::super::{
    failure::{Answer, Failure, charge_text},
    go::timestamp::Timestamp,
    value::{List, Map, Value},
};

pub(super) fn value<'a, 'v>(args: &'a [Value<'v>], index: usize) -> Answer<&'a Value<'v>> {
    args.get(index).ok_or(Failure::Misfit)
}

pub(super) fn text<'a>(args: &'a [Value<'_>], index: usize) -> Answer<&'a str> {
    let Value::Text(text) = value(args, index)? else { return Err(Failure::Misfit) };
    charge_text(text.len())?;
    Ok(text)
}

pub(super) fn bytes<'a>(args: &'a [Value<'_>], index: usize) -> Answer<&'a [u8]> {
    let Value::Bytes(bytes) = value(args, index)? else { return Err(Failure::Misfit) };
    charge_text(bytes.len())?;
    Ok(bytes)
}

pub(super) fn int(args: &[Value<'_>], index: usize) -> Answer<i64> {
    if let Value::Int(int) = value(args, index)? { Ok(*int) } else { Err(Failure::Misfit) }
}

/// The same, when there is such an argument.
pub(super) fn optional_int(args: &[Value<'_>], index: usize) -> Answer<Option<i64>> {
    if index < args.len() { int(args, index).map(Some) } else { Ok(None) }
}

pub(super) fn timestamp(args: &[Value<'_>], index: usize) -> Answer<Timestamp> {
    if let Value::Timestamp(moment) = value(args, index)? { Ok(*moment) } else { Err(Failure::Misfit) }
}

pub(super) fn list<'a, 'v>(args: &'a [Value<'v>], index: usize) -> Answer<&'a List<'v>> {
    if let Value::List(list) = value(args, index)? { Ok(list) } else { Err(Failure::Misfit) }
}

pub(super) fn map<'a, 'v>(args: &'a [Value<'v>], index: usize) -> Answer<&'a Map<'v>> {
    if let Value::Map(map) = value(args, index)? { Ok(map) } else { Err(Failure::Misfit) }
}

/// A place, or -1.
pub(super) fn found<'v>(place: Option<usize>) -> Value<'v> {
    Value::Int(place.and_then(|place| i64::try_from(place).ok()).unwrap_or(-1))
}
