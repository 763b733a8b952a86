//! The functions that an expression of a graph may call.

mod argument;
mod condition;
mod convert;
mod encode;
mod entry;
mod format;
mod json;
mod list;
mod map;
mod network;
mod optional;
mod quantity;
mod random;
mod regex;
mod semver;
mod text;
mod time;
mod url;

use std::{collections::HashMap, sync::LazyLock};

pub use self::entry::Style;
use self::entry::{Entry, Run};
use super::{
    failure::{Answer, Failure, charge},
    value::Value,
};

/// A function for so many arguments.
#[derive(Clone, Copy)]
pub(super) struct Function {
    name: &'static str,
    run: Run,
}

const TABLES: [&[Entry]; 15] = [
    condition::FUNCTIONS,
    convert::FUNCTIONS,
    encode::FUNCTIONS,
    json::FUNCTIONS,
    list::FUNCTIONS,
    map::FUNCTIONS,
    network::FUNCTIONS,
    optional::FUNCTIONS,
    quantity::FUNCTIONS,
    random::FUNCTIONS,
    regex::FUNCTIONS,
    semver::FUNCTIONS,
    text::FUNCTIONS,
    time::FUNCTIONS,
    url::FUNCTIONS,
];

static ALL: LazyLock<HashMap<(&'static str, Style, usize), Function>> = LazyLock::new(|| {
    let mut all = HashMap::new();
    for (name, style, counts, run) in TABLES.into_iter().flatten() {
        for count in *counts {
            let before = all.insert((*name, *style, *count), Function { name, run: *run });
            debug_assert!(before.is_none(), "{name} is there twice");
        }
    }
    all
});

/// All functions: name, style, and number of arguments without a method's target; sorted. Many take arguments of several
/// types; operators and macros are not among them.
pub fn functions() -> Vec<(&'static str, Style, usize)> {
    let mut all: Vec<_> = ALL.keys().copied().collect();
    all.sort_unstable();
    all
}

/// The function of this name for so many arguments.
pub(super) fn find(name: &str, style: Style, arguments: usize) -> Option<Function> {
    ALL.get(&(name, style, arguments)).copied()
}

/// Whether there is a function of this name at all.
pub(super) fn exists(name: &str, style: Style) -> bool {
    ALL.keys().any(|(known, of, _)| *known == name && *of == style)
}

/// Calls the function of this name; a method's target is the first argument.
pub(super) fn call<'v>(name: &str, style: Style, args: &[Value<'v>]) -> Answer<Value<'v>> {
    let count = args.len() - usize::from(style == Style::Method && !args.is_empty());
    match find(name, style, count) {
        Some(function) => function.call(args),
        None => Err(Failure::Wrong(no_such_overload(name, args))),
    }
}

impl Function {
    pub(super) fn call<'v>(self, args: &[Value<'v>]) -> Answer<Value<'v>> {
        charge(1)?;
        (self.run)(args).map_err(|failure| match failure {
            Failure::Misfit => Failure::Wrong(no_such_overload(self.name, args)),
            Failure::Wrong(what) => Failure::Wrong(format!("{}: {what}", self.name)),
            other => other,
        })
    }
}

fn no_such_overload(name: &str, args: &[Value<'_>]) -> String {
    let types: Vec<&str> = args.iter().map(Value::type_name).collect();
    format!("no such overload: {name}({})", types.join(", "))
}
