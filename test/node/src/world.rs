//! The clusters, the nodes of the hub, and the providers' own controllers.

use std::net::Ipv4Addr;

use example_stage::{Place, program};
use futures::future::try_join_all;
use harness::{Cluster, ClusterOptions, Lab, LabOptions, Process, Program};

use crate::{
    kubectl::{Kubectl, PERSON},
    kubelet,
    node::{self, Node},
    options::Options,
};

/// Where the API servers listen: `enter.sh` has made the address.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SCHEDULER: &str = "system:kube-scheduler";
const CA_NAMESPACE: &str = "cert-provider";

/// Everything that runs beside what is tested.
pub(crate) struct World {
    pub(crate) hub: Place,
    pub(crate) homer: Place,
    pub(crate) internal: Place,
    pub(crate) corp: Place,
    pub(crate) nodes: Vec<Node>,
    pub(crate) kubectl: Kubectl,
    _processes: Vec<Process>,
    /// Last: it ends what the others have started.
    _lab: Lab,
}

impl World {
    /// Starts it; returns when API servers answer and nodes are ready.
    pub(crate) async fn start(options: &Options) -> anyhow::Result<Self> {
        let directory = Some(options.directory.clone());
        let lab = Lab::start(LabOptions { directory, ..LabOptions::default() }).await?;
        let others = ClusterOptions { controller_manager: true, address: Some(ADDRESS), ..ClusterOptions::default() };
        let start = |name| lab.cluster_with(name, &others);
        let hub = hub_options();
        let (hub, homer, internal, corp) = tokio::try_join!(
            Box::pin(lab.cluster_with("hub", &hub)),
            Box::pin(start("homer")),
            Box::pin(start("internal-corp")),
            Box::pin(start("corp-com")),
        )?;
        let nodes = node::PLACES.iter().map(|place| Node::start(&lab, &hub, place, options));
        let nodes = try_join_all(nodes).await?;
        let processes = vec![
            scheduler(&lab, &hub)?,
            cert_provider(&lab, &internal, "internal.corp CA")?,
            cert_provider(&lab, &corp, "corp.com CA")?,
        ];
        let kubectl = Kubectl::new(&lab, &[&hub, &homer, &internal, &corp])?;
        let [hub, homer, internal, corp] =
            [place(hub).await?, place(homer).await?, place(internal).await?, place(corp).await?];
        for node in &nodes {
            node.until_ready(&hub.client).await?;
        }
        Ok(Self { hub, homer, internal, corp, nodes, kubectl, _processes: processes, _lab: lab })
    }

    /// The consumer and the providers, each with its role.
    pub(crate) fn others(&self) -> [(&Place, &'static str); 3] {
        [(&self.homer, "consumer"), (&self.internal, "provider"), (&self.corp, "provider")]
    }
}

/// No kube-proxy runs, so Service `kubernetes` gets the address at which the API server itself listens: the first of
/// the Services' range. What other Services' addresses would lead to is not tested here.
fn hub_options() -> ClusterOptions {
    let users = node::PLACES.iter().map(|place| kubelet::user(place.name));
    ClusterOptions {
        controller_manager: true,
        users: users.chain([(SCHEDULER.to_owned(), Vec::new())]).collect(),
        extra_args: vec!["--service-cluster-ip-range=10.77.0.0/24".to_owned()],
        address: Some(ADDRESS),
        port: Some(443),
        nodes: true,
        ..ClusterOptions::default()
    }
}

async fn place(cluster: Cluster) -> anyhow::Result<Place> {
    Ok(Place { client: cluster.client(PERSON).await?, cluster })
}

fn scheduler(lab: &Lab, hub: &Cluster) -> anyhow::Result<Process> {
    let kubeconfig = lab.directory().join("scheduler.kubeconfig");
    hub.write_kubeconfig(SCHEDULER, &kubeconfig)?;
    let program = Program::new("scheduler", harness::node_binary("kube-scheduler")?)
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .args(["--leader-elect=false", "--secure-port=0"]);
    lab.start_process(&program)
}

/// The provider's own controller. It stays up when its kinds come later.
fn cert_provider(lab: &Lab, cluster: &Cluster, issuer: &str) -> anyhow::Result<Process> {
    let name = format!("cert-provider-{}", cluster.name());
    let kubeconfig = lab.directory().join(format!("{name}.kubeconfig"));
    cluster.write_kubeconfig("provider-controller", &kubeconfig)?;
    let kubeconfig = kubeconfig.display().to_string();
    let args = ["--kubeconfig", &kubeconfig, "--issuer-name", issuer, "--ca-namespace", CA_NAMESPACE];
    lab.start_process(&program::example(name, "cert-provider")?.args(args))
}
