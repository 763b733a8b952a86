//! Operator and broker, installed in the clusters of a demo the way the project's README says, step by step.
//!
//! Everything that a platform team applies is applied here too, from the same files: `config/default` in the hub,
//! `config/rbac` with the kinds of the demo in place of the sample's, a kubeconfig per cluster in a labelled Secret, one
//! Broker. What a demo has no node for, `pod-runner` runs ([`crate::runner`]): the operator, the broker that it deploys,
//! and the Jobs of migrations.

use broker_api::{Broker, Role, keys};
use harness::{parse_objects, wait_for};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, api::DynamicObject};
use serde_json::{Value, json};

use crate::{
    DEADLINE, Kind, Place, Stage, controllers,
    program::{self, BINARY},
};

/// Program and log of the broker.
pub const BROKER: &str = "resource-broker";
/// Program and log of the controller of resource graphs, in demos that have one.
pub const GRAPHS: &str = "resource-graphs";
/// Program and log of the operator.
pub const OPERATOR: &str = "resource-broker-operator";
/// Namespace of operator and broker in the hub, and of the broker's ServiceAccount elsewhere.
pub const SYSTEM: &str = "resource-broker-system";
/// Namespace of the cluster Secrets in the hub.
pub const CLUSTERS: &str = "resource-broker-clusters";
/// ServiceAccount of the broker in consumers and providers.
pub const ACCOUNT: &str = "resource-broker";
/// ServiceAccount of the controller of resource graphs in spokes.
const GRAPHS_ACCOUNT: &str = "resource-graphs";
/// Name of the Broker, and so of its Deployment and its ServiceAccount in the hub.
pub const INSTANCE: &str = "broker";

const DEFAULT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/default");
const CONSUMER: &str = include_str!("../../../config/rbac/consumer.yaml");
const PROVIDER: &str = include_str!("../../../config/rbac/provider.yaml");
const SPOKE: &str = include_str!("../../../config/rbac/spoke.yaml");
const COMPUTE_ROLES: &str = include_str!("../../../config/rbac/compute-roles.yaml");
/// The group of the kinds that `config/rbac` names, for people to put theirs in their place.
const SAMPLE_GROUP: &str = "example.platform-mesh.io";

/// What is installed where.
pub struct Installation<'a> {
    /// The coordination cluster, where stages of migrations run too.
    pub hub: &'a Place,
    /// Clusters of people who want things.
    pub consumers: &'a [&'a Place],
    /// Clusters of people who have them.
    pub providers: &'a [&'a Place],
    /// Clusters that resource graphs of the hub are for, which some of the others may be, too. Where there are any, the
    /// Broker has a controller for them. It learns of each by [`join`].
    pub spokes: &'a [&'a Place],
    /// The kinds that are brokered.
    pub kinds: &'a [Kind],
    /// Whether Jobs of migrations run in the hub, with the programs of the examples.
    pub jobs: bool,
}

impl Installation<'_> {
    /// Goes through all steps; the broker is ready at the end.
    pub async fn run(&self, stage: &Stage) -> anyhow::Result<()> {
        let hub = self.hub;
        stage.screen.heading("Installation");
        let what = "hub: kubectl apply -k config/default: CRDs, the broker's roles, and the operator";
        stage.step(what, stage.kubectl(hub, &["apply", "-k", DEFAULT])).await?;
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.kind.as_str()).collect();
        let kinds = kinds.join(", ");
        let what =
            format!("consumers and providers: CRDs of {kinds}, and of AcceptAPI; the broker's permissions there");
        stage.step(&what, self.admit()).await?;
        if !self.spokes.is_empty() {
            let what = "spokes: a ServiceAccount for the graphs controller (config/rbac/spoke.yaml)";
            let admit = futures::future::try_join_all(self.spokes.iter().map(|place| place.apply(SPOKE)));
            stage.step(what, async { admit.await.map(drop) }).await?;
        }
        if self.jobs {
            let what = "hub: permissions for the stages of migrations (config/rbac/compute-roles.yaml)";
            stage.step(what, hub.apply(COMPUTE_ROLES)).await?;
        }
        let what = "hub: a kubeconfig of the broker's ServiceAccount per cluster, in a labelled Secret";
        stage.step(what, self.introduce()).await?;
        for (place, names) in self.controlled() {
            stage.control(place, names)?;
        }
        let what = "hub: the operator is available (pod-runner in place of a node)";
        let operator = async {
            self.start_pod_runner(stage)?;
            available(hub, OPERATOR).await
        };
        stage.step(what, operator).await?;
        stage.step("hub: one Broker; the operator deploys it, and says Available=True", self.broker()).await?;
        stage.screen.detail(&stage.kubectl(hub, &["-n", SYSTEM, "get", "brokers,deployments"]).await?);
        Ok(())
    }

    /// Kinds and permissions of the clusters that are not the hub.
    async fn admit(&self) -> anyhow::Result<()> {
        const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";
        let brokered = |name: &str| self.kinds.iter().any(|kind| kind.crd() == name);
        let offered = |name: &str| brokered(name) || name == ACCEPT_APIS;
        let (consumer, provider) = (with_kinds(CONSUMER, self.kinds)?, with_kinds(PROVIDER, self.kinds)?);
        let consumers = self.consumers.iter().map(async |place| {
            Box::pin(place.install(brokered)).await?;
            Box::pin(place.apply(&consumer)).await
        });
        let providers = self.providers.iter().map(async |place| {
            Box::pin(place.install(offered)).await?;
            Box::pin(place.apply(&provider)).await
        });
        let consumers = futures::future::try_join_all(consumers);
        let providers = futures::future::try_join_all(providers);
        tokio::try_join!(consumers, providers)?;
        Ok(())
    }

    /// Kubernetes' own controllers, cluster by cluster.
    fn controlled(&self) -> Vec<(&Place, &'static [&'static str])> {
        let others = self.consumers.iter().chain(self.providers).filter(|place| !self.is_spoke(place));
        let others = others.map(|&place| (place, &controllers::GARBAGE[..]));
        let spokes = self.spokes.iter().map(|&place| (place, &controllers::ROLES[..]));
        std::iter::once((self.hub, &controllers::WORKLOADS[..])).chain(others).chain(spokes).collect()
    }

    fn is_spoke(&self, place: &Place) -> bool {
        self.spokes.iter().any(|spoke| spoke.name() == place.name())
    }

    async fn introduce(&self) -> anyhow::Result<()> {
        let consumers = self.consumers.iter().map(|place| (place, "consumer"));
        let providers = self.providers.iter().map(|place| (place, "provider"));
        for (place, role) in consumers.chain(providers) {
            // A cluster's name is its Secret's, and that of a spoke has the plain one.
            let name = if self.is_spoke(place) { format!("{}-{role}", place.name()) } else { place.name().to_owned() };
            let kubeconfig = place.kubeconfig_of(SYSTEM, ACCOUNT).await?;
            self.hub.apply(&cluster_secret(&name, &json!({ keys::ROLE: role }), &kubeconfig).to_string()).await?;
        }
        Ok(())
    }

    fn start_pod_runner(&self, stage: &Stage) -> anyhow::Result<()> {
        let kubeconfig = stage.lab.directory().join("pod-runner.kubeconfig");
        self.hub.cluster.write_kubeconfig("admin", &kubeconfig)?;
        let mut program = program::example("pod-runner", "pod-runner")?.env("NO_COLOR", "1");
        program = program.arg("--kubeconfig").arg(kubeconfig).arg("--directory").arg(stage.lab.directory());
        let graphs = (!self.spokes.is_empty()).then_some(GRAPHS);
        for name in [BROKER, OPERATOR].into_iter().chain(self.jobs.then_some(BINARY)).chain(graphs) {
            program = program.arg("--program").arg(format!("{name}={}", harness::binary(name)?.display()));
        }
        stage.start(&program)
    }

    async fn broker(&self) -> anyhow::Result<()> {
        let graphs = !self.spokes.is_empty();
        self.hub.apply(&broker(self.kinds, graphs).to_string()).await?;
        let brokers = Api::<Broker>::namespaced(self.hub.client.clone(), SYSTEM);
        wait_for(DEADLINE, "conditions of the Broker that say it is available", async || {
            let broker = brokers.get(INSTANCE).await?;
            let conditions = broker.status.unwrap_or_default().conditions;
            let is = |kind: &str, status: &str| {
                let now = |held: &&Condition| held.observed_generation == broker.metadata.generation;
                conditions.iter().filter(now).any(|held| held.type_ == kind && held.status == status)
            };
            let graphs = !graphs || is("GraphsAvailable", "True");
            anyhow::ensure!(is("Available", "True") && is("Degraded", "False") && graphs, "{conditions:?}");
            Ok(())
        })
        .await?;
        available(self.hub, INSTANCE).await
    }
}

/// Waits until a Deployment of the hub has all its replicas.
async fn available(hub: &Place, name: &str) -> anyhow::Result<()> {
    let deployments = Api::<Deployment>::namespaced(hub.client.clone(), SYSTEM);
    wait_for(DEADLINE, &format!("Deployment {name} to be available"), async || {
        let status = deployments.get(name).await?.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let available = conditions.iter().any(|held| held.type_ == "Available" && held.status == "True");
        anyhow::ensure!(available && status.ready_replicas == Some(1), "conditions {conditions:?}");
        Ok(())
    })
    .await
}

/// What `config/samples/broker.yaml` is, for these kinds; with `graphs` it has a controller of them that serves spokes.
fn broker(kinds: &[Kind], graphs: bool) -> Value {
    let kinds: Vec<_> = kinds.iter().map(Kind::flag).collect();
    // For people who follow the log.
    let text = json!(["--log-format=text"]);
    let mut spec = json!({ "watchKinds": kinds, "clusterSecretsNamespace": CLUSTERS, "extraArgs": text });
    if graphs {
        spec["graphs"] = json!({ "enabled": true, "distribution": { "enabled": true }, "extraArgs": text });
    }
    json!({
        "apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker",
        "metadata": { "name": INSTANCE, "namespace": SYSTEM },
        "spec": spec,
    })
}

/// Makes a cluster a spoke of the hub, with labels for selectors.
pub async fn join(hub: &Place, spoke: &Place, labels: &[(&str, &str)]) -> anyhow::Result<()> {
    let kubeconfig = spoke.kubeconfig_of(SYSTEM, GRAPHS_ACCOUNT).await?;
    let mut all = json!({ keys::ROLE: Role::Spoke.as_str() });
    for (label, value) in labels {
        all[*label] = json!(value);
    }
    hub.apply(&cluster_secret(spoke.name(), &all, &kubeconfig).to_string()).await
}

/// The Secret that tells of a cluster. The one that `kubectl broker join` writes has the token of a Secret in it, which a
/// controller of the cluster makes; labs do not run that one, so the API server is asked for a token.
fn cluster_secret(name: &str, labels: &Value, kubeconfig: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": name, "namespace": CLUSTERS, "labels": labels },
        "stringData": { "kubeconfig": kubeconfig },
    })
}

/// The permissions of `yaml` with `kinds` in place of the sample's, as the comments in there ask people to do.
fn with_kinds(yaml: &str, kinds: &[Kind]) -> anyhow::Result<String> {
    let mut documents = Vec::new();
    for mut object in parse_objects(yaml)? {
        if let Some(Value::Array(rules)) = object.data.get_mut("rules") {
            *rules = rules.iter().flat_map(|rule| for_kinds(rule, kinds)).collect();
        }
        documents.push(serde_json::to_string::<DynamicObject>(&object)?);
    }
    Ok(documents.join("\n---\n"))
}

fn for_kinds(rule: &Value, kinds: &[Kind]) -> Vec<Value> {
    if rule["apiGroups"] != json!([SAMPLE_GROUP]) {
        return vec![rule.clone()];
    }
    let resources = rule["resources"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let resources: Vec<_> = resources.map(|resource| resource.split_once('/').map(|(_, part)| part)).collect();
    let adapted = |kind: &Kind| {
        let name = |part: Option<&str>| part.map_or(kind.plural.clone(), |part| format!("{}/{part}", kind.plural));
        let resources: Vec<_> = resources.iter().copied().map(name).collect();
        json!({ "apiGroups": [kind.group], "resources": resources, "verbs": rule["verbs"] })
    };
    kinds.iter().map(adapted).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use broker_api::generic::{compute::VirtualMachine, databases::Sql};

    use super::*;

    #[test]
    fn permissions_are_edited_as_the_files_say() {
        let kinds = [Kind::of::<VirtualMachine>(), Kind::of::<Sql>()];
        for (yaml, pairs) in [(CONSUMER, 2), (PROVIDER, 1)] {
            let text = with_kinds(yaml, &kinds).unwrap();
            assert!(!text.contains(SAMPLE_GROUP), "{text}");
            let rules: Vec<Value> = parse_objects(&text)
                .unwrap()
                .into_iter()
                .flat_map(|object| object.data["rules"].as_array().cloned().unwrap_or_default())
                .filter(|rule| rule["apiGroups"][0].as_str().is_some_and(|group| group.contains("generic")))
                .collect();
            assert_eq!(rules.len(), pairs * kinds.len(), "{rules:?}");
            assert!(rules.iter().any(|rule| rule["resources"] == json!(["sqls"])));
        }
    }

    #[test]
    fn a_subresource_stays_one() {
        let rule = json!({ "apiGroups": [SAMPLE_GROUP], "resources": ["certificates/status"], "verbs": ["patch"] });
        let adapted = for_kinds(&rule, &[Kind::of::<Sql>()]);
        assert_eq!(adapted[0]["resources"], json!(["sqls/status"]));
        assert_eq!(adapted[0]["apiGroups"], json!(["databases.generic.platform-mesh.io"]));
    }
}
