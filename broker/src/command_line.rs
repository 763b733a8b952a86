//! A command line → [`Options`], in the forms that people's Deployments already have.
//!
//! Besides clap's own forms this reads what Go's flag package reads: `-watch-kind=X` with one dash, `--leader-elect=false`,
//! of a flag that is given twice the last. Flags of controller-runtime that mean nothing here are accepted, and told.

use std::{collections::BTreeMap, ffi::OsString};

use clap::{ArgAction, Command, CommandFactory as _, FromArgMatches as _, builder::Resettable, error::ErrorKind};

use crate::options::Options;

/// Flags of controller-runtime's programs without an effect here, and whether they take a value of their own.
pub const WITHOUT_EFFECT: [(&str, bool); 12] = [
    ("zap-devel", false),
    ("zap-log-level", true),
    ("zap-stacktrace-level", true),
    ("zap-time-encoding", true),
    ("metrics-secure", false),
    ("enable-http2", false),
    ("webhook-cert-path", true),
    ("webhook-cert-name", true),
    ("webhook-cert-key", true),
    ("metrics-cert-path", true),
    ("metrics-cert-name", true),
    ("metrics-cert-key", true),
];

/// What a command line asks for.
#[derive(Debug, Clone)]
pub struct CommandLine {
    /// The flags.
    pub options: Options,
    /// What the person who wrote it should know: flags without an effect. One line each.
    pub notes: Vec<String>,
}

impl CommandLine {
    /// Reads arguments, without the program's name, and this process's environment. The error also stands for `--help`
    /// and `--version`; [`clap::Error::exit`] does with it what is usual.
    pub fn parse<T: Into<OsString>>(args: impl IntoIterator<Item = T>) -> Result<Self, clap::Error> {
        read(Options::command(), args, &BTreeMap::new())
    }

    /// Reads what another process will be given: the same, with that process's environment instead of this one's.
    pub fn parse_with_env<T: Into<OsString>>(
        args: impl IntoIterator<Item = T>,
        env: &BTreeMap<String, String>,
    ) -> Result<Self, clap::Error> {
        let command = Options::command();
        let names = command.get_arguments().filter_map(|arg| {
            let name = arg.get_env()?.to_str()?;
            Some((arg.get_long()?.to_owned(), name.to_owned()))
        });
        let given = names.filter_map(|(flag, name)| Some((flag, env.get(&name)?.clone()))).collect();
        read(command.mut_args(|arg| arg.env(Resettable::Reset)), args, &given)
    }
}

/// `env`: flag → value, for flags that the arguments do not name.
fn read<T: Into<OsString>>(
    mut command: Command,
    args: impl IntoIterator<Item = T>,
    env: &BTreeMap<String, String>,
) -> Result<CommandLine, clap::Error> {
    let mut reader = Reader { command: &command, args: Vec::new(), switches: BTreeMap::new(), notes: Vec::new() };
    let read = reader.read(args.into_iter().map(Into::into));
    reader.add(env);
    let Reader { mut args, switches, notes, .. } = reader;
    read.map_err(|(kind, message)| command.error(kind, message))?;
    args.extend(switches.into_iter().filter(|(_, on)| *on).map(|(flag, _)| format!("--{flag}").into()));
    let name = OsString::from(command.get_name());
    let mut matches = command.try_get_matches_from_mut(std::iter::once(name).chain(args))?;
    let options = Options::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))?;
    Ok(CommandLine { options, notes })
}

/// Makes clap's forms of Go's.
struct Reader<'a> {
    command: &'a Command,
    args: Vec<OsString>,
    /// Flags that are on or off, as last said.
    switches: BTreeMap<String, bool>,
    notes: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, args: impl Iterator<Item = OsString>) -> Result<(), (ErrorKind, String)> {
        let mut args = args.peekable();
        while let Some(arg) = args.next() {
            let Some((flag, value)) = arg.to_str().and_then(long_flag) else {
                self.args.push(arg);
                continue;
            };
            if let Some((_, takes_value)) = WITHOUT_EFFECT.iter().find(|(name, _)| *name == flag) {
                self.notes.push(format!("--{flag} has no effect in this broker; you may remove it"));
                if *takes_value && value.is_none() {
                    args.next();
                }
            } else if flag == "zap-encoder" {
                let following = if value.is_none() { args.next() } else { None };
                let value = value.or_else(|| following.as_ref()?.to_str()).unwrap_or_default();
                let format = if value == "json" { "json" } else { "text" };
                self.notes.push(format!("--zap-encoder={value} is read as --log-format={format}; write that instead"));
                self.args.push(format!("--log-format={format}").into());
            } else if self.is_switch(flag) {
                let value = value.unwrap_or("true");
                let Some(on) = go_bool(value) else {
                    let message = format!("invalid value '{value}' for '--{flag}': it is either true or false");
                    return Err((ErrorKind::InvalidValue, message));
                };
                self.switches.insert(flag.to_owned(), on);
            } else if matches!(flag, "group" | "kind") || flag == "version" && value.is_some() {
                let message = format!(
                    "unexpected argument '--{flag}': write -group=G -version=V -kind=K of earlier brokers as --watch-kind=K.V.G"
                );
                return Err((ErrorKind::UnknownArgument, message));
            } else {
                self.args.push(value.map_or_else(|| format!("--{flag}"), |value| format!("--{flag}={value}")).into());
            }
        }
        Ok(())
    }

    /// Adds what the environment says of flags that were not given.
    fn add(&mut self, env: &BTreeMap<String, String>) {
        for (flag, value) in env {
            if self.is_switch(flag) {
                // As clap reads it.
                let off = ["", "n", "no", "f", "false", "off", "0"].contains(&value.to_lowercase().as_str());
                self.switches.entry(flag.clone()).or_insert(!off);
            } else if !self.names(flag) {
                self.args.push(format!("--{flag}={value}").into());
            }
        }
    }

    fn is_switch(&self, flag: &str) -> bool {
        let found = self.command.get_arguments().find(|arg| arg.get_long() == Some(flag));
        found.is_some_and(|arg| matches!(arg.get_action(), ArgAction::SetTrue))
    }

    fn names(&self, flag: &str) -> bool {
        let named = |arg: &OsString| arg.to_str().and_then(long_flag).is_some_and(|(name, _)| name == flag);
        self.args.iter().any(named)
    }
}

/// `--flag`, `--flag=value` and the same with one dash → flag and value. One letter after one dash is a short flag.
fn long_flag(arg: &str) -> Option<(&str, Option<&str>)> {
    let rest = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-').filter(|rest| rest.len() > 1))?;
    let (flag, value) = rest.split_once('=').map_or((rest, None), |(flag, value)| (flag, Some(value)));
    (!flag.is_empty() && !flag.starts_with('-')).then_some((flag, value))
}

/// What Go's `strconv.ParseBool` takes.
fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::options::LogFormat;

    const KIND: &str = "--watch-kind=Certificate.v1alpha1.example.platform-mesh.io";

    fn parse(args: &[&str]) -> CommandLine {
        CommandLine::parse(args).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What is wrong with a command line, as people see it.
    fn refused(args: &[&str]) -> String {
        CommandLine::parse(args).expect_err("it is refused").to_string()
    }

    #[test]
    fn the_references_own_arguments() {
        let CommandLine { options, notes } = parse(&[
            "-kubeconfig=/kubeconfigs/platform/kubeconfig",
            "-coordination-kubeconfig=/kubeconfigs/platform/kubeconfig",
            "-compute-kubeconfig=/kubeconfigs/platform/kubeconfig",
            "-consumer-kubeconfig=/kubeconfigs/consumer/kubeconfig",
            "-provider-kubeconfig=/kubeconfigs/internalca/kubeconfig,/kubeconfigs/externalca/kubeconfig",
            "-zap-devel=true",
            "-watch-kind=Certificate.v1alpha1.example.platform-mesh.io",
        ]);
        let platform = PathBuf::from("/kubeconfigs/platform/kubeconfig");
        assert_eq!(options.coordination(), Some(&*platform));
        assert_eq!(options.compute_kubeconfig, Some(platform));
        assert_eq!(options.consumer_kubeconfig, [Path::new("/kubeconfigs/consumer/kubeconfig")]);
        let providers =
            ["internalca", "externalca"].map(|name| PathBuf::from(format!("/kubeconfigs/{name}/kubeconfig")));
        assert_eq!(options.provider_kubeconfig, providers);
        assert_eq!(options.watch_kind.len(), 1);
        assert!(matches!(&notes[..], [note] if note.contains("--zap-devel has no effect")), "{notes:?}");
        parse(&["-watch-kind", "Certificate.v1alpha1.example.platform-mesh.io", "-kubeconfig", "hub"]);
    }

    #[test]
    fn flags_without_an_effect_are_told_and_take_their_values_along() {
        let CommandLine { options, notes } = parse(&[
            "-zap-log-level",
            "debug",
            "--zap-stacktrace-level=error",
            "--zap-time-encoding",
            "iso8601",
            "--metrics-secure=false",
            "--enable-http2",
            "--webhook-cert-path=/certs",
            "--webhook-cert-name",
            "tls.crt",
            "--metrics-cert-key=tls.key",
            KIND,
        ]);
        assert_eq!((options.watch_kind.len(), notes.len()), (1, 8), "{notes:?}");
    }

    #[test]
    fn the_encoder_is_the_log_format() {
        assert_eq!(parse(&["-zap-encoder=json", KIND]).options.log_format, LogFormat::Json);
        assert_eq!(parse(&["--log-format=json", "-zap-encoder", "console", KIND]).options.log_format, LogFormat::Text);
    }

    #[test]
    fn the_last_one_counts() {
        let options = parse(&["--lease-name=one", "--leader-elect", KIND, "-lease-name", "two", "-leader-elect=false"]);
        assert_eq!((options.options.lease_name.as_str(), options.options.leader_elect), ("two", false));
        let options =
            parse(&[KIND, "--leader-elect=false", "--leader-elect=true", "-watch-kind=Secret.v1.core"]).options;
        assert_eq!((options.leader_elect, options.watch_kind.len()), (true, 2), "lists grow");
        assert_eq!(parse(&[KIND]).options.lease_name, "resource-broker");
    }

    #[test]
    fn what_is_wrong_is_said_with_the_flag() {
        for (args, words) in [
            (&[KIND, "--leader-elect=maybe"][..], ["--leader-elect", "true or false"]),
            (&[KIND, "-leader-elect", "true"], ["true", "unexpected argument"]),
            (&["-watch-kind=certificates"], ["--watch-kind", "Kind.version.group"]),
            (&["-watch-kind", "-leader-elect"], ["--watch-kind", "value is required"]),
            (&[KIND, "-kcp-kubeconfig=/kcp"], ["--kcp-kubeconfig", "unexpected argument"]),
            (&["-group=g", "-version=v1", "-kind=K"], ["--group", "--watch-kind=K.V.G"]),
            (&[], ["--watch-kind", "required"]),
        ] {
            let said = refused(args);
            assert!(words.iter().all(|word| said.contains(word)), "{args:?}: {said}");
        }
        assert_eq!(CommandLine::parse(["-version"]).unwrap_err().kind(), ErrorKind::DisplayVersion);
        assert_eq!(CommandLine::parse(["-h"]).unwrap_err().kind(), ErrorKind::DisplayHelp);
    }

    #[test]
    fn another_process_s_environment() {
        let env = [
            ("RESOURCE_BROKER_WATCH_KIND", "Secret.v1.core,ConfigMap.v1.core"),
            ("RESOURCE_BROKER_LEASE_NAME", "env"),
            ("RESOURCE_BROKER_LEADER_ELECT", "true"),
            ("HOME", "/"),
        ];
        let env: BTreeMap<String, String> = env.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let none: [&str; 0] = [];
        let options = CommandLine::parse_with_env(none, &env).unwrap().options;
        assert_eq!((options.watch_kind.len(), options.lease_name.as_str(), options.leader_elect), (2, "env", true));
        let args = [KIND, "-lease-name=flag", "--leader-elect=false"];
        let options = CommandLine::parse_with_env(args, &env).unwrap().options;
        assert_eq!((options.watch_kind.len(), options.lease_name.as_str(), options.leader_elect), (1, "flag", false));
        CommandLine::parse_with_env(none, &BTreeMap::new()).expect_err("a kind is required");
    }
}
