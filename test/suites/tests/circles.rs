//! No file of these crates stands in a circle of imports: each can be understood by what is below it.

#![allow(clippy::expect_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Folders of crates in which there is none. Decisions (`broker/core`, `graphs/core`), operator and cli have some.
const CRATES: [&str; 9] = [
    "api",
    "runtime/cel",
    "runtime/effect",
    "runtime/engine",
    "runtime/fleet",
    "runtime/process",
    "broker",
    "graphs",
    "config",
];

/// A module by the names that lead to it; the crate itself has none.
type Module = Vec<String>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    let of = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The module that a file is; `None`: it holds tests only, or is a program beside the library, which stands above all of it.
fn module(source: &Path, file: &Path) -> Option<Module> {
    let relative = file.strip_prefix(source).expect("a file below it").with_extension("");
    let mut names: Module = relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let is_beside = names == ["main"] && source.join("lib.rs").exists();
    if is_beside || names.iter().any(|name| name == "tests" || name.ends_with("_tests")) {
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

/// The modules that a text declares, each in a file of its own.
fn children(code: &str) -> Vec<&str> {
    let declared = code.lines().filter_map(|line| line.trim().strip_suffix(';')?.rsplit_once("mod "));
    declared.filter(|(before, _)| before.is_empty() || before.starts_with("pub")).map(|(_, name)| name).collect()
}

/// All paths in a text that begin at a module of the crate, with what is in braces spread out: `crate::a::{b, c::d}` is
/// `crate::a::b` and `crate::a::c::d`. Those that begin at a child of the module in which the text stands begin with `self`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let roots = ["crate", "super", "self"].map(|root| ("", root));
    for (before, root) in roots.into_iter().chain(children(code).into_iter().map(|child| ("self::", child))) {
        let start = format!("{root}::");
        for (at, _) in code.match_indices(&start) {
            let ahead = &code[..at];
            let is_whole = !ahead.ends_with(|before: char| before.is_alphanumeric() || matches!(before, '_' | ':'));
            // `pub use` hands on what is below; nothing is used by that.
            let line = ahead.rsplit('\n').next().unwrap_or_default().trim_start();
            let is_handed_on = line.starts_with("pub") && line.contains(" use ");
            // A child's name may be that of a function, `name::<T>()`, and of another's child, `use super::{name::X}`.
            let is_generic = code[at + start.len()..].starts_with('<');
            let is_in_braces = !before.is_empty() && ahead.rsplit(';').next().unwrap_or_default().contains("::{");
            if is_whole && !is_handed_on && !is_generic && !is_in_braces {
                spread(before, &code[at..], &mut found);
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
    assert_eq!(of(&[("a", "mod b;\nfn f() { b::g() }"), ("a::b", "use super::Y;")]), 2);
    assert_eq!(of(&[("a", "pub(super) mod b;\nuse b::{X, Z};"), ("a::b", "use super::Y;")]), 2);
    assert_eq!(
        of(&[("a", "use self::b::X;\npub use self::b::Z;"), ("a::b", "// use super::Y;\nuse other::crate_::a;")]),
        0
    );
    let named_alike = "mod b;\npub use b::Z;\nuse super::{\n  b::X,\n  c,\n};\nfn f() { x.b::<u8>(); y_b::g() }";
    assert_eq!(of(&[("a", named_alike), ("a::b", "use super::Y;"), ("b", ""), ("c", "")]), 0);
    assert_eq!(of(&[("a", "use crate::b::X;"), ("b", "#[cfg(test)]\nmod tests {\n    use crate::a::Y;\n}")]), 0);
}
