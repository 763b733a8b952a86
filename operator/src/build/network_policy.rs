//! What may reach the pods, and what they may reach.

use serde_json::{Value, json};

use super::metadata::owned;
use crate::{
    desired::{Desired, OwnedKind},
    owner::Owner,
    program::Program,
};

/// In: the metrics, nothing else (the kubelet's probes are no matter of policies). Out: DNS, and API servers, which may be
/// anywhere, at any port but 80: there clouds hand out a node's credentials, in plain HTTP.
pub(super) fn build(owner: &Owner, program: Program, metrics_port: Option<u16>) -> Desired {
    let ingress: Vec<Value> =
        metrics_port.iter().map(|port| json!({"ports": [{"protocol": "TCP", "port": port}]})).collect();
    Desired::new(
        OwnedKind::NetworkPolicy,
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": owned(owner, program, &program.name(owner)),
            "spec": {
                "podSelector": {"matchLabels": program.pod_selector(owner)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                // By port, not by address: some network plugins count neither nodes, on which API servers are, nor pods
                // to any address block.
                "egress": [{"ports": [
                    {"protocol": "UDP", "port": 53},
                    {"protocol": "TCP", "port": 1, "endPort": 79},
                    {"protocol": "TCP", "port": 81, "endPort": 65535},
                ]}],
            },
        }),
    )
}
