//! Somebody in another cluster wants a Bucket, edits it, and gives it back.

use anyhow::Context as _;
use example_stage::{DEADLINE, Place, Stage, place::NAMESPACE, thing::is};
use harness::wait_for;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt as _, api::ListParams};
use serde_json::{Value, json};

use crate::{
    delivery::{Data, arrived, no_secrets, secret_of, served},
    scene::{CONTROLLER, Scene},
    trial::nothing_made,
};

/// The object of the template's `bucket.yaml`.
const PHOTOS: &str = "photos";
/// What the controller puts into a Secret.
const KEYS: [&str; 4] = ["endpoint", "bucket", "accessKey", "secretKey"];

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, theseus, copied, .. } = scene;
    stage.screen.heading("Somebody wants a Bucket");
    stage.step("homer: kubectl apply -f my-provider/bucket.yaml", copied.apply(homer, "bucket.yaml")).await?;
    let (seen, first) =
        stage.step("theseus serves it: its Secret is in homer", served(homer, PHOTOS, theseus, &KEYS)).await?;
    anyhow::ensure!(seen["status"]["status"] == "Available", "status.status is {}", seen["status"]["status"]);
    stage.screen.detail(&stage.kubectl(homer, &["get", "bucket,secret"]).await?);

    let photos = Scene::bucket(homer, PHOTOS);
    let edited = async {
        photos.edit(json!({"spec": {"size": 8}})).await?;
        let (_, data) = served(homer, PHOTOS, theseus, &KEYS).await?;
        anyhow::ensure!(data == first, "the Secret has changed");
        has_size(theseus, "8").await
    };
    stage.step("8 GiB in place of 5: theseus makes it larger, its keys stay", edited).await?;

    let refused = async {
        photos.edit(json!({"spec": {"size": 5000}})).await?;
        let failed = |seen: &Value| is(seen, "Ready", "False") && seen["status"]["status"] == "Failed";
        let seen = photos.until("Failed, as it is now", failed).await?;
        arrived(homer, PHOTOS, |data| *data == first).await?;
        has_size(theseus, "8").await?;
        let conditions = seen["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.into_iter().find(|held| held["type"] == "Ready").context("a condition Ready")?;
        Ok(ready["message"].as_str().unwrap_or_default().to_owned())
    };
    let told = stage.step("5000 GiB are more than it has: Failed says why, and what was there stays", refused).await?;
    stage.screen.detail(&told);
    let mended = async {
        photos.edit(json!({"spec": {"size": 8}})).await?;
        served(homer, PHOTOS, theseus, &KEYS).await.map(drop)
    };
    stage.step("8 GiB again: it is Available", mended).await?;

    let rotated = async {
        let name = secret_of(PHOTOS);
        let secrets = theseus.list::<Secret>().await?;
        let lost = secrets.iter().find(|secret| secret.name_any().ends_with(&name)).context("the copy's Secret")?;
        theseus.delete::<Secret>(&lost.name_any()).await?;
        let is_new = |data: &Data, key: &str| data.get(key).is_some_and(|new| Some(new) != first.get(key));
        arrived(homer, PHOTOS, |data| is_new(data, "accessKey") && is_new(data, "secretKey")).await.map(drop)
    };
    stage.step("theseus loses its Secret: there are new keys, which arrive in homer", rotated).await?;

    let deleted = async {
        stage.kubectl(homer, &["delete", "bucket", PHOTOS, "--timeout=60s"]).await?;
        let left = stage.kubectl(theseus, &["get", "buckets", "-n", NAMESPACE, "-o", "name"]).await?;
        anyhow::ensure!(left.is_empty(), "theseus still has {left}");
        no_secrets(homer, theseus, PHOTOS).await?;
        nothing_made(theseus).await
    };
    stage.step("homer: kubectl delete bucket photos: all of it is gone, in both clusters", deleted).await
}

/// Waits until the one thing that stands for a bucket has that size.
async fn has_size(theseus: &Place, size: &str) -> anyhow::Result<()> {
    let things = Api::<ConfigMap>::namespaced(theseus.client.clone(), CONTROLLER);
    wait_for(DEADLINE, &format!("a bucket of {size} GiB in theseus"), async || {
        let things = things.list(&ListParams::default()).await?.items;
        let sizes: Vec<_> = things.iter().map(|thing| thing.data.as_ref().and_then(|data| data.get("size"))).collect();
        anyhow::ensure!(sizes.len() == 1 && sizes[0].is_some_and(|held| held == size), "sizes: {sizes:?}");
        Ok(())
    })
    .await
}
