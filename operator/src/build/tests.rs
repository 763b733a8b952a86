//! What a Broker becomes, as JSON.
#![allow(clippy::unwrap_used)]

mod graphs;

use broker_api::broker::Broker;
use serde_json::{Value, json};

use crate::{
    build::build,
    defaults::Defaults,
    dereference::Secrets,
    desired::{Desired, Key, OwnedKind},
    image::Image,
    invocation::Invocation,
    owner::{Owner, UID_LABEL},
    validate::{Input, validate},
};

const KIND: &str = "Certificate.v1alpha1.example.platform-mesh.io";

fn built_with(spec: &Value, monitors: bool) -> Vec<Desired> {
    built_around(spec, &[], monitors)
}

fn built_around(spec: &Value, accounts: &[&str], monitors: bool) -> Vec<Desired> {
    let accounts = accounts.iter().map(|name| (*name).to_owned()).collect();
    let owner = Owner { name: "b".into(), namespace: "n".into(), uid: "u".into() };
    let mut broker = json!({"apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker",
        "metadata": {"name": "b", "namespace": "n", "uid": "u"}, "spec": spec});
    if broker["spec"]["watchKinds"].is_null() {
        broker["spec"]["watchKinds"] = json!([KIND]);
    }
    let broker: Broker = serde_json::from_value(broker).unwrap();
    let defaults = Defaults {
        broker: Image::parse("localhost/resource-broker:1"),
        graphs: Image::parse("localhost/resource-graphs:1"),
        namespace: "system".into(),
    };
    let invocation = Some(Invocation::of(&owner, &broker.spec, &defaults.broker));
    let input = Input {
        owner: &owner,
        broker: Ok(&broker),
        defaults: &defaults,
        invocation,
        secrets: Secrets::Some,
        accounts,
        elects: true,
        monitors,
    };
    build(validate(input).unwrap()).objects
}

fn built(spec: &Value) -> Vec<Desired> {
    built_with(spec, false)
}

fn keys(objects: &[Desired]) -> Vec<String> {
    objects.iter().map(|desired| desired.key.to_string()).collect()
}

fn only(objects: &[Desired], kind: OwnedKind) -> Value {
    let mut found = objects.iter().filter(|desired| desired.key.kind == kind);
    let object = found.next().unwrap().object.clone();
    assert!(found.next().is_none());
    object
}

fn deployment(spec: &Value) -> Value {
    only(&built(spec), OwnedKind::Deployment)
}

#[test]
fn the_least_broker() {
    assert_eq!(
        keys(&built(&json!({}))),
        [
            "ServiceAccount n/b",
            "RoleBinding n/b",
            "ClusterRoleBinding resource-broker:n:b:coordination",
            "ClusterRoleBinding resource-broker:n:b:compute",
            "ClusterRoleBinding resource-broker:n:b:compute-stages",
            "NetworkPolicy n/b",
            "Deployment n/b",
            "Service n/b-metrics",
        ]
    );
}

#[test]
fn a_broker_with_all_there_is() {
    let spec = json!({"replicas": 3, "clusterSecretsNamespace": "c"});
    let keys = keys(&built_with(&spec, true));
    for key in ["RoleBinding c/resource-broker:n:b:cluster-secrets", "PodDisruptionBudget n/b", "ServiceMonitor n/b"] {
        assert!(keys.contains(&key.to_owned()), "{key}: {keys:?}");
    }
}

#[test]
fn what_a_broker_goes_without() {
    let has = |spec: Value, kind: OwnedKind| built_with(&spec, true).iter().any(|desired| desired.key.kind == kind);
    assert!(!has(json!({"serviceAccountName": "own"}), OwnedKind::ServiceAccount));
    assert!(!has(json!({"metrics": {"enabled": false}}), OwnedKind::Service));
    assert!(!has(json!({"metrics": {"enabled": false}}), OwnedKind::ServiceMonitor));
    assert!(!has(json!({"extraArgs": ["-metrics-bind-address=0"]}), OwnedKind::Service));
    assert!(
        !has(json!({"replicas": 1}), OwnedKind::PodDisruptionBudget)
            && !has(json!({"replicas": 0}), OwnedKind::PodDisruptionBudget)
    );
    let within = json!({"extraArgs": ["--migration-namespace=team-a,team-b"]});
    let roles: Vec<String> = keys(&built(&within)).into_iter().filter(|key| key.contains(":compute")).collect();
    let expected = ["compute", "compute-stages"].map(|what| {
        ["n", "team-a", "team-b"].map(|namespace| format!("RoleBinding {namespace}/resource-broker:n:b:{what}"))
    });
    assert_eq!(roles, expected.concat(), "nothing in the whole cluster");
    let keys = keys(&built(&json!({"extraArgs": ["-compute-kubeconfig=/c"]})));
    assert!(!keys.iter().any(|key| key.contains(":compute")), "{keys:?}");
}

#[test]
fn what_the_page_takes_is_granted_to_a_broker_that_serves_it() {
    let bound = |args: &[&str]| -> Vec<String> {
        let keys = keys(&built(&json!({"extraArgs": args})));
        keys.into_iter().filter(|key| key.contains(":dashboard")).collect()
    };
    let [graphs, reviews] =
        ["graphs", "reviews"].map(|what| format!("ClusterRoleBinding resource-broker:n:b:dashboard-{what}"));
    assert_eq!(bound(&[]), [""; 0]);
    assert_eq!(bound(&["-dashboard-bind-address=0"]), [""; 0]);
    for loopback in ["127.0.0.1:8082", "[::1]:8082"] {
        assert_eq!(bound(&[&format!("--dashboard-bind-address={loopback}")]), [graphs.as_str()], "{loopback}");
    }
    for address in [":8082", "10.0.0.1:8082", "[::]:8082"] {
        let flag = format!("-dashboard-bind-address={address}");
        assert_eq!(bound(&[&flag]), [graphs.as_str(), reviews.as_str()], "{address}");
    }
}

#[test]
fn objects_in_its_namespace_are_owned_and_those_elsewhere_are_labelled() {
    for desired in built_with(&json!({"replicas": 2, "clusterSecretsNamespace": "c"}), true) {
        let metadata = &desired.object["metadata"];
        assert_eq!(metadata["labels"][UID_LABEL], "u", "{}", desired.key);
        let inside = desired.key.namespace.as_deref() == Some("n");
        let references = if inside {
            json!([{"apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker", "name": "b", "uid": "u",
                "controller": true}])
        } else {
            Value::Null
        };
        assert_eq!(metadata["ownerReferences"], references, "{}", desired.key);
    }
}

#[test]
fn bindings_name_the_account_that_runs() {
    for (spec, account) in [(json!({}), "b"), (json!({"serviceAccountName": "own"}), "own")] {
        let objects = built(&spec);
        let bindings = objects
            .iter()
            .filter(|desired| matches!(desired.key.kind, OwnedKind::RoleBinding | OwnedKind::ClusterRoleBinding));
        for binding in bindings {
            let subjects = json!([{"kind": "ServiceAccount", "name": account, "namespace": "n"}]);
            assert_eq!(binding.object["subjects"], subjects);
        }
        let pod = &only(&objects, OwnedKind::Deployment)["spec"]["template"]["spec"];
        assert_eq!(pod["serviceAccountName"], account);
    }
    let instance = built(&json!({})).into_iter().find(|desired| desired.key.kind == OwnedKind::RoleBinding).unwrap();
    assert_eq!(
        instance.object["roleRef"],
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "resource-broker-instance"})
    );
}

#[test]
fn pods_that_still_run_as_another_account_keep_their_permissions() {
    let objects = built_around(&json!({"serviceAccountName": "own"}), &["b", "own"], false);
    let bindings: Vec<_> = objects.iter().filter(|desired| desired.object["subjects"].is_array()).collect();
    assert_eq!(bindings.len(), 4);
    for binding in bindings {
        let names: Vec<_> = binding.object["subjects"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["own", "b"], "{}", binding.key);
    }
    assert!(objects.iter().all(|desired| desired.key.kind != OwnedKind::ServiceAccount));
    assert_eq!(keys(&built(&json!({"serviceAccountName": "b"}))), keys(&built(&json!({}))), "the operator's own");
}

#[test]
fn the_deployment_of_the_least_broker() {
    let mut deployment = deployment(&json!({}));
    let annotations = deployment["metadata"]["annotations"].take();
    assert_eq!(annotations.as_object().unwrap().len(), 1, "only the mark: {annotations}");
    let labels = json!({"app.kubernetes.io/name": "resource-broker", "app.kubernetes.io/instance": "b",
        "app.kubernetes.io/managed-by": "resource-broker-operator", UID_LABEL: "u"});
    let mut pod_labels = labels.clone();
    pod_labels["app"] = "b".into();
    let owner = json!([{"apiVersion": "operator.broker.platform-mesh.io/v1alpha1", "kind": "Broker", "name": "b",
        "uid": "u", "controller": true}]);
    assert_eq!(
        deployment,
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "b", "namespace": "n", "labels": labels, "annotations": null, "ownerReferences": owner},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "b"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 3,
                "template": {
                    "metadata": {"labels": pod_labels, "annotations": {}},
                    "spec": {
                        "serviceAccountName": "b",
                        "automountServiceAccountToken": true,
                        "enableServiceLinks": false,
                        "terminationGracePeriodSeconds": 15,
                        "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
                            "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
                        "containers": [{
                            "name": "b",
                            "image": "localhost/resource-broker:1",
                            "args": [
                                format!("--watch-kind={KIND}"), "--namespace=n", "--leader-elect", "--lease-name=b",
                                "--metrics-bind-address=:8080", "--health-probe-bind-address=:8081", "--log-format=json",
                            ],
                            "ports": [
                                {"name": "metrics", "containerPort": 8080, "protocol": "TCP"},
                                {"name": "probes", "containerPort": 8081, "protocol": "TCP"},
                            ],
                            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"},
                                "limits": {"cpu": "2", "memory": "1Gi"}},
                            "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                                "capabilities": {"drop": ["ALL"]}},
                            "terminationMessagePolicy": "FallbackToLogsOnError",
                            "startupProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "periodSeconds": 1,
                                "failureThreshold": 60},
                            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8081}, "periodSeconds": 10,
                                "timeoutSeconds": 5, "failureThreshold": 6},
                            "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 2,
                                "timeoutSeconds": 2},
                        }],
                    },
                },
            },
        })
    );
}

#[test]
fn what_people_say_of_pods_reaches_them() {
    let spec = json!({
        "replicas": 2,
        "image": {"tag": "2", "pullPolicy": "Sometimes", "imagePullSecrets": [{"name": "registry"}]},
        "resources": {"limits": {"memory": "2Gi"}},
        "securityContext": {"runAsUser": 1},
        "annotations": {"note": "x"},
        "labels": {"team": "y", "app": "mine", UID_LABEL: "mine"},
        "hostAliases": [{"ip": "192.0.2.1", "hostnames": ["h"]}],
        "env": [{"name": "RUST_LOG", "value": "debug"}],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
        "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": true}],
    });
    let deployment = deployment(&spec);
    let template = &deployment["spec"]["template"];
    let (pod, container) = (&template["spec"], &template["spec"]["containers"][0]);
    assert_eq!(
        (&container["image"], &container["imagePullPolicy"]),
        (&json!("localhost/resource-broker:2"), &json!("Sometimes"))
    );
    assert_eq!(pod["imagePullSecrets"], spec["image"]["imagePullSecrets"]);
    assert_eq!((&container["resources"], &pod["securityContext"]), (&spec["resources"], &spec["securityContext"]));
    assert_eq!((&container["env"], &container["volumeMounts"]), (&spec["env"], &spec["volumeMounts"]));
    assert_eq!((&pod["volumes"], &pod["hostAliases"]), (&spec["volumes"], &spec["hostAliases"]));
    for metadata in [&deployment["metadata"], &template["metadata"]] {
        assert_eq!((&metadata["annotations"]["note"], &metadata["labels"]["team"]), (&json!("x"), &json!("y")));
        assert_eq!(metadata["labels"][UID_LABEL], "u", "people cannot take the operator's labels");
    }
    assert_eq!(template["metadata"]["labels"]["app"], "b", "the selector finds the pods");
    assert_eq!(pod["topologySpreadConstraints"][0]["whenUnsatisfiable"], "ScheduleAnyway");
}

#[test]
fn empty_fields_are_as_good_as_none() {
    let empty = json!({"resources": {}, "securityContext": {}, "image": {}, "metrics": {}, "serviceAccountName": "",
        "labels": {}, "env": []});
    assert_eq!(built(&empty), built(&json!({})));
}

#[test]
fn without_an_election_there_are_never_two() {
    for spec in [json!({"leaderElection": false}), json!({"extraArgs": ["--leader-elect=false"]})] {
        assert_eq!(deployment(&spec)["spec"]["strategy"], json!({"type": "Recreate"}), "{spec}");
    }
}

#[test]
fn ports_follow_the_arguments() {
    let objects = built(&json!({"metrics": {"port": 9090}, "extraArgs": ["-health-probe-bind-address=:9090"]}));
    let container = only(&objects, OwnedKind::Deployment)["spec"]["template"]["spec"]["containers"][0].clone();
    assert_eq!(container["ports"], json!([{"name": "metrics", "containerPort": 9090, "protocol": "TCP"}]));
    assert_eq!(container["livenessProbe"]["httpGet"]["port"], 9090);
    assert_eq!(only(&objects, OwnedKind::Service)["spec"]["ports"][0]["port"], 9090);
    let policy = only(&objects, OwnedKind::NetworkPolicy);
    assert_eq!(policy["spec"]["ingress"], json!([{"ports": [{"protocol": "TCP", "port": 9090}]}]));
    let objects = built(&json!({"metrics": {"enabled": false}, "extraArgs": ["-health-probe-bind-address=0"]}));
    let container = only(&objects, OwnedKind::Deployment)["spec"]["template"]["spec"]["containers"][0].clone();
    assert!(container["livenessProbe"].is_null() && container["ports"] == json!([]), "{container}");
    assert_eq!(only(&objects, OwnedKind::NetworkPolicy)["spec"]["ingress"], json!([]));
}

#[test]
fn pods_never_reach_the_addresses_where_clouds_hand_out_credentials() {
    let policy = only(&built(&json!({})), OwnedKind::NetworkPolicy);
    assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress", "Egress"]));
    let egress = &policy["spec"]["egress"];
    let [rule] = &egress.as_array().unwrap()[..] else { panic!("{egress}") };
    assert!(rule["to"].is_null(), "API servers may be anywhere: {rule}");
    for port in rule["ports"].as_array().unwrap() {
        let first = port["port"].as_i64().unwrap();
        let last = port["endPort"].as_i64().unwrap_or(first);
        assert!(!(first..=last).contains(&80), "{port}");
    }
}

#[test]
fn the_binding_names_its_broker() {
    assert_eq!(super::bindings::broker_of("resource-broker:n:b:compute"), Some(("n", "b")));
    assert_eq!(super::bindings::broker_of("b"), None);
}

#[test]
fn the_same_broker_becomes_the_same_objects() {
    let spec = json!({"replicas": 2, "labels": {"b": "1", "a": "2"}});
    assert_eq!(built(&spec), built(&spec));
    let changed: Vec<Key> = built(&json!({"replicas": 1, "labels": {"b": "1", "a": "2"}}))
        .into_iter()
        .filter(|desired| !built(&spec).contains(desired))
        .map(|desired| desired.key)
        .collect();
    assert!(matches!(&changed[..], [key] if key.kind == OwnedKind::Deployment), "{changed:?}");
}
