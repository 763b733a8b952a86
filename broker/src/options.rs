//! The flags. Every flag is also an environment variable: `--watch-kind` is `RESOURCE_BROKER_WATCH_KIND`.
//! [`crate::command_line`] reads them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use broker_api::Role;
use broker_core::{migration::configuration::is_system, naming::is_namespace, snapshot::Limits};
use clap::{Parser, ValueEnum};
use runtime_fleet::source::Given;
use runtime_process::amount::{duration, memory, size};
pub use runtime_process::{
    bind::{Bind, Disabled, bind_address},
    logs::LogFormat,
};

use crate::{secrets_namespace::SecretsNamespace, watch_kind::KindFlag};

/// Stands for all namespaces.
const ALL: &str = "*";

/// What people in consumer clusters are told of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Refusals {
    /// Each AcceptAPI by its provider's name, and the rule.
    Full,
    /// That nobody accepts, and for how many reasons; the log has the rest.
    Brief,
}

/// Places objects of consumer clusters in provider clusters that accept them, and keeps both in step.
#[derive(Debug, Clone, Parser)]
#[command(name = "resource-broker", version, max_term_width = 110, args_override_self = true)]
pub struct Options {
    /// Kubeconfig of the coordination cluster where no other flag says otherwise; without it the Pod's own cluster
    #[arg(long, env = "RESOURCE_BROKER_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Kubeconfig of the coordination cluster (signing key, cluster Secrets, leases, migrations)
    #[arg(long, env = "RESOURCE_BROKER_COORDINATION_KUBECONFIG", value_name = "FILE")]
    pub coordination_kubeconfig: Option<PathBuf>,

    /// Kubeconfig of the cluster where migration stages run; defaults to the coordination cluster
    #[arg(long, env = "RESOURCE_BROKER_COMPUTE_KUBECONFIG", value_name = "FILE")]
    pub compute_kubeconfig: Option<PathBuf>,

    /// Kubeconfig of a consumer cluster, which is named by the file's stem, or by the folder of a file named kubeconfig; repeatable
    #[arg(long, env = "RESOURCE_BROKER_CONSUMER_KUBECONFIG", value_name = "FILE", value_delimiter = ',')]
    pub consumer_kubeconfig: Vec<PathBuf>,

    /// Directory that is watched for kubeconfigs of consumer clusters (*.kubeconfig, *.kubeconfig.yaml, kubeconfig.yaml, kubeconfig)
    #[arg(long, env = "RESOURCE_BROKER_CONSUMER_KUBECONFIG_DIR", value_name = "DIR", value_delimiter = ',')]
    pub consumer_kubeconfig_dir: Vec<PathBuf>,

    /// Kubeconfig of a provider cluster, which is named by the file's stem, or by the folder of a file named kubeconfig; repeatable
    #[arg(long, env = "RESOURCE_BROKER_PROVIDER_KUBECONFIG", value_name = "FILE", value_delimiter = ',')]
    pub provider_kubeconfig: Vec<PathBuf>,

    /// Directory that is watched for kubeconfigs of provider clusters
    #[arg(long, env = "RESOURCE_BROKER_PROVIDER_KUBECONFIG_DIR", value_name = "DIR", value_delimiter = ',')]
    pub provider_kubeconfig_dir: Vec<PathBuf>,

    /// Namespace of the coordination cluster whose Secrets labelled broker.platform-mesh.io/role=consumer|provider are clusters; consumer=NAMESPACE and provider=NAMESPACE: whose Secrets can only be that; repeatable
    #[arg(
        long,
        env = "RESOURCE_BROKER_CLUSTER_SECRETS_NAMESPACE",
        value_name = "[ROLE=]NAMESPACE",
        value_delimiter = ','
    )]
    pub cluster_secrets_namespace: Vec<SecretsNamespace>,

    /// Namespace of the coordination cluster for the signing key and the lease; defaults to that of its kubeconfig's context
    #[arg(long, env = "RESOURCE_BROKER_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Namespace of the coordination cluster whose MigrationConfigurations count; defaults to the broker's own, * is all; repeatable
    #[arg(
        long,
        env = "RESOURCE_BROKER_CONFIGURATION_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ',',
        value_parser = namespace_or_all
    )]
    pub configuration_namespace: Vec<String>,

    /// Namespace of coordination and compute cluster where Migrations and their stages run, and no other; without it, all; repeatable
    #[arg(
        long,
        env = "RESOURCE_BROKER_MIGRATION_NAMESPACE",
        value_name = "NAMESPACE",
        value_delimiter = ',',
        value_parser = stage_namespace
    )]
    pub migration_namespace: Vec<String>,

    /// Further namespace that templates of stages may name, besides the Migration's and the configuration's; repeatable
    #[arg(long, env = "RESOURCE_BROKER_STAGE_NAMESPACE", value_name = "NAMESPACE", value_delimiter = ',', value_parser = stage_namespace)]
    pub stage_namespace: Vec<String>,

    /// What people in consumer clusters are told of refusals: all rules and providers, or only that nobody accepts
    #[arg(long, env = "RESOURCE_BROKER_REFUSALS", value_enum, default_value = "full")]
    pub refusals: Refusals,

    /// Make a new signing key where all are lost although objects are signed with one; for one start only
    #[arg(long, env = "RESOURCE_BROKER_NEW_SIGNING_KEY")]
    pub new_signing_key: bool,

    /// Allow exec, auth-provider, token and certificate files and insecure-skip-tls-verify in kubeconfigs given as files
    #[arg(long, env = "RESOURCE_BROKER_ALLOW_LOCAL_CREDENTIALS")]
    pub allow_local_credentials: bool,

    /// Kind to broker, as Kind.version.group; repeatable
    #[arg(long, env = "RESOURCE_BROKER_WATCH_KIND", value_name = "KIND", value_delimiter = ',', required = true)]
    pub watch_kind: Vec<KindFlag>,

    /// Kind of related resources that may be brought to consumers, as Kind.version.group; repeatable
    #[arg(
        long,
        env = "RESOURCE_BROKER_RELATED_KIND",
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "Secret.v1.core,ConfigMap.v1.core"
    )]
    pub related_kind: Vec<KindFlag>,

    /// Take part in a leader election; without it this process must be the only one
    #[arg(long, env = "RESOURCE_BROKER_LEADER_ELECT")]
    pub leader_elect: bool,

    /// Name of the Lease of that election; brokers that share the namespace, but not their work, need different ones
    #[arg(long, env = "RESOURCE_BROKER_LEASE_NAME", value_name = "NAME", default_value = "resource-broker")]
    pub lease_name: String,

    /// Address for /metrics; 0 switches it off
    #[arg(long, env = "RESOURCE_BROKER_METRICS_BIND_ADDRESS", value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub metrics_bind_address: Bind,

    /// Address for /healthz and /readyz; 0 switches it off
    #[arg(long, env = "RESOURCE_BROKER_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8081", value_parser = bind_address)]
    pub health_probe_bind_address: Bind,

    /// Address for a page that shows people how it stands; they need a token unless it is a loopback address, such as 127.0.0.1:8082; 0 switches it off
    #[arg(long, env = "RESOURCE_BROKER_DASHBOARD_BIND_ADDRESS", value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub dashboard_bind_address: Bind,

    /// How log lines look
    #[arg(long, env = "RESOURCE_BROKER_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,

    /// How long Migrations are kept once they have ended
    #[arg(long, env = "RESOURCE_BROKER_MIGRATION_TTL", value_name = "DURATION", default_value = "24h", value_parser = duration)]
    pub migration_ttl: Duration,

    /// How long a provider may be out of the configuration before its objects are placed anew
    #[arg(long, env = "RESOURCE_BROKER_ORPHAN_GRACE", value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub orphan_grace: Duration,

    /// How long a new copy may take to become ready during a move
    #[arg(long, env = "RESOURCE_BROKER_READY_TIMEOUT", value_name = "DURATION", default_value = "10m", value_parser = duration)]
    pub ready_timeout: Duration,

    /// How many objects move at once between two providers
    #[arg(long, env = "RESOURCE_BROKER_MAX_MOVES", value_name = "NUMBER", default_value = "50")]
    pub max_moves: usize,

    /// How many objects of one consumer cluster are placed at the most; no limit unless it is given
    #[arg(long, env = "RESOURCE_BROKER_MAX_OBJECTS_PER_CONSUMER", value_name = "NUMBER")]
    pub max_objects_per_consumer: Option<u64>,

    /// Largest status that is brought to a consumer
    #[arg(long, env = "RESOURCE_BROKER_MAX_STATUS_SIZE", value_name = "SIZE", default_value = "64Ki", value_parser = size)]
    pub max_status_size: u64,

    /// Largest related resource that is brought to a consumer
    #[arg(long, env = "RESOURCE_BROKER_MAX_RELATED_SIZE", value_name = "SIZE", default_value = "256Ki", value_parser = size)]
    pub max_related_size: u64,

    /// How much all related resources of one object may be together
    #[arg(long, env = "RESOURCE_BROKER_MAX_RELATED_TOTAL", value_name = "SIZE", default_value = "1Mi", value_parser = size)]
    pub max_related_total: u64,

    /// Memory for what is held of all clusters, of which one gets a quarter at the most; 60 % of the process's limit unless it is given
    #[arg(long, env = "RESOURCE_BROKER_MEMORY_BUDGET", value_name = "SIZE", value_parser = memory)]
    pub memory_budget: Option<usize>,

    /// Writes under way at once per API server
    #[arg(long, env = "RESOURCE_BROKER_CONCURRENT_WRITES", value_name = "NUMBER", default_value = "16")]
    pub concurrent_writes: usize,
}

/// A namespace, or `*` for all.
fn namespace_or_all(text: &str) -> Result<String, String> {
    if text != ALL {
        is_namespace(text)?;
    }
    Ok(text.to_owned())
}

/// A namespace for stages: none of the system's.
fn stage_namespace(text: &str) -> Result<String, String> {
    is_namespace(text)?;
    if is_system(text) {
        return Err(format!("{text} is a namespace of the system, where stages make nothing"));
    }
    Ok(text.to_owned())
}

impl Options {
    /// How much of what providers say is brought to consumers.
    pub fn limits(&self) -> Limits {
        Limits { status: self.max_status_size, related: self.max_related_size, related_total: self.max_related_total }
    }

    /// The coordination cluster's kubeconfig file; `None`: the Pod's own cluster.
    pub fn coordination(&self) -> Option<&Path> {
        self.coordination_kubeconfig.as_deref().or(self.kubeconfig.as_deref())
    }

    /// Whether MigrationConfigurations of a namespace count; `own` is the broker's.
    pub fn configures(&self, namespace: &str, own: &str) -> bool {
        match &*self.configuration_namespace {
            [] => namespace == own,
            allowed => allowed.iter().any(|allowed| allowed == namespace || allowed == ALL),
        }
    }

    /// Whether Migrations run in a namespace.
    pub fn migrates_in(&self, namespace: &str) -> bool {
        self.migration_namespace.is_empty() || self.migration_namespace.iter().any(|allowed| allowed == namespace)
    }

    /// The namespaces where stages may make anything; none: all of them. `own` is the broker's.
    pub fn stage_scope(&self, own: &str) -> Vec<String> {
        if self.migration_namespace.is_empty() {
            return Vec::new();
        }
        let configurations = self.configuration_namespace.iter().filter(|name| *name != ALL).map(String::as_str);
        let own = std::iter::once(own).chain(configurations);
        let named = self.migration_namespace.iter().chain(&self.stage_namespace).map(String::as_str);
        own.chain(named).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The files of the coordination and compute clusters.
    pub fn own_clusters(&self) -> Vec<Given> {
        let given = |role| move |path: &Path| Given { role, path: path.to_owned(), directory: false };
        let hub = self.coordination().map(given(Role::Coordination));
        hub.into_iter().chain(self.compute_kubeconfig.as_deref().map(given(Role::Compute))).collect()
    }

    /// The files and directories of consumers and providers.
    pub fn given(&self) -> Vec<Given> {
        let one = |role, directory| move |path: &PathBuf| Given { role, path: path.clone(), directory };
        let mut given: Vec<Given> = Vec::new();
        given.extend(self.consumer_kubeconfig.iter().map(one(Role::Consumer, false)));
        given.extend(self.consumer_kubeconfig_dir.iter().map(one(Role::Consumer, true)));
        given.extend(self.provider_kubeconfig.iter().map(one(Role::Provider, false)));
        given.extend(self.provider_kubeconfig_dir.iter().map(one(Role::Provider, true)));
        given
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn configurations_count_in_the_brokers_own_namespace_unless_others_are_named() {
        let read = |args: &[&str]| {
            Options::try_parse_from(["resource-broker", "--watch-kind", "A.v1.x.io"].iter().chain(args)).unwrap()
        };
        let none = read(&[]);
        assert!(none.configures("own", "own") && !none.configures("team", "own"));
        let some = read(&["--configuration-namespace", "a,b", "--configuration-namespace", "c"]);
        assert!(["a", "b", "c"].iter().all(|name| some.configures(name, "own")) && !some.configures("own", "own"));
        assert!(read(&["--configuration-namespace", "*"]).configures("team", "own"));
        let scope = read(&["--migration-namespace", "team", "--stage-namespace", "jobs"]).stage_scope("own");
        assert_eq!((none.stage_scope("own").len(), scope), (0, vec!["jobs".into(), "own".into(), "team".into()]));
        assert!(stage_namespace("kube-system").is_err() && stage_namespace("jobs").is_ok());
    }

    #[test]
    fn lists_may_be_repeated_or_separated_by_commas() {
        let options = Options::try_parse_from([
            "resource-broker",
            "--watch-kind",
            "A.v1.x.io,B.v1.x.io",
            "--watch-kind",
            "C.v1.core",
            "--consumer-kubeconfig",
            "a,b",
        ]);
        let options = options.unwrap();
        assert_eq!((options.watch_kind.len(), options.given().len()), (3, 2));
    }
}
