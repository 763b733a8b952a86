//! No file of the runtime and of the broker stands in a circle of imports: each can be understood by what is below it.

#![allow(clippy::expect_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Folders of crates in which there is none.
const CRATES: [&str; 6] =
    ["runtime/cel", "runtime/effect", "runtime/engine", "runtime/fleet", "runtime/process", "broker"];

/// A module by the names that lead to it; the crate itself has none.
type Module = Vec<String>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    let of = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The module that a file is; `None`: it holds tests only.
fn module(source: &Path, file: &Path) -> Option<Module> {
    let relative = file.strip_prefix(source).expect("a file below it").with_extension("");
    let mut names: Module = relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if names.iter().any(|name| name == "tests" || name.ends_with("_tests")) {
        return None;
    }
    if matches!(names.last().map(String::as_str), Some("lib" | "main")) {
        names.pop();
    }
    Some(names)
}

/// What a text says outside of comments and of its tests.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// All paths in a text that begin at a module of the crate, with what is in braces spread out: `crate::a::{b, c::d}` is
/// `crate::a::b` and `crate::a::c::d`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let is_whole =
                !code[..at].ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':'));
            // `pub use` hands on what is below; nothing is used by that.
            let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
            let is_handed_on = line.starts_with("pub") && line.contains(" use ");
            if is_whole && !is_handed_on {
                spread("", &code[at..], &mut found);
            }
        }
    }
    found
}

/// Takes in the paths that a text begins with. Returns what is behind them.
fn spread<'t>(before: &str, text: &'t str, found: &mut Vec<String>) -> &'t str {
    let end = text.find(|next: char| !(next.is_alphanumeric() || matches!(next, '_' | ':'))).unwrap_or(text.len());
    let (path, mut rest) = (format!("{before}{}", &text[..end]), &text[end..]);
    if !(path.ends_with("::") && rest.starts_with('{')) {
        found.push(path);
        return rest;
    }
    rest = rest[1..].trim_start();
    while !rest.starts_with('}') && !rest.is_empty() {
        rest = spread(&path, rest, found);
        // `, ` and ` as name, `
        let next = rest.find([',', '}']).unwrap_or(rest.len());
        rest = rest[next..].trim_start_matches(',').trim_start();
    }
    rest.get(1..).unwrap_or_default()
}

/// The module that a path leads to, from the module in which it stands.
fn target(path: &str, from: &Module, known: &BTreeSet<Module>) -> Module {
    let mut names = path.split("::").peekable();
    let mut at = from.clone();
    if names.next_if_eq(&"crate").is_some() {
        at.clear();
    }
    names.next_if_eq(&"self");
    while names.next_if_eq(&"super").is_some() {
        at.pop();
    }
    for name in names {
        at.push(name.to_owned());
        if !known.contains(&at) {
            at.pop();
            break;
        }
    }
    at
}

/// The modules from which a way leads back to them.
fn circles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<String> {
    let in_circle = |start: &&Module| {
        let mut seen: BTreeSet<&Module> = BTreeSet::new();
        let mut ahead = vec![*start];
        while let Some(next) = ahead.pop() {
            ahead.extend(uses.get(next).into_iter().flatten().filter(|used| seen.insert(used)));
        }
        seen.contains(start)
    };
    let told =
        |module: &Module| format!("{} uses {:?}", module.join("::"), uses.get(module).unwrap_or(&BTreeSet::new()));
    uses.keys().filter(in_circle).map(told).collect()
}

/// What each module of some sources uses of the others.
fn uses(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let known: BTreeSet<Module> = sources.keys().cloned().collect();
    let of = |(module, text): (&Module, &String)| {
        let used =
            paths(&code(text)).into_iter().map(|path| target(&path, module, &known)).filter(|used| used != module);
        (module.clone(), used.collect())
    };
    sources.iter().map(of).collect()
}

#[test]
fn no_file_stands_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in CRATES {
        let source = root.join(folder).join("src");
        let read = |file: PathBuf| Some((module(&source, &file)?, fs::read_to_string(&file).expect("a text")));
        let sources: BTreeMap<Module, String> = files(&source).into_iter().filter_map(read).collect();
        assert!(sources.len() > 3, "{folder}: {}", sources.len());
        let found = circles(&uses(&sources));
        assert!(found.is_empty(), "{folder}: these files are in circles of imports:\n{}", found.join("\n"));
    }
}

#[test]
fn a_circle_is_found_by_any_way_of_naming() {
    let of = |sources: &[(&str, &str)]| {
        let module = |path: &str| path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let sources = sources.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        circles(&uses(&sources)).len()
    };
    assert_eq!(of(&[("", "mod a;"), ("a", "use crate::b::X;"), ("b", "use super::a::{\n  c::Y,\n  Z as W,\n};")]), 2);
    assert_eq!(of(&[("a", "fn f() { crate::b::g() }"), ("b", "use crate::{a::X, c};"), ("c", "")]), 2);
    assert_eq!(of(&[("a", "use self::b::X;"), ("a::b", "use super::Y;")]), 2);
    assert_eq!(
        of(&[("a", "use self::b::X;\npub use self::b::Z;"), ("a::b", "// use super::Y;\nuse other::crate_::a;")]),
        0
    );
    assert_eq!(of(&[("a", "use crate::b::X;"), ("b", "#[cfg(test)]\nmod tests {\n    use crate::a::Y;\n}")]), 0);
}
