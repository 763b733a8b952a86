//! Functions over texts. Indices count characters, not bytes.

use super::{
    argument,
    entry::{Entry, Style},
    format, list,
};
use crate::graph::{
    failure::{Answer, Failure, charge, charge_made, charge_text},
    value::{Text, Value},
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("charAt", Style::Method, &[1], char_at),
    ("contains", Style::Method, &[1], contains),
    ("endsWith", Style::Method, &[1], ends_with),
    ("format", Style::Method, &[1], format::format),
    ("indexOf", Style::Method, &[1, 2], index_of),
    ("join", Style::Method, &[0, 1], join),
    ("lastIndexOf", Style::Method, &[1, 2], last_index_of),
    ("lowerAscii", Style::Method, &[0], lower_ascii),
    ("replace", Style::Method, &[2, 3], replace),
    ("reverse", Style::Method, &[0], reverse),
    ("split", Style::Method, &[1, 2], split),
    ("startsWith", Style::Method, &[1], starts_with),
    ("strings.quote", Style::Global, &[1], quote),
    ("substring", Style::Method, &[1, 2], substring),
    ("trim", Style::Method, &[0], trim),
    ("upperAscii", Style::Method, &[0], upper_ascii),
];

fn contains<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Bool(argument::text(args, 0)?.contains(argument::text(args, 1)?)))
}

fn starts_with<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Bool(argument::text(args, 0)?.starts_with(argument::text(args, 1)?)))
}

fn ends_with<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::Bool(argument::text(args, 0)?.ends_with(argument::text(args, 1)?)))
}

fn lower_ascii<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::text(argument::text(args, 0)?.to_ascii_lowercase()))
}

fn upper_ascii<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(Value::text(argument::text(args, 0)?.to_ascii_uppercase()))
}

fn trim<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    Ok(part(args, argument::text(args, 0)?.trim()))
}

/// A part of the first argument; of one that is borrowed it is borrowed too.
fn part<'v>(args: &[Value<'v>], part: &str) -> Value<'v> {
    if let Some(Value::Text(Text::Given(whole))) = args.first() {
        let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        if let Some(given) = whole.get(start..start.wrapping_add(part.len())) {
            return Value::Text(Text::Given(given));
        }
    }
    Value::text(part)
}

/// The byte where this character begins; the end of the text for the one behind the last.
fn byte(text: &str, index: i64) -> Answer<usize> {
    let mut starts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let found = usize::try_from(index).ok().and_then(|index| starts.nth(index));
    found.ok_or_else(|| Failure::Wrong(format!("index out of range: {index}")))
}

fn char_at<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let text = argument::text(args, 0)?;
    let rest = &text[byte(text, argument::int(args, 1)?)?..];
    Ok(part(args, &rest[..rest.chars().next().map_or(0, char::len_utf8)]))
}

fn substring<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (text, start) = (argument::text(args, 0)?, argument::int(args, 1)?);
    let end = match argument::optional_int(args, 2)? {
        Some(end) if start > end => {
            return Err(Failure::Wrong(format!("invalid substring range. start: {start}, end: {end}")));
        }
        Some(end) => Some(byte(text, end)?),
        None => None,
    };
    let start = byte(text, start)?;
    Ok(part(args, text.get(start..end.unwrap_or(text.len())).unwrap_or_default()))
}

/// In a text or in a list. From behind the end of a text there is nothing, but the empty text at its end.
fn index_of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    if let (Value::List(_), 2) = (argument::value(args, 0)?, args.len()) {
        return list::index_of(args);
    }
    let (text, sought) = (argument::text(args, 0)?, argument::text(args, 1)?);
    let offset = not_negative(argument::optional_int(args, 2)?.unwrap_or(0))?;
    let start = text.char_indices().nth(offset).map_or(text.len(), |(at, _)| at);
    let found = text.get(start..).and_then(|rest| rest.find(sought));
    Ok(argument::found(found.map(|at| text[..start + at].chars().count())))
}

/// The last that begins at the offset, or before it. An offset behind the end finds nothing but the empty text.
fn last_index_of<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    if let (Value::List(_), 2) = (argument::value(args, 0)?, args.len()) {
        return list::last_index_of(args);
    }
    let (text, sought) = (argument::text(args, 0)?, argument::text(args, 1)?);
    let end = match argument::optional_int(args, 2)? {
        None => text.len(),
        Some(offset) => match text.char_indices().nth(not_negative(offset)?) {
            // What begins there may end behind it.
            Some((at, _)) => text.floor_char_boundary(at.saturating_add(sought.len())),
            None if sought.is_empty() => text.len(),
            None => return Ok(argument::found(None)),
        },
    };
    let found = text.get(..end).and_then(|text| text.rfind(sought));
    Ok(argument::found(found.map(|at| text[..at].chars().count())))
}

fn not_negative(offset: i64) -> Answer<usize> {
    usize::try_from(offset).map_err(|_| Failure::Wrong(format!("index out of range: {offset}")))
}

fn replace<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (text, from, to) = (argument::text(args, 0)?, argument::text(args, 1)?, argument::text(args, 2)?);
    // Any negative number means all.
    let most = argument::optional_int(args, 3)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let times = text.matches(from).take(most).count();
    let length = (text.len() - times * from.len()).saturating_add(times.saturating_mul(to.len()));
    if length > text.len() {
        charge_made(length)?;
    }
    Ok(Value::text(text.replacen(from, to, most)))
}

/// An empty separator splits between characters.
fn split<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let (text, separator) = (argument::text(args, 0)?, argument::text(args, 1)?);
    let most = argument::optional_int(args, 2)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    if most == 0 || text.is_empty() && separator.is_empty() {
        return Ok(Value::list(parts));
    }
    let mut rest = text;
    while parts.len() + 1 < most {
        charge(1)?;
        let cut = if separator.is_empty() {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            (first < rest.len()).then_some((first, first))
        } else {
            rest.find(separator).map(|at| (at, at + separator.len()))
        };
        let Some((end, next)) = cut else { break };
        parts.push(part(args, &rest[..end]));
        rest = &rest[next..];
    }
    parts.push(part(args, rest));
    Ok(Value::list(parts))
}

fn join<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let list = argument::list(args, 0)?;
    let separator = if args.len() > 1 { argument::text(args, 1)? } else { "" };
    let mut joined = String::new();
    for (at, element) in list.iter().enumerate() {
        let Value::Text(text) = element? else { return Err(Failure::Misfit) };
        charge_made(joined.len() + text.len() + separator.len())?;
        if at > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&text);
    }
    Ok(Value::text(joined))
}

/// Of a text or a list.
fn reverse<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    if let Value::List(list) = argument::value(args, 0)? {
        return Ok(Value::list(list.iter().rev().collect::<Answer<_>>()?));
    }
    Ok(Value::text(argument::text(args, 0)?.chars().rev().collect::<String>()))
}

/// Between double quotes, so that CEL reads it again.
fn quote<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let text = argument::text(args, 0)?;
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        match char {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' | '"' => out.extend(['\\', char]),
            char => out.push(char),
        }
    }
    out.push('"');
    charge_text(out.len())?;
    Ok(Value::text(out))
}
