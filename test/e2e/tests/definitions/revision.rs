//! GraphRevisions.

use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster::{Hub, REVISION};

fn revision(rgd: &str, number: i64) -> Value {
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "odd": {"deep": [1, {"x": null}]}});
    let resources = json!([{"id": "one", "template": template, "forEach": [{"x": "${schema.spec.xs}"}]}]);
    let schema = json!({"apiVersion": "v1alpha1", "kind": "Web", "group": "kro.run", "scope": "Namespaced",
        "spec": {"xs": "[]string"}, "status": {"a": {"b": "${one[0].data}"}}});
    json!({"revision": number,
        "snapshot": {"name": rgd, "generation": 4, "spec": {"schema": schema, "resources": resources}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_holds_a_revision_to_its_rules() {
    let hub = Hub::start().await;
    for (name, rgd, number) in [("web-r00001", "web", 1), ("web-r00002", "web", 2), ("other-r00001", "other", 1)] {
        let made = hub.create(REVISION, name, &revision(rgd, number)).await;
        assert_eq!(made["spec"], revision(rgd, number), "nothing is dropped, nothing is added");
    }
    it_never_changes(&hub).await;
    what_is_no_revision_is_refused(&hub).await;
    it_is_found_by_what_it_was_taken_of(&hub).await;
    people_see_how_it_does(&hub).await;
}

async fn it_never_changes(hub: &Hub) {
    for (what, change) in [
        ("a number", json!({"revision": 7})),
        ("a name", json!({"snapshot": {"name": "else"}})),
        ("a generation", json!({"snapshot": {"generation": 5}})),
        ("a field deep in a template", json!({"snapshot": {"spec": {"schema": {"spec": {"y": "string"}}}}})),
        ("a resource", json!({"snapshot": {"spec": {"resources": []}}})),
    ] {
        let told = hub.edit(REVISION, "web-r00001", json!({"spec": change})).await.expect_err(what);
        assert!(told.contains("spec is immutable"), "{what}: {told}");
    }
    let marks =
        json!({"metadata": {"labels": {"kro.run/graph-revision-hash": "00ff"}, "finalizers": ["kro.run/finalizer"]}});
    hub.edit(REVISION, "web-r00001", marks).await.unwrap();
    hub.edit(REVISION, "web-r00001", json!({"metadata": {"finalizers": []}})).await.unwrap();
}

async fn what_is_no_revision_is_refused(hub: &Hub) {
    let told = hub.refuses(REVISION, &revision("web", 0)).await;
    assert!(told.contains("spec.revision"), "{told}");
    for (pointer, field) in [("", "revision"), ("", "snapshot"), ("/snapshot", "name"), ("/snapshot", "spec")] {
        let mut spec = revision("web", 3);
        spec.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(field);
        let told = hub.refuses(REVISION, &spec).await;
        assert!(told.contains(&format!("{field}: Required value")), "{told}");
    }
    let mut spec = revision("web", 3);
    spec["snapshot"]["spec"]["resources"][0]["externalRef"] =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    let told = hub.refuses(REVISION, &spec).await;
    assert!(told.contains("exactly one of template or externalRef"), "{told}");
}

async fn it_is_found_by_what_it_was_taken_of(hub: &Hub) {
    let of = async |rgd: &str| {
        let listed = hub.api(REVISION).list(&ListParams::default().fields(&format!("spec.snapshot.name={rgd}"))).await;
        let names = listed.unwrap().items.into_iter().map(|object| object.metadata.name.unwrap());
        names.collect::<Vec<_>>()
    };
    assert_eq!(of("web").await, ["web-r00001", "web-r00002"]);
    assert_eq!(of("other").await, ["other-r00001"]);
    assert_eq!(of("nobody").await, [""; 0]);
}

async fn people_see_how_it_does(hub: &Hub) {
    let condition = json!({"type": "Ready", "status": "True", "reason": "Verified", "message": "m", "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"topologicalOrder": ["one"], "conditions": [condition],
        "resources": [{"id": "one", "dependencies": [{"id": "two"}]}]});
    let patch = Patch::Merge(json!({"status": status}));
    let written = hub.api(REVISION).patch_status("web-r00001", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(written.data["status"], status);
    let table = hub.table(&["gr", "web-r00001"]);
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAME", "REVISION", "READY", "AGE"], "{table}");
    assert_eq!(words[1][..3], ["web-r00001", "1", "True"], "{table}");
    let wide = hub.table(&["gr", "web-r00001", "--output=wide"]);
    let words: Vec<Vec<&str>> = wide.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAME", "RGD", "REVISION", "HASH", "READY", "AGE"], "{wide}");
    assert_eq!(words[1][..5], ["web-r00001", "web", "1", "00ff", "True"], "{wide}");
}
