//! What may come next on a command line: commands, flags and values that it has by itself, and what the clusters have names for.

use clap::{Arg, ArgMatches, Command, FromArgMatches as _};

use crate::{
    access::Access,
    names::{self, Sort},
    rows,
};

/// How what may come next is taken: cobra's `ShellCompDirective`s, by which kubectl goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// The name of a file is meant.
    File = 0,
    /// Nothing else is.
    Only = 4,
    /// Nothing else is, and what follows stands at it without a space.
    Begun = 6,
}

/// What may come in place of the last word.
#[derive(Debug, Default, PartialEq, Eq)]
struct Next {
    /// By the command line itself.
    words: Vec<String>,
    /// Of what sort it is, if it is a name.
    sort: Option<Sort>,
    /// Whether a flag before it awaits it.
    is_value: bool,
}

/// What may come in place of the last of these words, a line each, and how it is to be taken. Clusters that cannot be asked in
/// time have nothing to add: whoever types does not wait for an error.
pub(crate) async fn candidates(command: Command, words: &[String]) -> String {
    let (typed, before) = match words.split_last() {
        Some((typed, before)) => (typed.as_str(), before),
        None => ("", words),
    };
    // `--flag=value` is `--flag value` in one word.
    let (stem, typed, before) = match typed.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => {
            (format!("{flag}="), value, [before, &[flag.to_owned()]].concat())
        }
        _ => (String::new(), typed, before.to_vec()),
    };
    let mut built = command.clone();
    built.build();
    let found = next(&built, &before, typed);
    // What takes no value has none behind its `=`.
    let Next { mut words, sort, .. } = if stem.is_empty() || found.is_value { found } else { Next::default() };
    let taken = match sort {
        Some(Sort::File) => Taken::File,
        Some(Sort::Object) if !typed.contains('/') => Taken::Begun,
        // What is wanted in the column comes behind it.
        _ if !words.is_empty() && words.iter().all(|word| word.ends_with('=')) => Taken::Begun,
        _ => Taken::Only,
    };
    words.retain(|word| word.starts_with(typed));
    if let Some(sort) = sort
        && let Some(matches) = parsed(command, &before)
        && let Ok(access) = Access::from_arg_matches(&matches)
    {
        words.extend(names::of(sort, &access, &asked(&matches, typed)).await);
    }
    let mut words: Vec<String> = words.into_iter().map(|word| format!("{stem}{word}")).collect();
    words.push(format!(":{}", taken as u8));
    words.join("\n") + "\n"
}

/// What was typed before, as far as it can be understood.
fn parsed(command: Command, before: &[String]) -> Option<ArgMatches> {
    let words = std::iter::once("kubectl-broker").chain(before.iter().map(String::as_str));
    command.ignore_errors(true).try_get_matches_from(words).ok()
}

/// What narrows names down.
fn asked<'a>(matches: &'a ArgMatches, typed: &'a str) -> names::Asked<'a> {
    let mut below = matches;
    while let Some((_, further)) = below.subcommand() {
        below = further;
    }
    let value = |id: &str| below.try_get_one::<String>(id).ok().flatten().map(String::as_str);
    let (namespace, cluster, provider, graph) = (value("namespace"), value("cluster"), value("name"), value("graph"));
    names::Asked { typed, namespace, cluster, provider, graph }
}

/// The argument of which this is the value; `--flag=value` before the last word stands for itself.
fn flag<'a>(at: &'a Command, word: &str) -> Option<&'a Arg> {
    let is = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => word.strip_prefix('-').is_some_and(|short| {
            let mut letters = short.chars();
            arg.get_short().is_some() && arg.get_short() == letters.next() && letters.next().is_none()
        }),
    };
    at.get_arguments().find(is)
}

fn next(command: &Command, before: &[String], typed: &str) -> Next {
    let (mut at, mut given) = (command, 0);
    let mut awaited: Option<&Arg> = None;
    for word in before {
        if awaited.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            awaited = flag(at, word).filter(|arg| arg.get_action().takes_values());
        } else if let Some(below) = at.find_subcommand(word) {
            (at, given) = (below, 0);
        } else {
            given += 1;
        }
    }
    if let Some(arg) = awaited {
        return Next { words: values(at, arg), sort: Sort::of(arg), is_value: true };
    }
    if typed.starts_with('-') {
        let flags = at.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
        return Next { words: flags.map(|flag| format!("--{flag}")).collect(), ..Next::default() };
    }
    let commands = at.get_subcommands().filter(|below| !below.is_hide_set()).map(|below| below.get_name().to_owned());
    let positional = at.get_positionals().nth(given);
    let words = commands.chain(positional.into_iter().flat_map(|arg| values(at, arg))).collect();
    Next { words, sort: positional.and_then(Sort::of), is_value: false }
}

/// What an argument of a command takes, as far as that is known without a cluster.
fn values(command: &Command, arg: &Arg) -> Vec<String> {
    let columns = |end: &str| rows::columns(command.get_name()).iter().map(|column| column.field() + end).collect();
    match arg.get_value_names().and_then(<[_]>::first).map(clap::builder::Str::as_str) {
        Some("COLUMN") => return columns(""),
        Some("COLUMN=TEXT") => return columns("="),
        _ => {}
    }
    let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    shown.map(|value| value.get_name().to_owned()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[tokio::test]
    async fn what_the_command_line_has_itself_takes_no_cluster() {
        let told = async |typed: &[&str]| candidates(Arguments::command(), &words(typed)).await;
        assert_eq!(told(&["doc"]).await, "doctor\n:4\n");
        assert_eq!(told(&["--context", "hub", "join", "homer", "--role", ""]).await, "consumer\nprovider\nspoke\n:4\n");
        assert_eq!(told(&["doctor", "-o", "j"]).await, "json\n:4\n");
        assert_eq!(told(&["objects", "--sort-by", "na"]).await, "namespace\nname\n:4\n");
        assert_eq!(told(&["clusters", "--where", "ro"]).await, "role=\n:6\n");
        assert_eq!(told(&["clusters", "--where=ro"]).await, "--where=role=\n:6\n");
        assert_eq!(told(&["doctor", "--output=j"]).await, "--output=json\n:4\n");
        for unknown in [&["doctor", "--colour=j"][..], &["--colour="], &["completions", "--help=f"]] {
            assert_eq!(told(unknown).await, ":4\n", "{unknown:?}");
        }
        assert_eq!(told(&["doctor", "-o", "x", "--out"]).await, "--output\n:4\n");
        assert_eq!(told(&["completions", "f"]).await, "fish\n:4\n");
        assert_eq!(told(&["completions", "fish", ""]).await, ":4\n");
        assert_eq!(told(&["simulate", "-f", ""]).await, ":0\n");
        assert!(told(&[]).await.starts_with("why\n"));
        assert!(!told(&[]).await.contains("__complete"));
    }

    #[test]
    fn names_are_of_the_sort_that_the_argument_says() {
        let mut command = Arguments::command();
        command.build();
        let sort = |typed: &[&str]| next(&command, &words(typed), "").sort;
        assert_eq!(sort(&["why"]), Some(Sort::Object));
        assert_eq!(sort(&["why", "certificate/web"]), None, "one object is enough");
        assert_eq!(sort(&["trace", "certificate/web", "-n", "team", "--in"]), Some(Sort::Cluster));
        assert_eq!(sort(&["migrate", "--to"]), Some(Sort::Provider));
        assert_eq!(sort(&["drain"]), Some(Sort::Provider));
        assert_eq!(sort(&["drain", "theseus", "--acceptapi"]), Some(Sort::AcceptApi));
        assert_eq!(sort(&["objects"]), Some(Sort::Kind));
        assert_eq!(sort(&["pause"]), Some(Sort::Migration));
        assert_eq!(sort(&["rollout", "undo"]), Some(Sort::Graph));
        assert_eq!(sort(&["rollout", "undo", "web", "--to-revision"]), Some(Sort::Revision));
        assert_eq!(sort(&["why", "certificate/web", "-n"]), Some(Sort::Namespace));
        assert_eq!(sort(&["doctor", "--broker-namespace"]), Some(Sort::HubNamespace));
        assert_eq!(sort(&["leave"]), Some(Sort::Cluster));
        assert_eq!(sort(&["join"]), None, "its name is new");
        assert_eq!(sort(&["join", "homer", "--watch-kind"]), None, "that takes version and group");
        assert_eq!(sort(&["--context"]), Some(Sort::Context));
    }

    #[test]
    fn names_are_asked_for_where_the_words_before_say() {
        let before = words(&["--kubeconfig", "/hub", "trace", "--in", "homer", "-n", "team", "-o", "no such form"]);
        let matches = parsed(Arguments::command(), &before).unwrap();
        let access = Access::from_arg_matches(&matches).unwrap();
        assert_eq!(access.kubeconfig.as_deref(), Some(std::path::Path::new("/hub")));
        assert_eq!(access.cluster_secrets_namespace, ["resource-broker-clusters"]);
        let asked = asked(&matches, "certificate/");
        assert_eq!((asked.cluster, asked.namespace), (Some("homer"), Some("team")));
        let matches = parsed(Arguments::command(), &words(&["drain", "theseus", "--acceptapi"])).unwrap();
        assert_eq!(super::asked(&matches, "").provider, Some("theseus"));
        let matches = parsed(Arguments::command(), &words(&["rollout", "undo", "web", "--to-revision"])).unwrap();
        assert_eq!(super::asked(&matches, "").graph, Some("web"));
    }
}
