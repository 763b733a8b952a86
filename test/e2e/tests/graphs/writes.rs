//! How many requests each step of an instance's life takes, by the audit log.

use e2e::{Kind, Object, kind::CONFIG_MAP};
use harness::{AuditEvents, Mark};
use serde_json::json;

use crate::{
    CALM,
    kinds::{RGD, SERVICE},
    rgd::{Node, Rgd},
    scene::Scene,
};

/// `verb resource[/subresource]` of all writes but Events, sorted.
pub(crate) fn words(requests: &AuditEvents) -> Vec<String> {
    let writes = requests.writes().only(|event| event.resource != "events");
    let mut words: Vec<String> = writes
        .iter()
        .map(|event| {
            let slash = if event.subresource.is_empty() { "" } else { "/" };
            format!("{} {}{slash}{}", event.verb, event.resource, event.subresource)
        })
        .collect();
    words.sort();
    words
}

/// Reads of one object by its name.
fn single_reads(requests: &AuditEvents) -> Vec<String> {
    let reads = requests.only(|event| event.verb == "get" && !event.resource.is_empty());
    reads.iter().map(|event| event.uri.clone()).collect()
}

/// Three ConfigMaps, each of which needs the uid of the one before.
fn chain() -> Rgd {
    let uid = |of: &str| json!({"text": "${schema.spec.text}", "before": format!("${{{of}.metadata.uid}}")});
    Rgd::new("Chain")
        .spec(json!({"text": "string | default=\"a\""}))
        .status(json!({"last": "${three.metadata.uid}"}))
        .node(Node::config("one", "${schema.metadata.name}-1", json!({"text": "${schema.spec.text}"})))
        .node(Node::config("two", "${schema.metadata.name}-2", uid("one")))
        .node(Node::config("three", "${schema.metadata.name}-3", uid("two")))
}

/// A scene with a chain that is served and has an instance, so that all is watched that has to be.
async fn chained(scene: &Scene<'_>) -> (Kind, Mark) {
    let kind = scene.define(&chain()).await;
    scene.bring_up(&kind, "warm", json!({})).await;
    scene.barrier(&kind, json!({})).await;
    (kind, scene.stage.mark().await)
}

#[test]
fn a_chain_of_three_takes_five_writes_and_no_read() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "five-writes").await;
        let (kind, mark) = chained(&scene).await;
        let seen = scene.bring_up(&kind, "new", json!({})).await;
        assert_eq!(seen.text("/status/last"), scene.config("new-3").await.uid());
        let requests = scene.requests(mark).await;
        let expected =
            ["patch chains", "patch chains/status", "patch configmaps", "patch configmaps", "patch configmaps"];
        assert_eq!(words(&requests), expected, "finalizer with labels and inventory, children, status: {requests:?}");
        assert_eq!(requests.reads().len(), 0, "{requests:?}");
        assert!(requests.iter().all(|event| event.code < 300), "none was refused: {requests:?}");
    });
}

#[test]
fn drift_of_a_child_takes_one_write() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "drift-one-write").await;
        let (kind, mark) = chained(&scene).await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "warm-1", json!({"data": {"text": "drifted"}})).await;
        scene.config_says("warm-1", "text", "a").await;
        assert_eq!(words(&scene.requests(mark).await), ["patch configmaps"]);

        let mark = stage.mark().await;
        let before = scene.config("warm-3").await;
        scene.delete(&CONFIG_MAP, "warm-3").await;
        let again = |seen: &Object| seen.uid() != before.uid();
        let made = scene.until(&CONFIG_MAP, "warm-3", "to be made again", again).await;
        let follows = |seen: &Object| seen.text("/status/last") == made.uid();
        scene.until(&kind, "warm", "the new uid", follows).await;
        let requests = scene.requests(mark).await;
        assert_eq!(words(&requests), ["patch chains/status", "patch configmaps"], "its uid is in the status");
        assert_eq!(single_reads(&requests), Vec::<String>::new());
    });
}

#[test]
fn an_edit_takes_one_write_for_each_child_that_changes() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "edit-writes").await;
        let (kind, mark) = chained(&scene).await;
        scene.edit(&kind, "warm", json!({"text": "b"})).await;
        scene.active(&kind, "warm").await;
        let requests = scene.requests(mark).await;
        let expected = ["patch chains/status", "patch configmaps", "patch configmaps", "patch configmaps"];
        assert_eq!(words(&requests), expected, "{requests:?}");
        assert_eq!(requests.reads().len(), 0, "{requests:?}");
        for name in ["warm-1", "warm-2", "warm-3"] {
            assert_eq!(scene.config(name).await.text("/data/text"), "b");
        }
    });
}

#[test]
fn what_is_not_ours_takes_no_write() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "not-ours").await;
        let (kind, _) = chained(&scene).await;
        let theirs = json!({"data": {"theirs": "x"}, "metadata": {"labels": {"team": "a"}, "annotations": {"n": "1"}}});
        stage.place.edit(&CONFIG_MAP, scene.ns(), "warm-1", theirs).await;
        let marks = json!({"metadata": {"labels": {"team": "b"}, "annotations": {"note": "2"}}});
        stage.place.edit(&kind, scene.ns(), "warm", marks.clone()).await;
        stage.place.edit(&RGD, "", &scene.rgd_name("Chain"), marks).await;
        stage.place.put(&RGD, &scene.object_of(&chain())).await;
        let mark = stage.mark().await;
        // Behind these, drift that has to be repaired.
        stage.place.edit(&CONFIG_MAP, scene.ns(), "warm-1", json!({"data": {"text": "drifted"}})).await;
        scene.config_says("warm-1", "text", "a").await;
        assert_eq!(words(&scene.requests(mark).await), ["patch configmaps"]);
        let kept = scene.config("warm-1").await;
        assert_eq!((kept.text("/data/theirs"), kept.label("team")), ("x", Some("a")), "{kept}");
        let kept = stage.place.get(&kind, scene.ns(), "warm").await;
        assert_eq!((kept.label("team"), kept.annotation("note")), (Some("b"), Some("2")));
    });
}

#[test]
fn a_change_of_a_childs_status_takes_one_write() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "child-status").await;
        let rgd = Rgd::new("Front")
            .status(json!({"ip": "${service.status.loadBalancer.ingress[0].ip}"}))
            .node(Node::service("service", "${schema.metadata.name}"));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "front", json!({})).await;
        scene.barrier(&kind, json!({})).await;
        let mark = stage.mark().await;
        for ip in ["10.1.1.1", "10.1.1.2", "10.1.1.3"] {
            let status = json!({"loadBalancer": {"ingress": [{"ip": ip}]}});
            stage.place.set_status(&SERVICE, scene.ns(), "front", status).await;
            scene.until(&kind, "front", ip, |seen| seen.text("/status/ip") == ip).await;
        }
        let requests = scene.requests(mark).await;
        assert_eq!(words(&requests), vec!["patch fronts/status"; 3], "{requests:?}");
        assert_eq!(requests.reads().len(), 0, "{requests:?}");
    });
}

#[test]
fn deleting_takes_a_write_for_each_child_and_two_for_the_instance() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "deletion-writes").await;
        let (kind, mark) = chained(&scene).await;
        scene.delete(&kind, "warm").await;
        scene.gone(&kind, "warm").await;
        let requests = scene.requests(mark).await;
        let words = words(&requests);
        let deletes = words.iter().filter(|word| *word == "delete configmaps").count();
        assert_eq!(deletes, 3, "{requests:?}");
        let finalizer = words.iter().filter(|word| *word == "patch chains").count();
        assert_eq!(finalizer, 1, "{requests:?}");
        let status = words.iter().filter(|word| *word == "patch chains/status").count();
        assert!(status <= 3, "each wave at most once: {requests:?}");
        assert_eq!(words.len(), deletes + finalizer + status, "{requests:?}");
        assert_eq!(single_reads(&requests), Vec::<String>::new());
    });
}
