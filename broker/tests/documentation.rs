//! The pages in `docs/` say what the broker does: its flags, and the reasons of its conditions.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

/// Flag → default, where it has one.
type Flags = BTreeMap<String, Option<String>>;

/// A file of the repository, by its path there.
fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

/// Each flag begins a paragraph of its own in the long help; its default is a line of that paragraph.
fn flags_of_help(help: &str) -> Flags {
    let mut flags = Flags::new();
    let mut last = String::new();
    for line in help.lines().map(str::trim) {
        if let Some(name) = line.split(' ').next().filter(|word| word.starts_with("--")) {
            name.clone_into(&mut last);
            flags.insert(last.clone(), None);
        } else if let Some(default) = line.strip_prefix("[default: ").and_then(|rest| rest.strip_suffix(']')) {
            flags.insert(last.clone(), Some(default.to_owned()));
        }
    }
    flags
}

/// Rows whose first cell holds flags in backticks; a default is in backticks too, words stand for none.
fn flags_of_page(page: &str) -> Flags {
    let rows = page.lines().filter(|line| line.starts_with("| `--"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let flags = cells.flat_map(|cells| {
        let default = cells[1].strip_prefix('`').and_then(|text| text.strip_suffix('`')).map(str::to_owned);
        let names = cells[0].split(", ").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>();
        names.into_iter().map(move |name| (name, default.clone()))
    });
    flags.collect()
}

#[test]
fn the_flags_of_operations_are_those_of_the_binary() {
    let help = Command::new(env!("CARGO_BIN_EXE_resource-broker")).arg("--help").env_clear().output().unwrap();
    let found = flags_of_help(&String::from_utf8(help.stdout).unwrap());
    assert!(found.len() > 10, "the help is not understood: {found:?}");
    assert_eq!(flags_of_page(&file("docs/operations.md")), found);
}

#[test]
fn every_reason_is_among_what_troubleshooting_tells() {
    let source = file("api/src/condition.rs");
    let constants = source.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1));
    let reasons: BTreeSet<&str> = constants.collect();
    assert!(reasons.len() > 20, "the constants are not understood: {reasons:?}");
    let page = file("docs/troubleshooting.md");
    let rows = page.lines().filter(|line| line.starts_with('|'));
    // `Brokered=False` tells of the type, too.
    let told: BTreeSet<&str> = rows
        .flat_map(|row| row.split('`').skip(1).step_by(2))
        .map(|code| code.split_once('=').map_or(code, |(kind, _)| kind))
        .collect();
    // With this one all is well.
    let missing: Vec<_> = reasons.iter().filter(|reason| **reason != "Placed" && !told.contains(*reason)).collect();
    assert!(missing.is_empty(), "not told: {missing:?}");
}
