//! What an instance made goes with it: after a restart of the controller, and with the namespace.

use e2e::kind::NAMESPACE;
use harness::Dice;
use serde_json::json;

use crate::{
    ALONE, BROKEN,
    rgd::{Node, Rgd},
    scene::Scene,
};

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
fn a_namespace_goes_with_the_instances_in_it() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "namespace-goes").await;
        let one = Node::config("one", "${schema.metadata.name}-one", json!({"text": "${schema.spec.text}"}));
        let kind = scene.define(&Rgd::new("Tale").spec(json!({"text": "string"})).node(one)).await;
        for name in ["x", "y"] {
            scene.bring_up(&kind, name, json!({"text": "a"})).await;
        }
        stage.place.delete(&NAMESPACE, "", scene.ns()).await;
        stage.place.until_gone(&NAMESPACE, "", scene.ns()).await;
    });
}
