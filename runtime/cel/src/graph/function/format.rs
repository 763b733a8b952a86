//! `format`: texts with clauses such as `%s`, `%d`, `%.2f`.

use std::fmt::Write as _;

use super::argument;
use crate::graph::{
    equal::not_too_deep,
    failure::{Answer, Failure, charge, charge_made},
    go::{duration, number},
    value::Value,
};

/// Digits behind the point, where nothing else is said.
const PRECISION: usize = 6;

/// The most that may be said.
const MOST_PRECISION: usize = 1000;

pub(super) fn format<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (mut rest, values) = (argument::text(args, 0)?, argument::list(args, 1)?);
    let (mut out, mut next) = (String::new(), 0);
    while let Some((plain, clause)) = rest.split_once('%') {
        out.push_str(plain);
        if let Some(after) = clause.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let value = values.get(next);
        if clause.is_empty() {
            return Err(Failure::wrong("unexpected end of string behind '%'"));
        }
        let value = value.ok_or_else(|| Failure::Wrong(format!("index {next} out of range")))??;
        rest = one(clause, &value, &mut out)?;
        next += 1;
        charge_made(out.len())?;
    }
    out.push_str(rest);
    charge_made(out.len())?;
    Ok(Value::text(out))
}

/// Writes a value as the clause at the beginning of the text says; what is behind the clause.
fn one<'t>(clause: &'t str, value: &Value<'_>, out: &mut String) -> Answer<&'t str> {
    let (precision, clause) = match clause.strip_prefix('.') {
        None => (PRECISION, clause),
        Some(digits) => {
            let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
            let precision = digits[..end].parse().ok().filter(|precision| *precision <= MOST_PRECISION);
            let precision = precision.ok_or_else(|| {
                Failure::Wrong(format!("the precision of a clause is a number up to {MOST_PRECISION}"))
            })?;
            (precision, &digits[end..])
        }
    };
    let mut chars = clause.chars();
    match chars.next() {
        Some('s') => text(value, out, 0)?,
        Some('d') => match value {
            Value::Int(_) | Value::UInt(_) | Value::Double(_) => text(value, out, 0)?,
            other => return Err(misfit("decimal clause can only be used on ints, uints, and doubles", other)),
        },
        Some('f') => out.push_str(&number::fixed(double(value, "fixed-point")?, precision)),
        Some('e') => out.push_str(&number::scientific(double(value, "scientific")?, precision)),
        Some('b') => match value {
            Value::Bool(value) => out.push(if *value { '1' } else { '0' }),
            other => integer(other, 2, "only ints, uints, and bools can be formatted as binary", out)?,
        },
        Some('o') => integer(value, 8, "octal clause can only be used on ints and uints", out)?,
        Some(letter @ ('x' | 'X')) => {
            let start = out.len();
            match value {
                Value::Text(text) => hexadecimal(text.as_bytes(), out)?,
                Value::Bytes(bytes) => hexadecimal(bytes, out)?,
                other => integer(other, 16, "only ints, uints, bytes, and strings can be formatted as hex", out)?,
            }
            if letter == 'X'
                && let Some(written) = out.get_mut(start..)
            {
                written.make_ascii_uppercase();
            }
        }
        other => {
            let other = other.map_or(String::new(), |other| other.to_string());
            return Err(Failure::Wrong(format!(
                "could not parse formatting clause: unrecognized formatting clause {other:?}"
            )));
        }
    }
    Ok(chars.as_str())
}

fn misfit(what: &str, value: &Value<'_>) -> Failure {
    Failure::Wrong(format!("error during formatting: {what}, was given {}", value.type_name()))
}

fn double(value: &Value<'_>, clause: &str) -> Answer<f64> {
    match value {
        Value::Double(number) => Ok(*number),
        Value::Int(number) => Ok(number::of_int(*number)),
        Value::UInt(number) => Ok(number::of_uint(*number)),
        other => Err(misfit(&format!("{clause} clause can only be used on ints, uints, and doubles"), other)),
    }
}

/// Writing into a text does not fail.
fn integer(value: &Value<'_>, base: u32, what: &str, out: &mut String) -> Answer<()> {
    let (negative, size) = match value {
        Value::Int(number) => (*number < 0, number.unsigned_abs()),
        Value::UInt(number) => (false, *number),
        other => return Err(misfit(what, other)),
    };
    if negative {
        out.push('-');
    }
    let _ = match base {
        2 => write!(out, "{size:b}"),
        8 => write!(out, "{size:o}"),
        _ => write!(out, "{size:x}"),
    };
    Ok(())
}

fn hexadecimal(bytes: &[u8], out: &mut String) -> Answer<()> {
    charge_made(out.len() + bytes.len() * 2)?;
    for byte in bytes {
        let _ = write!(out, "{byte:02x}");
    }
    Ok(())
}

/// `%s`
fn text(value: &Value<'_>, out: &mut String, depth: usize) -> Answer<()> {
    not_too_deep(depth)?;
    charge(1)?;
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(number) => out.push_str(&number.to_string()),
        Value::UInt(number) => out.push_str(&number.to_string()),
        Value::Double(number) => out.push_str(&number::plain(*number)),
        Value::Text(text) => {
            charge_made(out.len() + text.len())?;
            out.push_str(text);
        }
        Value::Bytes(bytes) => {
            charge_made(out.len() + bytes.len())?;
            out.push_str(&String::from_utf8_lossy(bytes));
        }
        Value::Duration(nanos) => out.push_str(&duration::in_seconds(*nanos)),
        Value::Timestamp(moment) => out.push_str(&moment.format_utc()),
        Value::Type(name) => out.push_str(name),
        Value::List(list) => {
            out.push('[');
            for (at, element) in list.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                text(&element?, out, depth + 1)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            charge(map.len() as u64)?;
            let mut entries = Vec::with_capacity(map.len());
            for key in map.keys() {
                let key = key.value();
                let (mut name, mut shown) = (String::new(), String::new());
                text(&key, &mut name, depth + 1)?;
                if let Some(value) = map.get(&key) {
                    text(&value?, &mut shown, depth + 1)?;
                }
                entries.push((name, shown));
            }
            entries.sort();
            out.push('{');
            for (at, (name, shown)) in entries.iter().enumerate() {
                charge_made(out.len() + name.len() + shown.len())?;
                out.extend([if at > 0 { ", " } else { "" }, name, ": ", shown]);
            }
            out.push('}');
        }
        other => {
            let what = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
            return Err(misfit(what, other));
        }
    }
    Ok(())
}
