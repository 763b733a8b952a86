//! The broker, installed in the clusters of a demo the way the project's README says, step by step.
//!
//! Everything that a platform team applies is applied here too, from the same files: `config/rbac` with the kinds of the
//! demo in place of the sample's, a kubeconfig per cluster in a labelled Secret. What a demo has no node for, `pod-runner`
//! runs ([`crate::runner`]).

use anyhow::Context as _;
use broker_api::keys;
use harness::{Program, parse_objects, wait_for};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ServiceAccount};
use kube::{Api, api::DynamicObject, config::Kubeconfig};
use serde_json::{Value, json};

use crate::{
    DEADLINE, Kind, Place, Stage,
    container::{token, with_token},
    controllers,
    place::PERSON,
};

/// Program and log of the broker.
pub const BROKER: &str = "resource-broker";
/// Namespace of the broker in every cluster.
pub const SYSTEM: &str = "resource-broker-system";
/// Namespace of the cluster Secrets in the hub.
pub const CLUSTERS: &str = "resource-broker-clusters";
/// ServiceAccount of the broker in consumers and providers.
pub const ACCOUNT: &str = "resource-broker";

const CONSUMER: &str = include_str!("../../../config/rbac/consumer.yaml");
const PROVIDER: &str = include_str!("../../../config/rbac/provider.yaml");
const COORDINATION: &str = include_str!("../../../config/rbac/coordination.yaml");
const COMPUTE: &str = include_str!("../../../config/rbac/compute.yaml");
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
    /// The kinds that are brokered.
    pub kinds: &'a [Kind],
    /// Programs that Jobs of migrations run.
    pub jobs: &'a [&'a str],
}

impl Installation<'_> {
    /// Goes through all steps; the broker is ready at the end.
    pub async fn run(&self, stage: &Stage) -> anyhow::Result<()> {
        stage.screen.heading("Installation");
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.kind.as_str()).collect();
        let kinds = kinds.join(", ");
        let what = format!("CRDs: {kinds} in consumers and providers, AcceptAPI in providers, the broker's own in hub");
        stage.step(&what, self.install_kinds()).await?;
        stage.step("permissions of the broker in each cluster (config/rbac)", self.grant()).await?;
        for (place, names) in self.controlled() {
            stage.control(place, names)?;
        }
        let what = "hub: a kubeconfig of the broker's ServiceAccount per cluster, in a labelled Secret";
        stage.step(what, self.introduce()).await?;
        let what = "hub: pod-runner, in place of a node";
        stage.step(what, async { self.start_pod_runner(stage) }).await?;
        stage.step("hub: Deployment resource-broker is available", self.deploy()).await
    }

    async fn install_kinds(&self) -> anyhow::Result<()> {
        const ACCEPT_APIS: &str = "acceptapis.broker.platform-mesh.io";
        let brokered = |name: &str| self.kinds.iter().any(|kind| kind.crd() == name);
        let own = |name: &str| name.ends_with(keys::GROUP) && name != ACCEPT_APIS;
        let offered = |name: &str| brokered(name) || name == ACCEPT_APIS;
        let hub = Box::pin(self.hub.install(own));
        let consumers = self.consumers.iter().map(|place| place.install(brokered));
        let providers = self.providers.iter().map(|place| place.install(offered));
        let consumers = Box::pin(futures::future::try_join_all(consumers));
        let providers = Box::pin(futures::future::try_join_all(providers));
        tokio::try_join!(hub, consumers, providers)?;
        Ok(())
    }

    async fn grant(&self) -> anyhow::Result<()> {
        for place in self.consumers {
            place.apply(&with_kinds(CONSUMER, self.kinds)?).await?;
        }
        for place in self.providers {
            place.apply(&with_kinds(PROVIDER, self.kinds)?).await?;
        }
        self.hub.apply(COORDINATION).await?;
        self.hub.apply(COMPUTE).await
    }

    /// Kubernetes' own controllers, cluster by cluster.
    fn controlled(&self) -> Vec<(&Place, &'static [&'static str])> {
        let others = self.consumers.iter().chain(self.providers);
        let others = others.map(|&place| (place, &controllers::GARBAGE[..]));
        std::iter::once((self.hub, &controllers::WORKLOADS[..])).chain(others).collect()
    }

    async fn introduce(&self) -> anyhow::Result<()> {
        let consumers = self.consumers.iter().map(|place| (place, "consumer"));
        let providers = self.providers.iter().map(|place| (place, "provider"));
        for (place, role) in consumers.chain(providers) {
            self.hub.apply(&cluster_secret(place, role).await?.to_string()).await?;
        }
        Ok(())
    }

    fn start_pod_runner(&self, stage: &Stage) -> anyhow::Result<()> {
        let kubeconfig = stage.lab.directory().join("pod-runner.kubeconfig");
        self.hub.cluster.write_kubeconfig("admin", &kubeconfig)?;
        let mut program = Program::new("pod-runner", harness::binary("pod-runner")?).env("NO_COLOR", "1");
        program = program.arg("--kubeconfig").arg(kubeconfig).arg("--directory").arg(stage.lab.directory());
        for name in [BROKER].iter().chain(self.jobs) {
            program = program.arg("--program").arg(format!("{name}={}", harness::binary(name)?.display()));
        }
        stage.start(&program)
    }

    async fn deploy(&self) -> anyhow::Result<()> {
        self.hub.apply(&deployment(self.kinds).to_string()).await?;
        let deployments = Api::<Deployment>::namespaced(self.hub.client.clone(), SYSTEM);
        wait_for(DEADLINE, "condition Available=True on the Deployment", async || {
            let status = deployments.get(BROKER).await?.status.unwrap_or_default();
            let conditions = status.conditions.unwrap_or_default();
            let available = conditions.iter().any(|held| held.type_ == "Available" && held.status == "True");
            anyhow::ensure!(available && status.ready_replicas == Some(1), "conditions {conditions:?}");
            Ok(())
        })
        .await
    }
}

fn deployment(kinds: &[Kind]) -> Value {
    let mut args = vec![format!("--cluster-secrets-namespace={CLUSTERS}"), format!("--namespace={SYSTEM}")];
    args.extend(kinds.iter().map(|kind| format!("--watch-kind={}", kind.flag())));
    let labels = json!({ "app": BROKER });
    let probe = json!({ "httpGet": { "path": "/readyz", "port": 8081 }, "periodSeconds": 1 });
    let container = json!({ "name": BROKER, "image": BROKER, "args": args, "readinessProbe": probe });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": BROKER, "namespace": SYSTEM },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "serviceAccountName": ACCOUNT, "containers": [container] },
            },
        },
    })
}

/// The Secret that tells the broker of a cluster. What `config/rbac/kubeconfig.sh` prints has the token of a Secret in
/// it, which a controller of the cluster makes; labs do not run that one, so the API server is asked for a token.
async fn cluster_secret(place: &Place, role: &str) -> anyhow::Result<Value> {
    let accounts = Api::<ServiceAccount>::namespaced(place.client.clone(), SYSTEM);
    let token = token(&accounts, ACCOUNT).await;
    let token = token.with_context(|| format!("cannot get a token for the broker in {}", place.name()))?;
    let kubeconfig = Kubeconfig::from_yaml(&place.cluster.kubeconfig(PERSON)?)?;
    let kubeconfig = with_token(&kubeconfig, ACCOUNT, SYSTEM, token);
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": place.name(), "namespace": CLUSTERS, "labels": { keys::ROLE: role } },
        "stringData": { "kubeconfig": serde_json::to_string(&kubeconfig)? },
    }))
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
