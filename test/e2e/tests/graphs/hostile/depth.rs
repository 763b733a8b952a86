//! What is nested a thousand levels deep. The tests' reader of JSON takes none of it, so it is sent and read as text.

use e2e::{DEADLINE, Kind};
use harness::wait_for;
use http::Request;
use serde_json::json;

use super::bystander::Bystander;
use crate::{
    HOSTILE,
    kinds::{RGD, kind},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
};

const DEPTH: usize = 1000;
/// Where the nested part goes.
const HOLE: &str = "\"HOLE\"";

fn nested(inner: &str) -> String {
    format!("{}{inner}{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH))
}

fn path(kind: &Kind, namespace: &str) -> String {
    let prefix = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let within = if namespace.is_empty() { String::new() } else { format!("/namespaces/{namespace}") };
    format!("{prefix}/{}{within}/{}", kind.version, kind.plural)
}

/// Creates an object with what is nested where it says `HOLE`.
async fn create(scene: &Scene<'_>, kind: &Kind, namespace: &str, object: &str, inner: &str) {
    let body = object.replace(HOLE, &nested(inner)).into_bytes();
    let request = Request::post(path(kind, namespace)).header("content-type", "application/json").body(body).unwrap();
    let answer = scene.place().client().request_text(request).await;
    answer.unwrap_or_else(|error| panic!("create {} in {namespace:?}: {error}", kind.kind));
}

/// Waits until an object says one of `words`.
async fn says(scene: &Scene<'_>, kind: &Kind, namespace: &str, name: &str, words: &[&str]) {
    let what = format!("{} {name} to say {words:?}", kind.kind);
    let waited = wait_for(DEADLINE, &what, async || {
        let request = Request::get(format!("{}/{name}", path(kind, namespace))).body(Vec::new())?;
        let text = scene.place().client().request_text(request).await?;
        let status = text.split_once("\"status\":").map(|(_, status)| status.to_owned()).unwrap_or_default();
        anyhow::ensure!(words.iter().any(|word| text.contains(word)), "{}", &status[..status.len().min(2000)]);
        Ok(())
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn remove(scene: &Scene<'_>, kind: &Kind, namespace: &str, name: &str) {
    let path = format!("{}/{name}", path(kind, namespace));
    let get = async || scene.place().client().request_text(Request::get(&path).body(Vec::new()).unwrap()).await;
    let held = get().await.unwrap();
    let (_, uid) = held.split_once("\"uid\":").unwrap();
    let uid = uid.split('"').nth(1).unwrap();
    let request = Request::delete(&path).body(Vec::new()).unwrap();
    scene.place().client().request_text(request).await.unwrap();
    let what = format!("{path} to go");
    let waited = wait_for(DEADLINE, &what, async || match get().await {
        Err(kube::Error::Api(answer)) if answer.code == 404 => Ok(()),
        // Whoever waited for its name has made another.
        Ok(text) if !text.contains(uid) => Ok(()),
        other => Err(anyhow::anyhow!("{:?}", other.map(|text| text.len()))),
    });
    waited.await.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn schemas_and_templates() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-depth").await;
        let aside = Bystander::beside(&scene).await;
        let schema = Rgd::new("Deep").spec(json!("HOLE"));
        let thing = kind("hostile-depth-things.kro.test", "Thing", "things");
        stage.place.apply(&thing.crd().to_string()).await;
        let template = json!({
            "apiVersion": thing.api_version(), "kind": "Thing", "metadata": {"name": "x"}, "spec": "HOLE",
        });
        let template = Rgd::new("Tall").node(Node::new("thing", template));
        for rgd in [schema, template] {
            create(&scene, &RGD, "", &scene.object_of(&rgd).to_string(), "\"string\"").await;
            let name = scene.rgd_name(rgd.kind());
            says(&scene, &RGD, "", &name, &["InvalidResourceGraph"]).await;
            aside.is_served(&name).await;
            remove(&scene, &RGD, "", &name).await;
        }
    });
}

#[test]
fn instances() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-deep-x").await;
        let aside = Bystander::beside(&scene).await;
        let rgd = Rgd::new("Open").spec(json!({"any": "object"})).node(Node::config(
            "config",
            "${schema.metadata.name}",
            json!({"has": "${string(has(schema.spec.any))}"}),
        ));
        let kind = scene.define(&rgd).await;
        let object = kind.object(scene.ns(), "x", &json!({"spec": {"any": "HOLE"}}));
        create(&scene, &kind, scene.ns(), &object.to_string(), "1").await;
        // Its status is not written over: not all of it is known.
        stage.place.until_event(scene.ns(), "x", "ManagementFailed", |told| told.message.contains("128 levels")).await;
        scene.create(&kind, "good", json!({"any": {}})).await;
        scene.active(&kind, "good").await;
        aside.is_served("an instance nested deeply").await;
        remove(&scene, &kind, scene.ns(), "x").await;
    });
}

#[test]
fn what_is_referred_to_and_children() {
    HOSTILE.run(async |stage| {
        let scene = Scene::new(stage, "hostile-deep-ref").await;
        let aside = Bystander::beside(&scene).await;
        let thing = kind("hostile-deep-ref-things.kro.test", "Thing", "things");
        stage.place.apply(&thing.crd().to_string()).await;
        rights::grant(&stage.place, "hostile-deep-ref-things", vec![rights::children(&thing)]).await;
        let object = thing.object(scene.ns(), "theirs", &json!({"spec": "HOLE"}));
        create(&scene, &thing, scene.ns(), &object.to_string(), "1").await;
        let by_name = json!({"name": "${schema.spec.name}"});
        let rgd = Rgd::new("Reader")
            .spec(json!({"name": "string"}))
            .node(Node::external("ref", &thing.api_version(), "Thing", by_name))
            .node(Node::config("config", "${schema.metadata.name}", json!({"name": "${ref.metadata.name}"})));
        let reader = scene.define(&rgd).await;
        let all = json!({"namespace": scene.ns(), "selector": {}});
        let rgd = Rgd::new("Lister")
            .node(Node::external("refs", &thing.api_version(), "Thing", all))
            .node(Node::config("config", "${schema.metadata.name}", json!({"count": "${string(size(refs))}"})));
        let lister = scene.define(&rgd).await;
        let template = json!({
            "apiVersion": thing.api_version(), "kind": "Thing", "metadata": {"name": "theirs"}, "spec": {"b": 1},
        });
        let maker = scene.define(&Rgd::new("Maker").node(Node::new("thing", template))).await;
        scene.create(&reader, "deep", json!({"name": "theirs"})).await;
        scene.create(&lister, "all", json!({})).await;
        scene.create(&maker, "make", json!({})).await;
        stage.place.create(&thing, scene.ns(), "flat", json!({"spec": {}})).await;
        scene.create(&reader, "flat", json!({"name": "flat"})).await;
        scene.active(&reader, "flat").await;
        aside.is_served("objects nested deeply").await;
        let told = |seen: &e2e::Object| {
            let told = seen.condition("ResourcesReady");
            told.is_some_and(|told| !told.message.is_empty())
        };
        for (kind, name) in [(&reader, "deep"), (&lister, "all"), (&maker, "make")] {
            let seen = scene.until(kind, name, "to be told", told).await;
            println!("{} {name}: {:?}", kind.kind, seen.condition("ResourcesReady"));
        }
        remove(&scene, &thing, scene.ns(), "theirs").await;
        scene.active(&lister, "all").await;
        scene.active(&maker, "make").await;
        scene.active(&reader, "deep").await;
    });
}
