//! A coordination cluster with the operator, as a user that holds what `config/operator/role.yaml` grants and no more.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use e2e::broker::http_get;
use harness::{
    AuditEvents, Cluster, ClusterOptions, Lab, LabOptions, Mark, Process, Program, binary, free_address, wait_for,
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

/// Who the operator is to the API server.
pub(crate) const OPERATOR: &str = "operator";
/// Where Brokers are.
pub(crate) const SYSTEM: &str = "resource-broker-system";
/// Where cluster Secrets are.
pub(crate) const CLUSTERS: &str = "resource-broker-clusters";
/// How long anything may take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(40);
/// Image of brokers that name none.
pub(crate) const IMAGE: &str = "localhost/resource-broker:e2e";

/// Image of graphs controllers of Brokers that name none.
pub(crate) const GRAPHS_IMAGE: &str = "localhost/resource-graphs:e2e";

/// A kind: group and version, name, plural.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind(pub(crate) &'static str, pub(crate) &'static str, pub(crate) &'static str);

pub(crate) const BROKER: Kind = Kind("operator.broker.platform-mesh.io/v1alpha1", "Broker", "brokers");
pub(crate) const DEPLOYMENT: Kind = Kind("apps/v1", "Deployment", "deployments");
pub(crate) const SERVICE: Kind = Kind("v1", "Service", "services");
pub(crate) const ACCOUNT: Kind = Kind("v1", "ServiceAccount", "serviceaccounts");
pub(crate) const SECRET: Kind = Kind("v1", "Secret", "secrets");
pub(crate) const POD: Kind = Kind("v1", "Pod", "pods");
const REPLICA_SET: Kind = Kind("apps/v1", "ReplicaSet", "replicasets");
pub(crate) const BUDGET: Kind = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets");
pub(crate) const POLICY: Kind = Kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies");
pub(crate) const BINDING: Kind = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings");
pub(crate) const ROLE: Kind = Kind("rbac.authorization.k8s.io/v1", "Role", "roles");
pub(crate) const CLUSTER_BINDING: Kind =
    Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings");
pub(crate) const MONITOR: Kind = Kind("monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors");
pub(crate) const CRDS: Kind = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions");
pub(crate) const EVENT: Kind = Kind("events.k8s.io/v1", "Event", "events");

/// An operator that was started. Dropping it kills it.
pub(crate) struct Operator {
    process: Process,
    /// Of probes and metrics.
    address: String,
}

impl Operator {
    pub(crate) async fn until_ready(&self) {
        let ready = wait_for(DEADLINE, "the operator to be ready", async || {
            let (status, body) = http_get(&self.address, "/readyz").await?;
            anyhow::ensure!(status == 200, "{status} {body}");
            anyhow::Ok(())
        });
        ready.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.log().unwrap()));
    }

    pub(crate) async fn until_leads(&self, leads: bool) {
        let line = format!("leader_election_master_status{{name=\"resource-broker-operator\"}} {}", i32::from(leads));
        let seen = wait_for(DEADLINE, &line, async || {
            let (_, metrics) = http_get(&self.address, "/metrics").await?;
            anyhow::ensure!(metrics.contains(&line), "{metrics}");
            anyhow::Ok(())
        });
        seen.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.log().unwrap()));
    }
}

/// The lab, one cluster in it, and the operator.
pub(crate) struct Stage {
    operator: Option<Operator>,
    kubeconfig: PathBuf,
    pub(crate) cluster: Cluster,
    client: Client,
    pub(crate) lab: Lab,
}

/// A file of the repository's `config`.
fn config(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What `config/operator/role.yaml` binds to a ServiceAccount, bound to the user.
fn bindings() -> String {
    [binding("ClusterRole", ""), binding("Role", SYSTEM), binding("Role", CLUSTERS)].join("\n---\n")
}

fn binding(kind: &str, namespace: &str) -> String {
    let metadata = if kind == "Role" { format!("{{name: e2e, namespace: {namespace}}}") } else { "{name: e2e}".into() };
    format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: {kind}Binding, metadata: {metadata}, \
         roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: {kind}, name: resource-broker-operator}}, \
         subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {OPERATOR}}}]}}"
    )
}

impl Stage {
    /// Starts all but the operator.
    pub(crate) async fn without_operator() -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let options = ClusterOptions {
            controller_manager: true,
            users: vec![(OPERATOR.to_owned(), Vec::new())],
            workloads: vec!["apps/v1", "policy/v1"],
            ..ClusterOptions::default()
        };
        let cluster = lab.cluster_with("hub", &options).await.unwrap();
        let namespaces = [SYSTEM, CLUSTERS, "elsewhere"]
            .map(|name| format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"));
        let crd = config("crd/operator.broker.platform-mesh.io_brokers.yaml");
        let roles = ["rbac/roles.yaml", "rbac/graphs-roles.yaml", "operator/role.yaml"].map(config);
        for yaml in [namespaces.join("\n---\n"), crd].into_iter().chain(roles).chain([bindings()]) {
            cluster.apply("person", &yaml).await.unwrap();
        }
        let kubeconfig = lab.directory().join("operator.kubeconfig");
        cluster.write_kubeconfig(OPERATOR, &kubeconfig).unwrap();
        let client = cluster.client("person").await.unwrap();
        Self { operator: None, kubeconfig, cluster, client, lab }
    }

    /// Starts everything, and one cluster Secret.
    pub(crate) async fn start() -> Self {
        let mut stage = Self::without_operator().await;
        stage.cluster_secret("homer").await;
        stage.start_operator();
        stage
    }

    pub(crate) fn start_operator(&mut self) {
        self.operator = Some(self.another_operator("operator"));
    }

    /// One more, of its own name.
    pub(crate) fn another_operator(&self, name: &str) -> Operator {
        let address = free_address().unwrap();
        let program = Program::new(name, binary("resource-broker-operator").unwrap()).args([
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--namespace={SYSTEM}"),
            "-leader-elect=true".to_owned(),
            format!("--health-probe-bind-address={address}"),
            format!("-metrics-bind-address={address}"),
            format!("--broker-image={IMAGE}"),
            format!("--graphs-image={GRAPHS_IMAGE}"),
        ]);
        Operator { process: self.lab.start_process(&program).unwrap(), address }
    }

    pub(crate) fn operator(&self) -> &Operator {
        self.operator.as_ref().unwrap()
    }

    /// SIGKILL. Whoever comes next has to wait for the lease.
    pub(crate) fn kill_operator(&mut self) {
        self.operator = None;
    }

    /// SIGTERM: the lease is released. A process that has hardly begun would be ended by it like any other program,
    /// so it is waited for first.
    pub(crate) async fn stop_operator(&mut self) {
        self.operator().until_ready().await;
        let status = self.operator.as_mut().unwrap().process.terminate(DEADLINE).await.unwrap();
        assert_eq!(status.code(), Some(0), "{}", self.log());
        self.operator = None;
    }

    pub(crate) fn log(&self) -> String {
        self.operator.as_ref().map(|operator| operator.process.log().unwrap()).unwrap_or_default()
    }

    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        let Kind(api_version, name, plural) = kind;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version: api_version.to_owned(),
            kind: name.to_owned(),
            plural: plural.to_owned(),
        };
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource)
        }
    }

    /// An object, `Null` if it is not there.
    pub(crate) async fn get(&self, kind: Kind, namespace: &str, name: &str) -> Value {
        let found = self.api(kind, namespace).get_opt(name).await.unwrap();
        found.map_or(Value::Null, |object| serde_json::to_value(object).unwrap())
    }

    /// Waits until an object is as `is` says; `Null` if it is not there. Returns it.
    pub(crate) async fn until(
        &self,
        kind: Kind,
        (namespace, name): (&str, &str),
        what: &str,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let what = format!("{} {namespace}/{name}: {what}", kind.1);
        let waited = wait_for(DEADLINE, &what, async || {
            let seen = self.get(kind, namespace, name).await;
            if is(&seen) { Ok(seen) } else { Err(seen.to_string()) }
        });
        waited.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()))
    }

    pub(crate) async fn until_there(&self, kind: Kind, namespace: &str, name: &str) -> Value {
        self.until(kind, (namespace, name), "to be there", |seen| !seen.is_null()).await
    }

    pub(crate) async fn until_gone(&self, kind: Kind, namespace: &str, name: &str) {
        self.until(kind, (namespace, name), "to be gone", Value::is_null).await;
    }

    /// Names of all objects of a kind that carry the label of a Broker's uid.
    pub(crate) async fn labelled(&self, kind: Kind, uid: &str) -> Vec<String> {
        let label = format!("operator.broker.platform-mesh.io/broker-uid={uid}");
        let list = self.api(kind, "").list(&kube::api::ListParams::default().labels(&label)).await.unwrap();
        list.items.into_iter().filter_map(|object| object.metadata.name).collect()
    }

    /// Creates or changes a Broker, as `kubectl apply` does.
    pub(crate) async fn broker(&self, name: &str, spec: Value) -> Value {
        let Kind(api_version, kind, _) = BROKER;
        let body = json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": SYSTEM}, "spec": spec});
        let params = PatchParams::apply("kubectl").force();
        let written = self.api(BROKER, SYSTEM).patch(name, &params, &Patch::Apply(&body)).await.unwrap();
        serde_json::to_value(written).unwrap()
    }

    pub(crate) async fn create(&self, kind: Kind, namespace: &str, mut body: Value) {
        body["apiVersion"] = kind.0.into();
        body["kind"] = kind.1.into();
        let object = serde_json::from_value(body).unwrap();
        self.api(kind, namespace).create(&PostParams::default(), &object).await.unwrap();
    }

    /// A pod of a Broker's Deployment, as the controllers of Deployments and ReplicaSets make it.
    pub(crate) async fn instance(&self, broker: &str, name: &str, account: &str) {
        let deployment = self.get(DEPLOYMENT, SYSTEM, broker).await;
        let owner = |kind: Kind, owner: &Value| {
            json!([{"apiVersion": kind.0, "kind": kind.1, "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "controller": true}])
        };
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let pod = json!({"serviceAccountName": account, "containers": [{"name": "b", "image": "i"}]});
        let spec = json!({"replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod}});
        let metadata = json!({"name": name, "labels": labels, "ownerReferences": owner(DEPLOYMENT, &deployment)});
        self.create(REPLICA_SET, SYSTEM, json!({"metadata": metadata, "spec": spec})).await;
        let set = self.get(REPLICA_SET, SYSTEM, name).await;
        let metadata = json!({"name": name, "labels": labels, "ownerReferences": owner(REPLICA_SET, &set)});
        self.create(POD, SYSTEM, json!({"metadata": metadata, "spec": pod})).await;
    }

    /// A pod with the same labels that somebody else makes.
    pub(crate) async fn stranger(&self, broker: &str, name: &str, account: &str) {
        let deployment = self.get(DEPLOYMENT, SYSTEM, broker).await;
        let labels = &deployment["spec"]["template"]["metadata"]["labels"];
        let pod = json!({"serviceAccountName": account, "containers": [{"name": "b", "image": "i"}]});
        self.create(POD, SYSTEM, json!({"metadata": {"name": name, "labels": labels}, "spec": pod})).await;
    }

    pub(crate) async fn cluster_secret(&self, name: &str) {
        let metadata = json!({"name": name, "labels": {"broker.platform-mesh.io/role": "consumer"}});
        self.create(SECRET, CLUSTERS, json!({"metadata": metadata})).await;
    }

    /// A Broker goes. What was made of it follows in the garbage collector's time.
    pub(crate) async fn remove(&self, name: &str) {
        self.delete(BROKER, SYSTEM, name).await;
        self.until_gone(BROKER, SYSTEM, name).await;
    }

    /// What `config/operator/role.yaml` allows in one namespace, allowed in another.
    pub(crate) async fn allow_secrets(&self, namespace: &str) {
        let role = self.get(ROLE, CLUSTERS, "resource-broker-operator").await;
        let metadata = json!({"name": "resource-broker-operator", "namespace": namespace});
        self.create(ROLE, namespace, json!({"metadata": metadata, "rules": role["rules"]})).await;
        self.cluster.apply("person", &binding("Role", namespace)).await.unwrap();
        let labels = json!({"broker.platform-mesh.io/role": "provider"});
        self.create(SECRET, namespace, json!({"metadata": {"name": "theseus", "labels": labels}})).await;
    }

    pub(crate) async fn edit(&self, kind: Kind, namespace: &str, name: &str, patch: Value) {
        self.api(kind, namespace).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }

    pub(crate) async fn set_status(&self, kind: Kind, name: &str, status: Value) {
        let patch = Patch::Merge(json!({"status": status}));
        self.api(kind, SYSTEM).patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// What the controller of Deployments writes in the end.
    pub(crate) async fn roll_out(&self, name: &str) {
        let deployment = self.get(DEPLOYMENT, SYSTEM, name).await;
        let count = &deployment["spec"]["replicas"];
        let status = json!({"observedGeneration": deployment["metadata"]["generation"], "replicas": count,
            "updatedReplicas": count, "readyReplicas": count, "availableReplicas": count});
        self.set_status(DEPLOYMENT, name, status).await;
    }

    pub(crate) async fn delete(&self, kind: Kind, namespace: &str, name: &str) {
        self.api(kind, namespace).delete(name, &DeleteParams::background()).await.unwrap();
    }

    /// Waits until the conditions of a Broker speak of its current generation and are as `stands` says: a condition and
    /// its reason, `-` before those that are False. Returns their messages.
    pub(crate) async fn until_stands(&self, name: &str, stands: &[(&str, &str)]) -> BTreeMap<String, String> {
        let broker = self
            .until(BROKER, (SYSTEM, name), &format!("{stands:?}"), |broker| {
                let generation = &broker["metadata"]["generation"];
                let stands_so = |(kind, reason): &(&str, &str)| {
                    let conditions = broker["status"]["conditions"].as_array().into_iter().flatten();
                    let mut found = conditions.filter(|condition| condition["type"] == *kind);
                    let (status, reason) =
                        reason.strip_prefix('-').map_or(("True", *reason), |reason| ("False", reason));
                    found.any(|condition| {
                        condition["status"] == status
                            && condition["reason"] == reason
                            && condition["observedGeneration"] == *generation
                    })
                };
                broker["status"]["observedGeneration"] == *generation && stands.iter().all(stands_so)
            })
            .await;
        let conditions = broker["status"]["conditions"].as_array().unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        conditions.iter().map(|condition| (text(&condition["type"]), text(&condition["message"]))).collect()
    }

    /// The end of the audit log.
    pub(crate) async fn mark(&self) -> Mark {
        self.cluster.audit().settle().await.unwrap()
    }

    /// What the operator asked for since then, but for its lease.
    pub(crate) async fn asked(&self, since: Mark) -> AuditEvents {
        let events = self.cluster.audit().settled_since(since).await.unwrap();
        events.of(OPERATOR).only(|event| event.resource != "leases")
    }

    /// Waits until the operator has passed over a Broker from beginning to end after now.
    ///
    /// Passes over one Broker come one after the other, and each begins with a look at it: when a second has begun, the
    /// first is over.
    pub(crate) async fn until_passed(&self, name: &str) {
        for round in 0..2 {
            let mark = self.mark().await;
            let poke = json!({"metadata": {"annotations": {"poke": format!("{round}-{mark:?}")}}});
            self.edit(BROKER, SYSTEM, name, poke).await;
            let what = format!("a pass over {name}");
            let seen = wait_for(DEADLINE, &what, async || {
                let asked = self.cluster.audit().requests_since(mark).unwrap().of(OPERATOR);
                asked.iter().any(|event| event.resource == "brokers" && event.verb == "get" && event.name == name)
            });
            seen.await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()));
        }
    }
}

/// Panics unless nothing was written.
pub(crate) fn assert_no_writes(asked: &AuditEvents) {
    let writes = asked.writes();
    assert!(writes.is_empty(), "{:#?}", writes.iter().map(|event| (&event.verb, &event.uri)).collect::<Vec<_>>());
}
