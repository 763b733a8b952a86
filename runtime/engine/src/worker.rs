//! Works a machine's queue: observe, decide, act, until nothing is left to do for a key. Decisions are made in
//! [`crate::decisions`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use broker_api::ClusterName;
use futures::{FutureExt as _, StreamExt as _, stream::FuturesUnordered};
use runtime_effect::{
    interest::Interest,
    step::{Confirmed, Live, Step},
    write::Write,
};
use runtime_fleet::{
    crash::spawn,
    error::CallError,
    object::ObjectKey,
    queue::{Outcome, Start, Turn},
    slots::Slot,
    write::Writer,
};
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{debug, error};

use crate::{
    decisions::Urgency,
    engine::Reachable,
    kept::{Drawn, Kept},
    machine::{Machine, Occasion, Plan},
    sender::{Sent, send},
    settling::wait_for,
    stubs::{missed, read_stubs},
};

/// When what could not be read is tried again.
const UNREAD: Duration = Duration::from_secs(10);

/// Hands out a machine's work until `stop`, then lets what is under way finish.
pub async fn run<M: Machine>(machine: Arc<M>, stop: CancellationToken) {
    let shift = Shift { tasks: TaskTracker::new(), kept: Arc::default() };
    let queue = Arc::clone(machine.queue());
    let closing = Arc::clone(&queue);
    let closer = async move {
        stop.cancelled().await;
        closing.close();
    };
    spawn(closer);
    while let Some(turn) = queue.next().await {
        let short = turn.alone && machine.is_short(&turn.key) && machine.needs(&turn.key).is_little();
        begin(&machine, turn, &shift, short);
    }
    shift.tasks.close();
    shift.tasks.wait().await;
}

/// What is done in one run.
struct Shift<M: Machine> {
    tasks: TaskTracker,
    kept: Arc<Kept<M>>,
}

impl<M: Machine> Clone for Shift<M> {
    fn clone(&self) -> Self {
        Self { tasks: self.tasks.clone(), kept: Arc::clone(&self.kept) }
    }
}

/// A key that was handed out.
struct Hand<M: Machine> {
    key: M::Key,
    /// The slot that was kept for it.
    slot: Option<Slot>,
    /// In whose share of the time it is decided on.
    lane: ClusterName,
    urgency: Urgency,
    /// The key has waited for others long enough.
    patient: bool,
    /// Until the first decision.
    start: Option<Start<M::Key>>,
    /// Since when it is worked on.
    since: Instant,
}

impl<M: Machine> Hand<M> {
    fn new(turn: Turn<M::Key>) -> Self {
        let Turn { key, waited: _, slot, untold: _, patient, alone: _, cause, start } = turn;
        let urgency = if cause.is_some() { Urgency::Later } else { Urgency::InTurn };
        let lane = cause.unwrap_or_else(|| runtime_fleet::queue::Key::lane(&key).clone());
        Self { key, slot, lane, urgency, patient, start: Some(start), since: Instant::now() }
    }
}

/// How far a key got on the thread that made its first decision.
enum First<S> {
    /// Nothing is to be done for it.
    Done(Outcome),
    /// Something is to be written, or read.
    Planned(Drawn<S>),
    /// Something is to be read or waited for before it can be decided on.
    Nothing,
}

/// What became of the steps of one plan.
#[derive(Debug)]
enum Went {
    /// All done: decide again.
    Through,
    /// Something else is to be done first, or a refusal to be told: decide again.
    Again,
    /// A live read said this: decide again with it.
    Confirmed(Confirmed),
    /// No more for now.
    Stopped(Outcome),
}

impl Went {
    /// Of two writes that went out together. What stops the key does so although another was refused: it is decided again
    /// after the wait, and tells of that then. The wait after a failure grows, any other begins anew.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Through, went) | (went, Self::Through) => went,
            (failed @ Self::Stopped(Outcome::Failed), _) | (_, failed @ Self::Stopped(Outcome::Failed)) => failed,
            (stopped @ Self::Stopped(_), _) | (_, stopped) => stopped,
        }
    }
}

/// When a key is looked at again for which nothing is to be done. `unread`: bodies could not be read.
fn at_rest<S>(plan: &Plan<S>, unread: bool) -> Outcome {
    if !plan.steps.is_empty() {
        // Not ours to do.
        return Outcome::Done;
    }
    if plan.when_idle {
        return Outcome::WhenIdle;
    }
    sooner(plan.again, unread).map_or(Outcome::Done, Outcome::After)
}

/// Nobody tells when an API server that has not answered would.
fn sooner(again: Option<Duration>, unread: bool) -> Option<Duration> {
    again.into_iter().chain(unread.then_some(UNREAD)).min()
}

/// When a key is looked at again after all that was planned went through.
fn afterwards<S>(plan: &Plan<S>, unread: bool) -> Outcome {
    match (sooner(plan.again, unread), plan.when_idle) {
        (None, false) => Outcome::Done,
        (Some(wait), false) => Outcome::After(wait),
        (None, true) => Outcome::WhenIdle,
        (Some(wait), true) => Outcome::IdleAfter(wait),
    }
}

fn ended<M: Machine>(machine: &M, hand: &Hand<M>, wait: Option<Duration>) {
    (machine.engine().meters.worked)(hand.since.elapsed());
    if let Some(wait) = wait {
        debug!(key = %hand.key, ?wait, "will be tried again");
    }
}

/// Has the first decision on a key made. Most say that there is nothing to do: those end on the thread that made them,
/// which goes on with the next key. A short one is made here, if nobody else has any.
fn begin<M: Machine>(machine: &Arc<M>, turn: Turn<M::Key>, shift: &Shift<M>, short: bool) {
    (machine.engine().meters.waited)(turn.waited);
    let kept = turn.slot.as_ref().and_then(|_| shift.kept.take(&turn.key, turn.untold));
    let hand = Hand::<M>::new(turn);
    if kept.is_some() {
        return go_on(machine, hand, kept, shift);
    }
    let (lane, urgency, key) = (hand.lane.clone(), hand.urgency, hand.key.clone());
    if short && let Some(_here) = machine.engine().decisions.here(&lane) {
        return first(machine, hand, shift);
    }
    let (owned, shift, running) = (Arc::clone(machine), shift.clone(), shift.tasks.token());
    machine.engine().decisions.begin(&lane, urgency, key, move || {
        let _running = running;
        first(&owned, hand, &shift);
    });
}

fn first<M: Machine>(machine: &Arc<M>, mut hand: Hand<M>, shift: &Shift<M>) {
    // One object that makes a pass panic must not stay under way for ever. The panic itself is logged by its hook.
    let first = catch_unwind(AssertUnwindSafe(|| first_decision(&**machine, &hand)));
    let outcome = match first.unwrap_or(First::Done(Outcome::Failed)) {
        First::Done(outcome) => outcome,
        First::Planned(plan) => return go_on(machine, hand, Some(plan), shift),
        First::Nothing => return go_on(machine, hand, None, shift),
    };
    hand.slot = None;
    let Some(start) = hand.start.take() else { return };
    let (wait, next) = machine.queue().finish_and_take(&hand.key, outcome, start);
    ended(&**machine, &hand, wait);
    for turn in next {
        begin(machine, turn, shift, false);
    }
}

fn go_on<M: Machine>(machine: &Arc<M>, mut hand: Hand<M>, plan: Option<Drawn<M::Subject>>, shift: &Shift<M>) {
    // Others go on meanwhile.
    hand.start = None;
    let (machine, kept) = (Arc::clone(machine), Arc::clone(&shift.kept));
    spawn(shift.tasks.track_future(async move {
        let work = AssertUnwindSafe(work(&machine, &mut hand, plan, &kept)).catch_unwind();
        let outcome = work.await.unwrap_or(Outcome::Failed);
        hand.slot = None;
        let wait = machine.queue().finish(&hand.key, outcome);
        ended(&*machine, &hand, wait);
    }));
}

/// Observes, decides and takes in.
fn decide<M: Machine>(
    machine: &M,
    key: &M::Key,
    patient: bool,
    confirmed: Option<Confirmed>,
) -> Result<Drawn<M::Subject>, Outcome> {
    let occasion = Occasion { busy: !patient && machine.queue().is_busy(), confirmed };
    let engine = machine.engine();
    let (began, term, bodies) = (Instant::now(), engine.term(), engine.bodies.puts());
    let plan = machine.decide(key, &occasion);
    (machine.engine().meters.decided)(began.elapsed());
    Ok(Drawn { plan: plan?, began, term, bodies })
}

fn first_decision<M: Machine>(machine: &M, hand: &Hand<M>) -> First<M::Subject> {
    machine.queue().observing(&hand.key);
    if !machine.needs(&hand.key).nothing() {
        return First::Nothing;
    }
    let drawn = match decide(machine, &hand.key, hand.patient, None) {
        Ok(drawn) => drawn,
        Err(outcome) => return First::Done(outcome),
    };
    let plan = &drawn.plan;
    let writes = !plan.steps.is_empty() && machine.owns(&hand.key);
    if writes || plan.listens || missed(machine, &plan.interests, drawn.bodies) {
        return First::Planned(drawn);
    }
    First::Done(at_rest(plan, false))
}

/// Works on a key, from its first plan if that was made, until nothing is left to do.
async fn work<M: Machine>(
    machine: &Arc<M>,
    hand: &mut Hand<M>,
    mut first: Option<Drawn<M::Subject>>,
    kept: &Kept<M>,
) -> Outcome {
    let mut confirmed: Option<Confirmed> = None;
    for _ in 0..M::PASSES {
        let key = &hand.key;
        let (mut unread, mut room) = (false, None);
        let said = confirmed.take();
        // What was read live is older than what is told meanwhile.
        let live = said.is_some();
        let mut drawn = if let Some(drawn) = first.take() {
            drawn
        } else {
            if !live {
                machine.queue().observing(key);
            }
            let needs = machine.needs(key);
            let (reads, short) = (needs.reads(), needs.is_little() && machine.is_short(key));
            // Until what the plan wants is done: it holds the objects that are sent.
            room = machine.engine().provide(needs).await;
            unread = reads && machine.needs(key).reads();
            match decide_apart(machine, hand, said.clone(), short).await {
                Ok(drawn) => drawn,
                Err(outcome) => return outcome,
            }
        };
        let plan = &mut drawn.plan;
        let stubs = read_stubs(&**machine, &plan.interests, drawn.bodies).await;
        if stubs.read || plan.listens {
            // Nothing came of it yet.
            confirmed = said;
            continue;
        }
        let unanswered = said.is_some_and(|said| said.live == Live::Unknown);
        // What could not be read is unknown to the plan, which leaves it as it is: the rest need not wait for it.
        let ended = |outcome| if stubs.failed || unanswered { Outcome::Failed } else { outcome };
        // Followers keep warm; on taking the lead everything is looked at again.
        if plan.steps.is_empty() || !machine.owns(key) {
            return ended(at_rest(plan, unread));
        }
        if drawn.term != machine.engine().term() {
            // What it rests on is listed again.
            continue;
        }
        match carry_out(&**machine, key, &mut plan.steps, &mut hand.slot).await {
            Went::Through => {
                machine.went_through(key);
                if plan.complete {
                    return ended(afterwards(plan, unread));
                }
            }
            Went::Again => {}
            Went::Confirmed(found) => confirmed = Some(found),
            Went::Stopped(outcome) => {
                // What was decided because of a live read, or holds large objects, is not for later.
                if matches!(outcome, Outcome::Park(_)) && !live && room.is_none() {
                    kept.put(key, drawn);
                }
                return outcome;
            }
        }
    }
    error!(key = %hand.key, "{} decisions in a row wanted writes; slowing down", M::PASSES);
    Outcome::Failed
}

/// Decides on a thread for decisions, unless it is a short one and nobody else has any.
async fn decide_apart<M: Machine>(
    machine: &Arc<M>,
    hand: &Hand<M>,
    confirmed: Option<Confirmed>,
    short: bool,
) -> Result<Drawn<M::Subject>, Outcome> {
    if short
        && !machine.queue().is_busy()
        && let Some(_here) = machine.engine().decisions.here(&hand.lane)
    {
        return decide(&**machine, &hand.key, hand.patient, confirmed);
    }
    let (owned, key, patient) = (Arc::clone(machine), hand.key.clone(), hand.patient);
    let job = move || decide(&*owned, &key, patient, confirmed);
    let decided = machine.engine().decisions.run(&hand.lane, hand.urgency, &hand.key, job).await;
    // A panic was logged by its hook.
    decided.unwrap_or(Err(Outcome::Failed))
}

/// Writes of one key that are under way at the same time, at most: others want slots, too.
const ABREAST: usize = 8;

/// Takes the steps that are done off.
async fn carry_out<M: Machine>(
    machine: &M,
    key: &M::Key,
    steps: &mut Vec<Step<M::Subject>>,
    slot: &mut Option<Slot>,
) -> Went {
    let mut done = 0;
    while let Some(step) = steps.get(done) {
        let went = match step {
            Step::Write(_) | Step::Together(_) => write_all(machine, key, step.writes(), slot).await,
            Step::Confirm(object) => {
                let live = ask(machine, object).await.unwrap_or_else(|error| {
                    debug!(%key, ?object, %error, "cannot confirm");
                    Live::Unknown
                });
                Went::Confirmed(Confirmed { object: (**object).clone(), live })
            }
        };
        if !matches!(went, Went::Through) {
            steps.drain(..done);
            return went;
        }
        done += 1;
    }
    Went::Through
}

/// Sends what need not wait for each other, as many at a time as there are slots for at once.
async fn write_all<M: Machine>(
    machine: &M,
    key: &M::Key,
    writes: &[Write<M::Subject>],
    slot: &mut Option<Slot>,
) -> Went {
    let Some(first) = writes.first() else { return Went::Through };
    if let Err(outcome) = take_slot(machine, first, slot) {
        return Went::Stopped(outcome);
    }
    // Nearly always.
    if writes.len() == 1 {
        return write_one(machine, key, first).await;
    }
    // The first is the key's own.
    let more = (1..writes.len().min(ABREAST)).map_while(|_| Some(Some(slot.as_ref()?.another()?)));
    let permits = std::iter::once(None).chain(more).collect();
    abreast(writes, permits, |write| write_one(machine, key, write)).await
}

/// Does all, each with a permit, which goes as soon as nobody is left to take it. One that fails keeps no other back;
/// [`ABREAST`] do.
async fn abreast<'w, W, P, F: Future<Output = Went>>(
    all: &'w [W],
    mut permits: Vec<P>,
    one: impl Fn(&'w W) -> F,
) -> Went {
    let (mut left, mut under_way) = (all.iter().peekable(), FuturesUnordered::new());
    let (mut went, mut stopped) = (Went::Through, 0);
    loop {
        while stopped < ABREAST
            && left.peek().is_some()
            && let Some(permit) = permits.pop()
            && let Some(next) = left.next()
        {
            let done = one(next);
            under_way.push(async move { (done.await, permit) });
        }
        if stopped >= ABREAST || left.peek().is_none() {
            permits.clear();
        }
        let Some((other, permit)) = under_way.next().await else { return went };
        permits.push(permit);
        stopped += usize::from(matches!(other, Went::Stopped(_)));
        went = went.and(other);
    }
}

async fn write_one<M: Machine>(machine: &M, key: &M::Key, write: &Write<M::Subject>) -> Went {
    // Right before each write: the API server may have asked for a pause, the process may have slept past its lease.
    let cluster = machine.engine().fleet().cluster(&write.cluster);
    if let Some(wait) = cluster.and_then(|cluster| cluster.server().traffic().throttled()) {
        return Went::Stopped(Outcome::After(wait));
    }
    if !machine.owns(key) {
        return Went::Stopped(Outcome::Done);
    }
    let sent = machine.engine().while_leading(send(machine, key, write)).await;
    match sent.unwrap_or_else(|| given_up(machine, key, write)) {
        Sent::Done => {
            for note in &write.notes {
                machine.tell(key, note);
            }
            Went::Through
        }
        // The next decision tells of it.
        Sent::Refused | Sent::Prepared => Went::Again,
        Sent::Failed => Went::Stopped(Outcome::Failed),
        Sent::Wait(wait) => Went::Stopped(Outcome::After(wait)),
    }
}

/// The answer would have come after the lease.
fn given_up<M: Machine>(machine: &M, key: &M::Key, write: &Write<M::Subject>) -> Sent {
    wait_for(machine, key, write);
    Sent::Failed
}

/// Makes sure that `slot` is one of the write's API server.
fn take_slot<M: Machine>(machine: &M, write: &Write<M::Subject>, slot: &mut Option<Slot>) -> Result<(), Outcome> {
    // One that has left cannot be written to.
    let cluster = machine.engine().fleet().cluster(&write.cluster).ok_or(Outcome::Failed)?;
    let traffic = cluster.server().traffic();
    if let Some(wait) = traffic.throttled() {
        return Err(Outcome::After(wait));
    }
    if slot.as_ref().is_some_and(|held| held.is_of(traffic.slots())) {
        return Ok(());
    }
    *slot = None;
    *slot = traffic.slots().take();
    if slot.is_some() { Ok(()) } else { Err(Outcome::Park(Arc::clone(traffic.slots()))) }
}

/// Asks an API server about an object. `Err`: nobody can tell.
async fn ask<M: Machine>(machine: &M, object: &Interest) -> Result<Live, CallError> {
    let missing = || CallError::Unreachable(format!("{} is not ready", object.cluster));
    let Reachable { cluster, caller, kind } =
        machine.engine().reachable(&object.cluster, &object.kind).ok_or_else(missing)?;
    let key = ObjectKey::new(object.namespace.as_str(), object.name.as_str());
    let found = Writer::new(&caller).get(&kind, &key).await;
    if found.as_ref().is_err_and(CallError::suspects_cluster)
        && let Some(connection) = cluster.connection()
    {
        cluster.server().suspect(&connection);
    }
    Ok(found?.map_or(Live::Absent, |object| Live::Present { uid: object.uid, deleting: object.deleting }))
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;
