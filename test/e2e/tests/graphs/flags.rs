//! What arguments of the controller change. It starts with all of them once.

use e2e::kind::CRD;
use harness::wait_for;
use serde_json::json;

use crate::{
    ALONE, BROKEN,
    collections::items,
    kinds::{REVISION, RGD},
    revisions::{numbers_are, versioned},
    rgd::{Node, Rgd},
    rights,
    scene::Scene,
    stage::Stage,
};

const ARGS: [&str; 5] = ["--rgd-max-collection-size", "3", "--rgd-max-graph-revisions", "2", "--allow-crd-deletion"];

#[test]
fn collections_revisions_and_crds_are_as_arguments_say() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "revisions-fewer").await;
        let name = scene.rgd_name("Versioned");
        for text in ["1", "2", "3"] {
            scene.define(&versioned(text)).await;
        }
        numbers_are(&scene, &name, &[1, 2, 3]).await;
        stage.controller().await.with_args(&stage.lab, &ARGS).await;
        let fewer = async {
            scene.define(&versioned("4")).await;
            numbers_are(&scene, &name, &[3, 4]).await;
        };
        tokio::join!(fewer, no_more_items_than_allowed(stage), instances_and_crd_go_with_their_rgd(stage));
        stage.controller().await.with_args(&stage.lab, &[]).await;

        // With a controller manager, revisions go with their owner.
        stage.place.delete(&RGD, "", &name).await;
        stage.place.until_gone(&RGD, "", &name).await;
        let released = wait_for(e2e::DEADLINE, "the finalizers of its revisions to be gone", async || {
            let all = stage.place.list(&REVISION, "").await;
            let held = all.iter().find(|one| one.text("/spec/snapshot/name") == name && !one.finalizers().is_empty());
            held.map_or(Ok(()), |one| Err(one.to_string()))
        });
        released.await.unwrap_or_else(|error| panic!("{error:#}"));
    });
}

async fn no_more_items_than_allowed(stage: &Stage) {
    let scene = Scene::new(stage, "items-limit").await;
    let kind = scene.define(&items("Limited")).await;
    scene.bring_up(&kind, "x", json!({"items": ["a", "b", "c"]})).await;
    scene.edit(&kind, "x", json!({"items": ["a", "b", "c", "d"]})).await;
    let seen = scene.waits(&kind, "x", "collection size of 4 is over the maximum collection size of 3").await;
    assert_ne!(seen.text("/status/state"), "ACTIVE", "{seen}");
    assert_eq!(scene.configs().await, ["x-a", "x-b", "x-c"], "nothing is made and nothing pruned");
    scene.edit(&kind, "x", json!({"items": ["d"]})).await;
    scene.configs_are(&["x-d"]).await;
}

async fn instances_and_crd_go_with_their_rgd(stage: &Stage) {
    let scene = Scene::new(stage, "crd-deleted").await;
    let rgd = Rgd::new("Deleted").node(Node::config("config", "${schema.metadata.name}", json!({})));
    let kind = scene.define(&rgd).await;
    // The flag needs a right that kro's roles do not give.
    rights::grant(&stage.place, "crd-deleted-instances", vec![rights::children(&kind)]).await;
    for name in ["x", "y"] {
        scene.bring_up(&kind, name, json!({})).await;
    }
    let other = scene.define(&Rgd::new("Kept")).await;
    stage.place.delete(&RGD, "", &scene.rgd_name("Deleted")).await;
    stage.place.until_gone(&RGD, "", &scene.rgd_name("Deleted")).await;
    stage.place.until_gone(&CRD, "", &format!("{}.{}", kind.plural, kind.group)).await;
    assert!(scene.configs().await.is_empty(), "children went before");
    let other = stage.place.get(&CRD, "", &format!("{}.{}", other.plural, other.group)).await;
    assert!(!other.is_deleting(), "{other}");
}
