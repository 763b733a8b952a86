//! `Graphs`: how the graphs controller of a Broker will be called.
//!
//! It serves the coordination cluster, which the broker's own arguments name. The flags are kro's.

use broker_api::broker::{self, BrokerSpec, Distribution};
use k8s_openapi::api::core::v1::{EnvVar, LocalObjectReference, ResourceRequirements};
use manifests::permissions::CLUSTERS_NAMESPACE;
use resource_graphs::options::Options;

use crate::{
    defaults::Defaults,
    image::Image,
    invocation::{Invocation, first_lines},
};

/// Port of its metrics.
const METRICS_PORT: u16 = 8078;
/// Port of its probes.
pub const PROBES_PORT: u16 = 8079;

/// Flags that the operator sets, and where people say the same.
const SET: [(&str, &str); 10] = [
    ("allow-crd-deletion", "use spec.graphs.allowCRDDeletion"),
    ("enable-multicluster", "use spec.graphs.distribution.enabled"),
    ("cluster-secrets-namespace", "use spec.graphs.distribution.secretsNamespace"),
    ("cluster-secrets-label", "use spec.graphs.distribution.secretsLabel"),
    ("cluster-secrets-key", "use spec.graphs.distribution.secretsKey"),
    ("metrics-bind-address", "use spec.metrics.enabled"),
    ("health-probe-bind-address", "the operator sets it"),
    ("leader-elect", "the operator sets it: there may be another such controller in the cluster"),
    ("leader-election-namespace", "the operator sets it: the Lease is in the operator's own namespace"),
    ("kubeconfig", "it serves the cluster that --coordination-kubeconfig or --kubeconfig in spec.extraArgs names"),
];

/// How a graphs controller will be called.
#[derive(Debug, Clone, PartialEq)]
pub struct Graphs {
    /// How many instances.
    pub replicas: i32,
    /// The image's full name.
    pub image: Image,
    /// When to pull it.
    pub pull_policy: Option<String>,
    /// With what.
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// The container's arguments.
    pub args: Vec<String>,
    /// Port of the metrics, if there are any.
    pub metrics_port: Option<u16>,
    /// Namespace of its Lease.
    pub lease_namespace: String,
    /// Whether it may delete CRDs.
    pub deletes_crds: bool,
    /// Whether it serves spokes, too.
    pub distributes: bool,
    /// Namespace in the operator's own cluster whose Secrets of spokes it reads, if it reads any there.
    pub secrets_namespace: Option<String>,
    /// Of the container.
    pub resources: Option<ResourceRequirements>,
    /// Of the container.
    pub env: Vec<EnvVar>,
}

/// Why it cannot be called.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphsError {
    /// An argument that people give although the operator does.
    #[error("spec.graphs.extraArgs sets --{flag}: {instead}")]
    Taken {
        /// Its name.
        flag: &'static str,
        /// Where to say the same.
        instead: &'static str,
    },
    /// It would not take its arguments, in its own words.
    #[error("the graphs controller would refuse its arguments, see spec.graphs.extraArgs: {0}")]
    Refused(String),
}

impl Graphs {
    /// Of a Broker whose broker is called so; None where it does not ask for one.
    pub fn of(spec: &BrokerSpec, invocation: &Invocation, defaults: &Defaults) -> Result<Option<Self>, GraphsError> {
        let Some(graphs) = spec.graphs.clone().filter(|graphs| graphs.enabled == Some(true)) else { return Ok(None) };
        // Each field is named, so that a new one does not compile until it is used here.
        let broker::Graphs {
            enabled: _,
            replicas,
            image,
            allow_crd_deletion,
            distribution,
            resources,
            extra_args,
            env,
        } = graphs;
        if let Some(error) = extra_args.iter().find_map(|arg| taken(arg)) {
            return Err(error);
        }
        let metrics = spec.metrics.clone().unwrap_or_default().enabled.unwrap_or(true);
        let metrics_port = metrics.then_some(METRICS_PORT);
        let deletes_crds = allow_crd_deletion.unwrap_or(false);

        let mut args = vec![
            metrics_port
                .map_or("--metrics-bind-address=0".to_owned(), |port| format!("--metrics-bind-address=:{port}")),
            format!("--health-probe-bind-address=:{PROBES_PORT}"),
            "--leader-elect".to_owned(),
            format!("--leader-election-namespace={}", defaults.namespace),
            format!("--allow-crd-deletion={deletes_crds}"),
            "--log-format=json".to_owned(),
        ];
        let elsewhere = invocation.options.coordination();
        args.extend(elsewhere.map(|file| format!("--kubeconfig={}", file.display())));
        let distribution = distribution.filter(|distribution| distribution.enabled == Some(true));
        let distributes = distribution.is_some();
        let secrets_namespace = distribution.map(|distribution| distribute(distribution, &mut args));
        args.extend(extra_args);
        let wanted = image.unwrap_or_default();
        let image = defaults.graphs.with(Some(&wanted));
        // An image of somebody else's may have flags of its own; and what a variable says is not known here.
        let is_known = image.repository == defaults.graphs.repository && !args.iter().any(|arg| arg.contains("$("));
        if is_known {
            Options::of(args.iter().cloned()).map_err(|error| GraphsError::Refused(first_lines(&error)))?;
        }
        Ok(Some(Self {
            replicas: replicas.unwrap_or(1),
            image,
            pull_policy: wanted.pull_policy,
            image_pull_secrets: wanted.image_pull_secrets,
            args,
            metrics_port,
            lease_namespace: defaults.namespace.clone(),
            deletes_crds,
            distributes,
            secrets_namespace: secrets_namespace.filter(|_| elsewhere.is_none()),
            resources,
            env,
        }))
    }
}

/// Adds the flags of a distribution that is enabled, and returns the namespace of the Secrets.
fn distribute(distribution: Distribution, args: &mut Vec<String>) -> String {
    let Distribution { enabled: _, secrets_namespace, secrets_label, secrets_key } = distribution;
    let namespace = secrets_namespace.unwrap_or_else(|| CLUSTERS_NAMESPACE.to_owned());
    args.push("--enable-multicluster".to_owned());
    args.push(format!("--cluster-secrets-namespace={namespace}"));
    args.extend(secrets_label.map(|label| format!("--cluster-secrets-label={label}")));
    args.extend(secrets_key.map(|key| format!("--cluster-secrets-key={key}")));
    namespace
}

fn taken(arg: &str) -> Option<GraphsError> {
    let long = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'))?;
    let given = long.split_once('=').map_or(long, |(flag, _)| flag);
    let (flag, instead) = SET.into_iter().find(|(flag, _)| *flag == given)?;
    Some(GraphsError::Taken { flag, instead })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;
    use crate::owner::Owner;

    fn of(spec: Value) -> Result<Option<Graphs>, GraphsError> {
        let spec: BrokerSpec = serde_json::from_value(spec).unwrap();
        let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
        let defaults = Defaults {
            broker: Image::parse("localhost/resource-broker:1"),
            graphs: Image::parse("localhost/resource-graphs:1"),
            namespace: "system".into(),
        };
        let invocation = Invocation::of(&owner, &spec, &defaults.broker).unwrap();
        Graphs::of(&spec, &invocation, &defaults)
    }

    fn spec(graphs: &Value, more: &[&str]) -> Value {
        json!({"watchKinds": ["A.v1.b.example"], "extraArgs": more, "graphs": graphs})
    }

    #[test]
    fn only_who_asks_for_it_gets_one() {
        for graphs in [Value::Null, json!({}), json!({"enabled": false, "replicas": 3})] {
            assert_eq!(of(spec(&graphs, &[])).unwrap(), None);
        }
    }

    #[test]
    fn fields_become_flags_and_what_people_add_comes_last() {
        let graphs = of(spec(&json!({"enabled": true}), &[])).unwrap().unwrap();
        let least = [
            "--metrics-bind-address=:8078",
            "--health-probe-bind-address=:8079",
            "--leader-elect",
            "--leader-election-namespace=system",
            "--allow-crd-deletion=false",
            "--log-format=json",
        ];
        assert_eq!(graphs.args, least);
        assert_eq!((graphs.replicas, graphs.image.to_string()), (1, "localhost/resource-graphs:1".to_owned()));
        let more = json!({"enabled": true, "allowCRDDeletion": true, "extraArgs": ["--rgd-max-graph-revisions=9"],
            "image": {"tag": "2"}});
        let mut whole = spec(&more, &["-coordination-kubeconfig=/hub/kubeconfig"]);
        whole["metrics"] = json!({"enabled": false});
        let graphs = of(whole).unwrap().unwrap();
        assert_eq!(graphs.args[0], "--metrics-bind-address=0");
        let rest = ["--log-format=json", "--kubeconfig=/hub/kubeconfig", "--rgd-max-graph-revisions=9"];
        assert_eq!(
            (graphs.args[4].as_str(), &graphs.args[5..]),
            ("--allow-crd-deletion=true", &rest.map(str::to_owned)[..])
        );
        assert_eq!(graphs.image.to_string(), "localhost/resource-graphs:2");
        assert!(graphs.deletes_crds && graphs.metrics_port.is_none());
    }

    #[test]
    fn a_distribution_becomes_flags_that_the_controller_takes() {
        let with = |distribution: &Value, more: &[&str]| {
            let graphs = json!({"enabled": true, "distribution": distribution, "extraArgs": ["--client-qps=5"]});
            of(spec(&graphs, more)).unwrap().unwrap()
        };
        let least = with(&json!({"enabled": true}), &[]);
        let added = ["--enable-multicluster", "--cluster-secrets-namespace=resource-broker-clusters", "--client-qps=5"];
        assert_eq!(least.args[6..], added.map(str::to_owned));
        assert_eq!((least.distributes, least.secrets_namespace.as_deref()), (true, Some("resource-broker-clusters")));

        let whole =
            json!({"enabled": true, "secretsNamespace": "spokes", "secretsLabel": "x/y", "secretsKey": "config"});
        let graphs = with(&whole, &[]);
        let options = Options::of(graphs.args).unwrap();
        assert!(options.enable_multicluster);
        assert_eq!(options.cluster_secrets_namespace.as_deref(), Some("spokes"));
        assert_eq!((&*options.cluster_secrets_label, &*options.cluster_secrets_key), ("x/y", "config"));
        assert_eq!(graphs.secrets_namespace.as_deref(), Some("spokes"));

        let elsewhere = with(&whole, &["--coordination-kubeconfig=/hub"]);
        assert!(elsewhere.distributes && elsewhere.secrets_namespace.is_none(), "the Secrets are in another cluster");
        for off in [json!({}), json!({"enabled": false, "secretsNamespace": "spokes"})] {
            let graphs = with(&off, &[]);
            assert!(!graphs.distributes && graphs.secrets_namespace.is_none());
            assert_eq!(graphs.args[6..], ["--client-qps=5"]);
        }
    }

    #[test]
    fn what_the_operator_sets_nobody_else_sets() {
        for (arg, words) in [
            ("--leader-elect=false", "--leader-elect:"),
            ("-allow-crd-deletion", "spec.graphs.allowCRDDeletion"),
            ("--enable-multicluster", "spec.graphs.distribution.enabled"),
            ("--cluster-secrets-namespace=x", "spec.graphs.distribution.secretsNamespace"),
            ("-cluster-secrets-label=x", "spec.graphs.distribution.secretsLabel"),
            ("--cluster-secrets-key", "spec.graphs.distribution.secretsKey"),
            ("--kubeconfig", "--coordination-kubeconfig"),
        ] {
            let told = of(spec(&json!({"enabled": true, "extraArgs": [arg]}), &[])).unwrap_err().to_string();
            assert!(told.contains("spec.graphs.extraArgs") && told.contains(words), "{told}");
        }
    }

    #[test]
    fn what_the_controller_would_not_take_is_told_before_any_pod_is_replaced() {
        let with = |graphs: Value| of(spec(&graphs, &[]));
        for (arg, words) in [
            ("--rgd-max-graph-revision=9", "--rgd-max-graph-revision"),
            ("--rgd-max-collection-size=many", "--rgd-max-collection-size"),
            ("--help", "they ask for help"),
        ] {
            let told = with(json!({"enabled": true, "extraArgs": [arg]})).unwrap_err().to_string();
            assert!(told.contains("spec.graphs.extraArgs") && told.contains(words), "{told}");
            let other = json!({"enabled": true, "extraArgs": [arg], "image": {"repository": "example.com/other"}});
            with(other).unwrap();
        }
        with(json!({"enabled": true, "extraArgs": ["--rgd-max-collection-size", "$(MOST)", "--client-qps=5"]}))
            .unwrap();
    }
}
