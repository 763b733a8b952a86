//! `Invocation`: how a broker will be called, and what it will understand by that.
//!
//! The arguments are read by the broker's own parser, so that what it would not take is told before any pod is replaced;
//! and what belongs to it (ports, bindings, strategy) follows from what the arguments mean, not from what a field says.

use std::{collections::BTreeMap, path::Path};

use broker_api::broker::BrokerSpec;
use clap::{CommandFactory as _, error::ErrorKind};
use resource_broker::{
    command_line::CommandLine,
    options::{Disabled, Options},
    secrets_namespace::namespaces,
};

use crate::{image::Image, owner::Owner, trouble::line};

/// Port of the metrics where nothing else is said.
pub const METRICS_PORT: i32 = 8080;
/// Port of the probes where nothing else is said.
pub const PROBES_PORT: u16 = 8081;
/// Stands for a kind that cannot be known here.
const SOME_KIND: &str = "--watch-kind=Unknown.v1.core";
/// Longest part of the parser's words that is told.
const LONGEST: usize = 300;

/// How a broker will be called.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The image's full name.
    pub image: Image,
    /// The container's arguments.
    pub args: Vec<String>,
    /// What they mean to a broker of this release.
    pub options: Options,
}

/// Arguments that a broker would not take, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the broker would refuse its arguments: {0}")]
pub struct InvocationError(String);

impl Invocation {
    /// Of a Broker; `default` is the image of those that name none.
    pub fn of(owner: &Owner, spec: &BrokerSpec, default: &Image) -> Result<Self, InvocationError> {
        let image = default.with(spec.image.as_ref());
        let args = args(owner, spec);
        let env = env(spec);
        let mut read: Vec<String> =
            args.iter().map(|arg| expand(arg, &env)).filter(|arg| !arg.contains("$(")).collect();
        // An image of somebody else's may have flags of its own.
        let foreign = image.repository != default.repository;
        if foreign {
            read = known(read);
        }
        let parsed = match CommandLine::parse_with_env(&read, &env) {
            Err(error)
                if error.kind() == ErrorKind::MissingRequiredArgument
                    && (foreign || unknowable(spec, &args) || spec.replicas == Some(0)) =>
            {
                CommandLine::parse_with_env(read.iter().map(String::as_str).chain([SOME_KIND]), &env)
            }
            parsed => parsed,
        };
        match parsed {
            Ok(CommandLine { options, .. }) => Ok(Self { image, args, options }),
            Err(error) => Err(InvocationError(first_lines(&error))),
        }
    }

    /// Port of the metrics, if there are any.
    pub fn metrics_port(&self) -> Option<u16> {
        port(self.options.metrics_bind_address)
    }

    /// Port of the probes, if there are any.
    pub fn probes_port(&self) -> Option<u16> {
        port(self.options.health_probe_bind_address)
    }

    /// Namespaces in the operator's own cluster whose Secrets the broker reads. None also where it reads another cluster's.
    pub fn secrets_namespaces(&self) -> Vec<String> {
        let here = self.options.coordination().is_none();
        let given = if here { &*self.options.cluster_secrets_namespace } else { &[] };
        namespaces(given).into_keys().collect()
    }

    /// Whether it will find clusters in files, or may look for them in Secrets.
    pub fn has_clusters(&self) -> bool {
        self.has_files() || !self.options.cluster_secrets_namespace.is_empty()
    }

    /// Whether a broker with these arguments takes part in the same election. Not: where they cannot be read.
    pub fn has_lease_of(&self, args: &[String]) -> bool {
        let lease = |options: &Options| {
            options.leader_elect.then(|| {
                (options.namespace.clone(), options.lease_name.clone(), options.coordination().map(Path::to_owned))
            })
        };
        let theirs = CommandLine::parse_with_env(known(args.to_vec()), &BTreeMap::new());
        let theirs = theirs.ok().and_then(|line| lease(&line.options));
        theirs.is_some() && theirs == lease(&self.options)
    }

    /// Whether it is given files of clusters.
    pub fn has_files(&self) -> bool {
        !self.options.given().is_empty()
    }
}

fn port(bind: resource_broker::options::Bind) -> Option<u16> {
    match bind {
        Disabled::On(address) => Some(address.port()),
        Disabled::Off => None,
    }
}

/// The structured fields as flags, then what people add, of which the last word counts.
fn args(owner: &Owner, spec: &BrokerSpec) -> Vec<String> {
    let mut args: Vec<String> = spec.watch_kinds.iter().map(|kind| format!("--watch-kind={kind}")).collect();
    args.extend(spec.cluster_secrets_namespace.iter().map(|name| format!("--cluster-secrets-namespace={name}")));
    args.push(format!("--namespace={}", owner.namespace));
    if spec.leader_election.unwrap_or(true) {
        args.push("--leader-elect".to_owned());
        args.push(format!("--lease-name={}", owner.name));
    }
    let metrics = spec.metrics.clone().unwrap_or_default();
    args.push(if metrics.enabled.unwrap_or(true) {
        format!("--metrics-bind-address=:{}", metrics.port.unwrap_or(METRICS_PORT))
    } else {
        "--metrics-bind-address=0".to_owned()
    });
    args.push(format!("--health-probe-bind-address=:{PROBES_PORT}"));
    args.push("--log-format=json".to_owned());
    args.extend(spec.extra_args.iter().cloned());
    args
}

/// Variables whose values are known.
fn env(spec: &BrokerSpec) -> BTreeMap<String, String> {
    let known = spec.env.iter().filter(|variable| variable.value_from.is_none());
    known.map(|variable| (variable.name.clone(), variable.value.clone().unwrap_or_default())).collect()
}

/// Whether the kinds come from where the operator cannot look.
fn unknowable(spec: &BrokerSpec, args: &[String]) -> bool {
    let from_elsewhere = |variable: &&k8s_openapi::api::core::v1::EnvVar| variable.value_from.is_some();
    spec.env.iter().filter(from_elsewhere).any(|variable| variable.name == "RESOURCE_BROKER_WATCH_KIND")
        || args.iter().any(|arg| arg.contains("watch-kind") && arg.contains("$("))
}

/// `$(NAME)` of known variables, as the kubelet replaces it.
fn expand(arg: &str, env: &BTreeMap<String, String>) -> String {
    env.iter().fold(arg.to_owned(), |arg, (name, value)| arg.replace(&format!("$({name})"), value))
}

/// Without flags that a broker of this release does not have, and their values.
fn known(args: Vec<String>) -> Vec<String> {
    let command = Options::command();
    let is_known = |flag: &str| command.get_arguments().any(|arg| arg.get_long() == Some(flag));
    let mut kept = Vec::new();
    let mut dropping = false;
    for arg in args {
        let Some(long) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
            // A value of its own belongs to the flag before it.
            if !dropping {
                kept.push(arg);
            }
            dropping = false;
            continue;
        };
        let (flag, value) = long.split_once('=').map_or((long, None), |(flag, value)| (flag, Some(value)));
        dropping = !is_known(flag) && value.is_none();
        if is_known(flag) {
            kept.push(arg);
        }
    }
    kept
}

/// What clap says, without its usage and hints.
pub(crate) fn first_lines(error: &clap::Error) -> String {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return "they ask for help or the version, and no more".to_owned();
    }
    let text = error.to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    line(text.trim_start_matches("error: "), LONGEST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use broker_api::broker;
    use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource};

    use super::*;

    const KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";

    fn spec(extra: &[&str]) -> BrokerSpec {
        BrokerSpec {
            watch_kinds: vec![KIND.to_owned()],
            extra_args: extra.iter().map(|arg| (*arg).to_owned()).collect(),
            ..BrokerSpec::default()
        }
    }

    fn of(spec: &BrokerSpec) -> Result<Invocation, InvocationError> {
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        Invocation::of(&owner, spec, &Image::parse("localhost/resource-broker:0.1.0"))
    }

    fn custom(mut spec: BrokerSpec) -> BrokerSpec {
        spec.image = Some(broker::Image { repository: Some("x/kcp-broker".into()), ..broker::Image::default() });
        spec
    }

    #[test]
    fn fields_become_flags_and_what_people_add_comes_last() {
        let mut spec = spec(&["-watch-kind=Secret.v1.core", "--max-moves=3"]);
        spec.cluster_secrets_namespace = Some("clusters".into());
        let invocation = of(&spec).unwrap();
        assert_eq!(
            invocation.args,
            [
                "--watch-kind=Certificate.v1alpha1.example.platform-mesh.io",
                "--cluster-secrets-namespace=clusters",
                "--namespace=n",
                "--leader-elect",
                "--lease-name=b",
                "--metrics-bind-address=:8080",
                "--health-probe-bind-address=:8081",
                "--log-format=json",
                "-watch-kind=Secret.v1.core",
                "--max-moves=3",
            ]
        );
        assert_eq!((invocation.metrics_port(), invocation.probes_port()), (Some(8080), Some(8081)));
        assert_eq!(invocation.secrets_namespaces(), ["clusters"]);
        assert!(invocation.has_clusters() && !invocation.has_files());
        spec.cluster_secrets_namespace = Some("consumer=tenants,provider=platform".into());
        assert_eq!(of(&spec).unwrap().secrets_namespaces(), ["platform", "tenants"]);
        spec.leader_election = Some(false);
        spec.metrics = Some(broker::Metrics { enabled: Some(false), port: None });
        let invocation = of(&spec).unwrap();
        assert!(!invocation.options.leader_elect && invocation.metrics_port().is_none(), "{:?}", invocation.args);
    }

    #[test]
    fn the_last_word_counts() {
        let extra = ["-health-probe-bind-address=:9000", "-metrics-bind-address=0", "-leader-elect=false"];
        let invocation = of(&spec(&[&extra[..], &["-kubeconfig=/hub", "-provider-kubeconfig=/p"]].concat())).unwrap();
        assert_eq!((invocation.metrics_port(), invocation.probes_port()), (None, Some(9000)));
        assert!(!invocation.options.leader_elect && invocation.has_files());
        assert!(invocation.secrets_namespaces().is_empty(), "the coordination cluster is another one");
    }

    #[test]
    fn what_the_broker_would_not_take_is_told_in_one_line() {
        for (extra, words) in [
            (&["--watch-kind=certificates"][..], ["--watch-kind", "Kind.version.group"]),
            (&["-kcp-kubeconfig=/kcp"], ["--kcp-kubeconfig", "unexpected argument"]),
            (&["--ready-timeout=soon"], ["--ready-timeout", "no duration"]),
            (&["-version"], ["help", "version"]),
        ] {
            let told = of(&spec(extra)).unwrap_err().to_string();
            assert!(words.iter().all(|word| told.contains(word)) && !told.contains('\n'), "{told}");
        }
        assert!(of(&BrokerSpec::default()).unwrap_err().to_string().contains("--watch-kind"));
    }

    #[test]
    fn another_image_may_have_flags_of_its_own_but_no_wrong_values_of_ours() {
        let own = ["-kcp-kubeconfig", "/kcp", "-kcp-debug", "--max-moves=3", "-zap-devel=true"];
        assert_eq!(of(&custom(spec(&own))).unwrap().options.max_moves, 3);
        of(&custom(BrokerSpec::default())).unwrap();
        let told = of(&custom(spec(&["-kcp-kubeconfig=/kcp", "--max-moves=many"]))).unwrap_err().to_string();
        assert!(told.contains("--max-moves"), "{told}");
    }

    #[test]
    fn one_election_is_of_one_lease() {
        let invocation = of(&spec(&[])).unwrap();
        let kind = format!("--watch-kind={KIND}");
        let elects = |args: &[&str]| {
            let args: Vec<String> =
                std::iter::once(kind.as_str()).chain(args.iter().copied()).map(str::to_owned).collect();
            invocation.has_lease_of(&args)
        };
        assert!(elects(&["--namespace=n", "--leader-elect", "--lease-name=b", "--max-moves=3"]));
        assert!(elects(&["--namespace=n", "-leader-elect=true", "--lease-name=b", "-flag-of-tomorrow=1"]));
        assert!(!elects(&["--namespace=n", "--leader-elect", "--lease-name=c"]));
        assert!(!elects(&["--namespace=n", "--lease-name=b"]));
        assert!(!elects(&["-leader-elect=true"]), "the Go broker's lease is another");
    }

    #[test]
    fn variables_count_as_far_as_they_are_known() {
        let variable = |name: &str, value: Option<&str>| EnvVar {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            value_from: value.is_none().then(EnvVarSource::default),
        };
        let env = vec![variable("RESOURCE_BROKER_WATCH_KIND", Some(KIND))];
        let mut spec = BrokerSpec { env, ..BrokerSpec::default() };
        assert_eq!(of(&spec).unwrap().options.watch_kind.len(), 1);
        spec.env = vec![variable("RESOURCE_BROKER_WATCH_KIND", None)];
        of(&spec).unwrap();
        spec.env = vec![variable("A", Some(KIND)), variable("B", None)];
        spec.extra_args = vec!["--watch-kind=$(A)".into(), "--max-moves=$(B)".into()];
        assert_eq!(of(&spec).unwrap().options.watch_kind.len(), 1);
        spec.extra_args = vec!["--watch-kind=$(B)".into()];
        of(&spec).unwrap();
    }
}
