//! The status of instances: what its author wrote, and what of it is known.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::json;

use crate::{
    CALM,
    kinds::SERVICE,
    rgd::{Node, Rgd},
    scene::Scene,
};

#[test]
fn texts_lists_and_nested_fields_follow_the_spec() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "status-forms").await;
        let data = json!({"text": "${schema.spec.text}"});
        let rgd = Rgd::new("Form")
            .spec(json!({"text": "string", "count": "integer | default=3"}))
            .status(json!({
                "plain": "${config.data.text}",
                "template": "${schema.metadata.name}: ${config.data.text}!",
                "number": "${schema.spec.count}",
                "list": ["${config.data.text}", "${schema.spec.text + \"-2\"}"],
                "nested": {"deep": {"list": ["${config.metadata.name}"], "uid": "${config.metadata.uid}"}},
                "map": "${config.data}",
                "own": "${schema.spec.text}",
            }))
            .node(Node::config("config", "${schema.metadata.name}", data));
        let kind = scene.define(&rgd).await;
        let seen = scene.bring_up(&kind, "x", json!({"text": "a"})).await;
        let wanted = |text: &str, uid: &str| {
            json!({
                "plain": text, "template": format!("x: {text}!"), "number": 3, "list": [text, format!("{text}-2")],
                "nested": {"deep": {"list": ["x"], "uid": uid}}, "map": {"text": text}, "own": text,
            })
        };
        let uid = scene.config("x").await.uid().to_owned();
        let fields = |seen: &Object| {
            let mut status = seen.at("/status").clone();
            for own in ["state", "conditions"] {
                status.as_object_mut().unwrap().remove(own);
            }
            status
        };
        assert_eq!(fields(&seen), wanted("a", &uid));
        scene.edit(&kind, "x", json!({"text": "b"})).await;
        let seen = scene.until(&kind, "x", "the edit", |seen| seen.text("/status/plain") == "b").await;
        assert_eq!(fields(&seen), wanted("b", &uid));
        stage.place.edit(&kind, scene.ns(), "x", json!({"spec": {"count": 4}})).await;
        scene.until(&kind, "x", "the number", |seen| seen.at("/status/number") == 4).await;
    });
}

#[test]
fn fields_come_and_go_with_what_they_are_read_from() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "status-partial").await;
        let rgd = Rgd::new("Partial")
            .status(json!({
                "ip": "${service.status.loadBalancer.ingress[0].ip}",
                "both": "${service.metadata.name}@${service.status.loadBalancer.ingress[0].ip}",
                "name": "${service.metadata.name}",
            }))
            .node(Node::service("service", "service").ready_when("${size(service.status.loadBalancer.ingress) > 0}"));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = scene.until(&kind, "x", "what is known", |seen| seen.text("/status/name") == "service").await;
        assert!(seen.at("/status/ip").is_null() && seen.at("/status/both").is_null(), "{seen}");
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS", "existence counts, readiness does not: {seen}");
        let status = json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.9"}]}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", status).await;
        let seen = scene.active(&kind, "x").await;
        assert_eq!((seen.text("/status/ip"), seen.text("/status/both")), ("10.0.0.9", "service@10.0.0.9"));
        let empty = json!({"loadBalancer": {"ingress": null}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", empty).await;
        let gone = |seen: &Object| seen.at("/status/ip").is_null() && seen.at("/status/both").is_null();
        let seen = scene.until(&kind, "x", "the field to go", gone).await;
        assert_eq!(seen.text("/status/name"), "service");
    });
}

#[test]
fn a_field_that_fails_is_left_out_and_named_and_the_others_stay() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "status-fails").await;
        let rgd = Rgd::new("Failing")
            .status(json!({"bad": "${int(config.data.number)}", "good": "${config.data.number}"}))
            .node(Node::config("config", "config", json!({"number": "${schema.spec.number}"})))
            .spec(json!({"number": "string"}));
        let kind = scene.define(&rgd).await;
        let seen = scene.bring_up(&kind, "x", json!({"number": "7"})).await;
        assert_eq!((seen.at("/status/bad"), seen.text("/status/good")), (&json!(7), "7"));
        scene.edit(&kind, "x", json!({"number": "seven"})).await;
        let left = |seen: &Object| seen.text("/status/good") == "seven" && seen.at("/status/bad").is_null();
        let seen = scene.until(&kind, "x", "the good field alone", left).await;
        let told = seen.condition("GraphResolved").unwrap();
        assert!(told.status == "True" && told.message.contains("bad"), "{seen}");
    });
}

#[test]
fn the_metadata_of_the_instance_can_be_used_everywhere() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "metadata-fields").await;
        let data = json!({
            "name": "${schema.metadata.name}",
            "namespace": "${schema.metadata.namespace}",
            "uid": "${schema.metadata.uid}",
            "team": "${schema.metadata.labels.team}",
            "note": "${schema.metadata.?annotations[\"a/note\"].orValue(\"none\")}",
            "generation": "${string(schema.metadata.generation)}",
            "kind": "${schema.kind} ${schema.apiVersion}",
            "finalizers": "${schema.metadata.finalizers.join(\",\")}",
            "owners": "${schema.metadata.ownerReferences.map(owner, owner.kind + \" \" + owner.name).join(\",\")}",
            "version": "${schema.metadata.resourceVersion}",
        });
        let rgd = Rgd::new("About")
            .status(json!({"since": "${schema.metadata.creationTimestamp}", "made": "${config.metadata.creationTimestamp}"}))
            .node(Node::config("config", "${schema.metadata.name}-${schema.metadata.namespace}", data));
        let kind = scene.define(&rgd).await;
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "00000000-0000-0000-0000-000000000001"});
        let marks = json!({"labels": {"team": "a"}, "annotations": {"a/note": "n"}, "finalizers": ["a.test/x"], "ownerReferences": [owner]});
        stage.place.create(&kind, scene.ns(), "x", json!({"metadata": marks, "spec": {}})).await;
        let seen = scene.active(&kind, "x").await;
        // Its own status is the last that changes it.
        let config = scene.config_says("x-metadata-fields", "version", seen.version()).await;
        let wanted = json!({
            "name": "x", "namespace": "metadata-fields", "uid": seen.uid(), "team": "a", "note": "n", "generation": "1",
            "kind": format!("About {}", kind.api_version()), "finalizers": "a.test/x,kro.run/finalizer",
            "owners": "ConfigMap owner", "version": seen.version(),
        });
        assert_eq!(config.at("/data"), &wanted);
        assert_eq!(seen.at("/status/since"), seen.at("/metadata/creationTimestamp"), "{seen}");
        assert_eq!(seen.at("/status/made"), config.at("/metadata/creationTimestamp"), "{seen}");
        stage.place.edit(&kind, scene.ns(), "x", json!({"metadata": {"finalizers": ["kro.run/finalizer"]}})).await;
    });
}

#[test]
fn expressions_in_an_instance_are_plain_text() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "literal-data").await;
        let data = json!({"text": "${schema.spec.text}", "note": "${schema.metadata.annotations.note}"});
        let rgd = Rgd::new("Literal").spec(json!({"text": "string"})).node(Node::config("config", "config", data));
        let kind = scene.define(&rgd).await;
        let (text, note) = ("${config.data.text} and ${schema.spec.text}", "${nobody} $${x} ${");
        let body = json!({"metadata": {"annotations": {"note": note}}, "spec": {"text": text}});
        stage.place.create(&kind, scene.ns(), "x", body).await;
        scene.active(&kind, "x").await;
        assert_eq!(scene.config("config").await.at("/data"), &json!({"text": text, "note": note}));
    });
}

#[test]
fn a_status_that_somebody_changes_is_put_right() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "status-drift").await;
        let rgd = Rgd::new("Told").status(json!({"name": "${config.metadata.name}"}));
        let kind = scene.define(&rgd.node(Node::config("config", "config", json!({})))).await;
        scene.bring_up(&kind, "x", json!({})).await;
        stage.place.set_status(&kind, scene.ns(), "x", json!({"name": "wrong", "state": "FAILED"})).await;
        // A status alone is no reason to look again; what happens to a child is.
        scene.delete(&CONFIG_MAP, "config").await;
        let right = |seen: &Object| seen.text("/status/name") == "config" && seen.text("/status/state") == "ACTIVE";
        scene.until(&kind, "x", "to be put right", right).await;
    });
}

/// Nothing happens to an instance when its CRD has the field at last, some seconds after the RGD.
#[test]
fn a_field_that_a_later_revision_adds_is_shown_by_those_that_were_there() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "status-grows").await;
        let config = || Node::config("config", "config", json!({}));
        let kind =
            scene.define(&Rgd::new("Grown").status(json!({"one": "${config.metadata.name}"})).node(config())).await;
        scene.bring_up(&kind, "x", json!({})).await;
        let both = json!({"one": "${config.metadata.name}", "two": "${config.metadata.uid}"});
        scene.define(&Rgd::new("Grown").status(both).node(config())).await;
        let uid = scene.config("config").await.uid().to_owned();
        scene.until(&kind, "x", "the new field", |seen| seen.text("/status/two") == uid).await;
    });
}
