//! The controller is killed, misses things, or loses its API server; the end is the same.

use e2e::{
    Kind, Object,
    kind::{CONFIG_MAP, NAMESPACE},
};
use harness::{Dice, wait_for};
use serde_json::json;

use crate::{
    ALONE, BROKEN,
    kinds::is_active,
    rgd::{Node, Rgd},
    scene::Scene,
};

/// Three in a row and one for each element.
fn rgd(text: &str) -> Rgd {
    let item = Node::config("parts", "${schema.metadata.name}-item-${el}", json!({"after": "${three.metadata.uid}"}))
        .for_each("el", "${schema.spec.items}");
    let next = |id: &str, of: &str| {
        let data = json!({"uid": format!("${{{of}.metadata.uid}}"), "text": "${schema.spec.text}"});
        Node::config(id, &format!("${{schema.metadata.name}}-{id}"), data)
    };
    Rgd::new("Tale")
        .spec(json!({"text": "string", "items": "[]string"}))
        .status(json!({"last": "${three.metadata.uid}"}))
        .node(Node::config("one", "${schema.metadata.name}-one", json!({"rgd": text})))
        .node(next("two", "one"))
        .node(next("three", "two"))
        .node(item)
}

/// What differs from what the instances that are there ask for.
async fn differences(scene: &Scene<'_>, kind: &Kind, text: &str) -> Vec<String> {
    let (mut wrong, mut wanted) = (Vec::new(), Vec::new());
    let configs = scene.place().list(&CONFIG_MAP, scene.ns()).await;
    let find = |name: &str| configs.iter().find(|config| config.name() == name);
    for instance in scene.place().list(kind, scene.ns()).await {
        let name = instance.name();
        if instance.is_deleting() || !is_active(&instance) {
            wrong.push(instance.to_string());
        }
        let [one, two, three] = ["one", "two", "three"].map(|id| format!("{name}-{id}"));
        let uid = |name: &str| find(name).map(Object::uid).unwrap_or_default();
        let facts = [
            find(&one).is_some_and(|config| config.text("/data/rgd") == text),
            find(&two).is_some_and(|config| config.text("/data/uid") == uid(&one)),
            find(&two).is_some_and(|config| config.at("/data/text") == instance.at("/spec/text")),
            find(&three).is_some_and(|config| config.text("/data/uid") == uid(&two)),
            instance.text("/status/last") == uid(&three),
        ];
        if facts.contains(&false) {
            wrong.push(format!("{facts:?}: {instance}"));
        }
        wanted.extend([one, two, three]);
        for item in instance.at("/spec/items").as_array().into_iter().flatten() {
            wanted.push(format!("{name}-item-{}", item.as_str().unwrap()));
        }
    }
    wanted.sort();
    let there = scene.configs().await;
    if there != wanted {
        wrong.push(format!("ConfigMaps {there:?} instead of {wanted:?}"));
    }
    wrong
}

async fn until_right(scene: &Scene<'_>, kind: &Kind, text: &str) {
    let compared = wait_for(e2e::DEADLINE, "everything to be as it should be", async || {
        match differences(scene, kind, text).await {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(format!("{} differences\n{}", wrong.len(), wrong.join("\n"))),
        }
    });
    compared.await.unwrap_or_else(|error| panic!("{error:#}"));
}

#[test]
fn what_happened_while_it_was_frozen_and_while_it_was_dead_is_caught_up_with() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "missed").await;
        let kind = scene.define(&rgd("0")).await;
        for name in ["edited", "deleted", "drifted"] {
            scene.bring_up(&kind, name, json!({"text": "a", "items": ["1", "2"]})).await;
        }
        let mut controller = stage.controller().await;
        controller.process().pause().await.unwrap();
        scene.delete(&CONFIG_MAP, "drifted-one").await;
        scene.edit(&kind, "edited", json!({"text": "b"})).await;
        scene.create(&kind, "brief", json!({"text": "c", "items": ["1", "2"]})).await;
        scene.delete(&kind, "brief").await;
        controller.process().resume().unwrap();
        scene.gone(&kind, "brief").await;
        until_right(&scene, &kind, "0").await;

        controller.kill();
        scene.apply(&rgd("1")).await;
        scene.edit(&kind, "edited", json!({"text": "d", "items": ["2"]})).await;
        scene.delete(&kind, "deleted").await;
        stage.place.edit(&CONFIG_MAP, scene.ns(), "drifted-two", json!({"data": {"uid": "x"}})).await;
        scene.delete(&CONFIG_MAP, "drifted-item-1").await;
        scene.create(&kind, "made", json!({"text": "c", "items": []})).await;
        controller.start_again(&stage.lab).await;
        drop(controller);
        scene.gone(&kind, "deleted").await;
        until_right(&scene, &kind, "1").await;
    });
}

#[test]
fn a_child_that_cannot_be_compressed_goes_with_its_instance_after_a_restart() {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "large").await;
        let mut dice = Dice::new(1);
        let mut letter = || char::from(LETTERS[usize::try_from(dice.below(64)).unwrap()]);
        let fields = ["a", "b", "c", "d"];
        let each = |value: &mut dyn FnMut(&str) -> String| fields.map(|name| (name.to_owned(), json!(value(name))));
        let types = each(&mut |_| "string".to_owned()).into_iter().collect();
        let data = each(&mut |name| format!("${{schema.spec.{name}}}")).into_iter().collect();
        let spec = each(&mut |_| (0..200 << 10).map(|_| letter()).collect()).into_iter().collect();
        let rgd = Rgd::new("Tome").spec(types).node(Node::config("config", "${schema.metadata.name}", data));
        let kind = scene.define(&rgd).await;
        scene.bring_up(&kind, "x", spec).await;
        {
            let mut controller = stage.controller().await;
            controller.kill();
            controller.start_again(&stage.lab).await;
        }
        scene.delete(&kind, "x").await;
        scene.gone(&kind, "x").await;
        scene.configs_are(&[]).await;
    });
}

#[test]
fn an_api_server_that_comes_back_is_served_again() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "outage").await;
        let kind = scene.define(&rgd("0")).await;
        scene.bring_up(&kind, "x", json!({"text": "a", "items": ["1"]})).await;
        stage.place.cluster.stop();
        stage.place.cluster.start_again().await.unwrap();
        let edited = wait_for(e2e::DEADLINE, "an edit to be taken", async || {
            let api = stage.place.api(&kind, scene.ns());
            let patch = kube::api::Patch::Merge(json!({"spec": {"text": "b"}}));
            api.patch("x", &kube::api::PatchParams::default(), &patch).await
        });
        edited.await.unwrap();
        scene.config_says("x-two", "text", "b").await;
        until_right(&scene, &kind, "0").await;
        assert!(stage.controller().await.process().exit_status().unwrap().is_none(), "0 restarts");
    });
}

#[test]
fn a_namespace_goes_with_the_instances_in_it() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "namespace-goes").await;
        let kind = scene.define(&rgd("0")).await;
        for name in ["x", "y"] {
            scene.bring_up(&kind, name, json!({"text": "a", "items": ["1"]})).await;
        }
        stage.place.delete(&NAMESPACE, "", scene.ns()).await;
        stage.place.until_gone(&NAMESPACE, "", scene.ns()).await;
    });
}
