//! Conditions that the author of an RGD writes.

use e2e::{Object, kind::CONFIG_MAP};
use serde_json::{Value, json};

use crate::{
    CALM,
    kinds::SERVICE,
    rgd::{Node, Rgd},
    scene::Scene,
};

/// `type status reason` of each condition, in order.
fn told(seen: &Object) -> Vec<String> {
    let all = seen.at("/status/conditions").as_array().cloned().unwrap_or_default();
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    all.iter().map(|one| ["type", "status", "reason"].map(|field| text(one, field)).join(" ")).collect()
}

fn authored(kind: &str, conditions: Value) -> Rgd {
    Rgd::new(kind)
        .spec(json!({"phase": "string | default=\"Up\""}))
        .status(json!({"conditions": conditions}))
        .node(Node::config("config", "${schema.metadata.name}", json!({"phase": "${schema.spec.phase}"})))
}

/// The author's condition that says whether the phase of the ConfigMap is `Up`.
const UP: &str = "${runtime.newCondition({type: \"Up\", status: config.data.phase == \"Up\" ? \"True\" : \"False\", \
reason: config.data.phase, message: \"phase \" + config.data.phase})}";

async fn until_told(scene: &Scene<'_>, kind: &e2e::Kind, wanted: &[&str]) -> Object {
    scene.until(kind, "x", &format!("to say {wanted:?}"), |seen| told(seen) == wanted).await
}

#[test]
fn only_the_authors_conditions_are_shown() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-only").await;
        let kind = scene.define(&authored("Sole", json!([UP]))).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = until_told(&scene, &kind, &["Up True Up"]).await;
        assert_eq!(seen.text("/status/state"), "ACTIVE", "{seen}");
        assert_eq!(seen.at("/status/conditions/0/observedGeneration"), 1);
        assert_eq!(seen.at("/status/conditions/0/message"), "phase Up");
        let since = seen.at("/status/conditions/0/lastTransitionTime").clone();
        scene.edit(&kind, "x", json!({"phase": "Down"})).await;
        let seen = until_told(&scene, &kind, &["Up False Down"]).await;
        assert_eq!(seen.at("/status/conditions/0/observedGeneration"), 2);
        assert!(since.is_string());
        scene.edit(&kind, "x", json!({"phase": "Broken"})).await;
        let down = seen.at("/status/conditions/0/lastTransitionTime").clone();
        let seen = until_told(&scene, &kind, &["Up False Broken"]).await;
        assert_eq!(seen.at("/status/conditions/0/lastTransitionTime"), &down, "the status has not changed");
    });
}

#[test]
fn an_own_ready_may_read_the_built_in_one() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-ready").await;
        let ready = "${runtime.newCondition({type: \"Ready\", status: runtime.condition(schema, 'Ready').status, \
                     reason: \"Mine\", message: \"\"})}";
        let mut rgd = authored("Own", json!([ready]));
        rgd.spec["resources"][0]["readyWhen"] = json!(["${config.data.ready == \"yes\"}"]);
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = until_told(&scene, &kind, &["Ready False Mine"]).await;
        assert_eq!(seen.text("/status/state"), "IN_PROGRESS");
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", json!({"data": {"ready": "yes"}})).await;
        let seen = until_told(&scene, &kind, &["Ready True Mine"]).await;
        assert_eq!(seen.text("/status/state"), "ACTIVE");
    });
}

#[test]
fn a_condition_of_a_child_can_be_passed_on() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-child").await;
        let passed = "${runtime.newCondition({type: \"Load\", \
                      status: runtime.condition(service, 'Load').?status.orValue(\"Unknown\"), reason: \"Passed\"})}";
        let rgd = Rgd::new("Passing").status(json!({"conditions": [passed]})).node(Node::service("service", "service"));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        scene.until(&SERVICE, "service", "to be there", |_| true).await;
        let now = "2026-01-01T00:00:00Z";
        let load = json!({"type": "Load", "status": "True", "reason": "A", "message": "", "lastTransitionTime": now});
        stage.place.set_status(&SERVICE, scene.ns(), "service", json!({"conditions": [load]})).await;
        until_told(&scene, &kind, &["Load True Passed"]).await;
    });
}

#[test]
fn what_is_pending_keeps_what_was_said_before() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-pending").await;
        let ip = "${runtime.newCondition({type: \"Ip\", status: \"True\", reason: \"Got\", \
                  message: service.status.loadBalancer.ingress[0].ip})}";
        let up = "${runtime.newCondition({type: \"Named\", status: \"True\", reason: service.metadata.name})}";
        let rgd = Rgd::new("Pending").status(json!({"conditions": [ip, up]})).node(Node::service("service", "service"));
        let kind = scene.define(&rgd).await;
        scene.create(&kind, "x", json!({})).await;
        until_told(&scene, &kind, &["Named True service"]).await;
        let status = json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", status).await;
        until_told(&scene, &kind, &["Ip True Got", "Named True service"]).await;
        let empty = json!({"loadBalancer": {"ingress": null}});
        stage.place.set_status(&SERVICE, scene.ns(), "service", empty).await;
        scene.barrier_of(&kind, "y", json!({}), |seen| !seen.text("/status/state").is_empty()).await;
        let seen = stage.place.get(&kind, scene.ns(), "x").await;
        assert_eq!(told(&seen), ["Ip True Got", "Named True service"]);
    });
}

#[test]
fn types_that_are_said_twice_are_dropped_and_the_rest_survives() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-twice").await;
        let one = |kind: &str| {
            format!(
                "${{runtime.newCondition({{type: config.data.phase + \"{kind}\", status: \"True\", reason: \"R\"}})}}"
            )
        };
        let literal = "${runtime.newCondition({type: \"UpA\", status: \"False\", reason: \"L\"})}";
        let kind = scene.define(&authored("Twice", json!([one("A"), literal, one("B")]))).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = until_told(&scene, &kind, &["UpB True R"]).await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
        scene.edit(&kind, "x", json!({"phase": "On"})).await;
        let seen = until_told(&scene, &kind, &["OnA True R", "UpA False L", "OnB True R"]).await;
        assert_eq!(seen.text("/status/state"), "ACTIVE", "{seen}");
    });
}

#[test]
fn a_condition_that_fails_is_dropped() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-fails").await;
        let bad = "${runtime.newCondition({type: \"Bad\", status: config.data.phase, reason: \"R\"})}";
        let kind = scene.define(&authored("Failing", json!([bad, UP]))).await;
        scene.create(&kind, "x", json!({})).await;
        let seen = until_told(&scene, &kind, &["Up True Up"]).await;
        assert_eq!(seen.text("/status/state"), "ERROR", "{seen}");
    });
}

#[test]
fn lists_of_conditions_are_taken_one_by_one() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-lists").await;
        let list = "${[\"A\", \"B\"].map(t, runtime.newCondition({type: t + config.data.phase, status: \"True\", reason: t}))}";
        let kind = scene.define(&authored("Listing", json!([list, UP]))).await;
        scene.create(&kind, "x", json!({})).await;
        until_told(&scene, &kind, &["AUp True A", "BUp True B", "Up True Up"]).await;
    });
}

#[test]
fn without_the_block_the_built_in_ones_are_back() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-back").await;
        // The field goes, too, which breaks those who read it.
        let with = authored("Back", json!([UP])).annotated("kro.run/allow-breaking-changes", "true");
        let mut without = with.clone();
        without.spec["schema"]["status"] = json!({"phase": "${config.data.phase}"});
        let kind = scene.define(&with).await;
        scene.create(&kind, "x", json!({})).await;
        until_told(&scene, &kind, &["Up True Up"]).await;
        scene.define(&without).await;
        let builtin = [
            "InstanceManaged True Managed",
            "GraphResolved True Resolved",
            "ResourcesReady True AllResourcesReady",
            "Ready True Ready",
        ];
        until_told(&scene, &kind, &builtin).await;
        scene.define(&with).await;
        until_told(&scene, &kind, &["Up True Up"]).await;
    });
}

#[test]
fn while_it_is_deleted_the_authors_conditions_stay_beside_ours() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-deleted").await;
        let kind = scene.define(&authored("Leaving", json!([UP]))).await;
        scene.create(&kind, "x", json!({})).await;
        until_told(&scene, &kind, &["Up True Up"]).await;
        let hold = |held: Value| json!({"metadata": {"finalizers": held}});
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", hold(json!(["kro.test/hold"]))).await;
        scene.delete(&kind, "x").await;
        let seen = until_told(&scene, &kind, &["Up True Up", "ResourcesReady Unknown UnderDeletion"]).await;
        assert_eq!(seen.text("/status/state"), "DELETING");
        stage.place.edit(&CONFIG_MAP, scene.ns(), "x", hold(Value::Null)).await;
        scene.gone(&kind, "x").await;
    });
}

#[test]
fn a_type_that_is_said_twice_in_fixed_words_is_refused() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "author-refused").await;
        scene.refused(&authored("Refused", json!([UP, UP])), "Up").await;
    });
}
