//! The Certificate's name is edited to one that only the other provider serves: it moves, and its user never lacks a
//! certificate.

use std::{collections::BTreeSet, time::Duration};

use crate::proof::Proof;
use broker_api::{
    Migration, MigrationConfiguration, MigrationState, example::Certificate, keys::MIGRATION_ID, migration::StageState,
};
use example_stage::{DEADLINE, Place, Stage, installation::SYSTEM};
use harness::wait_for;
use k8s_openapi::api::{
    batch::v1::Job,
    core::v1::{Pod, Secret},
};
use kube::ResourceExt;
use serde_json::json;

use super::{
    arrival::{WEBSITE, arrived, tell},
    proven::proof_of,
    scene::Scene,
};

/// The name that the consumer asks for from here on.
const FQDN: &str = "app.corp.com";
/// How often the consumer looks at its Secret.
const LOOK: Duration = Duration::from_millis(5);
/// Stages of `hub/migrationconfiguration.yaml`.
const STAGES: [&str; 2] = ["check", "settle"];

/// Where a Migration was seen: its state, and the stage that runs.
type Sight = (MigrationState, Option<String>);

pub(crate) async fn play(scene: &Scene, stage: &Stage) -> anyhow::Result<()> {
    let Scene { homer, internal, corp, .. } = scene;
    stage.screen.heading("It moves to another provider");
    stage.step("hub: MigrationConfiguration certificates says what has to be done", configure(&scene.hub)).await?;

    let old = internal.place.copy_of::<Certificate>(WEBSITE).await?.name_any();
    let audit = homer.cluster.audit();
    let mark = audit.settle().await?;
    let mut sights = Vec::new();
    let what = format!("homer edits spec.fqdn to {FQDN}: a Migration runs its stages, {}", STAGES.join(" and "));
    let (migration, seen) = stage.step(&what, beside(homer, moved(scene, &old, &mut sights))).await?;
    for (state, running) in sights {
        stage.screen.detail(&format!("{state:?} {}", running.unwrap_or_default()));
    }
    for held in migration.status.unwrap_or_default().stages {
        stage.screen.detail(&format!("stage {}: {:?} {}", held.name, held.state, held.message.unwrap_or_default()));
    }

    let proof = stage.step("homer's certificate is the other provider's", switched(scene, &seen)).await?;
    tell(&stage.screen, &proof);
    let whole = async {
        let deletions = audit.settled_since(mark).await?.on("secrets").only(|event| event.verb.starts_with("delete"));
        anyhow::ensure!(
            deletions.is_empty(),
            "expected no Secret to be deleted in homer, saw {:?}",
            deletions.counts()
        );
        anyhow::ensure!(seen.missing == 0, "the Secret was missing {} times of {}", seen.missing, seen.looks);
        anyhow::ensure!(seen.flaws.is_empty(), "not a good certificate all the time: {:?}", seen.flaws);
        Ok(())
    };
    stage.step("in between its Secret was never missing, and never half one and half the other", whole).await?;
    stage.screen.detail(&format!("{} looks: {}", seen.looks, seen.issuers.join(", then ")));

    let left = async {
        let (place, secret) = (&internal.place, format!("{old}-tls"));
        let held = place.api::<Certificate>().get_opt(&old).await?;
        anyhow::ensure!(held.is_none(), "expected the copy {old} to be gone when its Migration is complete");
        place.gone::<Secret>(&secret).await?;
        let copies = corp.place.copies_of::<Certificate>(WEBSITE).await?.len();
        anyhow::ensure!(copies == 1, "expected one copy in {}, found {copies}", corp.place.name());
        cleared(&scene.hub).await
    };
    stage.step("the old copy is gone, and so is all that the Migration made in hub", left).await
}

async fn configure(hub: &Place) -> anyhow::Result<()> {
    hub.apply(include_str!("../../hub/migrationconfiguration.yaml")).await?;
    hub.until_ready_in::<MigrationConfiguration>(SYSTEM, "certificates").await
}

/// Edits the name and follows the Migration to its end. `sights` is where it was seen on its way.
async fn moved(scene: &Scene, old: &str, sights: &mut Vec<Sight>) -> anyhow::Result<Migration> {
    scene.homer.edit::<Certificate>(WEBSITE, json!({ "spec": { "fqdn": FQDN } })).await?;
    let migration = wait_for(DEADLINE, "a Migration that has ended", async || {
        let mut held = scene.hub.list::<Migration>().await?;
        held.retain(|migration| migration.spec.from.name == old);
        anyhow::ensure!(held.len() == 1, "{} Migrations of {old}", held.len());
        let migration = held.remove(0);
        let status = migration.status.clone().unwrap_or_default();
        let sight = (status.state, status.stage.clone());
        if status.state != MigrationState::Unknown && sights.last() != Some(&sight) {
            sights.push(sight);
        }
        let ended = matches!(status.state, MigrationState::CutoverCompleted | MigrationState::Failed);
        anyhow::ensure!(ended, "{:?}, {:?}", status.state, status.stages);
        Ok(migration)
    })
    .await?;
    let status = migration.status.clone().unwrap_or_default();
    let done: Vec<_> = status.stages.iter().map(|held| (held.name.as_str(), held.state)).collect();
    let complete = status.state == MigrationState::CutoverCompleted;
    let wanted = STAGES.map(|name| (name, StageState::Succeeded));
    let seen = format!("{:?}, {:?}", status.state, status.stages);
    anyhow::ensure!(complete && done == wanted, "expected the Migration to be complete, it is {seen}");
    Ok(migration)
}

/// What the consumer saw in its Secret, look by look.
#[derive(Default)]
struct Seen {
    looks: usize,
    missing: usize,
    flaws: BTreeSet<String>,
    /// Issuers in the order in which they came.
    issuers: Vec<String>,
}

/// Does the work, while the consumer looks at its Secret all the time.
async fn beside<T>(homer: &Place, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<(T, Seen)> {
    let mut seen = Seen::default();
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut work = Box::pin(work);
    loop {
        tokio::select! {
            done = &mut work => return Ok((done?, seen)),
            _ = tick.tick() => look(homer, &mut seen).await?,
        }
    }
}

async fn look(homer: &Place, seen: &mut Seen) -> anyhow::Result<()> {
    seen.looks += 1;
    let Some(secret) = homer.api::<Secret>().get_opt(&format!("{WEBSITE}-tls")).await? else {
        seen.missing += 1;
        return Ok(());
    };
    match proof_of(&secret) {
        Ok((proof, _)) if seen.issuers.last() != Some(&proof.issuer) => seen.issuers.push(proof.issuer),
        Ok(_) => {}
        Err(flaw) => {
            seen.flaws.insert(flaw.to_string());
        }
    }
    Ok(())
}

async fn switched(scene: &Scene, seen: &Seen) -> anyhow::Result<Proof> {
    let proof = arrived(scene, WEBSITE, FQDN, &scene.corp, None).await?;
    let wanted = [&scene.internal, &scene.corp].map(|provider| format!("CN={}", provider.issuer));
    anyhow::ensure!(seen.issuers == wanted, "expected issuers {wanted:?} in this order, saw {:?}", seen.issuers);
    Ok(proof)
}

/// Nothing of a migration is left in the cluster where its stages ran.
async fn cleared(hub: &Place) -> anyhow::Result<()> {
    // The broker's own doing is there at once. Pods go with their Job, by the hands of the garbage collector.
    let jobs = hub.list::<Job>().await?.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    let secrets = hub.list::<Secret>().await?.into_iter().filter(|held| held.labels().contains_key(MIGRATION_ID));
    let secrets = secrets.map(|held| held.name_any()).collect::<Vec<_>>();
    anyhow::ensure!(jobs.is_empty(), "expected no Job of a migration in hub, found {jobs:?}");
    anyhow::ensure!(secrets.is_empty(), "expected no Secret of a migration in hub, found {secrets:?}");
    hub.none::<Pod>("of a Job", |pod| pod.labels().contains_key("batch.kubernetes.io/job-name")).await
}
