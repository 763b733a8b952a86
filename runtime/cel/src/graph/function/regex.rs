//! Patterns in RE2 syntax.

use super::{
    argument,
    entry::{Entry, Style},
};
use crate::{
    expression::{meter, patterns},
    graph::{
        failure::{Answer, Failure, turn},
        value::Value,
    },
    pattern::Pattern,
};

pub(super) const FUNCTIONS: &[Entry] = &[
    ("find", Style::Method, &[1], find),
    ("findAll", Style::Method, &[1, 2], find_all),
    ("matches", Style::Global, &[2], matches),
    ("matches", Style::Method, &[1], matches),
];

fn with<T>(args: &[Value<'_>], run: impl FnOnce(&Pattern, &str) -> Answer<T>) -> Answer<T> {
    let (text, pattern) = (argument::text(args, 0)?, argument::text(args, 1)?);
    let most = meter::values().text;
    if text.len() > most {
        return Err(Failure::bound(|| {
            format!("a pattern is tried on {} bytes, at most {most} are allowed", text.len())
        }));
    }
    match patterns::with(pattern, text, |pattern| run(pattern, text)) {
        Ok(answer) => answer,
        Err(patterns::Unusable::Stopped) => Err(Failure::Stopped),
        Err(patterns::Unusable::Wrong(what)) => Err(Failure::Wrong(format!("the pattern {what}"))),
    }
}

fn matches<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    with(args, |pattern, text| Ok(Value::Bool(pattern.is_match(text))))
}

/// The first match, or an empty text.
fn find<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    with(args, |pattern, text| Ok(Value::text(pattern.find_all(text).next().unwrap_or_default())))
}

/// All matches, or so many of them.
fn find_all<'v>(args: &[Value<'v>]) -> Answer<Value<'v>> {
    let most = argument::optional_int(args, 2)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    with(args, |pattern, text| {
        let mut found = Vec::new();
        for part in pattern.find_all(text).take(most) {
            turn()?;
            found.push(Value::text(part));
        }
        Ok(Value::list(found))
    })
}
