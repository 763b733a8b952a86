//! Works the queue: observe, decide, act, until nothing is left to do for an origin. Decisions are made in [`crate::decisions`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use broker_api::{ClusterName, Role};
use broker_core::{
    acceptance::AcceptId,
    decision::{Decision, Step, Write},
    snapshot::{Confirmed, OriginKey},
};
use futures::FutureExt as _;
use runtime_effect::interest::Interest;
use runtime_fleet::{
    call::Caller,
    cluster::Cluster,
    error::CallError,
    index::{Change, Index},
    kind::KindInfo,
    lease::Leadership,
    object::ObjectKey,
    queue::{Key, Outcome, Queue, Slot, Start, Turn},
    watch::WatchSpec,
    write::Writer,
};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error};

use crate::{
    act::Acted,
    broker::{Broker, Work},
    decisions::Urgency,
    metrics::METRICS,
    records::{Absorbed, Bounds},
};

/// Decisions in a row for one origin before others get their turn: enough for marks, copy, related and status.
const PASSES: usize = 12;

/// How often in a row a decision may find that others have taken what it wanted.
const TRIES: usize = 8;

/// How long a follower or a broker without keys waits before it looks whether it may write.
const IDLE: Duration = Duration::from_secs(1);

/// When what could not be read is tried again.
const UNREAD: Duration = Duration::from_secs(10);

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
    while let Some(turn) = queue.next().await {
        broker.begin(turn, &tasks);
    }
    tasks.close();
    tasks.wait().await;
}

/// A leader stops 5 s before its lease can be taken; what it has begun may take this much of them.
const FENCE: Duration = Duration::from_secs(4);

/// A key that was handed out.
struct Hand {
    key: OriginKey,
    /// The slot that was kept for it.
    slot: Option<Slot<Work>>,
    /// In whose share of the time it is decided on.
    lane: ClusterName,
    urgency: Urgency,
    /// The key has waited for others long enough.
    patient: bool,
    /// Until the first decision.
    start: Option<Start<Work>>,
    /// Since when it is worked on.
    since: Instant,
}

impl Hand {
    fn new(Turn { key: Work(key), slot, patient, cause, start }: Turn<Work>) -> Self {
        let urgency = if cause.is_some() { Urgency::Later } else { Urgency::InTurn };
        let lane = cause.unwrap_or_else(|| key.cluster.clone());
        Self { key, slot, lane, urgency, patient, start: Some(start), since: Instant::now() }
    }
}

/// How far a key got on the thread that made its first decision.
enum First {
    /// Nothing is to be done for it.
    Done(Outcome),
    /// Something is to be written.
    Decided(Box<Decided>),
    /// Something is to be read or waited for.
    Nothing,
}

/// A related object that is known by name only, and where it is read.
struct Stub<'a> {
    cluster: Arc<Cluster>,
    caller: Caller,
    kind: Arc<KindInfo>,
    spec: &'a Arc<WatchSpec>,
    index: Arc<Index>,
    key: ObjectKey,
}

/// A decision that was taken in.
struct Decided {
    decision: Decision,
    /// Whether the origin was known before.
    known: bool,
    /// Whether it listens to somebody new.
    listens: bool,
}

/// What became of the steps of one decision.
enum Went {
    /// All done: decide again.
    Through,
    /// Something else is to be done first, or a refusal to be told: decide again.
    Again,
    /// A live read said this: decide again with it.
    Confirmed(Option<Box<str>>),
    /// No more for now.
    Stopped(Outcome),
}

/// When an origin is looked at again for which nothing is to be done. `unread`: bodies could not be read.
fn at_rest(decision: &Decision, unread: bool) -> Outcome {
    if !decision.steps.is_empty() {
        return Outcome::Done;
    }
    if decision.when_idle {
        return Outcome::WhenIdle;
    }
    // Nobody tells when an API server that has not answered would.
    let again = decision.again.or(unread.then_some(UNREAD));
    again.map_or(Outcome::Done, Outcome::After)
}

fn ended(hand: &Hand, wait: Option<Duration>) {
    METRICS.work_duration.observe(hand.since.elapsed().as_secs_f64());
    if let Some(wait) = wait {
        debug!(key = %hand.key, ?wait, "will be tried again");
    }
}

/// When an origin is looked at again after all that was decided on went through.
fn afterwards(decision: &Decision) -> Outcome {
    match (decision.again, decision.when_idle) {
        (None, false) => Outcome::Done,
        (Some(wait), false) => Outcome::After(wait),
        (None, true) => Outcome::WhenIdle,
        (Some(wait), true) => Outcome::IdleAfter(wait),
    }
}

impl Broker {
    /// Has the first decision on a key made. Most say that there is nothing to do: those end on the thread that made them,
    /// which goes on with the next key.
    fn begin(self: &Arc<Self>, turn: Turn<Work>, tasks: &TaskTracker) {
        let hand = Hand::new(turn);
        let (broker, tasks, running) = (Arc::clone(self), tasks.clone(), tasks.token());
        let (lane, urgency, key) = (hand.lane.clone(), hand.urgency, hand.key.clone());
        self.decisions.begin(&lane, urgency, key, move || {
            let _running = running;
            broker.first(hand, &tasks);
        });
    }

    fn first(self: &Arc<Self>, mut hand: Hand, tasks: &TaskTracker) {
        // One object that makes a pass panic must not stay under way for ever. The panic itself is logged by its hook.
        let first = catch_unwind(AssertUnwindSafe(|| self.first_decision(&hand)));
        let outcome = match first.unwrap_or(First::Done(Outcome::Failed)) {
            First::Done(outcome) => outcome,
            First::Decided(decided) => return self.go_on(hand, Some(decided), tasks),
            First::Nothing => return self.go_on(hand, None, tasks),
        };
        hand.slot = None;
        let Some(start) = hand.start.take() else { return };
        let (wait, next) = self.queue.finish_and_take(&Work(hand.key.clone()), outcome, start);
        ended(&hand, wait);
        for turn in next {
            self.begin(turn, tasks);
        }
    }

    fn go_on(self: &Arc<Self>, mut hand: Hand, decided: Option<Box<Decided>>, tasks: &TaskTracker) {
        // Others go on meanwhile.
        hand.start = None;
        let broker = Arc::clone(self);
        tasks.spawn(async move {
            let work = AssertUnwindSafe(broker.work(&mut hand, decided)).catch_unwind();
            let outcome = work.await.unwrap_or(Outcome::Failed);
            hand.slot = None;
            let wait = broker.queue.finish(&Work(hand.key.clone()), outcome);
            ended(&hand, wait);
        });
    }

    fn first_decision(&self, hand: &Hand) -> First {
        let key = &hand.key;
        if !self.needs(key).nothing() {
            return First::Nothing;
        }
        let Some(decided) = self.decide_now(key, hand.patient, &Confirmed::Unread) else {
            return First::Done(Outcome::After(IDLE));
        };
        let decision = &decided.decision;
        let writes = !decision.steps.is_empty() && self.leads();
        if writes || decided.listens || !self.stubs(&decision.interests).is_empty() {
            return First::Decided(Box::new(decided));
        }
        if self.leads() {
            self.tell(key, decision, decided.known);
        }
        First::Done(at_rest(decision, false))
    }

    /// Works on a key, from its first decision if that was made, until nothing is left to do.
    async fn work(self: &Arc<Self>, hand: &mut Hand, mut first: Option<Box<Decided>>) -> Outcome {
        let key = &hand.key;
        let mut confirmed = Confirmed::Unread;
        for _ in 0..PASSES {
            let (mut unread, mut _room) = (false, None);
            let decided = if let Some(decided) = first.take() {
                *decided
            } else {
                let needs = self.needs(key);
                let reads = needs.reads();
                // Until what the decision wants is done: it holds the objects that are sent.
                _room = self.provide(key, needs).await;
                unread = reads && self.needs(key).reads();
                match self.decide_apart(hand, std::mem::take(&mut confirmed)).await {
                    Ok(decided) => decided,
                    Err(outcome) => return outcome,
                }
            };
            let Decided { decision, known, listens } = decided;
            if self.leads() {
                self.tell(key, &decision, known);
            }
            match self.read_stubs(&decision.interests).await {
                Ok(false) if listens => continue,
                Ok(false) => {}
                Ok(true) => continue,
                Err(error) => {
                    debug!(%key, %error, "a related object cannot be read");
                    return Outcome::Failed;
                }
            }
            // Followers keep warm; on taking the lead everything is looked at again.
            if decision.steps.is_empty() || !self.leads() {
                return at_rest(&decision, unread);
            }
            match self.carry_out(key, &decision, &mut hand.slot).await {
                Went::Through if decision.complete => return afterwards(&decision),
                Went::Through | Went::Again => {}
                Went::Confirmed(found) => confirmed = found.map_or(Confirmed::Absent, Confirmed::Present),
                Went::Stopped(outcome) => return outcome,
            }
        }
        error!(%key, "{PASSES} decisions in a row wanted writes; slowing down");
        Outcome::Failed
    }

    /// Decides on a thread for decisions, and takes the decision in.
    async fn decide_apart(self: &Arc<Self>, hand: &Hand, confirmed: Confirmed) -> Result<Decided, Outcome> {
        let (broker, origin, patient) = (Arc::clone(self), hand.key.clone(), hand.patient);
        let decide = move || broker.decide_now(&origin, patient, &confirmed);
        let decided = self.decisions.run(&hand.lane, hand.urgency, &hand.key, decide).await;
        // A panic was logged by its hook.
        decided.ok_or(Outcome::Failed)?.ok_or(Outcome::After(IDLE))
    }

    fn decide_now(&self, key: &OriginKey, patient: bool, confirmed: &Confirmed) -> Option<Decided> {
        let busy = !patient && self.queue.is_busy();
        self.decide_and_remember(key, busy, confirmed)
    }

    /// Decides, and takes the decision in. Where others have taken the last room meanwhile, decides again.
    fn decide_and_remember(&self, key: &OriginKey, busy: bool, confirmed: &Confirmed) -> Option<Decided> {
        let registry = self.registry.load();
        let decide = || {
            for _ in 0..TRIES {
                let (memory, known) = self.records.memory(key);
                let decision = self.decide(key, &memory, confirmed.clone(), busy)?;
                let placing = decision.counted.as_ref().filter(|_| decision.begins);
                let holds = |provider: &ClusterName, copy: &ObjectKey| self.holds_copy(provider, &key.gvk, copy);
                let bounds = Bounds {
                    capacity: placing.and_then(|id| registry.capacity(id)),
                    share: placing.and_then(|id| registry.share(id)),
                    objects: self.options.max_objects_per_consumer,
                    moves: self.options.max_moves,
                    holds: &holds,
                };
                if let Some(absorbed) = self.records.absorb(key, &decision, bounds) {
                    return Some((decision, known, absorbed));
                }
            }
            None
        };
        let (decision, known, Absorbed { freed, relieved, listens, moved, turns }) = decide()?;
        let limits = |id: &AcceptId| registry.capacity(id).or(registry.share(id)).is_some();
        if freed.as_ref().is_some_and(limits) {
            self.enqueue_waiting(&key.gvk);
        }
        if relieved {
            self.enqueue_unplaced(&key.cluster);
        }
        if moved {
            self.migrations.origin_moved(key);
        }
        for turn in turns {
            self.enqueue(turn);
        }
        Some(Decided { decision, known, listens })
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
            if let Err(outcome) = self.take_slot(&self.queue, write, slot) {
                return Went::Stopped(outcome);
            }
            if !self.leads() {
                return Went::Stopped(Outcome::Done);
            }
            match self.act_while_leading(self.act(key, write)).await {
                Acted::Done => {
                    if let Some(note) = &write.note {
                        self.tell_note(key, note);
                    }
                }
                // The next decision tells of it.
                Acted::Refused | Acted::Prepared => return Went::Again,
                Acted::Failed => return Went::Stopped(Outcome::Failed),
                Acted::Wait(wait) => return Went::Stopped(Outcome::After(wait)),
            }
        }
        Went::Through
    }

    /// A write that would outlive the lease is given up: its outcome is looked at by whoever leads then.
    pub(crate) async fn act_while_leading(&self, act: impl Future<Output = Acted>) -> Acted {
        let Some(until) = self.leadership.get().and_then(Leadership::valid_until) else { return Acted::Failed };
        tokio::time::timeout_at(until + FENCE, act).await.unwrap_or(Acted::Failed)
    }

    /// Makes sure that `slot` is one of the write's cluster.
    pub(crate) fn take_slot<K: Key>(
        &self,
        queue: &Arc<Queue<K>>,
        write: &Write,
        slot: &mut Option<Slot<K>>,
    ) -> Result<(), Outcome> {
        if let Some(wait) = self.fleet().cluster(&write.cluster).and_then(|cluster| cluster.throttled()) {
            return Err(Outcome::After(wait));
        }
        if slot.as_ref().is_some_and(|held| *held.cluster() == write.cluster) {
            return Ok(());
        }
        *slot = None;
        *slot = queue.slot(&write.cluster);
        if slot.is_some() { Ok(()) } else { Err(Outcome::Park(write.cluster.clone())) }
    }

    /// Related objects that are known by name only.
    fn stubs<'a>(&'a self, interests: &'a [Interest]) -> Vec<Stub<'a>> {
        let stub = |interest: &'a Interest| {
            let key = ObjectKey::new(interest.namespace.as_str(), interest.name.as_str());
            let spec = self.watches.spec_of(Role::Provider, &interest.kind)?;
            let (cluster, caller, kind) = self.reachable(&interest.cluster, &interest.kind)?;
            let index = cluster.index(spec)?;
            let stub = index.get(&key).found().filter(|held| !held.has_body())?;
            let unread = self.bodies.get(cluster.name(), spec, &key, &stub).is_none();
            unread.then_some(Stub { cluster, caller, kind, spec, index, key })
        };
        interests.iter().filter_map(stub).collect()
    }

    /// Reads related objects that are known by name only. Returns whether there were any.
    pub(crate) async fn read_stubs(&self, interests: &[Interest]) -> Result<bool, CallError> {
        let mut read = false;
        for Stub { cluster, caller, kind, spec, index, key } in self.stubs(interests) {
            if let Some(object) = Writer::new(&caller).get(&kind, &key).await? {
                // Held here as well, for the index may drop it again before it is looked at.
                self.bodies.put(cluster.name(), spec, &key, object.clone());
                index.fill(&key, object);
                read = true;
            }
        }
        Ok(read)
    }

    /// The answer to a write is news for those who listen to the index, except for the origin that wrote it.
    pub(crate) fn learned(&self, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        if cluster.name().role() == Role::Coordination {
            // Nobody else would hear of a Migration that was made: its watch brings the same version.
            return self.migration_changed(cluster.name(), change);
        }
        let brokered = self.watches.brokered_by(spec);
        if let Some(brokered) = brokered.filter(|_| cluster.name().role() == Role::Provider)
            && let Some(index) = cluster.index(spec)
        {
            self.recount(&index, brokered, change);
        }
        if cluster.name().role() == Role::Consumer && brokered.is_none() {
            let place = crate::owned::Place {
                cluster: cluster.name().clone(),
                spec: Arc::clone(spec),
                key: change.key.clone(),
            };
            self.owned.moved(&place, &change.new.as_deref().map(crate::owned::owners).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_an_idle_moment_is_not_forgotten() {
        let wait = Duration::from_secs(1);
        let outcome =
            |again, when_idle| afterwards(&Decision { again, when_idle, complete: true, ..Decision::default() });
        assert_eq!(outcome(None, false), Outcome::Done);
        assert_eq!(outcome(Some(wait), false), Outcome::After(wait));
        assert_eq!(outcome(None, true), Outcome::WhenIdle);
        assert_eq!(outcome(Some(wait), true), Outcome::IdleAfter(wait));
    }
}
