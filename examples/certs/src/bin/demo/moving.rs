//! The Certificate's name is edited to one that only the other provider serves: it moves, and its user never lacks a
//! certificate.

use std::{collections::BTreeSet, time::Duration};

use broker_api::{Migration, MigrationConfiguration, MigrationState, migration::StageState};
use certs_example::proof::Proof;
use harness::wait_for;
use kube::{
    Api, ResourceExt,
    api::{DynamicObject, ListParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::json;

use crate::{
    DEADLINE,
    arrival::{WEBSITE, arrived, tell},
    place::{NAMESPACE, Place, gone},
    screen::Screen,
    stage::Stage,
};

/// The name that the consumer asks for from here on.
const FQDN: &str = "app.corp.com";
/// How often the consumer looks at its Secret.
const LOOK: Duration = Duration::from_millis(5);
/// Stages of `hub/migrationconfiguration.yaml`.
const STAGES: [&str; 2] = ["check", "settle"];

/// Where a Migration was seen: its state, and the stage that runs.
type Sight = (MigrationState, Option<String>);

pub(crate) async fn play(stage: &Stage, screen: &Screen) -> anyhow::Result<()> {
    let Stage { homer, internal, corp, .. } = stage;
    screen.heading("It moves to another provider");
    screen.step("hub: MigrationConfiguration certificates says what has to be done", configure(&stage.hub)).await?;

    let old = internal.place.copy_of(WEBSITE).await?.name_any();
    let audit = homer.cluster.audit();
    let mark = audit.settle().await?;
    let mut sights = Vec::new();
    let what = format!("homer edits spec.fqdn to {FQDN}: a Migration runs its stages, {}", STAGES.join(" and "));
    let (migration, seen) = screen.step(&what, beside(homer, moved(stage, &old, &mut sights))).await?;
    for (state, running) in sights {
        screen.detail(&format!("{state:?} {}", running.unwrap_or_default()));
    }
    for held in migration.status.unwrap_or_default().stages {
        screen.detail(&format!("stage {}: {:?} {}", held.name, held.state, held.message.unwrap_or_default()));
    }

    let proof = screen.step("homer's certificate is the other provider's", switched(stage, &seen)).await?;
    tell(screen, &proof);
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
    screen.step("in between its Secret was never missing, and never half one and half the other", whole).await?;
    screen.detail(&format!("{} looks: {}", seen.looks, seen.issuers.join(", then ")));

    let left = async {
        let (place, secret) = (&internal.place, format!("{old}-tls"));
        let held = place.certificates.get_opt(&old).await?;
        anyhow::ensure!(held.is_none(), "expected the copy {old} to be gone when its Migration is complete");
        gone(&place.secrets, &format!("Secret {secret} in {}", place.name()), &secret).await?;
        let copies = corp.place.copies_of(WEBSITE).await?.len();
        anyhow::ensure!(copies == 1, "expected one copy in {}, found {copies}", corp.place.name());
        cleared(&stage.hub).await
    };
    screen.step("the old copy is gone, and so is all that the Migration made in hub", left).await
}

async fn configure(hub: &Place) -> anyhow::Result<()> {
    hub.apply(include_str!("../../../hub/migrationconfiguration.yaml")).await?;
    let configurations = Api::<MigrationConfiguration>::namespaced(hub.client.clone(), NAMESPACE);
    wait_for(DEADLINE, "condition Ready=True on MigrationConfiguration certificates", async || {
        let conditions = configurations.get("certificates").await?.status.unwrap_or_default().conditions;
        let ready = conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        anyhow::ensure!(ready, "conditions {conditions:?}");
        Ok(())
    })
    .await
}

/// Edits the name and follows the Migration to its end. `sights` is where it was seen on its way.
async fn moved(stage: &Stage, old: &str, sights: &mut Vec<Sight>) -> anyhow::Result<Migration> {
    stage.homer.edit(WEBSITE, json!({ "spec": { "fqdn": FQDN } })).await?;
    let migrations = Api::<Migration>::namespaced(stage.hub.client.clone(), NAMESPACE);
    let migration = wait_for(DEADLINE, "a Migration that has ended", async || {
        let mut held = migrations.list(&ListParams::default()).await?.items;
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
    let Some(secret) = homer.secrets.get_opt(&format!("{WEBSITE}-tls")).await? else {
        seen.missing += 1;
        return Ok(());
    };
    match Place::prove(&secret) {
        Ok((proof, _)) if seen.issuers.last() != Some(&proof.issuer) => seen.issuers.push(proof.issuer),
        Ok(_) => {}
        Err(flaw) => {
            seen.flaws.insert(flaw.to_string());
        }
    }
    Ok(())
}

async fn switched(stage: &Stage, seen: &Seen) -> anyhow::Result<Proof> {
    let proof = arrived(stage, WEBSITE, FQDN, &stage.corp, None).await?;
    let wanted = [&stage.internal, &stage.corp].map(|provider| format!("CN={}", provider.issuer));
    anyhow::ensure!(seen.issuers == wanted, "expected issuers {wanted:?} in this order, saw {:?}", seen.issuers);
    Ok(proof)
}

/// Nothing of a migration is left in the cluster where its stages ran.
async fn cleared(hub: &Place) -> anyhow::Result<()> {
    for (group, kind) in [("batch", "Job"), ("", "Secret")] {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let objects = Api::<DynamicObject>::all_with(hub.client.clone(), &resource);
        let left = objects.list(&ListParams::default().labels(broker_api::keys::MIGRATION_ID)).await?;
        let names: Vec<_> = left.iter().map(ResourceExt::name_any).collect();
        anyhow::ensure!(names.is_empty(), "expected no {kind} of a migration in hub, found {names:?}");
    }
    Ok(())
}
