//! Functions over maps.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::graph::{
    equal::not_too_deep,
    failure::Answer,
    value::{Map, Value},
};

pub(super) const FUNCTIONS: &[Entry] =
    &[("deepMerge", Style::Method, &[1], deep_merge), ("merge", Style::Method, &[1], merge)];

/// The entries of both; where both have a key, that of the second.
fn merge<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let mut entries = argument::map(args, 0)?.to_entries()?;
    entries.extend(argument::map(args, 1)?.to_entries()?);
    Ok(Value::map(entries))
}

/// The same, with maps within maps merged too; all else is replaced.
fn deep_merge<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    merged(argument::map(args, 0)?, argument::map(args, 1)?, 0)
}

fn merged<'v>(a: &Map<'v>, b: &Map<'v>, depth: usize) -> Answer<Value<'v>> {
    not_too_deep(depth)?;
    let mut entries = a.to_entries()?;
    for (key, value) in b.to_entries()? {
        let value = match (entries.get(&key), &value) {
            (Some(Value::Map(a)), Value::Map(b)) => merged(a, b, depth + 1)?,
            _ => value,
        };
        entries.insert(key, value);
    }
    Ok(Value::map(entries))
}
