//! The README's table of flags is what `--help` says.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, path::Path, process::Command};

/// Flag → default, where it has one.
type Flags = BTreeMap<String, Option<String>>;

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
fn flags_of_readme(readme: &str) -> Flags {
    let rows = readme.lines().filter(|line| line.starts_with("| `--"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let flags = cells.flat_map(|cells| {
        let default = cells[1].strip_prefix('`').and_then(|text| text.strip_suffix('`')).map(str::to_owned);
        let names = cells[0].split(", ").map(|name| name.trim_matches('`').to_owned()).collect::<Vec<_>>();
        names.into_iter().map(move |name| (name, default.clone()))
    });
    flags.collect()
}

#[test]
fn the_flags_in_the_readme_are_those_of_the_binary() {
    let help = Command::new(env!("CARGO_BIN_EXE_resource-broker")).arg("--help").env_clear().output().unwrap();
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let found = flags_of_help(&String::from_utf8(help.stdout).unwrap());
    assert!(found.len() > 10, "the help is not understood: {found:?}");
    assert_eq!(flags_of_readme(&readme), found);
}
