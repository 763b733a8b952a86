//! Tests of [`super`]: what becomes of the writes of one key.

use std::{
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use runtime_effect::{
    kind::Kind,
    memory::{Memory, Sole},
    write::Op,
};
use runtime_fleet::{
    lock::lock,
    queue::{Key, Queue},
    watch::WatchSpec,
};
use serde_json::json;
use tokio::{sync::Barrier, time::timeout};

use super::*;
use crate::{engine::Engine, machine::Occasion, stub};

/// Each write waits until so many are under way.
async fn meet(writes: usize, width: usize) -> bool {
    let barrier = Barrier::new(2);
    let all = vec![(); writes];
    let together = abreast(&all, vec![(); width], |()| async {
        barrier.wait().await;
        Went::Through
    });
    timeout(Duration::from_secs(3), together).await.is_ok_and(|went| matches!(went, Went::Through))
}

#[tokio::test(start_paused = true)]
async fn as_many_are_under_way_as_there_are_slots() {
    assert!(meet(6, 2).await);
    assert!(!meet(6, 1).await, "one after the other none meets another");
}

#[tokio::test(start_paused = true)]
async fn a_permit_is_given_back_as_soon_as_nobody_takes_it() {
    let permit = Arc::new(());
    let held = || Arc::strong_count(&permit) - 1;
    // The third goes on alone.
    let all = [1, 1, 9];
    let slow = abreast(&all, vec![Arc::clone(&permit); 3], async |seconds: &u64| {
        tokio::time::sleep(Duration::from_secs(*seconds)).await;
        Went::Through
    });
    let looks = async {
        let before = held();
        tokio::time::sleep(Duration::from_secs(5)).await;
        (before, held())
    };
    let (_, seen) = tokio::join!(slow, looks);
    assert_eq!((seen, held()), ((3, 1), 0));
}

/// What becomes of twenty writes, and how many went out.
async fn ends(end: impl Fn(usize) -> Went) -> (Went, usize) {
    let sent = AtomicUsize::new(0);
    let all: Vec<usize> = (0..20).collect();
    let went = abreast(&all, vec![()], |at| {
        sent.fetch_add(1, Ordering::Relaxed);
        std::future::ready(end(*at))
    });
    (went.await, sent.load(Ordering::Relaxed))
}

#[tokio::test]
async fn one_that_fails_keeps_none_back_and_many_that_fail_do() {
    let (went, sent) = ends(|at| if at == 0 { Went::Stopped(Outcome::Failed) } else { Went::Through }).await;
    assert!(matches!(went, Went::Stopped(Outcome::Failed)), "{went:?}");
    assert_eq!(sent, 20);
    let (_, sent) = ends(|_| Went::Stopped(Outcome::Failed)).await;
    assert_eq!(sent, ABREAST);
    let (went, sent) = ends(|at| if at == 3 { Went::Again } else { Went::Through }).await;
    assert!(matches!(went, Went::Again), "{went:?}");
    assert_eq!(sent, 20, "a refusal is of one write");
    let throttled = || Went::Stopped(Outcome::After(Duration::from_secs(1)));
    let (went, _) = ends(|at| if at == 3 { Went::Stopped(Outcome::Failed) } else { throttled() }).await;
    assert!(matches!(went, Went::Stopped(Outcome::Failed)), "its wait grows");
    let (went, _) = ends(|at| if at == 3 { Went::Stopped(Outcome::Failed) } else { Went::Again }).await;
    assert!(matches!(went, Went::Stopped(Outcome::Failed)), "what failed waits, and refusals are told after that");
}

#[test]
fn what_is_left_for_an_idle_moment_is_not_forgotten() {
    let wait = Duration::from_secs(1);
    let plan = |again, when_idle| Plan::<()> { again, when_idle, complete: true, ..Plan::default() };
    let outcome = |again, when_idle| afterwards(&plan(again, when_idle), false);
    assert_eq!(outcome(None, false), Outcome::Done);
    assert_eq!(outcome(Some(wait), false), Outcome::After(wait));
    assert_eq!(outcome(None, true), Outcome::WhenIdle);
    assert_eq!(outcome(Some(wait), true), Outcome::IdleAfter(wait));
}

#[test]
fn what_could_not_be_read_is_tried_again_however_long_the_rest_may_wait() {
    let plan = |again| Plan::<()> { again, complete: true, ..Plan::default() };
    for (again, unread, wait) in [(None, true, 10), (Some(60), true, 10), (Some(2), true, 2), (Some(60), false, 60)] {
        let (plan, wait) = (plan(again.map(Duration::from_secs)), Duration::from_secs(wait));
        assert_eq!((afterwards(&plan, unread), at_rest(&plan, unread)), (Outcome::After(wait), Outcome::After(wait)));
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct One(ClusterName);

impl fmt::Display for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one")
    }
}

impl Key for One {
    fn lane(&self) -> &ClusterName {
        &self.0
    }
}

/// A machine with one key, which is its own as long as it is.
struct Owner {
    engine: Arc<Engine>,
    queue: Arc<Queue<One>>,
    owns: AtomicBool,
    decided: AtomicUsize,
    /// Something is told of a key while it is decided on.
    tells: bool,
    /// The first decision that has an answer listens to something else than before.
    listens: bool,
    /// What the last decision was told of a live read.
    confirmed: Mutex<Option<Confirmed>>,
}

impl Owner {
    fn of(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            queue: Arc::default(),
            owns: AtomicBool::new(true),
            decided: AtomicUsize::new(0),
            tells: false,
            listens: false,
            confirmed: Mutex::default(),
        }
    }
}

impl Machine for Owner {
    type Key = One;
    type Subject = Sole;

    fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    fn queue(&self) -> &Arc<Queue<One>> {
        &self.queue
    }

    fn owns(&self, _key: &One) -> bool {
        self.owns.load(Ordering::Relaxed)
    }

    fn decide(&self, key: &One, occasion: &Occasion) -> Result<Plan<Sole>, Outcome> {
        if self.tells {
            self.queue.add(key.clone());
        }
        let earlier = self.decided.fetch_add(1, Ordering::Relaxed);
        lock(&self.confirmed).clone_from(&occasion.confirmed);
        if occasion.confirmed.is_none() {
            return Err(Outcome::Done);
        }
        Ok(Plan { listens: self.listens && earlier == 0, ..Plan::default() })
    }

    fn remember<T>(&self, _key: &One, _change: impl FnOnce(&mut Memory<Sole>) -> T) -> Option<T> {
        None
    }

    fn sees(&self, _key: &One, _write: &Write<Sole>) -> Option<Arc<WatchSpec>> {
        None
    }
}

/// Of an object of so many bytes, and a few more.
fn write(bytes: usize) -> Write<Sole> {
    Write {
        cluster: stub::name(),
        kind: Kind::core("ConfigMap"),
        namespace: "default".to_owned(),
        name: "one".to_owned(),
        op: Op::Create(json!({"data": {"text": "x".repeat(bytes)}})),
        intent: [0; 8],
        subject: Sole,
        notes: Vec::new(),
    }
}

/// Nobody answers at the cluster: what is sent to it fails.
#[tokio::test(start_paused = true)]
async fn right_before_each_write_it_is_asked_whether_it_may_go_out() {
    let machine = Owner::of(stub::engine(1));
    let write = write(0);
    let key = One(stub::name());
    let went = async || write_one(&machine, &key, &write).await;
    assert!(matches!(went().await, Went::Stopped(Outcome::Failed)), "it was sent");

    machine.owns.store(false, Ordering::Relaxed);
    let kept = went().await;
    assert!(matches!(kept, Went::Stopped(Outcome::Done)), "it is not ours to write any more: {kept:?}");
    machine.owns.store(true, Ordering::Relaxed);

    let pause = Duration::from_secs(7);
    stub::cluster(&machine.engine).server().traffic().throttle(pause);
    let kept = went().await;
    assert!(matches!(kept, Went::Stopped(Outcome::After(wait)) if wait == pause), "it wants a pause: {kept:?}");
    tokio::time::advance(pause).await;
    assert!(matches!(went().await, Went::Stopped(Outcome::Failed)), "it was sent");
}

/// It was drawn up by what watches had shown while another process led.
#[tokio::test(start_paused = true)]
async fn what_was_decided_in_another_term_is_decided_again() {
    for takes_over in [false, true] {
        let machine = Arc::new(Owner::of(stub::engine(1)));
        machine.queue.add(One(stub::name()));
        let mut hand = Hand::new(machine.queue.next().await.unwrap());
        let (plan, term) = (Plan::of([write(0)]), machine.engine.term());
        if takes_over {
            machine.engine.begin_term();
        }
        let drawn = Drawn { plan, began: Instant::now(), term, bodies: 0 };
        let outcome = work(&machine, &mut hand, Some(drawn), &Kept::default()).await;
        // What is sent fails here; the next decision wants nothing.
        let wanted = if takes_over { (Outcome::Done, 1) } else { (Outcome::Failed, 0) };
        assert_eq!((outcome, machine.decided.load(Ordering::Relaxed)), wanted);
    }
}

/// How often a key is decided on that was parked with this plan, once there is a slot.
async fn decisions_of_a_parked_key(op: Op, pause: Duration, meanwhile: impl Fn(&Queue<One>)) -> usize {
    let machine = Arc::new(Owner::of(stub::engine(1)));
    let key = One(stub::name());
    let held = stub::cluster(&machine.engine).server().traffic().slots().take();
    let shift = Shift { tasks: TaskTracker::new(), kept: Arc::default() };
    machine.queue.add(key.clone());
    let mut hand = Hand::new(machine.queue.next().await.unwrap());
    let plan = Plan::of([Write { op, ..write(0) }]);
    let drawn = Drawn { plan, began: Instant::now(), term: 0, bodies: 0 };
    let outcome = work(&machine, &mut hand, Some(drawn), &shift.kept).await;
    assert!(matches!(outcome, Outcome::Park(_)), "there is no slot: {outcome:?}");
    drop(hand);
    machine.queue.finish(&key, outcome);
    meanwhile(&machine.queue);
    tokio::time::advance(pause).await;
    drop(held);
    begin(&machine, machine.queue.next().await.unwrap(), &shift, false);
    shift.tasks.close();
    shift.tasks.wait().await;
    assert!(shift.kept.is_empty());
    // A plan that is carried out fails here, which is told apart from what the decision says.
    let failures = usize::try_from(machine.queue.failures(&key)).unwrap();
    let decided = machine.decided.load(Ordering::Relaxed);
    assert_eq!(failures + decided, 1);
    decided
}

#[tokio::test(start_paused = true)]
async fn a_plan_waits_for_its_slot_unless_something_is_told_meanwhile() {
    let of = |bytes| write(bytes).op;
    let (at_once, nothing) = (Duration::ZERO, |_: &Queue<One>| ());
    assert_eq!(decisions_of_a_parked_key(of(0), at_once, nothing).await, 0);
    let told = |queue: &Queue<One>| queue.add(One(stub::name()));
    assert_eq!(decisions_of_a_parked_key(of(0), at_once, told).await, 1);
    let told = |queue: &Queue<One>| queue.add_later(One(stub::name()), &ClusterName::consumer("b"));
    assert_eq!(decisions_of_a_parked_key(of(0), at_once, told).await, 1);
    assert_eq!(decisions_of_a_parked_key(of(0), Duration::from_secs(9), nothing).await, 0);
    assert_eq!(decisions_of_a_parked_key(of(0), Duration::from_secs(10), nothing).await, 1, "it is old");
    assert_eq!(decisions_of_a_parked_key(of(17 << 20), at_once, nothing).await, 1, "it is large");
    assert_eq!(decisions_of_a_parked_key(Op::delete("u"), at_once, nothing).await, 1, "it deletes");
}

/// Those of a plan that are done are not done again.
#[tokio::test(start_paused = true)]
async fn a_plan_goes_on_where_it_stopped() {
    let machine = Owner::of(stub::engine(1));
    let held = stub::cluster(&machine.engine).server().traffic().slots().take();
    let nothing = || Step::Together(Vec::new());
    let (mut steps, mut slot) = (vec![nothing(), nothing(), Step::Write(Box::new(write(0)))], None);
    let went = carry_out(&machine, &One(stub::name()), &mut steps, &mut slot).await;
    assert!(matches!(went, Went::Stopped(Outcome::Park(_))), "{went:?}");
    assert_eq!(steps, [Step::Write(Box::new(write(0)))]);
    drop(held);
}

/// Nobody answers at the cluster.
#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_is_asked_again_after_a_wait() {
    for listens in [false, true] {
        let machine = Arc::new(Owner { listens, ..Owner::of(stub::engine(1)) });
        let key = One(stub::name());
        machine.queue.add(key.clone());
        let mut hand = Hand::new(machine.queue.next().await.unwrap());
        let Write { cluster, kind, namespace, name, .. } = write(0);
        let object = Interest { cluster, kind, namespace, name };
        let plan = Plan { steps: vec![Step::Confirm(Box::new(object.clone()))], ..Plan::default() };
        let drawn = Drawn { plan, began: Instant::now(), term: 0, bodies: 0 };
        let outcome = work(&machine, &mut hand, Some(drawn), &Kept::default()).await;
        assert_eq!(outcome, Outcome::Failed);
        assert_eq!(*lock(&machine.confirmed), Some(Confirmed { object, live: Live::Unknown }));
        assert_eq!(
            machine.decided.load(Ordering::Relaxed),
            if listens { 2 } else { 1 },
            "the answer stays until it is used"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_told_before_a_pass_began_needs_no_other() {
    let machine = Arc::new(Owner::of(stub::engine(1)));
    let key = One(stub::name());
    machine.queue.add(key.clone());
    let hand = Hand::new(machine.queue.next().await.unwrap());
    machine.queue.add(key.clone());
    let first = first_decision(&*machine, &hand);
    assert!(matches!(first, First::Done(Outcome::Done)));
    machine.queue.finish(&key, Outcome::Done);
    assert!(machine.queue.is_idle());
}

#[tokio::test(start_paused = true)]
async fn what_is_told_in_the_middle_of_a_decision_is_not_lost() {
    let machine = Arc::new(Owner { tells: true, ..Owner::of(stub::engine(1)) });
    let key = One(stub::name());
    machine.queue.add(key.clone());
    let hand = Hand::new(machine.queue.next().await.unwrap());
    first_decision(&*machine, &hand);
    machine.queue.finish(&key, Outcome::Done);
    assert_eq!(machine.queue.stats().depth, 1);
}

/// To hand it to a thread costs more than to make it.
#[tokio::test(start_paused = true)]
async fn a_short_decision_is_made_where_its_key_was_taken() {
    for (short, at_once) in [(true, 1), (false, 0)] {
        let machine = Arc::new(Owner::of(stub::engine(1)));
        let shift = Shift { tasks: TaskTracker::new(), kept: Arc::default() };
        machine.queue.add(One(stub::name()));
        begin(&machine, machine.queue.next().await.unwrap(), &shift, short);
        assert_eq!(machine.decided.load(Ordering::Relaxed), at_once);
        shift.tasks.close();
        shift.tasks.wait().await;
        assert_eq!(machine.decided.load(Ordering::Relaxed), 1);
        assert!(machine.queue.is_idle());
    }
}
