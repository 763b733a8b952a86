//! What shells, kubectl and `man` are told of the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Arg, Args, Command, CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::arguments::Arguments;

/// Name of the program, which kubectl finds by it.
const PROGRAM: &str = "kubectl-broker";

/// What kubectl calls for `kubectl broker <TAB>`, once it is in a directory of `PATH`.
const SCRIPT: &str = "\
#!/bin/sh
# kubectl_complete-broker: what may come next in `kubectl broker …`, as kubectl asks it.
exec kubectl-broker __complete -- \"$@\"
";

/// No file names are meant (cobra's ShellCompDirectiveNoFileComp).
const NO_FILES: &str = ":4";

/// Who completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum For {
    /// Completes `kubectl-broker` in bash
    Bash,
    /// The same in zsh
    Zsh,
    /// The same in fish
    Fish,
    /// `kubectl_complete-broker`, by which kubectl completes `kubectl broker` in any shell
    Kubectl,
}

/// Where manual pages go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Manual {
    /// Directory, which is made where it is missing; such as ~/.local/share/man/man1
    directory: PathBuf,
}

/// A script that completes.
pub(crate) fn completions(shell: For) -> String {
    let shell = match shell {
        For::Bash => Shell::Bash,
        For::Zsh => Shell::Zsh,
        For::Fish => Shell::Fish,
        For::Kubectl => return SCRIPT.to_owned(),
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), PROGRAM, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// What may come in place of the last of these words, a line each, and what kubectl is to make of it.
pub(crate) fn candidates(words: &[String]) -> String {
    let mut command = Arguments::command();
    command.build();
    let (typed, before) = match words.split_last() {
        Some((typed, before)) => (typed.as_str(), before),
        None => ("", words),
    };
    let mut lines: Vec<String> =
        next(&command, before, typed).into_iter().filter(|word| word.starts_with(typed)).collect();
    lines.push(NO_FILES.to_owned());
    lines.join("\n") + "\n"
}

fn next(command: &Command, before: &[String], typed: &str) -> Vec<String> {
    let mut at = command;
    let mut awaited: Option<&Arg> = None;
    for word in before {
        if awaited.take().is_some() {
            continue;
        }
        if let Some(flag) = word.strip_prefix("--") {
            let named = at.get_arguments().find(|arg| arg.get_long() == Some(flag));
            awaited = named.filter(|arg| arg.get_action().takes_values());
        } else if let Some(below) = at.find_subcommand(word) {
            at = below;
        }
    }
    let values = |arg: &Arg| -> Vec<String> {
        let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
        shown.map(|value| value.get_name().to_owned()).collect()
    };
    if let Some(arg) = awaited {
        return values(arg);
    }
    if typed.starts_with('-') {
        let flags = at.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        return flags.map(|flag| format!("--{flag}")).collect();
    }
    let commands = at.get_subcommands().filter(|below| !below.is_hide_set()).map(|below| below.get_name().to_owned());
    commands.chain(at.get_positionals().flat_map(values)).collect()
}

/// Writes a page for each command.
pub(crate) fn manual(Manual { directory }: &Manual) -> anyhow::Result<()> {
    write_pages(directory).with_context(|| format!("manual pages cannot be written to {}", directory.display()))?;
    println!("manual pages are written; `man {}` shows the first", directory.join("kubectl-broker.1").display());
    Ok(())
}

fn write_pages(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(Arguments::command(), directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn each_shell_learns_all_commands() {
        for shell in [For::Bash, For::Zsh, For::Fish] {
            let script = completions(shell);
            for word in [PROGRAM, "doctor", "join", "acceptapis", "rebalance"] {
                assert!(script.contains(word), "{shell:?}: {word}");
            }
        }
    }

    #[test]
    fn kubectl_learns_what_may_come_next() {
        let told = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            candidates(&words)
        };
        assert_eq!(told(&["doc"]), "doctor\n:4\n");
        assert_eq!(told(&["--context", "hub", "join", "homer", "--role", ""]), "consumer\nprovider\nspoke\n:4\n");
        assert_eq!(told(&["doctor", "-o", "x", "--out"]), "--output\n:4\n");
        assert_eq!(told(&["completions", "f"]), "fish\n:4\n");
        assert!(told(&[]).contains("\nwhy\n") || told(&[]).starts_with("why\n"));
        assert!(!told(&[]).contains("__complete"));
    }
}
