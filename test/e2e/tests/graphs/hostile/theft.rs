//! Objects of others: foreign sets are neither written nor read; for the rest the controller's rights count.

use e2e::{
    Object,
    kind::{CONFIG_MAP, SECRET},
};
use serde_json::{Value, json};

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::is_active,
    rgd::{Node, Rgd},
    scene::Scene,
};

const FOREIGN: &str = "resource belongs to a different ApplySet: ";
const TOKEN: &str = "the-token-of-the-victim";

fn secret(id: &str, name: &str, namespace: &str, more: Value) -> Node {
    let mut template =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}});
    for (field, value) in more.as_object().unwrap() {
        template[field] = value.clone();
    }
    Node::new(id, template)
}

/// A tenant with a Secret `token` in a namespace of its own; returns the Secret.
async fn victim(scene: &Scene<'_>) -> Object {
    let rgd = Rgd::new("Victim").node(secret("token", "token", scene.ns(), json!({"stringData": {"token": TOKEN}})));
    let kind = scene.define(&rgd).await;
    scene.bring_up(&kind, "victim", json!({})).await;
    scene.place().get(&SECRET, scene.ns(), "token").await
}

#[test]
fn a_child_named_like_another_tenants_secret_shows_nothing_of_it() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-victim").await;
        let scene = Scene::new(stage, "hostile-thief").await;
        let aside = Bystander::beside(&scene).await;
        let before = victim(&theirs).await;
        let status = json!({
            "token": "${string(secret.data.token)}",
            "all": "${json.marshal(secret)}",
            "uid": "${secret.metadata.uid}",
        });
        let fields = json!({"name": "string", "namespace": "string", "more": "string | default=\"\""});
        let node = || secret("secret", "${schema.spec.name}", "${schema.spec.namespace}", json!({}));
        let plain = Rgd::new("Plain").spec(fields.clone()).status(status.clone()).node(node()).node(Node::config(
            "copy",
            "copy",
            json!({"token": "${string(secret.data.token)}"}),
        ));
        // It has to wait for something else, or fails: what was there before is asked for.
        let waiting = Rgd::new("Waiting")
            .spec(fields.clone())
            .status(status.clone())
            .node(Node::external("never", "v1", "ConfigMap", json!({"name": "never"})))
            .node(node().meta("annotations", json!({"x": "${never.metadata.uid}"})));
        let failing = Rgd::new("Failing")
            .spec(fields.clone())
            .status(status.clone())
            .node(node().meta("annotations", json!({"x": "${string(1 / size(schema.spec.more))}"})));
        let each = Rgd::new("Loop").spec(fields.clone()).status(json!({"all": "${json.marshal(secret)}"})).node(
            secret("secret", "${n}", "${schema.spec.namespace}", json!({})).for_each("n", "${[schema.spec.name]}"),
        );
        let judging =
            Rgd::new("Judging").spec(fields).status(status).node(node().ready_when("${secret.metadata.uid == \"x\"}"));
        for rgd in [plain, waiting, failing, each, judging] {
            let kind = scene.define(&rgd).await;
            scene.create(&kind, "thief", json!({"name": "token", "namespace": theirs.ns()})).await;
            let told = |seen: &Object| {
                seen.condition("ResourcesReady").is_some_and(|told| told.status != "True" && !told.message.is_empty())
            };
            let seen = scene.until(&kind, "thief", "to be told", told).await;
            println!("{}: {:?}", kind.kind, seen.condition("ResourcesReady"));
            for field in ["token", "all", "uid"] {
                assert!(seen.at(&format!("/status/{field}")).is_null(), "{seen}");
            }
            assert!(!seen.to_string().contains("dGhlLXRva2Vu") && !seen.to_string().contains(TOKEN), "{seen}");
        }
        let plain = scene.kind_of(&Rgd::new("Plain"));
        scene.waits(&plain, "thief", FOREIGN).await;
        assert!(scene.configs().await.is_empty());
        aside.is_served("thieves").await;
        for kind in ["Plain", "Waiting", "Failing", "Loop", "Judging"] {
            let kind = scene.kind_of(&Rgd::new(kind));
            scene.delete(&kind, "thief").await;
            scene.gone(&kind, "thief").await;
        }
        let now = stage.place.get(&SECRET, theirs.ns(), "token").await;
        assert_eq!((now.uid(), now.version()), (before.uid(), before.version()), "{now}");
    });
}

/// As documented: it reads with the controller's rights, and writes nothing.
#[test]
fn a_reference_to_another_tenants_secret_never_writes_it() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-read").await;
        let scene = Scene::new(stage, "hostile-reader").await;
        let before = victim(&theirs).await;
        let metadata = json!({"name": "${schema.spec.name}", "namespace": "${schema.spec.namespace}"});
        let rgd = Rgd::new("Reader")
            .spec(json!({"name": "string", "namespace": "string"}))
            .status(json!({"uid": "${ref.metadata.uid}"}))
            .node(Node::external("ref", "v1", "Secret", metadata));
        let kind = scene.define(&rgd).await;
        let seen = scene.bring_up(&kind, "x", json!({"name": "token", "namespace": theirs.ns()})).await;
        assert_eq!(seen.text("/status/uid"), before.uid());
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        let now = stage.place.get(&SECRET, theirs.ns(), "token").await;
        assert_eq!(now.version(), before.version(), "{now}");
    });
}

/// As documented: an object of no set is adopted with the controller's rights, and people are told.
#[test]
fn an_object_of_no_set_is_adopted_and_told() {
    HOSTILE.run(async |stage| {
        let theirs = Scene::new(stage, "hostile-nobody").await;
        let scene = Scene::new(stage, "hostile-adopter").await;
        theirs.make_config("theirs", json!({"a": "b"})).await;
        let node = Node::config("config", "${schema.spec.name}", json!({"c": "d"}))
            .meta("namespace", json!("${schema.spec.namespace}"));
        let rgd = Rgd::new("Adopter").spec(json!({"name": "string", "namespace": "string"})).node(node);
        let kind = scene.define(&rgd).await;
        let spec = json!({"name": "theirs", "namespace": theirs.ns()});
        let marks = json!({"metadata": {"annotations": {"kro.run/adoption": "Retain"}}, "spec": spec});
        stage.place.create(&kind, scene.ns(), "x", marks).await;
        scene.active(&kind, "x").await;
        stage.place.until_event(scene.ns(), "x", "Adopted", |told| told.message.contains("theirs")).await;
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        let now = stage.place.get(&CONFIG_MAP, theirs.ns(), "theirs").await;
        assert_eq!((now.text("/data/a"), now.label("kro.run/instance-id")), ("b", None), "{now}");
    });
}

#[test]
fn many_that_want_one_child() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-fight").await;
        let aside = Bystander::beside(&scene).await;
        let rgd =
            |kind: &str| Rgd::new(kind).node(Node::config("config", "prize", json!({"of": "${schema.metadata.name}"})));
        let (one, other) = (scene.define(&rgd("Left")).await, scene.define(&rgd("Right")).await);
        let names: Vec<String> = (0..6).map(|n| format!("x{n}")).collect();
        let mark = stage.mark().await;
        for name in &names {
            tokio::join!(scene.create(&one, name, json!({})), scene.create(&other, name, json!({})));
        }
        aside.is_served("a fight").await;
        let dealt = |seen: &Object| {
            is_active(seen) || seen.condition("ResourcesReady").is_some_and(|told| told.message.contains(FOREIGN))
        };
        let mut winners = Vec::new();
        for name in &names {
            for kind in [&one, &other] {
                let seen = scene.until(kind, name, "to win or to be told", dealt).await;
                if is_active(&seen) {
                    winners.push(seen);
                }
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        let prize = scene.config("prize").await;
        assert_eq!(prize.label("kro.run/instance-id"), Some(winners[0].uid()), "{prize}");
        scene.barrier_of(&one, "barrier", json!({}), dealt).await;
        let writes = scene.requests(mark).await.only(|event| {
            event.resource == "configmaps"
                && event.code < 300
                && ["create", "update", "patch"].contains(&event.verb.as_str())
        });
        assert_eq!(writes.iter().count(), 1, "{writes:?}");
    });
}
