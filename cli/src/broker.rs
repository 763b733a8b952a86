//! `Deployed`: a broker as its Deployment has it.

use broker_api::keys;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Container};
use resource_broker::{command_line::CommandLine, options::Options};
use serde_json::Value;

use crate::{
    cluster::{Cluster, Trouble},
    resource::Resource,
};

/// Label by which the operator says which program it is.
const PROGRAM: &str = "app.kubernetes.io/name";

/// The flag that no other program has and every broker needs.
const WATCH_KIND: &str = "watch-kind";

/// A broker's Deployment.
#[derive(Debug, Clone)]
pub(crate) struct Deployed {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// How many instances there are to be.
    pub(crate) wanted: i32,
    /// How many work.
    pub(crate) available: i32,
    /// The ServiceAccount that its pods run as.
    pub(crate) account: String,
    /// What its arguments mean to a broker of this release, or why they mean nothing.
    pub(crate) options: Result<Options, String>,
}

impl Deployed {
    /// A Deployment, where it is a broker's.
    pub(crate) fn read(deployment: Value) -> Option<Self> {
        let deployment: Deployment = serde_json::from_value(deployment).ok()?;
        let labelled = deployment.metadata.labels.as_ref().and_then(|labels| labels.get(PROGRAM));
        let is_broker = labelled.is_some_and(|program| program == keys::MANAGER);
        let spec = deployment.spec?;
        let pod = spec.template.spec?;
        let mut containers = pod.containers;
        let at = containers.iter().position(takes_kinds).or(is_broker.then_some(0))?;
        let container = if at < containers.len() { containers.swap_remove(at) } else { return None };
        let env = container.env.unwrap_or_default().into_iter();
        let env = env.filter_map(|variable| Some((variable.name, variable.value?))).collect();
        let options = CommandLine::parse_with_env(container.args.unwrap_or_default(), &env)
            .map(|read| read.options)
            .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned());
        Some(Self {
            namespace: deployment.metadata.namespace.unwrap_or_default(),
            name: deployment.metadata.name.unwrap_or_default(),
            wanted: spec.replicas.unwrap_or(1),
            available: deployment.status.and_then(|status| status.available_replicas).unwrap_or_default(),
            account: pod.service_account_name.unwrap_or_else(|| "default".to_owned()),
            options,
        })
    }

    /// Namespace of its signing key and its Lease.
    pub(crate) fn own_namespace(&self) -> &str {
        let named = self.options.as_ref().ok().and_then(|options| options.namespace.as_deref());
        named.unwrap_or(&self.namespace)
    }
}

/// Whether a container is given the flag, or its variable.
fn takes_kinds(container: &Container) -> bool {
    let is_flag = |arg: &String| {
        let flag = arg.trim_start_matches('-');
        flag != arg && flag.split('=').next() == Some(WATCH_KIND)
    };
    let mut names = container.env.iter().flatten().map(|variable| &variable.name);
    container.args.iter().flatten().any(is_flag) || names.any(|name| name == "RESOURCE_BROKER_WATCH_KIND")
}

/// The brokers in a namespace.
pub(crate) async fn deployed(hub: &Cluster, namespace: &str) -> Result<Vec<Deployed>, Trouble> {
    let found = hub.list(&Resource::named("apps", "v1", "Deployment", "deployments"), Some(namespace), None).await?;
    Ok(found.into_iter().filter_map(Deployed::read).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A broker with these arguments.
    pub(crate) fn broker(args: &[&str], wanted: i32, available: i32) -> Deployed {
        let read = Deployed::read(json!({
            "metadata": { "name": "broker", "namespace": "system", "labels": { PROGRAM: "resource-broker" } },
            "spec": { "replicas": wanted, "selector": {}, "template": { "spec": { "containers": [{ "name": "broker", "args": args }] } } },
            "status": { "availableReplicas": available },
        }));
        read.unwrap()
    }

    #[test]
    fn a_broker_is_known_by_its_label_or_its_flag() {
        let read = |args: &[&str]| {
            Deployed::read(json!({ "metadata": { "name": "x" }, "spec": { "selector": {}, "template": { "spec": {
                "containers": [{ "name": "sidecar" }, { "name": "x", "args": args }] } } } }))
        };
        assert_eq!(read(&["-watch-kind=A.v1.x.io"]).unwrap().options.unwrap().watch_kind.len(), 1);
        assert!(read(&["--watch-kind", "nonsense"]).unwrap().options.unwrap_err().contains("nonsense"));
        assert!(read(&["--leader-elect"]).is_none());
        let broken = broker(&["--leader-elect"], 1, 1);
        assert!(broken.options.is_err() && broken.own_namespace() == "system");
        let own = broker(&["--watch-kind=A.v1.x.io", "--namespace=own"], 1, 1);
        assert_eq!(own.own_namespace(), "own");
    }
}
