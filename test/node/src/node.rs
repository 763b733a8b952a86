//! A node: containerd, the images, and a kubelet.

use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
};

use harness::{Cluster, Lab, Process, wait_for};
use k8s_openapi::api::core::v1::Node as NodeObject;
use kube::{Api, Client};

use crate::{DEADLINE, containerd::Containerd, kubelet, options::Options};

/// State of all nodes: in memory, and gone with the mounts that `enter.sh` makes.
pub(crate) const STATE: &str = "/run/node-test";
/// The archives that each node has. Nothing is pulled: there is no network.
const IMAGES: [&str; 4] = ["pause", "resource-broker", "resource-broker-operator", "demo"];

/// A node that `enter.sh` has made a cgroup and an address for.
pub(crate) struct Place {
    /// Its name.
    pub(crate) name: &'static str,
    address: Ipv4Addr,
}

/// Both nodes. One is enough to run pods, with two a node can be drained.
pub(crate) const PLACES: [Place; 2] = [
    Place { name: "node-1", address: Ipv4Addr::new(10, 77, 0, 11) },
    Place { name: "node-2", address: Ipv4Addr::new(10, 77, 0, 12) },
];

/// A running node.
pub(crate) struct Node {
    /// Its name.
    pub(crate) name: &'static str,
    containerd: Containerd,
    state: PathBuf,
    _kubelet: Process,
}

impl Node {
    /// Starts it; returns when the node is there, which is a moment before it is ready.
    pub(crate) async fn start(lab: &Lab, hub: &Cluster, place: &Place, options: &Options) -> anyhow::Result<Self> {
        let Place { name, address } = *place;
        let state = Path::new(STATE).join(name);
        fs::create_dir_all(&state)?;
        let containerd = Containerd::start(lab, name, &state, &options.plugins).await?;
        for image in IMAGES {
            containerd.import(&options.images.join(format!("{image}.tar"))).await?;
        }
        let kubelet = kubelet::start(lab, hub, name, address, &state, &containerd)?;
        Ok(Self { name, containerd, state, _kubelet: kubelet })
    }

    /// Waits until the API server says that it is ready.
    pub(crate) async fn until_ready(&self, client: &Client) -> anyhow::Result<()> {
        let nodes: Api<NodeObject> = Api::all(client.clone());
        wait_for(DEADLINE, &format!("node {} to be ready", self.name), async || {
            let conditions = nodes.get(self.name).await?.status.unwrap_or_default().conditions.unwrap_or_default();
            let ready = conditions.iter().any(|held| held.type_ == "Ready" && held.status == "True");
            anyhow::ensure!(ready, "{conditions:?}");
            Ok(())
        })
        .await
    }

    /// Gives an image of this node another name.
    pub(crate) async fn tag(&self, image: &str, name: &str) -> anyhow::Result<()> {
        self.containerd.tag(image, name).await
    }

    /// Where the output of containers is.
    pub(crate) fn logs(&self) -> PathBuf {
        self.state.join("pods")
    }
}
