//! What is refused, cannot be listed, or has no namespace; and cluster-scoped instances.

use e2e::{Kind, Object, kind::CONFIG_MAP};
use serde_json::json;

use crate::{
    CALM,
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
    stage::FORBIDDEN,
};

const PRIORITY_CLASS: Kind =
    Kind { group: "scheduling.k8s.io", version: "v1", kind: "PriorityClass", plural: "priorityclasses" };
const POLICY: Kind = Kind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
};
const BINDING: Kind = Kind {
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
};

/// Forbids ConfigMaps in the namespace that say `bad`, and waits until API servers know.
async fn forbid_bad(scene: &Scene<'_>) {
    let rules = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]);
    let labels = json!({"kubernetes.io/metadata.name": scene.ns()});
    let policy = json!({
        "apiVersion": POLICY.api_version(), "kind": POLICY.kind, "metadata": {"name": scene.ns()},
        "spec": {
            "matchConstraints": {"resourceRules": rules, "namespaceSelector": {"matchLabels": labels}},
            "validations": [{"expression": "!has(object.data) || !('bad' in object.data)", "message": "bad is bad"}],
        },
    });
    let binding = json!({
        "apiVersion": BINDING.api_version(), "kind": BINDING.kind, "metadata": {"name": scene.ns()},
        "spec": {"policyName": scene.ns(), "validationActions": ["Deny"]},
    });
    scene.place().apply(&format!("{policy}\n---\n{binding}")).await;
    let probe = CONFIG_MAP.object(scene.ns(), "probe", &json!({"data": {"bad": "1"}}));
    let refused = harness::wait_for(e2e::DEADLINE, "the policy to be in force", async || {
        let made = scene.place().try_create(&CONFIG_MAP, &probe).await.is_ok();
        if made {
            scene.delete(&CONFIG_MAP, "probe").await;
        }
        !made
    });
    refused.await.unwrap();
}

#[test]
fn what_admission_denies_is_told_and_recovers_by_itself() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "denied").await;
        forbid_bad(&scene).await;
        let rgd = Rgd::new("Denied")
            .node(Node::config("bad", "bad", json!({"bad": "1"})))
            .node(Node::config("good", "good", json!({})))
            .node(Node::config("after", "after", json!({"uid": "${bad.metadata.uid}"})));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = scene.waits(&kind, "x", "bad is bad").await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        assert!(seen.has("ResourcesReady", "False", "NotReady") && seen.has("Ready", "False", "NotReady"), "{seen}");
        assert_eq!(scene.configs().await, ["good"], "other nodes go on");
        stage.place.delete(&BINDING, "", scene.ns()).await;
        stage.place.delete(&POLICY, "", scene.ns()).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.configs().await, ["after", "bad", "good"]);
    });
}

#[test]
fn what_the_api_server_refuses_is_told_and_an_edit_mends_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "refused").await;
        let rgd = Rgd::new("Fragile").spec(json!({"name": "string"})).node(Node::config(
            "config",
            "${schema.spec.name}",
            json!({}),
        ));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({"name": "Not A Name"})).await;
        let seen = scene.waits(&kind, "x", "Not A Name").await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        scene.edit(&kind, "x", json!({"name": "name"})).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.configs().await, ["name"]);
    });
}

#[test]
fn a_missing_namespace_is_told_and_its_appearance_mends_it() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "no-namespace").await;
        let rgd = Rgd::new("Vagrant")
            .node(Node::config("config", "config", json!({})).meta("namespace", json!("no-namespace-2")));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = scene.waits(&kind, "x", "no-namespace-2").await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        stage.namespace("no-namespace-2").await;
        scene.active(&kind, "x").await;
    });
}

#[test]
fn one_kind_that_may_not_be_listed_disturbs_no_other() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "forbidden-kind").await;
        let secret = crate::kinds::kind(FORBIDDEN, "Closed", "closeds");
        stage.place.apply(&secret.crd().to_string()).await;
        let template = json!({"apiVersion": secret.api_version(), "kind": "Closed", "metadata": {"name": "c"}});
        let rgd =
            Rgd::new("Locked").node(Node::new("closed", template)).node(Node::config("config", "config", json!({})));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        scene.config("config").await;
        let told = |seen: &Object| {
            let told = seen.condition("ResourcesReady");
            told.is_some_and(|told| told.status == "False" && told.message.to_lowercase().contains("closed"))
        };
        let seen = scene.until(&kind, "x", "to say what it may not", told).await;
        assert_ne!(seen.text("/status/state"), "ACTIVE", "{seen}");
        rights::grant(&stage.place, "forbidden-kind-closed", vec![rights::children(&secret)]).await;
        scene.active(&kind, "x").await;
        assert!(stage.place.find(&secret, scene.ns(), "c").await.is_some());
    });
}

#[test]
fn cluster_scoped_instances_have_children_and_refs_of_both_kinds() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "cluster-scoped").await;
        let role = rights::rule(
            "scheduling.k8s.io",
            &["priorityclasses"],
            &["create", "get", "list", "watch", "update", "patch", "delete"],
        );
        rights::grant(&stage.place, "cluster-scoped-classes", vec![role]).await;
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "${schema.metadata.name}"}, "value": "${schema.spec.value}",
        });
        let rgd = Rgd::new("Wide")
            .schema("scope", json!("Cluster"))
            .spec(json!({"value": "integer", "place": "string"}))
            .status(json!({"text": "${ref.data.text}"}))
            .node(Node::external("ref", "v1", "ConfigMap", json!({"name": "theirs", "namespace": "cluster-scoped"})))
            .node(Node::new("class", class))
            .node(
                Node::config("config", "wide", json!({"text": "${ref.data.text}", "class": "${class.metadata.name}"}))
                    .meta("namespace", json!("${schema.spec.place}")),
            );
        let kind = scene.define(&rgd).await;
        scene.make_config("theirs", json!({"text": "a"})).await;
        let spec = json!({"spec": {"value": 7, "place": "cluster-scoped"}});
        stage.place.create(&kind, "", "wide-x", spec).await;
        let seen = stage.place.until(&kind, "", "wide-x", "to be ACTIVE", crate::kinds::is_active).await;
        assert_eq!(seen.text("/status/text"), "a");
        let class = stage.place.get(&PRIORITY_CLASS, "", "wide-x").await;
        assert_eq!((class.at("/value"), class.label("kro.run/instance-namespace")), (&json!(7), None), "{class}");
        let config = scene.config("wide").await;
        assert_eq!(config.label("kro.run/instance-namespace"), None, "{config}");
        let kinds = seen.annotation("applyset.kubernetes.io/contains-group-kinds");
        assert_eq!(kinds, Some("ConfigMap,PriorityClass.scheduling.k8s.io"));
        assert_eq!(seen.annotation("applyset.kubernetes.io/additional-namespaces"), Some("cluster-scoped"));
        stage.place.edit(&CONFIG_MAP, scene.ns(), "theirs", json!({"data": {"text": "b"}})).await;
        scene.config_says("wide", "text", "b").await;

        let empty = json!({"spec": {"value": 8, "place": ""}});
        stage.place.create(&kind, "", "wide-y", empty).await;
        let words = "must resolve metadata.namespace when the instance is cluster-scoped";
        let says = |seen: &Object| {
            let told = seen.condition("ResourcesReady");
            told.is_some_and(|told| told.message.contains(words) && told.message.contains("config"))
        };
        stage.place.until(&kind, "", "wide-y", "to name the node", says).await;
        for name in ["wide-x", "wide-y"] {
            stage.place.delete(&kind, "", name).await;
            stage.place.until_gone(&kind, "", name).await;
            assert!(stage.place.find(&PRIORITY_CLASS, "", name).await.is_none());
        }
        assert_eq!(scene.configs().await, ["theirs"]);
    });
}

#[test]
fn a_cluster_scoped_child_must_not_have_a_namespace() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "no-home").await;
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "x", "namespace": "default"}, "value": 1,
        });
        scene.refused(&Rgd::new("Homed").node(Node::new("class", class)), "class").await;
        let node = Node::config("config", "config", json!({}));
        scene.refused(&Rgd::new("Wide").schema("scope", json!("Cluster")).node(node), "config").await;
    });
}
