//! The flags: kro's, so that the arguments of a Deployment can be kept, and a few of our own. Every flag is also an
//! environment variable: `--leader-elect` is `RESOURCE_GRAPHS_LEADER_ELECT`.

use std::{path::PathBuf, time::Duration};

use broker_api::graphs::keys;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, builder::Resettable};
use runtime_process::{
    amount::{duration, memory},
    bind::{Bind, bind_address},
    logs::LogFormat,
    switch::switch,
};

use crate::feature_gates::FeatureGates;

/// Serves ResourceGraphDefinitions.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag, and any may be given with any")]
#[derive(Debug, Clone, Parser)]
#[command(name = "resource-graphs", version, max_term_width = 110, args_override_self = true, mut_args(switch))]
pub struct Options {
    /// Kubeconfig of the cluster that is served; without it the Pod's own
    #[arg(long, env = "RESOURCE_GRAPHS_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Address for /metrics; 0 switches it off
    #[arg(long, env = "RESOURCE_GRAPHS_METRICS_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8078", value_parser = bind_address)]
    pub metrics_bind_address: Bind,

    /// Address for /healthz and /readyz; 0 switches it off
    #[arg(long, env = "RESOURCE_GRAPHS_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8079", value_parser = bind_address)]
    pub health_probe_bind_address: Bind,

    /// Take part in a leader election; without it this process must be the only one
    #[arg(long, env = "RESOURCE_GRAPHS_LEADER_ELECT")]
    pub leader_elect: bool,

    /// Namespace of the lease; defaults to the Pod's, or that of the kubeconfig's context
    #[arg(long, env = "RESOURCE_GRAPHS_LEADER_ELECTION_NAMESPACE", value_name = "NAMESPACE")]
    pub leader_election_namespace: Option<String>,

    /// Delete the CRD, and with it all instances, when its ResourceGraphDefinition is deleted
    #[arg(long, env = "RESOURCE_GRAPHS_ALLOW_CRD_DELETION")]
    pub allow_crd_deletion: bool,

    /// What is off unless it is named: InstanceConditionEvents=true tells each change of an instance's conditions as an Event
    #[arg(long, env = "RESOURCE_GRAPHS_FEATURE_GATES", value_name = "NAME=BOOL,…", default_value = "")]
    pub feature_gates: FeatureGates,

    /// Bring ResourceGraphDefinitions to all clusters whose kubeconfigs are in Secrets here, and serve their instances there
    #[arg(long, env = "RESOURCE_GRAPHS_ENABLE_MULTICLUSTER")]
    pub enable_multicluster: bool,

    /// Keep what belongs to a namespaced instance in its namespace, unless a template names another in fixed text
    #[arg(long, env = "RESOURCE_GRAPHS_RESTRICT_NAMESPACES")]
    pub restrict_namespaces: bool,

    /// Namespace of the Secrets with kubeconfigs of spokes; defaults to that of the lease
    #[arg(long, env = "RESOURCE_GRAPHS_CLUSTER_SECRETS_NAMESPACE", value_name = "NAMESPACE")]
    pub cluster_secrets_namespace: Option<String>,

    /// Label that makes a Secret that of a spoke, beside broker.platform-mesh.io/role=spoke
    #[arg(
        long,
        env = "RESOURCE_GRAPHS_CLUSTER_SECRETS_LABEL",
        value_name = "LABEL",
        default_value = keys::KRO_CLUSTER
    )]
    pub cluster_secrets_label: String,

    /// Key of the kubeconfig in these Secrets
    #[arg(long, env = "RESOURCE_GRAPHS_CLUSTER_SECRETS_KEY", value_name = "KEY", default_value = "kubeconfig")]
    pub cluster_secrets_key: String,

    /// How long writes in hand may take after SIGTERM
    #[arg(long, env = "RESOURCE_GRAPHS_GRACEFUL_SHUTDOWN_TIMEOUT", value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub graceful_shutdown_timeout: Duration,

    /// Objects of one collection
    #[arg(long, env = "RESOURCE_GRAPHS_RGD_MAX_COLLECTION_SIZE", value_name = "NUMBER", default_value = "1000")]
    pub rgd_max_collection_size: usize,

    /// Dimensions of one forEach
    #[arg(
        long,
        env = "RESOURCE_GRAPHS_RGD_MAX_COLLECTION_DIMENSION_SIZE",
        value_name = "NUMBER",
        default_value = "10"
    )]
    pub rgd_max_collection_dimension_size: usize,

    /// Revisions of one ResourceGraphDefinition that are kept
    #[arg(long, env = "RESOURCE_GRAPHS_RGD_MAX_GRAPH_REVISIONS", value_name = "NUMBER", default_value = "5")]
    pub rgd_max_graph_revisions: usize,

    /// How log lines look
    #[arg(long, env = "RESOURCE_GRAPHS_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,

    /// Memory for what is held of the cluster; 60 % of the process's limit unless it is given
    #[arg(long, env = "RESOURCE_GRAPHS_MEMORY_BUDGET", value_name = "SIZE", value_parser = memory)]
    pub memory_budget: Option<usize>,

    /// Writes under way at once per API server
    #[arg(long, env = "RESOURCE_GRAPHS_CONCURRENT_WRITES", value_name = "NUMBER", default_value = "16")]
    pub concurrent_writes: usize,

    /// Flags of kro's that have no effect here
    #[command(flatten)]
    pub ignored: Ignored,
}

/// Flags of kro's without an effect: nothing here is polled, or limited by a number of workers.
#[derive(Debug, Clone, Parser)]
#[allow(missing_docs)]
pub struct Ignored {
    #[arg(long, hide = true)]
    pub pprof_bind_address: Option<String>,
    #[arg(long, hide = true)]
    pub resource_graph_definition_concurrent_reconciles: Option<String>,
    #[arg(long, hide = true)]
    pub graph_revision_concurrent_reconciles: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_concurrent_reconciles: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_rate_limiter_min_delay: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_rate_limiter_max_delay: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_rate_limiter_rate_limit: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_rate_limiter_burst_limit: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_default_resync_period: Option<String>,
    #[arg(long, hide = true)]
    pub dynamic_controller_default_queue_max_retries: Option<String>,
    #[arg(long, hide = true)]
    pub instance_requeue_interval: Option<String>,
    #[arg(long, hide = true)]
    pub rgd_progress_requeue_delay: Option<String>,
    #[arg(long, hide = true)]
    pub client_qps: Option<String>,
    #[arg(long, hide = true)]
    pub client_burst: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub enable_controller_warmup: Option<String>,
}

impl Options {
    /// Reads what another process will be given, without an environment.
    ///
    /// # Errors
    /// It would not take them.
    pub fn of(args: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let mut command = Self::command().mut_args(|arg| arg.env(Resettable::Reset));
        let name = command.get_name().to_owned();
        let matches = command.try_get_matches_from_mut(std::iter::once(name).chain(args))?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_are_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn the_arguments_of_kros_deployment_are_read() {
        let read = |args: &[&str]| Options::try_parse_from([&["resource-graphs"], args].concat()).unwrap();
        let options = read(&[
            "--metrics-bind-address=:8078",
            "--leader-elect=true",
            "--leader-election-namespace=kro",
            "--allow-crd-deletion=false",
            "--dynamic-controller-concurrent-reconciles=4",
            "--dynamic-controller-rate-limiter-min-delay=200ms",
            "--instance-requeue-interval=3s",
            "--enable-controller-warmup",
            "--client-qps=100",
            "--feature-gates=CELOmitFunction=true",
        ]);
        assert!(options.leader_elect && !options.allow_crd_deletion);
        assert!(read(&["--allow-crd-deletion"]).allow_crd_deletion);
    }
}
