//! What expressions may call: every function and operator, with all of its overloads.

mod kro;
mod kubernetes;
mod standard;
mod table;
mod texts;

use std::{collections::HashMap, sync::LazyLock};

use self::table::Table;
use super::signature::{self, Overload};

const TABLES: &[Table] = &[
    standard::OPERATORS,
    standard::FUNCTIONS,
    standard::OPTIONALS,
    texts::TEXTS,
    texts::LISTS,
    kubernetes::FUNCTIONS,
    kro::FUNCTIONS,
];

static FUNCTIONS: LazyLock<HashMap<&'static str, Vec<Overload>>> = LazyLock::new(|| {
    let mut functions: HashMap<&'static str, Vec<Overload>> = HashMap::new();
    for &(name, lines) in TABLES.iter().copied().flatten() {
        // A line that cannot be read is none; a test reads them all.
        let overloads = lines.iter().filter_map(|line| signature::overloads(line)).flatten();
        functions.entry(name).or_default().extend(overloads);
    }
    functions
});

/// The overloads of a function; `None` where there is none of this name.
pub(super) fn find(name: &str) -> Option<&'static [Overload]> {
    FUNCTIONS.get(name).map(Vec::as_slice)
}

/// All overloads with the names of their functions, in the order of the tables.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Overload)> {
    let names: std::collections::BTreeSet<&str> = TABLES.iter().copied().flatten().map(|(name, _)| *name).collect();
    names.into_iter().flat_map(|name| find(name).into_iter().flatten().map(move |overload| (name, overload)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::graph::{self, Style};

    #[test]
    fn every_line_can_be_read() {
        for (name, lines) in TABLES.iter().copied().flatten() {
            assert!(!lines.is_empty(), "{name}");
            for line in *lines {
                assert!(signature::overloads(line).is_some(), "{name}: {line}");
            }
        }
    }

    /// Whoever adds a function tells both what it does and what it takes.
    #[test]
    fn what_is_declared_is_what_can_be_called() {
        let declared: BTreeSet<(&str, bool, usize)> = FUNCTIONS
            .iter()
            .flat_map(|(name, overloads)| overloads.iter().map(move |overload| (*name, overload)))
            .map(|(name, overload)| (name, overload.method, overload.arguments.len() - usize::from(overload.method)))
            .filter(|(name, ..)| name.starts_with(|first: char| first.is_ascii_alphabetic()) && !name.contains('@'))
            .collect();
        let callable: BTreeSet<(&str, bool, usize)> = graph::functions()
            .into_iter()
            .map(|(name, style, count)| match name.strip_prefix("runtime.") {
                // To the interpreter a name like all others, to us methods of the variable.
                Some(name) => (name, true, count),
                None => (name, style == Style::Method, count),
            })
            .filter(|(name, ..)| !name.contains('@'))
            .collect();
        assert_eq!(declared, callable);
    }

    #[test]
    fn no_overload_is_there_twice() {
        for (name, overloads) in FUNCTIONS.iter() {
            for (index, overload) in overloads.iter().enumerate() {
                let twin = |other: &Overload| other.method == overload.method && other.arguments == overload.arguments;
                assert!(!overloads[..index].iter().any(twin), "{name}: {overload:?}");
            }
        }
    }
}
