//! A kubelet.

use std::{fs, net::Ipv4Addr, path::Path};

use harness::{Cluster, Lab, Process, Program};
use serde_json::json;

use crate::containerd::Containerd;

/// Name of a node's kubelet to the API server: what the Node authorizer and NodeRestriction go by.
pub(crate) fn user(node: &str) -> (String, Vec<String>) {
    (format!("system:node:{node}"), vec!["system:nodes".to_owned()])
}

/// Starts it, with its state below `state`. The cgroup `/<name>` is there.
pub(crate) fn start(
    lab: &Lab,
    hub: &Cluster,
    name: &str,
    address: Ipv4Addr,
    state: &Path,
    containerd: &Containerd,
) -> anyhow::Result<Process> {
    let (user, _) = user(name);
    let kubeconfig = state.join("kubelet.kubeconfig");
    hub.write_kubeconfig(&user, &kubeconfig)?;
    let file = state.join("kubelet.yaml");
    // JSON is YAML.
    fs::write(&file, configuration(name, address, state, containerd).to_string())?;
    let program = Program::new(format!("{name}-kubelet"), harness::node_binary("kubelet")?)
        .arg(format!("--config={}", file.display()))
        .arg(format!("--kubeconfig={}", kubeconfig.display()))
        .arg(format!("--root-dir={}", state.join("kubelet").display()))
        .arg(format!("--cert-dir={}", state.join("certificates").display()))
        .arg(format!("--hostname-override={name}"))
        .arg(format!("--node-ip={address}"))
        .arg("--v=2");
    lab.start_process(&program)
}

fn configuration(name: &str, address: Ipv4Addr, state: &Path, containerd: &Containerd) -> serde_json::Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "containerRuntimeEndpoint": containerd.endpoint(),
        "address": address,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{name}"),
        // Version 1 is what older machines have.
        "failCgroupV1": false,
        "failSwapOn": false,
        // It would set the machine's iptables.
        "makeIPTablesUtilChains": false,
        "oomScoreAdj": 0,
        "healthzPort": 0,
        // Only this network namespace reaches it.
        "authentication": { "anonymous": { "enabled": true }, "webhook": { "enabled": false } },
        "authorization": { "mode": "AlwaysAllow" },
        // How full the machine's disk is, is none of the test's business.
        "imageGCHighThresholdPercent": 100,
        "evictionHard": { "memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%",
            "nodefs.inodesFree": "0%", "imagefs.inodesFree": "0%" },
        "nodeStatusUpdateFrequency": "2s",
        "volumePluginDir": state.join("volume-plugins"),
        "podLogsDir": state.join("pods"),
        "resolvConf": "",
    })
}
