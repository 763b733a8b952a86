//! From one type to another, and `size`.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    failure::{Answer, Failure, charge_text},
    go::{duration, number, timestamp::Timestamp},
    value::{Foreign, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("bool", Style::Global, &[1], bool),
    ("bytes", Style::Global, &[1], bytes),
    ("double", Style::Global, &[1], double),
    ("duration", Style::Global, &[1], to_duration),
    ("dyn", Style::Global, &[1], dynamic),
    ("int", Style::Global, &[1], int),
    ("size", Style::Global, &[1], size),
    ("size", Style::Method, &[0], size),
    ("string", Style::Global, &[1], string),
    ("timestamp", Style::Global, &[1], to_timestamp),
    ("type", Style::Global, &[1], type_of),
    ("uint", Style::Global, &[1], uint),
];

fn failed(from: &str, to: &str) -> Failure {
    Failure::Wrong(format!("type conversion error from '{from}' to '{to}'"))
}

fn dynamic<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    argument::value(args, 0).cloned()
}

fn type_of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Type(argument::value(args, 0)?.type_name()))
}

fn size<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let size = match argument::value(args, 0)? {
        Value::Text(_) => argument::text(args, 0)?.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        _ => return Err(Failure::Misfit),
    };
    Ok(argument::found(Some(size)))
}

/// Also `t`, `1`, `TRUE`, …
fn bool<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    match argument::value(args, 0)? {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        Value::Text(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(failed("string", "bool")),
        },
        _ => Err(Failure::Misfit),
    }
}

fn int<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let overflow = || Failure::wrong("integer overflow");
    Ok(Value::Int(match argument::value(args, 0)? {
        Value::Int(number) => *number,
        Value::UInt(number) => i64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) => number::to_int(*number).ok_or_else(overflow)?,
        // Rust reads what Go does: digits, perhaps with a sign.
        Value::Text(text) => text.parse().map_err(|_| failed("string", "int"))?,
        Value::Timestamp(moment) => moment.seconds(),
        Value::Duration(nanos) => *nanos,
        _ => return Err(Failure::Misfit),
    }))
}

fn uint<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let overflow = || Failure::wrong("unsigned integer overflow");
    Ok(Value::UInt(match argument::value(args, 0)? {
        Value::UInt(number) => *number,
        Value::Int(number) => u64::try_from(*number).map_err(|_| overflow())?,
        Value::Double(number) => number::to_uint(*number).ok_or_else(overflow)?,
        Value::Text(text) => {
            // Here Go takes no sign at all.
            let unsigned = text.parse().ok().filter(|_| !text.starts_with('+'));
            unsigned.ok_or_else(|| failed("string", "uint"))?
        }
        _ => return Err(Failure::Misfit),
    }))
}

fn double<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Double(match argument::value(args, 0)? {
        Value::Double(number) => *number,
        Value::Int(number) => number::of_int(*number),
        Value::UInt(number) => number::of_uint(*number),
        Value::Text(text) => {
            charge_text(text.len())?;
            number::parse(text).ok_or_else(|| failed("string", "double"))?
        }
        _ => return Err(Failure::Misfit),
    }))
}

fn bytes<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    match argument::value(args, 0)? {
        Value::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        _ => Ok(Value::bytes(argument::text(args, 0)?.as_bytes())),
    }
}

fn string<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::text(match argument::value(args, 0)? {
        Value::Text(text) => return Ok(Value::Text(text.clone())),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Double(number) => number::general(*number),
        Value::Timestamp(moment) => moment.format(),
        Value::Duration(nanos) => duration::in_seconds(*nanos),
        Value::Bytes(_) => {
            let text = str::from_utf8(argument::bytes(args, 0)?);
            text.map_err(|_| Failure::wrong("invalid UTF-8 in bytes, cannot convert to string"))?.to_owned()
        }
        Value::Foreign(value) => match value.as_ref() {
            Foreign::Ip(address) => address.to_string(),
            Foreign::Cidr(network) => network.to_string(),
            _ => return Err(Failure::Misfit),
        },
        _ => return Err(Failure::Misfit),
    }))
}

fn to_duration<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    if let Value::Duration(nanos) = argument::value(args, 0)? {
        return Ok(Value::Duration(*nanos));
    }
    let nanos = duration::parse(argument::text(args, 0)?);
    nanos.map(Value::Duration).ok_or_else(|| failed("string", "google.protobuf.Duration"))
}

fn to_timestamp<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let moment = match argument::value(args, 0)? {
        Value::Timestamp(moment) => Some(*moment),
        Value::Int(seconds) => {
            let moment = Timestamp::of_seconds(*seconds);
            Some(moment.ok_or_else(|| Failure::wrong("timestamp overflow"))?)
        }
        _ => Timestamp::parse(argument::text(args, 0)?),
    };
    moment.map(Value::Timestamp).ok_or_else(|| Failure::wrong("invalid RFC 3339 timestamp"))
}
