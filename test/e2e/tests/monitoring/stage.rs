//! `Stage`: a coordination cluster, a consumer and a provider, which is a spoke as well; broker, `resource-graphs` and operator;
//! and something that each of them serves.

use e2e::{
    Broker, BrokerSetup, Kind, Object, Place,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION, SECRET},
    scene::ACCEPT_NAMESPACE,
    world::place,
};
use harness::{ClusterOptions, Lab, LabOptions, Servers};
use serde_json::json;

/// Namespace of programs.
pub(crate) const SYSTEM: &str = "resource-broker-system";
/// Namespace of the clusters' Secrets.
pub(crate) const CLUSTERS: &str = "resource-broker-clusters";
/// Namespace of what people ask for.
pub(crate) const SHOP: &str = "shop";

/// The broker to Prometheus.
pub(crate) const BROKER: &str = "broker";
/// `resource-graphs` to Prometheus.
pub(crate) const GRAPHS: &str = "broker-graphs";
/// The operator to Prometheus.
pub(crate) const OPERATOR: &str = "resource-broker-operator";

/// The user that programs are, beside the broker's.
const USER: &str = "admin";

/// `Lease`.
pub(crate) const LEASE: Kind = Kind { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };
const BROKERS: Kind =
    Kind { group: "operator.broker.platform-mesh.io", version: "v1alpha1", kind: "Broker", plural: "brokers" };
const RGD: Kind =
    Kind { group: "kro.run", version: "v1alpha1", kind: "ResourceGraphDefinition", plural: "resourcegraphdefinitions" };
const NOTE: Kind = Kind { group: "kro.run", version: "v1alpha1", kind: "Note", plural: "notes" };

/// The CRDs of graphs.
const CRDS: [&str; 3] = [
    include_str!("../../../../config/crd-graphs/broker.platform-mesh.io_resourcegraphrollouts.yaml"),
    include_str!("../../../../config/crd-graphs/internal.kro.run_graphrevisions.yaml"),
    include_str!("../../../../config/crd-graphs/kro.run_resourcegraphdefinitions.yaml"),
];

/// All of it.
pub(crate) struct Stage {
    pub(crate) lab: Lab,
    /// The coordination cluster.
    pub(crate) hub: Place,
    /// The consumer.
    pub(crate) homer: Place,
    /// The provider, and the spoke.
    pub(crate) theseus: Place,
    /// Led by a Lease.
    pub(crate) broker: Broker,
    pub(crate) graphs: Broker,
    pub(crate) operator: Broker,
}

/// An instance that holds a ConfigMap of this name.
pub(crate) fn note(name: &str, config: &str) -> String {
    NOTE.object(SHOP, name, &json!({"spec": {"config": config}})).to_string()
}

/// Starts them, and returns when they are ready.
async fn programs(lab: &Lab, hub: &Place, consumer: &Place, provider: &Place) -> [Broker; 3] {
    let file = lab.directory().join("hub.kubeconfig");
    hub.cluster.write_kubeconfig(USER, &file).unwrap();
    let kubeconfig = format!("--kubeconfig={}", file.display());
    let own = format!("--namespace={SYSTEM}");
    let secrets = format!("--cluster-secrets-namespace={CLUSTERS}");
    let elect = "--leader-elect".to_owned();
    let broker = BrokerSetup {
        name: BROKER,
        coordination: Some(hub),
        consumers: vec![consumer],
        providers: vec![provider],
        kinds: &[CERTIFICATE],
        args: vec![own.clone(), secrets.clone(), elect.clone()],
        ..BrokerSetup::default()
    };
    let args = vec![kubeconfig.clone(), secrets, "--enable-multicluster".to_owned()];
    let graphs = BrokerSetup { name: GRAPHS, program: "resource-graphs", args, ..BrokerSetup::default() };
    let args = vec![kubeconfig, own, elect];
    let operator = BrokerSetup { name: OPERATOR, program: "resource-broker-operator", args, ..BrokerSetup::default() };
    let started = tokio::join!(Broker::start(lab, &broker), Broker::start(lab, &graphs), Broker::start(lab, &operator));
    started.into()
}

impl Stage {
    /// Starts all, and returns when nothing is left to be done.
    pub(crate) async fn start() -> Self {
        let lab = Lab::start(LabOptions { servers: Servers::modelled().unwrap(), ..LabOptions::default() }).await;
        let lab = lab.unwrap_or_else(|error| panic!("{error:#}"));
        let workloads = vec!["apps/v1", "batch/v1", "policy/v1"];
        let options = ClusterOptions { real: true, workloads, ..ClusterOptions::default() };
        let bare = ClusterOptions::default();
        let (hub, homer, theseus) = tokio::join!(
            place(&lab, "hub", &options, &[MIGRATION, MIGRATION_CONFIGURATION, BROKERS]),
            place(&lab, "homer", &bare, &[CERTIFICATE]),
            place(&lab, "theseus", &bare, &[ACCEPT_API, CERTIFICATE]),
        );
        hub.apply(&CRDS.join("\n---\n")).await;
        for namespace in [SYSTEM, CLUSTERS, SHOP] {
            hub.make_namespace(namespace).await;
        }
        homer.make_namespace(SHOP).await;

        let [broker, graphs, operator] = programs(&lab, &hub, &homer, &theseus).await;
        let stage = Self { lab, hub, homer, theseus, broker, graphs, operator };
        tokio::join!(stage.broker_serves(), stage.graphs_are_served(), stage.operator_deploys());
        stage
    }

    async fn broker_serves(&self) {
        let spec = json!({"gvr": CERTIFICATE.gvr(), "filters": [{"key": "fqdn", "suffix": ".shop.test"}]});
        self.theseus.create(&ACCEPT_API, ACCEPT_NAMESPACE, "certificates", json!({"spec": spec})).await;
        self.homer.create(&CERTIFICATE, SHOP, "web", json!({"spec": {"fqdn": "web.shop.test"}})).await;
        let placed = |seen: &Object| seen.has("Brokered", "True", "Placed");
        self.homer.until(&CERTIFICATE, SHOP, "web", "to be placed", placed).await;
    }

    async fn graphs_are_served(&self) {
        let labels = json!({"broker.platform-mesh.io/role": "spoke"});
        let kubeconfig = self.theseus.cluster.kubeconfig(USER).unwrap();
        let spoke = json!({"metadata": {"labels": labels}, "stringData": {"kubeconfig": kubeconfig}});
        self.hub.create(&SECRET, CLUSTERS, "theseus", spoke).await;
        let template =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${schema.spec.config}"}, "data": {}});
        let schema = json!({"apiVersion": NOTE.version, "kind": NOTE.kind, "spec": {"config": "string"}});
        let spec = json!({"schema": schema, "resources": [{"id": "config", "template": template}]});
        self.hub.create(&RGD, "", "note", json!({"spec": spec})).await;
        let everywhere = |seen: &Object| seen.has("Distributed", "True", "AllClusters");
        self.hub.until(&RGD, "", "note", "to be everywhere", everywhere).await;
        self.hub.apply(&note("first", "first")).await;
        let active = |seen: &Object| seen.text("/status/state") == "ACTIVE";
        self.hub.until(&NOTE, SHOP, "first", "to be active", active).await;
    }

    async fn operator_deploys(&self) {
        let spec = json!({"watchKinds": [CERTIFICATE.flag()], "clusterSecretsNamespace": CLUSTERS});
        self.hub.create(&BROKERS, SYSTEM, "certificates", json!({"spec": spec})).await;
        let judged = |seen: &Object| seen.condition("Degraded").is_some();
        self.hub.until(&BROKERS, SYSTEM, "certificates", "to be judged", judged).await;
    }
}
