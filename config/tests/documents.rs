//! What people read: every link leads somewhere, and every block of shell commands is one that a shell takes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::BTreeSet,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// All Markdown files of the repository that people are led to.
fn documents() -> Vec<PathBuf> {
    let mut all = vec![root().join("README.md"), root().join("CONTRIBUTING.md"), root().join("CHANGELOG.md")];
    let mut folders = vec![root().join("docs"), root().join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

/// The text without what stands in blocks of code.
fn prose(text: &str) -> Vec<&str> {
    let mut inside = false;
    let fence = |line: &str| line.trim_start().starts_with("```");
    let outside = text.lines().filter(move |line| {
        if fence(line) {
            inside = !inside;
            return false;
        }
        !inside
    });
    outside.collect()
}

/// What a heading is linked by: as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().trim_start_matches('#').trim().to_lowercase();
    let letters = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    letters.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    prose(text).into_iter().filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// Where the links of a document lead, but for those to other sites. Code in a line is no link.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
        for rest in plain.split("](").skip(1) {
            let target = rest.split(')').next().unwrap_or_default();
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push(target.to_owned());
            }
        }
    }
    found
}

#[test]
fn every_link_leads_to_a_file_or_a_heading_that_is_there() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { document.clone() } else { document.parent().unwrap().join(file) };
            let is_heading = || {
                let Ok(text) = fs::read_to_string(&target) else { return false };
                anchors(&text).contains(heading)
            };
            if !target.exists() || !heading.is_empty() && !is_heading() {
                broken.push(format!("{}: {link}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(seen > 100, "{seen} links only: are they looked for in the right way?");
}

#[test]
fn every_block_of_shell_commands_is_taken_by_a_shell() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let mut blocks = text.split("\n```");
        // Before the first fence there is prose, and after each second one.
        blocks.next();
        for block in blocks.step_by(2) {
            let (language, commands) = block.split_once('\n').unwrap_or((block, ""));
            if !matches!(language.trim(), "sh" | "bash" | "shell") {
                continue;
            }
            seen += 1;
            let mut shell = Command::new("bash");
            shell.arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut shell = shell.spawn().unwrap();
            shell.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
            let output = shell.wait_with_output().unwrap();
            if !output.status.success() {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                wrong.push(format!("{}: {why}{commands}", document.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 20, "{seen} blocks only: are they looked for in the right way?");
}

/// What a text names of the repository, in prose and in blocks: words that begin with one of its folders.
fn named<'a>(text: &'a str, folders: &[String]) -> BTreeSet<&'a str> {
    let ends = |letter: char| letter.is_whitespace() || "`'\"()|,=;".contains(letter);
    let is_path = |word: &&str| folders.iter().any(|folder| word.starts_with(folder.as_str()));
    // Words of which a part stands for something else are none.
    let is_whole = |word: &&str| !word.contains(|letter| "<>$*{}…[]:#@".contains(letter));
    let words = text.split(ends).map(|word| word.trim_end_matches('.'));
    // The last is a Broker, as kubectl takes it.
    words.filter(is_path).filter(is_whole).filter(|word| *word != "broker/broker").collect()
}

#[test]
fn every_file_that_is_named_is_there() {
    let folders = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_dir());
    let folders = folders.map(|entry| entry.file_name().into_string().unwrap() + "/");
    let folders: Vec<String> = folders.filter(|name| name != "target/" && !name.starts_with('.')).collect();
    let (mut missing, mut seen) = (Vec::new(), 0);
    // What is no longer there is told of in the changelog.
    for document in documents().into_iter().filter(|document| !document.ends_with("CHANGELOG.md")) {
        let text = fs::read_to_string(&document).unwrap();
        let named = named(&text, &folders);
        seen += named.len();
        let below = ["", "test/e2e/tests", "examples/provider/template"].map(|folder| root().join(folder));
        let is_there = |path: &&&str| below.iter().any(|folder| folder.join(path).exists());
        let place = document.strip_prefix(root()).unwrap().display();
        missing.extend(named.iter().filter(|path| !is_there(path)).map(|path| format!("{place}: {path}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(seen > 100, "{seen} only");
    let folders = ["docs/".to_owned()];
    assert_eq!(
        named("see (docs/a.md), `docs/b/`. docs/<name>.md x/docs/c", &folders),
        BTreeSet::from(["docs/a.md", "docs/b/"])
    );
}

#[test]
fn the_first_page_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "README.md has {lines} lines: what is more belongs in docs");
}

/// Each target that a page tells to make: in a block at the beginning of a line, in the text as `make …`.
fn made(text: &str) -> BTreeSet<String> {
    let target = |rest: &str| {
        let word = rest.split(|end: char| !(end.is_ascii_lowercase() || end.is_ascii_digit() || end == '-')).next();
        word.filter(|word| !word.is_empty()).map(str::to_owned)
    };
    let in_text = text.split("`make ").skip(1).filter_map(target);
    in_text.chain(text.lines().filter_map(|line| target(line.strip_prefix("make ")?))).collect()
}

#[test]
fn what_people_are_told_to_make_can_be_made() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> = makefile.lines().filter_map(|line| line.strip_prefix(".PHONY: ")).collect();
    let mut seen = BTreeSet::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for target in made(&text) {
            let place = document.strip_prefix(root()).unwrap().display().to_string();
            // Words at the beginning of a line of prose are no command.
            let is_prose = prose(&text).iter().any(|line| line.starts_with(&format!("make {target}")));
            assert!(is_prose || targets.contains(target.as_str()), "{place}: make {target}");
            seen.insert(target);
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
    assert_eq!(made("`make a-b`\nmake c X=1\nto make d"), BTreeSet::from(["a-b".into(), "c".into()]));
}

#[test]
fn headings_are_linked_as_github_does_it() {
    assert_eq!(anchor("## What is *wrong*, and `why`?"), "what-is-wrong-and-why");
    assert_eq!(links("see [a](b.md#c) and `[no](code)` and [x](https://x.io)"), ["b.md#c"]);
    assert_eq!(anchors("# A\n```\n# no\n```\n## B c\n"), BTreeSet::from(["a".into(), "b-c".into()]));
}
