//! `OriginMachine`: consumer objects, kept at providers.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role, keys};
use broker_core::{
    acceptance::AcceptId,
    copy,
    decision::{Decision, Write},
    memory::{Memory, Subject},
    related,
    snapshot::OriginKey,
};
use runtime_effect::{interest::Interest, note::Note, write::Op};
use runtime_engine::{
    bodies::Needs,
    clock,
    engine::Engine,
    machine::{InTheWay, Machine, Missing, Occasion, Plan, Refusal},
    worker,
};
use runtime_fleet::{
    cluster::Cluster,
    index::Change,
    object::{Object, ObjectKey},
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    key::{copy_key, object_key},
    observe::BY_OWNER,
    records::{Absorbed, Remembered, bounds::Bounds},
    work::Work,
};
use crate::{broker::Broker, metrics::METRICS, watches::RelatedKind};

/// How often in a row a decision may find that others have taken what it wanted.
const TRIES: usize = 8;

/// When an origin is looked at again for which nothing could be decided: others took what it wanted, each time.
const IDLE: Duration = Duration::from_secs(1);

/// How long the creation of a copy waits for its namespace, which is just being deleted.
const REMOVAL: Duration = Duration::from_millis(200);

/// See [`Machine`].
pub struct OriginMachine {
    broker: Arc<Broker>,
}

impl OriginMachine {
    /// The broker's.
    pub fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Self { broker })
    }

    /// Works on them until `stop`, once there are keys: without any nothing can be decided, and whoever is to be looked at
    /// waits in the queue, however often that is said.
    pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
        tokio::select! {
            () = broker.signing.known() => worker::run(Self::new(Arc::clone(&broker)), stop.clone()).await,
            () = stop.cancelled() => {}
        }
    }

    /// What the next decision on an origin needs: room, where the origin or its copies are large, and bodies of those.
    fn looks_at(&self, origin: &OriginKey) -> Needs {
        let broker = &self.broker;
        let mut needs = Needs::default();
        let Some(spec) = broker.watches.spec_of(Role::Consumer, &origin.gvk) else { return needs };
        if let Some(consumer) = broker.fleet().cluster(&origin.cluster) {
            let own = object_key(origin);
            // What is related to it, as far as it has been brought.
            let uid = consumer.index(spec).and_then(|index| index.get(&own).found()).map(|origin| origin.uid.clone());
            for RelatedKind { target, .. } in &broker.watches.related {
                let Some(index) = consumer.index(target) else { continue };
                for key in index.sorted(BY_OWNER.name, uid.as_deref().unwrap_or_default()) {
                    needs.look(&broker.engine.bodies, Arc::clone(&consumer), target, &key);
                }
            }
            needs.look(&broker.engine.bodies, consumer, spec, &own);
        }
        let copy = copy_key(origin);
        for provider in broker.fleet().engaged(&broker.copy_holders(&origin.gvk, &copy)) {
            needs.look(&broker.engine.bodies, provider, spec, &copy);
        }
        needs
    }

    /// Decides, and takes the decision in. Where others have taken the last room meanwhile, decides again.
    fn decide_and_remember(&self, key: &OriginKey, occasion: &Occasion) -> Option<Taken> {
        let broker = &self.broker;
        let registry = broker.accept_apis.load();
        let decide = || {
            for _ in 0..TRIES {
                let Remembered { memory, known, searches } = broker.origins.records.remembered(key);
                let decision = broker.decide(key, &memory, occasion.confirmed.clone(), occasion.busy)?;
                let placing = decision.counted.as_ref().filter(|_| decision.begins);
                let holds = |provider: &ClusterName, copy: &ObjectKey| broker.holds_copy(provider, &key.gvk, copy);
                let bounds = Bounds {
                    capacity: placing.and_then(|id| registry.capacity(id)),
                    share: placing.and_then(|id| registry.share(id)),
                    objects: broker.options.max_objects_per_consumer,
                    moves: broker.options.max_moves,
                    searches,
                    holds: &holds,
                };
                if let Some(absorbed) = broker.origins.records.absorb(key, &decision, bounds) {
                    return Some((decision, known, absorbed));
                }
            }
            None
        };
        let (decision, known, Absorbed { freed, taken, relieved, listens, moved, turns, missed }) = decide()?;
        for id in freed.iter().chain(&taken) {
            broker.enqueue_status(id);
        }
        let limits = |id: &AcceptId| registry.capacity(id).or(registry.share(id)).is_some();
        if freed.as_ref().is_some_and(limits) {
            broker.room_came(&key.gvk);
        }
        if relieved {
            broker.origins.enqueue_unplaced(&key.cluster);
        }
        if moved {
            broker.migrations.origin_moved(key);
        }
        broker.origins.enqueue_each(turns);
        // Whoever had news since it was observed told only those of whom it was known that they wait for such.
        if missed || !Arc::ptr_eq(&registry, &broker.accept_apis.load()) {
            broker.origins.enqueue(key.clone());
        }
        Some(Taken { decision, known, listens })
    }
}

impl Machine for OriginMachine {
    type Key = Work;
    type Subject = Subject;

    fn engine(&self) -> &Arc<Engine> {
        &self.broker.engine
    }

    fn queue(&self) -> &Arc<Queue<Work>> {
        &self.broker.origins.queue
    }

    fn needs(&self, Work(key): &Work) -> Needs {
        self.looks_at(key)
    }

    fn is_short(&self, _key: &Work) -> bool {
        !self.broker.accept_apis.load().evaluates()
    }

    fn decide(&self, work: &Work, occasion: &Occasion) -> Result<Plan<Subject>, Outcome> {
        let Work(key) = work;
        let Taken { decision, known, listens } = self.decide_and_remember(key, occasion).ok_or(Outcome::After(IDLE))?;
        if self.owns(work) {
            self.broker.tell(key, &decision, known);
        }
        let Decision { steps, interests, again, when_idle, complete, .. } = decision;
        Ok(Plan { steps, interests, listens, again, when_idle, complete })
    }

    fn remember<T>(&self, Work(key): &Work, change: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        self.broker.origins.records.with(key, |record| change(&mut record.memory.writes))
    }

    fn tell(&self, Work(key): &Work, note: &Note) {
        self.broker.tell_note(key, note);
    }

    fn sees(&self, _key: &Work, write: &Write) -> Option<Arc<WatchSpec>> {
        self.broker.watches.spec_of(write.cluster.role(), &write.kind).cloned()
    }

    fn listens_by(&self, interest: &Interest) -> Option<Arc<WatchSpec>> {
        self.broker.watches.spec_of(Role::Provider, &interest.kind).cloned()
    }

    /// No namespace is removed while a copy is made in it.
    fn hold<'a>(&'a self, write: &Write) -> Result<Option<Box<dyn Send + 'a>>, Duration> {
        if !matches!(write.op, Op::Create(_)) || write.cluster.role() != Role::Provider {
            return Ok(None);
        }
        let creating = self.broker.namespaces.create(&write.cluster, &write.namespace).ok_or(REMOVAL)?;
        Ok(Some(Box::new(creating)))
    }

    fn missing_namespace(&self, _key: &Work, write: &Write) -> Missing {
        match write.subject {
            Subject::Copy | Subject::Successor => {
                self.broker.namespace_made(&write.cluster, &Arc::from(write.namespace.as_str()));
                Missing::Make
            }
            Subject::Migration => Missing::Make,
            Subject::Marks | Subject::Status | Subject::Related | Subject::Removal => Missing::Wait,
        }
    }

    /// Related copies are watched by their label.
    fn may_be_unseen(&self, _key: &Work, write: &Write) -> bool {
        write.subject == Subject::Related
    }

    fn in_the_way(&self, Work(key): &Work, write: &Write, found: &Object) -> InTheWay {
        let uid = self.broker.uid_of(Role::Consumer, key, &key.cluster, &key.name);
        let owned = found.owners().iter().any(|owner| Some(&owner.uid) == uid.as_ref());
        if found.marks().labels.get(keys::MANAGED_BY).is_some_and(|manager| manager == keys::MANAGER) {
            return InTheWay::Watched;
        }
        // An owner alone proves nothing: others make objects that the origin owns, too. The Go broker did.
        if owned && found.applied_by_us {
            return InTheWay::Unlabelled;
        }
        // Nobody tells when the name becomes free: it is tried again, ever more slowly.
        let message =
            format!("{} {} exists already and is not the broker's; it is not overwritten", write.kind.kind, write.name);
        InTheWay::Foreign(Refusal { reason: "RelatedConflict", message })
    }

    fn made(&self, write: &Write, object: &Object) -> Option<Value> {
        let value = object.value().ok()?;
        Some(match write.subject {
            Subject::Copy | Subject::Successor => copy::observed(&value),
            Subject::Status => value.get("status").cloned().unwrap_or_else(|| json!({})),
            Subject::Related => related::observed(&value),
            Subject::Marks | Subject::Migration | Subject::Removal => return None,
        })
    }

    fn wrote(&self, Work(key): &Work, write: &Write, object: Option<&Object>) {
        let (Subject::Copy, Some(object)) = (write.subject, object) else { return };
        let latency = self.broker.origins.records.with(key, |record| {
            record.memory.copy_uid = Some(object.uid.clone());
            if !matches!(write.op, Op::Create(_)) {
                return None;
            }
            record.memory.created_at = Some(clock::now().millis);
            record.seen_at.take().map(|seen| seen.elapsed())
        });
        if let Some(latency) = latency.flatten() {
            METRICS.create_to_copy.observe(latency.as_secs_f64());
        }
    }

    /// The next decision tells of copies and Migrations in a condition, too. What the consumer's own API server refuses can
    /// hardly be shown there, nor what becomes of a copy that nobody needs any more.
    fn refused(&self, Work(key): &Work, write: &Write, refusal: &Refusal) {
        if matches!(write.subject, Subject::Marks | Subject::Status | Subject::Related | Subject::Removal) {
            self.broker.tell_once(key, &Note::warning(refusal.reason, refusal.message.clone()));
        }
    }

    fn learned(&self, _key: &Work, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        let broker = &self.broker;
        match cluster.name().role() {
            // Nobody else would hear of a Migration that was made: its watch brings the same version.
            Role::Coordination => broker.migration_changed(cluster.name(), change),
            Role::Provider => {
                if let (Some(brokered), Some(index)) = (broker.watches.brokered_by(spec), cluster.index(spec)) {
                    broker.take_in_copy(&index, brokered, change);
                }
            }
            Role::Consumer | Role::Compute | Role::Spoke => {}
        }
    }
}

/// A decision that was taken in.
struct Taken {
    decision: Decision,
    /// Whether the origin was known before.
    known: bool,
    /// Whether it listens to somebody new.
    listens: bool,
}

#[cfg(test)]
mod tests {
    use broker_core::assignment::{Key, KeyRing};

    use super::*;
    use crate::origins::key::origin_key;

    #[tokio::test(start_paused = true)]
    async fn nobody_is_looked_at_before_there_are_keys() {
        let broker = Broker::of_one_kind().0;
        let stop = CancellationToken::new();
        let work = tokio::spawn(OriginMachine::run(Arc::clone(&broker), stop.clone()));
        let kind = Arc::clone(&broker.watches.brokered[0].kind);
        let origin = origin_key(&ClusterName::consumer("homer"), &kind, &ObjectKey::new("n", "a"));
        broker.origins.enqueue(origin.clone());
        tokio::time::sleep(Duration::from_mins(1)).await;
        broker.origins.enqueue(origin);
        let stats = broker.origins.queue.stats();
        assert_eq!((stats.adds, stats.depth, stats.running), (2, 1, 0), "it waits, and is asked for once");

        let keys = vec![Key { id: "k1".into(), secret: vec![1; 32] }];
        broker.signing.ring.store(Some(Arc::new(KeyRing::new(keys).unwrap())));
        broker.signing.set_known();
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !broker.origins.queue.is_idle() {
            assert!(std::time::Instant::now() < deadline, "{:?}", broker.origins.queue.stats());
            tokio::task::yield_now().await;
        }
        stop.cancel();
        work.await.unwrap();
    }
}
