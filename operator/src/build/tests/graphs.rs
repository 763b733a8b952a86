//! The graphs controller beside the broker.

use serde_json::{Value, json};

use super::{built, built_with, keys};
use crate::{desired::Desired, owner::UID_LABEL};

/// The objects that a Broker has for the sake of these `graphs`, which nobody else has.
fn added(graphs: &Value, more: &Value) -> Vec<Desired> {
    let mut spec = more.clone();
    let without = built_with(&spec, true);
    spec["graphs"] = graphs.clone();
    let with = built_with(&spec, true);
    assert!(without.iter().all(|desired| with.contains(desired)), "the broker's own objects stay what they were");
    with.into_iter().filter(|desired| !without.contains(desired)).collect()
}

fn get(objects: &[Desired], key: &str) -> Value {
    let found = objects.iter().find(|desired| desired.key.to_string() == key);
    found.unwrap_or_else(|| panic!("{key}: {:?}", keys(objects))).object.clone()
}

fn deployment(objects: &[Desired]) -> Value {
    get(objects, "Deployment n/b-graphs")
}

#[test]
fn it_has_objects_of_its_own() {
    assert_eq!(
        keys(&added(&json!({"enabled": true}), &json!({}))),
        [
            "ServiceAccount n/b-graphs",
            "RoleBinding system/resource-broker:n:b:graphs-lease",
            "ClusterRoleBinding resource-broker:n:b:graphs",
            "ClusterRoleBinding resource-broker:n:b:graphs-kinds",
            "NetworkPolicy n/b-graphs",
            "Deployment n/b-graphs",
            "Service n/b-graphs-metrics",
            "ServiceMonitor n/b-graphs",
        ]
    );
    assert!(
        keys(&added(&json!({"enabled": true, "replicas": 2}), &json!({})))
            .contains(&"PodDisruptionBudget n/b-graphs".into())
    );
    for off in [json!({}), json!({"enabled": false, "replicas": 2})] {
        assert!(added(&off, &json!({})).is_empty(), "{off}");
    }
}

#[test]
fn it_runs_as_itself_with_roles_of_its_own() {
    let spec = json!({"serviceAccountName": "own"});
    let objects = added(&json!({"enabled": true, "allowCRDDeletion": true}), &spec);
    let subjects = json!([{"kind": "ServiceAccount", "name": "b-graphs", "namespace": "n"}]);
    for (what, role) in [
        ("graphs", "resource-broker-graphs"),
        ("graphs-kinds", "resource-broker-graphs-kinds"),
        ("graphs-crd-deletion", "resource-broker-graphs-crd-deletion"),
    ] {
        let binding = get(&objects, &format!("ClusterRoleBinding resource-broker:n:b:{what}"));
        assert_eq!((&binding["roleRef"]["name"], &binding["subjects"]), (&json!(role), &subjects));
    }
    let lease = get(&objects, "RoleBinding system/resource-broker:n:b:graphs-lease");
    assert_eq!((&lease["roleRef"]["name"], &lease["subjects"]), (&json!("resource-broker-graphs-lease"), &subjects));
    assert_eq!(deployment(&objects)["spec"]["template"]["spec"]["serviceAccountName"], "b-graphs");
    let without = added(&json!({"enabled": true}), &spec);
    assert!(!keys(&without).iter().any(|key| key.contains("crd-deletion")), "only who may delete is allowed to");
}

#[test]
fn only_who_distributes_reads_rollouts_and_the_secrets_of_spokes() {
    let none = json!({});
    let before = keys(&added(&json!({"enabled": true}), &none));
    let with = |distribution: &Value| {
        let mut objects = added(&json!({"enabled": true, "distribution": distribution}), &none);
        objects.retain(|desired| !before.contains(&desired.key.to_string()));
        objects
    };
    for off in [json!({}), json!({"enabled": false, "secretsNamespace": "spokes"})] {
        assert!(with(&off).is_empty(), "{off}");
    }
    let rollouts = "ClusterRoleBinding resource-broker:n:b:graphs-rollouts";
    let subjects = json!([{"kind": "ServiceAccount", "name": "b-graphs", "namespace": "n"}]);
    for (distribution, namespace) in [
        (json!({"enabled": true}), "resource-broker-clusters"),
        (json!({"enabled": true, "secretsNamespace": "spokes"}), "spokes"),
    ] {
        let objects = with(&distribution);
        let secrets = format!("RoleBinding {namespace}/resource-broker:n:b:graphs-spoke-secrets");
        assert_eq!(keys(&objects), [rollouts, &secrets]);
        for (key, role) in
            [(rollouts, "resource-broker-graphs-rollouts"), (&secrets, "resource-broker-graphs-spoke-secrets")]
        {
            let binding = get(&objects, key);
            assert_eq!(binding["roleRef"]["kind"], "ClusterRole", "the operator may bind no other");
            assert_eq!((&binding["roleRef"]["name"], &binding["subjects"]), (&json!(role), &subjects));
        }
    }
    let elsewhere = json!({"extraArgs": ["--coordination-kubeconfig=/hub"]});
    let objects = added(&json!({"enabled": true, "distribution": {"enabled": true}}), &elsewhere);
    assert!(!keys(&objects).iter().any(|key| key.contains("spoke-secrets")), "they are in another cluster");
}

#[test]
fn its_deployment_is_like_the_broker_s() {
    let objects = built(&json!({"graphs": {"enabled": true}}));
    let (broker, graphs) = (get(&objects, "Deployment n/b"), deployment(&objects));
    let mut expected = broker;
    expected["metadata"] = graphs["metadata"].clone();
    let template = &mut expected["spec"]["template"];
    template["metadata"]["labels"]["app"] = "b-graphs".into();
    template["metadata"]["labels"]["app.kubernetes.io/name"] = "resource-graphs".into();
    template["spec"]["serviceAccountName"] = "b-graphs".into();
    let container = &mut template["spec"]["containers"][0];
    container["name"] = "resource-graphs".into();
    container["image"] = "localhost/resource-graphs:1".into();
    container["args"] = json!([
        "--metrics-bind-address=:8078",
        "--health-probe-bind-address=:8079",
        "--leader-elect",
        "--leader-election-namespace=system",
        "--allow-crd-deletion=false",
        "--log-format=json",
    ]);
    container["ports"] = json!([
        {"name": "metrics", "containerPort": 8078, "protocol": "TCP"},
        {"name": "probes", "containerPort": 8079, "protocol": "TCP"},
    ]);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        container[probe]["httpGet"]["port"] = 8079.into();
    }
    expected["spec"]["selector"]["matchLabels"]["app"] = "b-graphs".into();
    assert_eq!(graphs, expected);
    assert_eq!(graphs["metadata"]["labels"][UID_LABEL], "u");
}

#[test]
fn what_people_say_of_it_reaches_it_and_what_they_say_of_pods_too() {
    let pods = json!({
        "leaderElection": false,
        "env": [{"name": "RUST_LOG", "value": "warn"}],
        "resources": {"limits": {"memory": "9Gi"}},
        "labels": {"team": "y"},
        "securityContext": {"runAsUser": 1},
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    });
    let graphs = json!({
        "enabled": true, "replicas": 2, "image": {"tag": "2", "pullPolicy": "Never", "imagePullSecrets": [{"name": "r"}]},
        "env": [{"name": "RUST_LOG", "value": "debug"}],
        "resources": {"limits": {"memory": "2Gi"}},
        "extraArgs": ["--rgd-max-collection-size=10"],
    });
    let deployment = deployment(&added(&graphs, &pods));
    let (spec, pod) = (&deployment["spec"], &deployment["spec"]["template"]["spec"]);
    let container = &pod["containers"][0];
    assert_eq!((&spec["replicas"], &spec["strategy"]["type"]), (&json!(2), &json!("RollingUpdate")));
    let image = (&container["image"], &container["imagePullPolicy"], &pod["imagePullSecrets"]);
    assert_eq!(image, (&json!("localhost/resource-graphs:2"), &json!("Never"), &json!([{"name": "r"}])));
    assert_eq!((&container["env"], &container["resources"]), (&graphs["env"], &graphs["resources"]));
    assert_eq!(container["args"].as_array().unwrap().last().unwrap(), "--rgd-max-collection-size=10");
    assert_eq!((&pod["volumes"], &container["volumeMounts"]), (&pods["volumes"], &pods["volumeMounts"]));
    assert_eq!(
        (&pod["securityContext"], &spec["template"]["metadata"]["labels"]["team"]),
        (&json!({"runAsUser": 1}), &json!("y"))
    );
}

#[test]
fn neither_program_is_taken_for_the_other() {
    let objects = built_with(&json!({"graphs": {"enabled": true}, "replicas": 2}), true);
    let pods =
        |name: &str| get(&objects, &format!("Deployment n/{name}"))["spec"]["template"]["metadata"]["labels"].clone();
    let selects = |selector: &Value, labels: &Value| {
        selector.as_object().unwrap().iter().all(|(key, value)| labels[key] == *value)
    };
    for (name, own, other) in [("b", pods("b"), pods("b-graphs")), ("b-graphs", pods("b-graphs"), pods("b"))] {
        let service = get(&objects, &format!("Service n/{name}-metrics"));
        let monitor = get(&objects, &format!("ServiceMonitor n/{name}"));
        let policy = get(&objects, &format!("NetworkPolicy n/{name}"));
        for selector in [&service["spec"]["selector"], &policy["spec"]["podSelector"]["matchLabels"]] {
            assert!(selects(selector, &own) && !selects(selector, &other), "{name}: {selector}");
        }
        for service in ["b-metrics", "b-graphs-metrics"] {
            let labels = &get(&objects, &format!("Service n/{service}"))["metadata"]["labels"];
            let is_own = service == format!("{name}-metrics");
            assert_eq!(selects(&monitor["spec"]["selector"]["matchLabels"], labels), is_own, "{name} {service}");
        }
    }
}

#[test]
fn metrics_are_off_for_both() {
    let spec = json!({"metrics": {"enabled": false}, "graphs": {"enabled": true}});
    let objects = built_with(&spec, true);
    assert!(!keys(&objects).iter().any(|key| key.starts_with("Service n/") || key.starts_with("ServiceMonitor")));
    assert_eq!(get(&objects, "NetworkPolicy n/b-graphs")["spec"]["ingress"], json!([]));
    assert_eq!(
        deployment(&objects)["spec"]["template"]["spec"]["containers"][0]["args"][0],
        "--metrics-bind-address=0"
    );
}
