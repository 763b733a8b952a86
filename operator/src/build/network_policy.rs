//! What may reach the pods, and what they may reach.

use serde_json::{Value, json};

use super::metadata::owned;
use crate::{
    desired::{Desired, Kind},
    owner::Owner,
};

/// In: the metrics, nothing else (the kubelet's probes are no matter of policies). Out: API servers may be anywhere, at
/// any port, but never where clouds hand out a node's credentials.
pub(super) fn build(owner: &Owner, metrics_port: Option<u16>) -> Desired {
    let ingress: Vec<Value> =
        metrics_port.iter().map(|port| json!({"ports": [{"protocol": "TCP", "port": port}]})).collect();
    Desired::new(
        Kind::NetworkPolicy,
        json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": owned(owner, &owner.name),
            "spec": {
                "podSelector": {"matchLabels": owner.pod_selector()},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": [
                    {"to": [
                        {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}},
                        {"ipBlock": {"cidr": "::/0", "except": ["fe80::/10", "fd00:ec2::254/128"]}},
                        // Some network plugins do not count pods to any address block.
                        {"namespaceSelector": {}},
                    ]},
                    // Node-local DNS caches have link-local addresses.
                    {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
                ],
            },
        }),
    )
}
