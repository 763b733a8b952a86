//! The story: a store with data, an upgrade that only the other provider can serve, and what is there afterwards.

use broker_api::{Migration, MigrationState, keys, migration::StageState};
use harness::wait_for;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{ConfigMap, Secret},
};
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use migration_example::provider::{LABEL, MANAGER};
use serde_json::json;

use crate::{
    DEADLINE,
    place::{NAMESPACE, none},
    step,
    user::{self, Diary, SECRET},
    world::World,
};

/// Stages of `hub/migrationconfiguration.yaml`.
const STAGES: [&str; 3] = ["copy", "verify", "seal"];
/// How many writes the user makes before anything moves.
const WRITES: usize = 300;

pub(crate) async fn play(world: &World) -> anyhow::Result<()> {
    let World { homer, classic, modern, .. } = world;
    let mut diary = Diary::default();

    step("homer: KeyValue cart, version 7.2, is served by classic", async {
        homer.apply(include_str!("../../../consumer/keyvalue.yaml")).await?;
        classic.available().await?;
        anyhow::ensure!(modern.stores().await?.is_empty(), "modern has a copy");
        wait_for(DEADLINE, "Secret cart-access in homer", async || homer.secrets.get(SECRET).await).await.map(drop)
    })
    .await?;

    step(&format!("its user makes {WRITES} writes"), async {
        for _ in 0..WRITES {
            user::write(&homer.secrets, &mut diary).await?;
        }
        anyhow::ensure!(user::entries(&homer.secrets).await? == diary.written, "the store holds something else");
        Ok(())
    })
    .await?;

    let audit = homer.cluster.audit();
    let mark = audit.settle().await?;
    let what = "homer edits spec.version to 8.0, which only modern serves: copy, verify and seal run";
    let moved = step(what, user::beside(&homer.secrets, &mut diary, moved(world))).await?;
    for held in moved.status.unwrap_or_default().stages {
        println!("         stage {}: {:?} {}", held.name, held.state, held.message.unwrap_or_default());
    }
    for line in world.worker.log()?.lines() {
        if let Some((_, told)) = line.split_once("complete: ") {
            println!("         {told}");
        }
    }

    step("its user was not disturbed: its Secret was always there, and changed once", async {
        let deletions = audit.settled_since(mark).await?.on("secrets").only(|event| event.verb.starts_with("delete"));
        anyhow::ensure!(deletions.is_empty(), "Secrets were deleted in homer: {:?}", deletions.counts());
        anyhow::ensure!(diary.missing == 0, "the Secret was missing {} times", diary.missing);
        anyhow::ensure!(diary.urls.len() == 2, "expected the old address, then the new one: {:?}", diary.urls);
        Ok(())
    })
    .await?;
    println!("         {} writes, {} of them held off for a moment", diary.writes, diary.held);

    step("every write that was confirmed, before and during the move, is in the new store", async {
        let held = user::entries(&homer.secrets).await?;
        let lost: Vec<_> = diary.written.iter().filter(|&(key, value)| held.get(key) != Some(value)).collect();
        anyhow::ensure!(lost.is_empty() && held.len() == diary.written.len(), "lost or old: {lost:?}");
        modern.available().await.map(drop)
    })
    .await?;

    step("nothing is left over in classic and hub", left(world)).await
}

/// Edits the version and follows the Migration to its end.
async fn moved(world: &World) -> anyhow::Result<Migration> {
    let edit = Patch::Merge(json!({ "spec": { "version": "8.0" } }));
    world.homer.key_values.patch("cart", &PatchParams::default(), &edit).await?;
    let migrations = Api::<Migration>::namespaced(world.hub.client.clone(), NAMESPACE);
    let migration = wait_for(DEADLINE, "a Migration that has ended", async || {
        let mut held = migrations.list(&ListParams::default()).await?.items;
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
async fn left(world: &World) -> anyhow::Result<()> {
    let World { hub, classic, .. } = world;
    let copies = classic.stores().await?.len();
    anyhow::ensure!(copies == 0, "the old copy is there although its Migration is complete");
    none(&classic.config_maps, "ConfigMap of the old copy", |held: &ConfigMap| {
        held.labels().get(LABEL).is_some_and(|value| value == MANAGER)
    })
    .await?;
    none(&classic.secrets, "Secret of the old copy", |held: &Secret| {
        held.labels().get(LABEL).is_some_and(|value| value == MANAGER)
    })
    .await?;
    let jobs = Api::<Job>::all(hub.client.clone());
    none(&jobs, "Job of the migration", |_| true).await?;
    let secrets = Api::<Secret>::all(hub.client.clone());
    none(&secrets, "Secret of the migration", |held: &Secret| held.labels().contains_key(keys::MIGRATION_ID)).await
}
