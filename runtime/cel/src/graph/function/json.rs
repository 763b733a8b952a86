//! JSON as texts, as Go's `encoding/json` reads and writes it.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    equal::not_too_deep,
    failure::{Answer, Failure, charge, charge_made, charge_text},
    go::number,
    result,
    value::{Key, Text, Value},
};

pub(super) const FUNCTIONS: &[Entry] =
    &[("json.marshal", Style::Global, &[1], marshal), ("json.unmarshal", Style::Global, &[1], unmarshal)];

/// All numbers are doubles.
fn unmarshal<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let json = serde_json::from_str(argument::text(args, 0)?);
    made(json.map_err(|error| Failure::Wrong(format!("failed to parse JSON: {error}")))?, 0)
}

fn made<'v>(json: Json, depth: usize) -> Answer<Value<'v>> {
    not_too_deep(depth)?;
    charge(1)?;
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => {
            charge_text(text.len())?;
            Value::text(text)
        }
        Json::Array(elements) => {
            let elements = elements.into_iter().map(|element| made(element, depth + 1));
            Value::list(elements.collect::<Answer<_>>()?)
        }
        Json::Object(fields) => {
            let fields = fields
                .into_iter()
                .map(|(name, value)| Ok((Key::Text(Text::Made(name.into())), made(value, depth + 1)?)));
            Value::map(fields.collect::<Answer<_>>()?)
        }
    })
}

fn marshal<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let json = result::for_marshal(argument::value(args, 0)?)?;
    let mut out = String::new();
    print(&json, &mut out)?;
    Ok(Value::text(out))
}

/// Compact, keys sorted; it was made from a value that is not too deep.
fn print(json: &Json, out: &mut String) -> Answer<()> {
    charge_made(out.len())?;
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (None, None, Some(double)) => out.push_str(&number::json(double).unwrap_or_default()),
            _ => out.push_str(&number.to_string()),
        },
        Json::String(text) => quote(text, out),
        Json::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                print(element, out)?;
            }
            out.push(']');
        }
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (at, (name, value)) in fields.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                quote(name, out);
                out.push(':');
                print(value, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Also without what HTML would take for its own.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' => {
                // Writing into a text does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            char => out.push(char),
        }
    }
    out.push('"');
}
