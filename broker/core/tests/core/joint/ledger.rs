//! What holds for every write of either machine, judged by what is in the clusters and not by what the machines believe.

use std::collections::BTreeSet;

use broker_api::{MigrationState, keys, migration::StageState};
use broker_core::{
    assignment::Proven, decision::Write, memory::Subject, migration::known::Known, movement::MigrationView,
    snapshot::OriginKey,
};
use runtime_effect::write::Op;
use serde_json::Value;

use crate::decide::world::{World, web};
use crate::joint::{
    hub::{PROVIDERS, answers, hub, migration_at},
    links::known,
};

/// What has happened that later writes must respect.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Epochs of moves whose consumer has been switched.
    switched: BTreeSet<u64>,
    /// Stages that have succeeded, by the Migration's name and, for a person's, its uid.
    succeeded: BTreeSet<(String, String)>,
    /// States of Migrations, and what the consumer was shown, as they were before the last write.
    before: Option<(MigrationState, bool)>,
}

/// What the consumer is served by: the provider that its status and its Secret come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shown {
    pub(crate) status: Value,
    pub(crate) secret: Value,
}

/// A move as the origin's annotations prove it.
#[derive(Debug)]
struct Marked {
    from: String,
    to: String,
    epoch: u64,
}

fn marked(world: &World) -> Option<Marked> {
    let key = web();
    let origin = world.origin(&key)?;
    let metadata = &origin["metadata"];
    if metadata.get("deletionTimestamp").is_some() {
        return None;
    }
    let text = |name: &str| metadata["annotations"][name].as_str();
    let (from, to, signature) =
        (text(keys::PROVIDER_CLUSTER)?, text(keys::NEW_PROVIDER_CLUSTER)?, text(keys::ASSIGNMENT)?);
    let subject = key.subject(metadata["uid"].as_str()?);
    let Proven { epoch, .. } = world.ring.verify_assignment(&subject, from, Some(to), signature)?;
    Some(Marked { from: from.to_owned(), to: to.to_owned(), epoch })
}

/// Whether the copy at a provider is live, signed for the present origin, and ready.
fn is_ready(world: &World, provider: &str) -> bool {
    let Some(copy) = world.copy(provider, &web()) else { return false };
    copy["metadata"].get("deletionTimestamp").is_none()
        && world.signed(provider, &web()).is_some()
        && copy["status"]["conditions"][0]["status"] == "True"
}

impl Ledger {
    pub(crate) fn shown(world: &World) -> Shown {
        let status = world.origin(&web()).map_or(Value::Null, |origin| origin["status"]["phase"].clone());
        let secret = world.secret(&web().cluster, "web").map_or(Value::Null, |secret| secret["data"]["k"].clone());
        Shown { status, secret }
    }

    /// Before a write of the origin's. `at_once`: it was decided on what is there now.
    pub(crate) fn before(world: &World, write: &Write, at_once: bool) {
        if !matches!(write.subject, Subject::Copy | Subject::Successor) || !at_once {
            return;
        }
        let Some(origin) = world.origin(&web()) else { return };
        if origin["metadata"].get("deletionTimestamp").is_some() {
            return;
        }
        let provider = write.cluster.name();
        let others = PROVIDERS.into_iter().filter(|other| *other != provider);
        match &write.op {
            Op::Delete { .. } => {
                let forced = world.moves.migrations.iter().any(|(_, view)| view.force);
                let serves = origin["status"]["phase"] == *provider && is_ready(world, provider);
                let next = others.clone().any(|other| is_ready(world, other));
                assert!(!serves || next || forced, "I11: the copy at {provider} serves, and no other is ready");
            }
            Op::Create(_) => {
                let known = |other: &&str| {
                    let name = broker_api::ClusterName::provider(*other);
                    let server = &world.servers[&name];
                    answers(server) && server.listed && !world.moves.left.contains_key(&name)
                };
                let live: Vec<&str> = others.filter(known).filter(|other| is_ready(world, other)).collect();
                assert!(live.len() <= 1, "a third copy is made beside those at {live:?}");
            }
            _ => {}
        }
    }

    /// After a write of the origin's.
    pub(crate) fn after(&mut self, world: &World, before: &Shown) {
        let Some(Marked { from, to, epoch }) = marked(world) else { return };
        let after = Self::shown(world);
        for (what, before, after) in
            [("status", &before.status, &after.status), ("Secret", &before.secret, &after.secret)]
        {
            if before == after {
                continue;
            }
            assert!(
                !self.switched.contains(&epoch) || *after != *from,
                "the consumer's {what} goes back to {from} while the move to {to} goes on"
            );
        }
        // With nobody left at the old side the consumer is shown the new one, and nothing says that it stays so.
        let is_switched = world.moves.migrations.iter().any(|(_, view)| {
            let its = if view.by_person {
                view.ended.is_none_or(|ended| ended + 1000 > epoch)
            } else {
                view.name.ends_with(&format!("-{epoch}"))
            };
            its && view.from.name() == from && view.to.name() == to && view.has_switched() && !view.deleting
        });
        if after.status == *to && is_switched {
            self.switched.insert(epoch);
        }
    }

    /// Before a write of the Migration's.
    pub(crate) fn before_stage(&mut self, world: &World, name: &str, write: &Write, at_once: bool) {
        self.before = None;
        let Some(value) = world.servers[&hub()].get(&migration_at(name)) else { return };
        let Some(known) = known(world, name, None) else { return };
        let key = web();
        let carried = known.carried.as_ref().map(|(carried, _)| &*carried.uid);
        let origin = world.origin(&key).filter(|origin| {
            let metadata = &origin["metadata"];
            metadata.get("deletionTimestamp").is_none() && metadata["uid"].as_str() == carried
        });
        let shown = Self::shown(world);
        let to = known.view.to.name();
        let is_shown = origin.is_some() && shown.status == *to;
        if at_once {
            self.before = Some((known.view.state, is_shown));
        }
        let Op::Create(body) = &write.op else { return };
        let Some(stage) = body["metadata"]["labels"][keys::MIGRATION_STAGE].as_str() else { return };
        let place = (Self::identity(&known, value), stage.to_owned());
        assert!(!self.succeeded.contains(&place), "stage {stage} of {name} runs again after it has succeeded");
        // The broker's own go by the epoch of their move; one whose move was taken back may not have heard of that yet.
        let at_work =
            |view: &MigrationView| view.by_person && view.state == MigrationState::InitialInProgress && !view.deleting;
        let beside = world.moves.migrations.iter().find(|(_, view)| {
            let alike = (&view.from, &view.to) == (&known.view.from, &known.view.to);
            alike && !view.is(&known.view) && at_work(view) && at_work(&known.view)
        });
        assert!(beside.is_none(), "{stage} of {name} is made beside the stages of {beside:?}");
        if known.view.state == MigrationState::CutoverInProgress && origin.is_some() && at_once {
            assert!(shown.status == *to, "{stage} of {name} is made, and the consumer's status is {shown:?}");
            assert!(shown.secret == *to, "{stage} of {name} is made, and the consumer's Secret is {shown:?}");
        }
    }

    /// The same move is the same for whoever makes its Migration again.
    fn identity(known: &Known, value: &Value) -> String {
        if known.view.by_person { value["metadata"]["uid"].to_string() } else { known.view.name.clone() }
    }

    /// After a write of the Migration's.
    pub(crate) fn after_stage(&mut self, world: &World, _: &OriginKey, name: &str) {
        let before = self.before.take();
        let Some(value) = world.servers[&hub()].get(&migration_at(name)) else { return };
        let Some(known) = known(world, name, None) else { return };
        for entry in value["status"]["stages"].as_array().into_iter().flatten() {
            if serde_json::from_value::<StageState>(entry["state"].clone()).ok() == Some(StageState::Succeeded) {
                self.succeeded.insert((Self::identity(&known, value), entry["name"].as_str().unwrap().to_owned()));
            }
        }
        let Some((state, is_shown)) = before else { return };
        // One that is deleted at the very switch goes the way that the origin has reported last.
        let switched = state == MigrationState::CutoverInProgress
            || state == MigrationState::InitialCompleted && !known.view.deleting;
        let its = marked(world).is_some_and(|marked| {
            marked.from == known.view.from.name()
                && marked.to == known.view.to.name()
                && (known.view.by_person || known.view.name.ends_with(&format!("-{}", marked.epoch)))
        });
        let left = world.moves.left.contains_key(&known.view.to);
        assert!(
            !(switched && is_shown && its && !left && known.view.state == MigrationState::Failed),
            "{name} fails although the consumer is served by {}",
            known.view.to.name()
        );
    }
}
