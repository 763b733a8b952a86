//! The flags. Every flag is also an environment variable: `--broker-image` is `RESOURCE_BROKER_OPERATOR_BROKER_IMAGE`.

use std::path::PathBuf;

use clap::Parser;
use resource_broker::options::{Bind, LogFormat, bind_address};
use runtime_process::switch::switch;

/// Deploys resource brokers from Broker objects.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "resource-broker-operator",
    version,
    max_term_width = 110,
    args_override_self = true,
    mut_args(switch)
)]
pub struct Options {
    /// Kubeconfig of the coordination cluster; without it the Pod's own cluster
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_KUBECONFIG", value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Namespace of its Lease, and of that of graphs controllers; defaults to the Pod's, or that of the kubeconfig's context
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_NAMESPACE", value_name = "NAMESPACE")]
    pub namespace: Option<String>,

    /// Take part in a leader election; without it this process must be the only one
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_LEADER_ELECT")]
    pub leader_elect: bool,

    /// Name of the Lease of that election
    #[arg(
        long,
        env = "RESOURCE_BROKER_OPERATOR_LEASE_NAME",
        value_name = "NAME",
        default_value = "resource-broker-operator"
    )]
    pub lease_name: String,

    /// Image of brokers whose Broker names none
    #[arg(
        long,
        env = "RESOURCE_BROKER_OPERATOR_BROKER_IMAGE",
        value_name = "IMAGE",
        default_value = concat!("localhost/resource-broker:", env!("CARGO_PKG_VERSION"))
    )]
    pub broker_image: String,

    /// Image of graphs controllers whose Broker names none
    #[arg(
        long,
        env = "RESOURCE_BROKER_OPERATOR_GRAPHS_IMAGE",
        value_name = "IMAGE",
        default_value = concat!("localhost/resource-graphs:", env!("CARGO_PKG_VERSION"))
    )]
    pub graphs_image: String,

    /// Address for /metrics; 0 switches it off
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_METRICS_BIND_ADDRESS", value_name = "ADDRESS", default_value = "0", value_parser = bind_address)]
    pub metrics_bind_address: Bind,

    /// Address for /healthz and /readyz; 0 switches it off
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_HEALTH_PROBE_BIND_ADDRESS", value_name = "ADDRESS", default_value = ":8081", value_parser = bind_address)]
    pub health_probe_bind_address: Bind,

    /// How log lines look
    #[arg(long, env = "RESOURCE_BROKER_OPERATOR_LOG_FORMAT", value_enum, default_value = "text")]
    pub log_format: LogFormat,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use resource_broker::options::Disabled;

    use super::*;

    #[test]
    fn the_flags_are_consistent_and_each_is_a_variable() {
        Options::command().debug_assert();
        for arg in Options::command().get_arguments().filter(|arg| arg.get_long().is_some()) {
            let flag = arg.get_long().unwrap_or_default();
            if matches!(flag, "help" | "version") {
                continue;
            }
            let name = format!("RESOURCE_BROKER_OPERATOR_{}", flag.to_uppercase().replace('-', "_"));
            assert_eq!(arg.get_env().and_then(|name| name.to_str()), Some(name.as_str()));
        }
    }

    #[test]
    fn switches_and_addresses() {
        let parse = |args: &[&str]| Options::try_parse_from([&["operator"], args].concat());
        assert!(parse(&["--leader-elect"]).is_ok_and(|options| options.leader_elect));
        assert!(parse(&["--leader-elect=false"]).is_ok_and(|options| !options.leader_elect));
        assert!(parse(&["--leader-elect=perhaps"]).is_err() && parse(&["--metrics-bind-address=nowhere"]).is_err());
        assert_eq!(bind_address(":80"), Ok(Disabled::On(([0, 0, 0, 0], 80).into())));
        assert_eq!(bind_address("0"), Ok(Disabled::Off));
    }
}
