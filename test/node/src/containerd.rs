//! containerd with runc, and the images in it.

use std::{fs, path::Path};

use harness::{Lab, Process, Program, wait_for};
use tokio::process::Command;

use crate::{DEADLINE, command::run, node};

/// The image of the process that holds a pod's namespaces; made by `pause.sh`.
const PAUSE: &str = "localhost/pause:1";

/// A running containerd.
pub(crate) struct Containerd {
    socket: String,
    _process: Process,
}

impl Containerd {
    /// Starts it for one node, with its state below `state`; returns when it answers.
    pub(crate) async fn start(lab: &Lab, name: &str, state: &Path, plugins: &Path) -> anyhow::Result<Self> {
        let networks = state.join("cni");
        fs::create_dir_all(&networks)?;
        fs::write(networks.join("10-bridge.conflist"), network())?;
        let socket = state.join("containerd.sock").display().to_string();
        let file = state.join("containerd.toml");
        fs::write(&file, configuration(state, &socket, &networks, plugins))?;
        let program = Program::new(format!("{name}-containerd"), "containerd").arg("--config").arg(file);
        let containerd = Self { _process: lab.start_process(&program)?, socket };
        wait_for(DEADLINE, "containerd", async || run(containerd.ctr().arg("version")).await).await?;
        Ok(containerd)
    }

    /// Where the kubelet finds it.
    pub(crate) fn endpoint(&self) -> String {
        format!("unix://{}", self.socket)
    }

    /// Imports an archive.
    pub(crate) async fn import(&self, archive: &Path) -> anyhow::Result<()> {
        run(self.ctr().args(["images", "import"]).arg(archive)).await.map(drop)
    }

    /// Gives an image another name.
    pub(crate) async fn tag(&self, image: &str, name: &str) -> anyhow::Result<()> {
        run(self.ctr().args(["images", "tag", "--force", image, name])).await.map(drop)
    }

    fn ctr(&self) -> Command {
        let mut ctr = Command::new("ctr");
        ctr.args(["--address", &self.socket, "--namespace", "k8s.io"]);
        ctr
    }
}

/// Pods of all nodes are on one bridge: the nodes share a network namespace, and a file of the addresses given out.
fn network() -> String {
    format!(
        r#"{{"cniVersion": "0.4.0", "name": "pods", "plugins": [{{"type": "bridge", "bridge": "pods0", "isGateway": true,
  "ipMasq": false, "ipam": {{"type": "host-local", "dataDir": "{}/addresses",
  "ranges": [[{{"subnet": "10.88.0.0/24"}}]], "routes": [{{"dst": "0.0.0.0/0"}}]}}}}]}}
"#,
        node::STATE
    )
}

/// `restrict_oom_score_adj`: root may lack CAP_SYS_RESOURCE in a container. The plugins that are off look for devices of
/// the machine, or make folders on it.
fn configuration(state: &Path, socket: &str, networks: &Path, plugins: &Path) -> String {
    format!(
        r#"version = 2
root = "{root}"
state = "{run}"
oom_score = 0
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.nri.v1.nri"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "runc"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    conf_dir = "{networks}"
    bin_dir = "{plugins}"
"#,
        root = state.join("images").display(),
        run = state.join("containerd").display(),
        networks = networks.display(),
        plugins = plugins.display(),
    )
}
