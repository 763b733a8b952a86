//! What shells, kubectl and `man` are told of the command line.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command, ValueEnum};

/// What kubectl calls for `kubectl broker <TAB>`, once it is in a directory of `PATH`.
const KUBECTL: &str = "\
#!/bin/sh
# kubectl_complete-broker: what may come next in `kubectl broker …`, as kubectl asks it.
exec kubectl-broker __complete -- \"$@\"
";

/// In each shell: the last line of what may come next says how it is to be taken (see `complete::Taken`).
const BASH: &str = r#"# bash completion of kubectl-broker: source <(kubectl-broker completions bash)
_kubectl_broker() {
    local words=() word='' quote='' char line broken i
    COMPREPLY=()
    # Read by hand: COMP_WORDS is broken at = and : as well, which stand inside of our words.
    for ((i = 0; i < COMP_POINT; i++)); do
        char=${COMP_LINE:i:1}
        case $quote$char in
            "''" | '""') quote='' ;;
            "'" | '"') quote=$char ;;
            '\' | '"\') word+=${COMP_LINE:++i:1} ;;
            [[:space:]]) [[ -n $word ]] && words+=("$word") && word='' ;;
            *) word+=$char ;;
        esac
    done
    words+=("$word")
    # What bash takes for another word before the one that it completes.
    broken=${word%"${word##*[" $COMP_WORDBREAKS"]}"}
    while IFS= read -r line; do
        case $line in
            :0) compopt -o default ;;
            :6) compopt -o nospace ;;
            :*) ;;
            *) COMPREPLY+=("${line#"$broken"}") ;;
        esac
    done < <(kubectl-broker __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _kubectl_broker kubectl-broker
"#;

const ZSH: &str = r#"#compdef kubectl-broker
# zsh completion of kubectl-broker: source <(kubectl-broker completions zsh)
_kubectl_broker() {
    local -a lines found
    lines=(${(f)"$(kubectl-broker __complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)"})
    found=(${lines:#:*})
    # The value of `--flag=value` is completed by itself.
    compset -P '--*=' && found=(${found#--*=})
    case ${lines[-1]} in
        :0) _files ;;
        :6) compadd -S '' -a found ;;
        *) compadd -a found ;;
    esac
}
compdef _kubectl_broker kubectl-broker
"#;

const FISH: &str = r#"# fish completion of kubectl-broker: kubectl-broker completions fish | source
function __kubectl_broker
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (kubectl-broker __complete -- $words[2..-1] 2>/dev/null)
    if test "$lines[-1]" = :0
        set -l flag (string match -r -- '^--[^=]+=' $words[-1])
        __fish_complete_path (string sub -s (math 1 + (string length -- "$flag")) -- $words[-1]) | string replace -r '^' -- "$flag"
    else
        string match -v ':*' -- $lines
    end
end
complete -c kubectl-broker -f -a '(__kubectl_broker)'
"#;

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
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// A script that completes.
pub(crate) fn script(shell: For) -> &'static str {
    match shell {
        For::Bash => BASH,
        For::Zsh => ZSH,
        For::Fish => FISH,
        For::Kubectl => KUBECTL,
    }
}

/// Writes a page for each command.
pub(crate) fn manual(command: Command, Manual { directory }: &Manual) -> anyhow::Result<()> {
    write_pages(command, directory)
        .with_context(|| format!("manual pages cannot be written to {}", directory.display()))?;
    println!("manual pages are written; `man {}` shows the first", directory.join("kubectl-broker.1").display());
    Ok(())
}

fn write_pages(command: Command, directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    clap_mangen::generate_to(command, directory)
}
