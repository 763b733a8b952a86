//! `Deployed`: one of our programs as its Deployment has it.

use std::collections::BTreeMap;

use broker_api::keys;
use clap::CommandFactory as _;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Container};
use resource_broker::{command_line::CommandLine, options::Options};
use resource_graphs::options::Options as GraphsOptions;

use crate::{
    cluster::{Cluster, Place, Trouble},
    resource::Resource,
    rights::Account,
};

/// Label by which the operator says which program it is.
const PROGRAM: &str = "app.kubernetes.io/name";

/// The controller of ResourceGraphDefinitions, by that label and by its image.
const GRAPHS: &str = "resource-graphs";

/// The operator, by that label, and mostly by its Deployment's name.
const OPERATOR: &str = "resource-broker-operator";

/// The flag that no other program has and every broker needs.
const WATCH_KIND: &str = "watch-kind";

/// A program's Deployment: a broker's unless its flags are another's.
#[derive(Debug, Clone)]
pub(crate) struct Deployed<O = Options> {
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
    /// The image of its container.
    pub(crate) image: String,
    /// What its arguments mean to a program of this release, or why they mean nothing.
    pub(crate) options: Result<O, String>,
}

/// A controller of ResourceGraphDefinitions.
pub(crate) type Graphs = Deployed<GraphsOptions>;

/// An operator; its flags are its own.
pub(crate) type Operator = Deployed<()>;

impl<O> Deployed<O> {
    /// A Deployment, where it is that of `program`: by its label, or for what `is_it` sees in a container. `read`: what arguments
    /// and environment mean.
    fn of(
        deployment: &Deployment,
        program: &str,
        is_it: impl Fn(&Container) -> bool,
        read: impl FnOnce(Vec<String>, &BTreeMap<String, String>) -> Result<O, String>,
    ) -> Option<Self> {
        let Deployment { metadata, spec, status } = deployment.clone();
        let labelled = metadata.labels.as_ref().and_then(|labels| labels.get(PROGRAM));
        let is_labelled = labelled.is_some_and(|label| label == program);
        let spec = spec?;
        let pod = spec.template.spec?;
        let of_label = pod.containers.first().filter(|_| is_labelled);
        let container = pod.containers.iter().find(|container| is_it(container)).or(of_label)?.clone();
        let env = container.env.unwrap_or_default().into_iter();
        let env = env.filter_map(|variable| Some((variable.name, variable.value?))).collect();
        Some(Self {
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            wanted: spec.replicas.unwrap_or(1),
            available: status.and_then(|status| status.available_replicas).unwrap_or_default(),
            account: pod.service_account_name.unwrap_or_else(|| "default".to_owned()),
            image: container.image.unwrap_or_default(),
            options: read(container.args.unwrap_or_default(), &env),
        })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { namespace: &self.namespace, name: &self.name }
    }

    /// Whom its pods are known as.
    pub(crate) fn account(&self) -> Account {
        Account { namespace: self.namespace.clone(), name: self.account.clone() }
    }

    /// The version that its image's tag names: `0.1.0`. `None`: the tag is something else, a digest says more, or the image is
    /// called otherwise than ours.
    pub(crate) fn version(&self) -> Option<&str> {
        let (name, tag) = self.image.rsplit('/').next()?.split_once(':')?;
        let version = tag.strip_prefix('v').unwrap_or(tag);
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let is_version = version.split('.').count() == 3 && version.split('.').all(is_number);
        (is_version && [keys::MANAGER, GRAPHS, OPERATOR].contains(&name)).then_some(version)
    }
}

impl Deployed {
    /// A Deployment, where it is a broker's.
    pub(crate) fn broker(deployment: &Deployment) -> Option<Self> {
        Self::of(deployment, keys::MANAGER, takes_kinds, |args, env| {
            CommandLine::parse_with_env(args, env).map(|read| read.options).map_err(|error| first_line(&error))
        })
    }

    /// Namespace of its signing key and its Lease.
    pub(crate) fn own_namespace(&self) -> &str {
        let named = self.options.as_ref().ok().and_then(|options| options.namespace.as_deref());
        named.unwrap_or(&self.namespace)
    }
}

impl Graphs {
    /// A Deployment, where it is that of a controller of ResourceGraphDefinitions of ours.
    pub(crate) fn graphs(deployment: &Deployment) -> Option<Self> {
        Self::of(deployment, GRAPHS, is_graphs, |args, env| {
            let command = GraphsOptions::command();
            // What is said in an argument goes before the variable.
            let of_env = command.get_arguments().filter_map(|arg| {
                let value = env.get(arg.get_env()?.to_str()?)?;
                Some(format!("--{}={value}", arg.get_long()?))
            });
            let all: Vec<String> = of_env.chain(args.into_iter().map(|arg| expanded(arg, env))).collect();
            if all.iter().any(|arg| arg.contains("$(")) {
                return Err("it has variables from elsewhere among its arguments".to_owned());
            }
            GraphsOptions::of(all).map_err(|error| first_line(&error))
        })
    }

    /// Namespace of its Lease.
    pub(crate) fn lease_namespace(&self) -> &str {
        let named = self.options.as_ref().ok().and_then(|options| options.leader_election_namespace.as_deref());
        named.unwrap_or(&self.namespace)
    }
}

impl Operator {
    /// A Deployment, where it is the operator's.
    pub(crate) fn operator(deployment: &Deployment) -> Option<Self> {
        let is_named = deployment.metadata.name.as_deref() == Some(OPERATOR);
        Self::of(deployment, OPERATOR, |_| is_named, |_, _| Ok(()))
    }
}

/// With the values of its own variables, as the kubelet puts them in.
fn expanded(arg: String, env: &BTreeMap<String, String>) -> String {
    env.iter().fold(arg, |arg, (name, value)| arg.replace(&format!("$({name})"), value))
}

fn first_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
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

/// Whether a container's image is called as the program is.
fn is_graphs(container: &Container) -> bool {
    let image = container.image.as_deref().unwrap_or_default();
    image.rsplit('/').next().and_then(|name| name.split([':', '@']).next()) == Some(GRAPHS)
}

/// All Deployments in a namespace.
pub(crate) async fn deployments(hub: &Cluster, namespace: &str) -> Result<Vec<Deployment>, Trouble> {
    let deployments = Resource::named("apps", "v1", "Deployment", "deployments");
    let found = hub.list(&deployments, Some(namespace), None).await?.into_iter();
    Ok(found.filter_map(|one| serde_json::from_value(one).ok()).collect())
}

/// The brokers in a namespace.
pub(crate) async fn brokers(hub: &Cluster, namespace: &str) -> Result<Vec<Deployed>, Trouble> {
    Ok(deployments(hub, namespace).await?.iter().filter_map(Deployed::broker).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(program: &str, args: &[&str], wanted: i32, available: i32) -> Value {
        json!({
            "metadata": { "name": program, "namespace": "system", "labels": { PROGRAM: program } },
            "spec": { "replicas": wanted, "selector": {}, "template": { "spec": { "containers": [
                { "name": program, "image": format!("localhost/{program}:{}", env!("CARGO_PKG_VERSION")), "args": args }] } } },
            "status": { "availableReplicas": available },
        })
    }

    fn typed(deployment: Value) -> Deployment {
        serde_json::from_value(deployment).unwrap()
    }

    /// A broker with these arguments.
    pub(crate) fn broker(args: &[&str], wanted: i32, available: i32) -> Deployed {
        let mut broker = Deployed::broker(&typed(deployment(keys::MANAGER, args, wanted, available))).unwrap();
        broker.name = "broker".into();
        broker
    }

    /// A controller of ResourceGraphDefinitions with these arguments.
    pub(crate) fn graphs(args: &[&str], wanted: i32, available: i32) -> Graphs {
        Deployed::graphs(&typed(deployment(GRAPHS, args, wanted, available))).unwrap()
    }

    /// An operator.
    pub(crate) fn operator(wanted: i32, available: i32) -> Operator {
        Deployed::operator(&typed(deployment(OPERATOR, &["--anything"], wanted, available))).unwrap()
    }

    #[test]
    fn a_broker_is_known_by_its_label_or_its_flag() {
        let read = |args: &[&str]| {
            Deployed::broker(&typed(
                json!({ "metadata": { "name": "x" }, "spec": { "selector": {}, "template": { "spec": {
                "containers": [{ "name": "sidecar" }, { "name": "x", "args": args }] } } } }),
            ))
        };
        assert_eq!(read(&["-watch-kind=A.v1.x.io"]).unwrap().options.unwrap().watch_kind.len(), 1);
        assert!(read(&["--watch-kind", "nonsense"]).unwrap().options.unwrap_err().contains("nonsense"));
        assert!(read(&["--leader-elect"]).is_none());
        let broken = broker(&["--leader-elect"], 1, 1);
        assert!(broken.options.is_err() && broken.own_namespace() == "system");
        let own = broker(&["--watch-kind=A.v1.x.io", "--namespace=own"], 1, 1);
        assert_eq!(own.own_namespace(), "own");
    }

    #[test]
    fn each_of_the_three_programs_is_itself() {
        let with_image = |image: &str| {
            let mut it = deployment("x", &["--leader-election-namespace=own"], 1, 1);
            it["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
            Deployed::graphs(&typed(it))
        };
        let graphs = with_image("registry.example.org:5000/team/resource-graphs@sha256:00").unwrap();
        assert_eq!((graphs.lease_namespace(), graphs.version()), ("own", None));
        assert!(with_image("registry.example.org/resource-graphs-of-mine:1").is_none());
        let mut it = deployment(GRAPHS, &["--rgd-max-collection-size=$(MOST)", "--kubeconfig=$(ELSEWHERE)"], 1, 1);
        let container = &mut it["spec"]["template"]["spec"]["containers"][0];
        container["env"] =
            json!([{ "name": "MOST", "value": "7" }, { "name": "RESOURCE_GRAPHS_LEADER_ELECT", "value": "true" }]);
        assert!(Deployed::graphs(&typed(it.clone())).unwrap().options.unwrap_err().contains("from elsewhere"));
        it["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--rgd-max-collection-size=$(MOST)"]);
        let options = Deployed::graphs(&typed(it)).unwrap().options.unwrap();
        assert!(options.leader_elect && options.rgd_max_collection_size == 7);
        assert!(self::graphs(&["--colour"], 1, 1).options.unwrap_err().contains("--colour"));
        let named = |name: &str| {
            let mut it = deployment("x", &[], 1, 1);
            it["metadata"]["name"] = json!(name);
            Deployed::operator(&typed(it))
        };
        assert!(named(OPERATOR).is_some() && named("broker").is_none());
        assert_eq!(operator(1, 0).available, 0);
        let broker = typed(deployment(keys::MANAGER, &["--watch-kind=A.v1.x.io"], 1, 1));
        assert!(Deployed::graphs(&broker).is_none() && Deployed::operator(&broker).is_none());
    }

    #[test]
    fn a_version_is_what_the_tag_says() {
        let of = |image: &str| {
            let mut it = operator(1, 1);
            it.image = image.into();
            it.version().map(str::to_owned)
        };
        for image in
            ["a/resource-broker:0.1.0", "localhost:5000/resource-graphs:v0.1.0", "resource-broker-operator:0.1.0"]
        {
            assert_eq!(of(image).as_deref(), Some("0.1.0"), "{image}");
        }
        for tag in ["", ":e2e", ":latest", ":1.2", ":0.1.0-arm64", ":0.1.0@sha256:00"] {
            assert_eq!(of(&format!("resource-broker{tag}")), None, "{tag}");
        }
        assert_eq!(of("a:5000/mine:0.1.0"), None, "it is somebody's own");
    }
}
