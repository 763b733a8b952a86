//! Migrations that have ended are removed after `--migration-ttl`.

use e2e::{Recording, Scene, kind::MIGRATION};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, controllers, served};

#[test]
fn a_migration_that_has_ended_goes_after_a_while() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-expiry", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        scene.accept(ariadne, json!({"priority": 1})).await;
        let (web, _) = served(&scene, homer, "web", ariadne).await;
        scene.accept(theseus, Value::Null).await;
        world.hub.make_namespace(scene.ns()).await;
        let migrations = Recording::begin(&world.hub, &MIGRATION, scene.ns()).await;
        let side = |cluster: &str| {
            json!({"gvk": web.kind.gvk(), "name": web.copy_name(), "namespace": web.ns, "clusterName": cluster})
        };
        for (name, to) in [("refused", "nobody"), ("moved", "theseus")] {
            let spec = json!({"from": side("ariadne"), "to": side(to)});
            world.hub.create(&MIGRATION, scene.ns(), name, json!({"spec": spec})).await;
        }
        web.until_served_by(theseus).await;
        web.until_copy_gone(ariadne).await;
        for (name, state) in [("refused", "Failed"), ("moved", "CutoverCompleted")] {
            world.hub.until_gone(&MIGRATION, scene.ns(), name).await;
            let last = migrations.of(name).await.pop().unwrap();
            assert!(last.deleted && last.object.text("/status/state") == state, "{last:?}");
            assert!(last.object.finalizers().is_empty(), "{last:?}");
        }
        web.until_served_by(theseus).await;
    });
}
