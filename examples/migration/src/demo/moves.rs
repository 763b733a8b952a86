//! The story: a store with data, an upgrade that only the other provider can serve, and what is there afterwards.

use std::collections::BTreeMap;

use crate::provider::{LABEL, MANAGER};
use broker_api::{Migration, MigrationState, generic::databases::KeyValue, keys, migration::StageState};
use example_stage::{DEADLINE, Stage};
use harness::wait_for;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Pod, Secret},
};
use kube::ResourceExt;
use serde_json::json;

use super::{
    scene::{Scene, available},
    user::{self, Diary, SECRET},
};

/// Stages of `hub/migrationconfiguration.yaml`.
const STAGES: [&str; 3] = ["copy", "verify", "seal"];
/// How many writes the user makes before anything moves.
const WRITES: usize = 300;

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, classic, modern, .. } = scene;
    let secrets = homer.api::<Secret>();
    let mut diary = Diary::default();

    stage.screen.heading("A store in use");
    let served = async {
        homer.apply(include_str!("../../consumer/keyvalue.yaml")).await?;
        available(classic).await?;
        anyhow::ensure!(modern.list::<KeyValue>().await?.is_empty(), "modern has a copy");
        wait_for(DEADLINE, "Secret cart-access in homer", async || secrets.get(SECRET).await).await.map(drop)
    };
    stage.step("homer: KeyValue cart, version 7.2, is served by classic", served).await?;
    let used = async {
        for _ in 0..WRITES {
            user::write(&secrets, &mut diary).await?;
        }
        anyhow::ensure!(user::entries(&secrets).await? == diary.written, "the store holds something else");
        Ok(())
    };
    stage.step(&format!("its user makes {WRITES} writes"), used).await?;

    stage.screen.heading("It moves with its data");
    let audit = homer.cluster.audit();
    let mark = audit.settle().await?;
    let what = "homer edits spec.version to 8.0, which only modern serves: copy, verify and seal run";
    let moved = stage.step(what, user::beside(&secrets, &mut diary, moved(scene))).await?;
    for held in moved.status.unwrap_or_default().stages {
        stage.screen.detail(&format!("stage {}: {:?} {}", held.name, held.state, held.message.unwrap_or_default()));
    }
    for line in stage.log("pod-runner").lines() {
        if let Some((_, told)) = line.split_once("complete: ") {
            stage.screen.detail(told);
        }
    }

    let undisturbed = async {
        let deletions = audit.settled_since(mark).await?.on("secrets").only(|event| event.verb.starts_with("delete"));
        anyhow::ensure!(deletions.is_empty(), "Secrets were deleted in homer: {:?}", deletions.counts());
        anyhow::ensure!(diary.missing == 0, "the Secret was missing {} times", diary.missing);
        anyhow::ensure!(diary.urls.len() == 2, "expected the old address, then the new one: {:?}", diary.urls);
        Ok(())
    };
    stage.step("its user was not disturbed: its Secret was always there, and changed once", undisturbed).await?;
    stage.screen.detail(&format!("{} writes, {} of them held off for a moment", diary.writes, diary.held));

    let complete = async {
        let held = user::entries(&secrets).await?;
        let lost: Vec<_> = diary.written.iter().filter(|&(key, value)| held.get(key) != Some(value)).collect();
        anyhow::ensure!(lost.is_empty() && held.len() == diary.written.len(), "lost or old: {lost:?}");
        available(modern).await.map(drop)
    };
    stage.step("every write that was confirmed, before and during the move, is in the new store", complete).await?;
    stage.step("nothing is left over in classic and hub", left(scene)).await
}

/// Edits the version and follows the Migration to its end.
async fn moved(scene: &Scene) -> anyhow::Result<Migration> {
    scene.homer.edit::<KeyValue>("cart", json!({ "spec": { "version": "8.0" } })).await?;
    let migration = wait_for(DEADLINE, "a Migration that has ended", async || {
        let mut held = scene.hub.list::<Migration>().await?;
        anyhow::ensure!(held.len() == 1, "{} Migrations", held.len());
        let migration = held.remove(0);
        let status = migration.status.clone().unwrap_or_default();
        let ended = matches!(status.state, MigrationState::CutoverCompleted | MigrationState::Failed);
        anyhow::ensure!(ended, "{:?}, {:?}", status.state, status.stages);
        Ok(migration)
    })
    .await?;
    let status = migration.status.clone().unwrap_or_default();
    let done: Vec<_> = status.stages.iter().map(|held| (held.name.as_str(), held.state)).collect();
    let wanted = STAGES.map(|name| (name, StageState::Succeeded));
    let complete = status.state == MigrationState::CutoverCompleted && done == wanted;
    anyhow::ensure!(complete, "expected a complete Migration, it is {:?}, {:?}", status.state, status.stages);
    Ok(migration)
}

/// Nothing of the old copy, and nothing that the migration made.
async fn left(scene: &Scene) -> anyhow::Result<()> {
    let Scene { hub, classic, .. } = scene;
    let copies = classic.list::<KeyValue>().await?.len();
    anyhow::ensure!(copies == 0, "the old copy is there although its Migration is complete");
    let made = |labels: &BTreeMap<String, String>| labels.get(LABEL).is_some_and(|value| value == MANAGER);
    classic.none::<ConfigMap>("of the old copy", |held| made(held.labels())).await?;
    classic.none::<Secret>("of the old copy", |held| made(held.labels())).await?;
    hub.none::<Secret>("of the migration", |held| held.labels().contains_key(keys::MIGRATION_ID)).await?;
    hub.none::<Job>("of the migration", |_| true).await?;
    hub.none::<Pod>("of its Jobs", |pod| pod.labels().contains_key("batch.kubernetes.io/job-name")).await
}
