//! A better AcceptAPI moves nothing, unless it asks for its share.

use e2e::{Scene, traveller::PROVIDER};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, change, controllers, served};

#[test]
fn a_better_accept_api_alone_moves_nothing_and_one_that_asks_gets_its_share() {
    WORLD.run(async |world| {
        let _peace = PEACE.read().await;
        let [homer, ariadne, theseus, _] = cast(world);
        let scene = Scene::new(world, "moves-rebalance", &[homer]).await;
        let _controllers = controllers(&scene, &[ariadne, theseus]);
        scene.accept(ariadne, Value::Null).await;
        let (one, old) = served(&scene, homer, "one", ariadne).await;
        let (two, _) = served(&scene, homer, "two", ariadne).await;
        let better = scene.accept(theseus, json!({"priority": 9})).await;
        scene.barrier(homer, theseus).await;
        assert_eq!(one.get().await.annotation(PROVIDER), Some("ariadne"));
        assert_eq!(one.copy(ariadne).await.uid(), old.uid());

        let ask = json!({"metadata": {"annotations": {"broker.platform-mesh.io/rebalance": "true"}}});
        change(theseus, &better, ask.clone()).await;
        for traveller in [one, two] {
            traveller.until_served_by(theseus).await;
            traveller.until_copy_gone(ariadne).await;
        }

        // One that asks and is not better gets nothing.
        let worse = scene.accept(ariadne, json!({"priority": 1})).await;
        change(ariadne, &worse, ask).await;
        scene.barrier(homer, ariadne).await;
        assert_eq!(one.get().await.annotation(PROVIDER), Some("theseus"));
    });
}
