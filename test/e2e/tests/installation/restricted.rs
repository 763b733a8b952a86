//! The operator's pod, as clusters with rules want it: Pod Security `restricted`, and what goes beyond it. That a real
//! kubelet runs it so is what the node's test says.

use serde_json::{Value, json};

use crate::rendered::kustomized;

fn pod() -> Value {
    kustomized("config/default").get("Deployment", "resource-broker-operator")["spec"]["template"]["spec"].clone()
}

#[test]
fn the_operators_pod_is_restricted() {
    let pod = pod();
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    for host in ["hostNetwork", "hostPID", "hostIPC", "volumes", "initContainers", "ephemeralContainers"] {
        assert!(pod.get(host).is_none(), "{host}");
    }
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    // Equal, so that nothing is loosened beside it.
    assert_eq!(
        containers[0]["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        })
    );
    for port in containers[0]["ports"].as_array().unwrap() {
        assert!(port.get("hostPort").is_none(), "{port}");
    }
}

#[test]
fn the_operators_container_has_requests_limits_and_probes() {
    let pod = pod();
    let container = &pod["containers"][0];
    for (kind, resource) in [("requests", "cpu"), ("requests", "memory"), ("limits", "cpu"), ("limits", "memory")] {
        assert!(container["resources"][kind][resource].is_string(), "{kind}.{resource}");
    }
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert!(container[probe]["httpGet"]["path"].is_string(), "{probe}");
    }
    assert_eq!(container["terminationMessagePolicy"], "FallbackToLogsOnError");
}

#[test]
fn both_namespaces_enforce_it() {
    let objects = kustomized("config/default");
    for namespace in ["resource-broker-system", "resource-broker-clusters"] {
        let labels = &objects.get("Namespace", namespace)["metadata"]["labels"];
        assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted", "{namespace}");
    }
}
