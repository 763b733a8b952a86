//! Works the queue: observe, decide, act, until nothing is left to do for an origin.

use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use broker_api::Role;
use broker_core::{
    decision::{Decision, Step, Write},
    snapshot::OriginKey,
};
use broker_fleet::{
    cluster::Cluster,
    index::Change,
    lease::Leadership,
    object::ObjectKey,
    queue::{Outcome, Slot},
    watch::WatchSpec,
    write::Writer,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error};

use crate::{
    act::Acted,
    broker::{Broker, Work},
    metrics::METRICS,
};

/// Decisions in a row for one origin before others get their turn: enough for marks, copy, related and status.
const PASSES: usize = 12;

/// How long a follower or a broker without keys waits before it looks whether it may write.
const IDLE: Duration = Duration::from_secs(1);

/// Hands out work until `stop`, then lets what is under way finish.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    let tasks = TaskTracker::new();
    let queue = Arc::clone(&broker.queue);
    let closing = Arc::clone(&queue);
    let closer = async move {
        stop.cancelled().await;
        closing.close();
    };
    tokio::spawn(closer);
    while let Some((Work(key), slot)) = queue.next().await {
        let broker = Arc::clone(&broker);
        tasks.spawn(async move {
            let started = Instant::now();
            let outcome = broker.work(&key, slot).await;
            METRICS.work_duration.observe(started.elapsed().as_secs_f64());
            if let Some(wait) = broker.queue.finish(&Work(key.clone()), outcome) {
                debug!(%key, ?wait, "will be tried again");
            }
        });
    }
    tasks.close();
    tasks.wait().await;
}

/// A leader stops 5 s before its lease can be taken; what it has begun may take this much of them.
const FENCE: Duration = Duration::from_secs(4);

/// What became of the steps of one decision.
enum Went {
    /// All done: decide again.
    Through,
    /// A live read said this: decide again with it.
    Confirmed(Option<Box<str>>),
    /// No more for now.
    Stopped(Outcome),
}

impl Broker {
    async fn work(self: &Arc<Self>, key: &OriginKey, mut slot: Option<Slot<Work>>) -> Outcome {
        let mut confirmed = None;
        for _ in 0..PASSES {
            let Some((decision, known)) = self.decide_and_remember(key, confirmed.take()) else {
                return Outcome::After(IDLE);
            };
            if self.leads() {
                self.tell(key, &decision, known);
            }
            if self.read_stubs(&decision).await {
                continue;
            }
            if decision.steps.is_empty() {
                return decision.again.map_or(Outcome::Done, Outcome::After);
            }
            if !self.leads() {
                // Followers keep warm; on taking the lead everything is looked at again.
                return Outcome::Done;
            }
            match self.carry_out(key, &decision, &mut slot).await {
                Went::Through => {}
                Went::Confirmed(found) => confirmed = Some(found),
                Went::Stopped(outcome) => return outcome,
            }
        }
        error!(%key, "{PASSES} decisions in a row wanted writes; slowing down");
        Outcome::Failed
    }

    /// Decides, and counts the decision before anybody else's. Says whether the origin was known before.
    fn decide_and_remember(&self, key: &OriginKey, confirmed: Option<Option<Box<str>>>) -> Option<(Decision, bool)> {
        let registry = self.registry.load();
        let decide = || {
            let _turn = registry.is_limited().then(|| self.placing.lock().unwrap_or_else(PoisonError::into_inner));
            let (memory, known) = self.records.memory(key);
            let decision = self.decide(key, &memory, confirmed)?;
            let freed = self.records.absorb(key, &decision).filter(|id| registry.limits(id));
            Some((decision, known, freed))
        };
        // A hostile expression may take its whole time limit: others go on meanwhile.
        let decided = if registry.has_expressions() { tokio::task::block_in_place(decide) } else { decide() };
        let (decision, known, freed) = decided?;
        if freed.is_some() {
            self.enqueue_waiting(&key.gvk);
        }
        Some((decision, known))
    }

    async fn carry_out(self: &Arc<Self>, key: &OriginKey, decision: &Decision, slot: &mut Option<Slot<Work>>) -> Went {
        for step in &decision.steps {
            let write = match step {
                Step::Write(write) => write,
                Step::Confirm => {
                    return match self.confirm(key).await {
                        Ok(found) => Went::Confirmed(found),
                        Err(error) => {
                            debug!(%key, %error, "cannot confirm");
                            Went::Stopped(Outcome::Failed)
                        }
                    };
                }
            };
            if let Err(outcome) = self.take_slot(write, slot) {
                return Went::Stopped(outcome);
            }
            if !self.leads() {
                return Went::Stopped(Outcome::Done);
            }
            match self.act_while_leading(key, write).await {
                Acted::Done => {
                    if let Some(note) = &write.note {
                        self.tell_note(key, note);
                    }
                }
                // The next decision tells of it.
                Acted::Refused | Acted::Prepared => return Went::Through,
                Acted::Failed => return Went::Stopped(Outcome::Failed),
                Acted::Wait(wait) => return Went::Stopped(Outcome::After(wait)),
            }
        }
        Went::Through
    }

    /// A write that would outlive the lease is given up: its outcome is looked at by whoever leads then.
    async fn act_while_leading(&self, key: &OriginKey, write: &Write) -> Acted {
        let Some(until) = self.leadership.get().and_then(Leadership::valid_until) else { return Acted::Failed };
        tokio::time::timeout_at(until + FENCE, self.act(key, write)).await.unwrap_or(Acted::Failed)
    }

    /// Makes sure that `slot` is one of the write's cluster.
    fn take_slot(self: &Arc<Self>, write: &Write, slot: &mut Option<Slot<Work>>) -> Result<(), Outcome> {
        if let Some(wait) = self.fleet().cluster(&write.cluster).and_then(|cluster| cluster.throttled()) {
            return Err(Outcome::After(wait));
        }
        if slot.as_ref().is_some_and(|held| *held.cluster() == write.cluster) {
            return Ok(());
        }
        *slot = None;
        *slot = self.queue.slot(&write.cluster);
        if slot.is_some() { Ok(()) } else { Err(Outcome::Park(write.cluster.clone())) }
    }

    /// Reads related objects that are known by name only. Returns whether there were any.
    async fn read_stubs(&self, decision: &Decision) -> bool {
        let mut read = false;
        for interest in &decision.interests {
            let key = ObjectKey::new(interest.namespace.as_str(), interest.name.as_str());
            let Some(spec) = self.watches.spec_of(Role::Provider, &interest.kind) else { continue };
            let Some((cluster, caller, kind)) = self.reachable(&interest.provider, &interest.kind) else { continue };
            let Some(index) = cluster.index(spec) else { continue };
            if index.get(&key).found().is_none_or(|held| held.has_body()) {
                continue;
            }
            if let Ok(Some(object)) = Writer::new(&caller, broker_api::keys::MANAGER).get(&kind, &key).await {
                index.fill(&key, object);
                read = true;
            }
        }
        read
    }

    /// The answer to a write is news for those who listen to the index, except for the origin that wrote it.
    pub(crate) fn learned(&self, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        if cluster.name().role() == Role::Consumer && self.watches.brokered_by(spec).is_none() {
            let place = crate::owned::Place {
                cluster: cluster.name().clone(),
                spec: Arc::clone(spec),
                key: change.key.clone(),
            };
            let owners = |object: &Option<Arc<broker_fleet::object::Object>>| {
                object.as_deref().map(crate::owned::owners).unwrap_or_default()
            };
            self.owned.moved(&place, &owners(&change.old), &owners(&change.new));
        }
    }
}
