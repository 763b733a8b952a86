//! docs/graphs.md says what the program does: flags, functions, reserved words, limits.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory as _;
use graphs_core::{graph::Bounds, limits, naming, simple_schema};
use resource_graphs::options::Options;
use runtime_cel::graph;

const TEXT: &str = include_str!("../../docs/graphs.md");

/// What stands behind a heading, up to the next.
fn section(heading: &str) -> &'static str {
    let (_, rest) = TEXT.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("there is no {heading:?}"));
    rest.split_once("\n##").map_or(rest, |(section, _)| section)
}

/// All that is written as code, piece by piece.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Words of pieces of code, without brackets and arguments.
fn words(text: &'static str) -> BTreeSet<&'static str> {
    let of = |piece: &'static str| piece.split(|each: char| !each.is_ascii_alphanumeric() && !".-".contains(each));
    code(text).flat_map(of).filter(|word| !word.is_empty()).collect()
}

#[test]
fn flags_are_those_of_the_program() {
    let mut told: BTreeMap<&str, &str> = BTreeMap::new();
    for line in section("### Flags").lines().filter(|line| line.starts_with("| `--")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let defaults = cells[2].split(',').map(|default| default.trim().trim_matches('`'));
        told.extend(code(cells[1]).zip(defaults));
    }
    let ignored = words(section("### What of kro's flags has no effect"));
    let mut count = 0;
    for arg in Options::command().get_arguments() {
        let Some(long) = arg.get_long().filter(|long| !["help", "version"].contains(long)) else { continue };
        let flag = format!("--{long}");
        if arg.is_hide_set() {
            let known = ignored.contains(flag.as_str()) || flag.starts_with("--dynamic-controller-");
            assert!(known, "{flag} is not among those without effect");
            continue;
        }
        count += 1;
        let told = told.get(flag.as_str()).unwrap_or_else(|| panic!("{flag} is not told"));
        if let Some(default) = arg.get_default_values().first() {
            assert_eq!(*told, default.to_str().unwrap(), "{flag}");
        }
    }
    assert_eq!(count, told.len(), "{told:?}");
}

#[test]
fn functions_are_those_that_can_be_called() {
    let told = words(section("### Functions"));
    // `optional.of .none` is short for two names with one beginning.
    let is_told = |name: &str| {
        told.contains(name) || name.split_once('.').is_some_and(|(_, end)| told.contains(&*format!(".{end}")))
    };
    let functions: BTreeSet<&str> = graph::functions().into_iter().map(|(name, ..)| name).collect();
    assert!(functions.len() > 100, "{functions:?}");
    let missing: Vec<_> = functions.iter().filter(|name| !name.contains('@') && !is_told(name)).collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
}

#[test]
fn reserved_words_are_reserved() {
    let section = section("### Expressions");
    let (_, list) = section.split_once("Ids and names of `forEach` may not be:").unwrap();
    let told = words(list);
    let wrong: Vec<_> = told.iter().filter(|word| !naming::is_reserved(word)).collect();
    assert!(wrong.is_empty(), "not reserved: {wrong:?}");
    assert_eq!(told.len(), naming::RESERVED.len());
}

#[test]
fn limits_are_those_of_the_program() {
    let text = section("### Limits").replace(',', "");
    let told: BTreeSet<&str> = text.split(|each: char| !each.is_ascii_digit()).collect();
    let (bounds, limits) = (Bounds::default(), limits::limits());
    let (shape, values) = (limits.shape, limits.values);
    let numbers = [
        bounds.expressions,
        bounds.resources,
        bounds.dimensions,
        bounds.collection,
        bounds.object,
        bounds.pass,
        usize::try_from(bounds.steps).unwrap(),
        usize::try_from(limits.steps).unwrap(),
        usize::try_from(limits.evaluate.as_millis()).unwrap(),
        shape.bytes,
        shape.brackets,
        shape.operators,
        shape.dots,
        shape.loops,
        shape.nested_loops,
        values.looped,
        values.text / 1024,
        values.json / 1024,
        values.depth,
        simple_schema::MAX_DEPTH,
        simple_schema::MAX_FIELDS,
        simple_schema::MAX_BYTES / 1024 / 1024,
    ];
    for number in numbers {
        assert!(told.contains(number.to_string().as_str()), "{number} is not told");
    }
}
