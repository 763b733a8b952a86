//! The whole way of one RGD with one ConfigMap: kind, instance, child, status.

use e2e::kind::{CONFIG_MAP, CRD};
use serde_json::{Value, json};

use crate::{
    CALM,
    conditions::{instance_conditions, rgd_conditions},
    kinds::{FINALIZER, MANAGER, REVISION, RGD},
    rgd::{Node, Rgd},
    scene::Scene,
    tree::{generated_crd, timeless},
};

#[test]
fn an_rgd_becomes_a_kind_and_its_instance_a_config_map() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "first").await;
        let rgd = Rgd::new("Note")
            .spec(json!({"name": "string", "text": "string | default=\"hello\""}))
            .status(json!({"config": "${config.metadata.name}"}))
            .node(Node::config("config", "${schema.spec.name}", json!({"text": "${schema.spec.text}"})));
        let note = scene.define(&rgd).await;
        let name = scene.rgd_name("Note");

        let seen = stage.place.get(&RGD, "", &name).await;
        assert_eq!(seen.finalizers(), [FINALIZER]);
        assert_eq!(seen.generation(), 1, "only metadata and status were written: {seen}");
        assert_eq!(timeless(seen.at("/status/conditions")), rgd_conditions("Note", 1, 1));
        assert_eq!(seen.at("/status/topologicalOrder"), &json!(["config"]));
        assert_eq!(seen.at("/status/resources"), &Value::Null, "no node depends on another");
        assert_eq!(seen.at("/status/lastIssuedRevision"), 1);

        let crd = stage.place.get(&CRD, "", &format!("{}.{}", note.plural, note.group)).await;
        let schema = json!({
            "spec": {
                "type": "object",
                "default": {},
                "properties": {"name": {"type": "string"}, "text": {"type": "string", "default": "hello"}},
            },
            "status": {"config": {"type": "string"}},
        });
        assert_eq!(crd.at("/spec"), &generated_crd(&note, &schema));
        assert_eq!(crd.generation(), 1, "it was written once");
        assert_eq!(crd.label("kro.run/owned"), Some("true"));
        assert_eq!(crd.label("kro.run/resource-graph-definition-name"), Some(name.as_str()));
        assert_eq!(crd.label("kro.run/resource-graph-definition-id"), Some(seen.uid()));
        assert!(crd.label("kro.run/kro-version").is_some(), "{crd}");
        assert!(crd.finalizers().is_empty() && crd.at("/metadata/ownerReferences").is_null(), "{crd}");

        let revision = stage.place.get(&REVISION, "", &format!("{name}-r00001")).await;
        assert_eq!(revision.at("/spec/revision"), 1);
        assert_eq!(revision.at("/spec/snapshot/name"), &json!(name));
        assert_eq!(revision.finalizers(), [FINALIZER]);
        assert_eq!(revision.at("/metadata/ownerReferences/0/uid"), seen.uid());
        assert_eq!(revision.at("/metadata/ownerReferences/0/controller"), true);
        assert_eq!(revision.label("kro.run/resource-graph-definition-name"), Some(name.as_str()));
        assert!(revision.label("kro.run/graph-revision-hash").is_some(), "{revision}");
        assert!(revision.has("GraphVerified", "True", "Verified"), "{revision}");
        assert!(revision.has("Ready", "True", "Ready"), "{revision}");

        let seen = scene.bring_up(&note, "one", json!({"name": "one-config"})).await;
        assert_eq!(seen.finalizers(), [FINALIZER]);
        assert_eq!(seen.generation(), 1);
        assert_eq!(seen.text("/status/config"), "one-config");
        assert_eq!(timeless(seen.at("/status/conditions")), instance_conditions(1));
        assert_eq!(seen.label("kro.run/owned"), Some("true"));
        assert_eq!(seen.label("kro.run/resource-graph-definition-name"), Some(name.as_str()));

        let child = stage.place.get(&CONFIG_MAP, scene.ns(), "one-config").await;
        assert_eq!(child.at("/data"), &json!({"text": "hello"}));
        let label = |key: &str| child.label(key).unwrap_or_default();
        let labels = [
            ("kro.run/owned", "true"),
            ("kro.run/instance-id", seen.uid()),
            ("kro.run/instance-name", "one"),
            ("kro.run/instance-namespace", "first"),
            ("kro.run/instance-group", note.group),
            ("kro.run/instance-version", "v1alpha1"),
            ("kro.run/instance-kind", "Note"),
            ("kro.run/node-id", "config"),
            ("app.kubernetes.io/managed-by", "kro"),
            ("applyset.kubernetes.io/part-of", seen.label("applyset.kubernetes.io/id").unwrap()),
        ];
        for (key, value) in labels {
            assert_eq!(label(key), value, "{key} on {child}");
        }
        for key in ["kro.run/resource-graph-definition-name", "kro.run/resource-graph-definition-id"] {
            assert_eq!(child.label(key), None, "a child has no {key}: {child}");
        }
        assert!(child.finalizers().is_empty() && child.at("/metadata/ownerReferences").is_null(), "{child}");
        assert_eq!(child.annotation("internal.kro.run/apply-order"), Some("1"));
        let managers: Vec<_> = child.at("/metadata/managedFields").as_array().unwrap().iter().collect();
        assert_eq!(managers.len(), 1, "{managers:?}");
        assert_eq!((&managers[0]["manager"], &managers[0]["operation"]), (&json!(MANAGER), &json!("Apply")));

        scene.delete(&note, "one").await;
        scene.gone(&note, "one").await;
        assert!(scene.configs().await.is_empty(), "its child went before it");
        stage.nothing_was_denied().await;
    });
}
