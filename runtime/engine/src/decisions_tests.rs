//! Tests of [`super`].

use std::sync::{
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use super::*;

const LIMIT: Duration = Duration::from_secs(20);

fn lane(name: &str) -> ClusterName {
    ClusterName::consumer(name)
}

/// Begins a job that lasts until the returned sender is dropped.
fn hold(decisions: &Arc<Decisions>, name: &str, urgency: Urgency) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (decisions, lane) = (Arc::clone(decisions), lane(name));
    tokio::spawn(async move {
        decisions.run(&lane, urgency, &"held", move || released.recv_timeout(LIMIT)).await;
    });
    release
}

async fn run(decisions: &Decisions, name: &str) -> Option<String> {
    let thread = || thread::current().name().unwrap_or_default().to_owned();
    tokio::time::timeout(LIMIT, decisions.run(&lane(name), Urgency::InTurn, &"job", thread)).await.unwrap()
}

#[tokio::test]
async fn a_lane_with_endless_jobs_leaves_a_thread_to_others() {
    let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
    let held = [hold(&decisions, "hostile", Urgency::InTurn), hold(&decisions, "hostile", Urgency::InTurn)];
    for _ in 0..3 {
        assert!(run(&decisions, "quiet").await.unwrap().starts_with("decide-"));
    }
    drop(held);
    assert!(run(&decisions, "hostile").await.is_some());
}

#[tokio::test]
async fn what_can_wait_leaves_a_thread_to_others_and_is_not_starved() {
    let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
    let held = [hold(&decisions, "one", Urgency::Later), hold(&decisions, "two", Urgency::Later)];
    assert!(run(&decisions, "quiet").await.is_some());
    drop(held);
    let flood = Arc::clone(&decisions);
    let flood = tokio::spawn(async move {
        loop {
            run(&flood, "flood").await;
        }
    });
    let three = lane("three");
    let later = decisions.run(&three, Urgency::Later, &"job", || 1);
    assert_eq!(tokio::time::timeout(LIMIT, later).await.unwrap(), Some(1));
    flood.abort();
}

#[test]
fn those_in_their_turn_go_first_but_not_always() {
    let mut state = State::new(1);
    for _ in 0..2 * TURNS {
        state.in_turn.push(&lane("a"), Box::new(|| ()));
        state.later.push(&lane("b"), Box::new(|| ()));
    }
    let mut order = Vec::new();
    while let Some((urgency, lane, _)) = state.pick(1) {
        state.end(urgency, &lane, Took { time: Duration::from_millis(1), used: Duration::ZERO });
        order.push(urgency);
    }
    let early: Vec<usize> = (0..2 * TURNS).filter(|at| order[*at] == Urgency::Later).collect();
    assert_eq!(early, [TURNS], "one in so many, until nobody else waits");
    assert_eq!(order.len(), 4 * TURNS);
}

#[test]
fn a_thread_is_woken_for_what_it_may_do_only() {
    let mut state = State { idle: 1, ..State::new(1) };
    assert!(!state.wants_another(1));
    for urgency in [Urgency::InTurn, Urgency::Later] {
        for name in ["a", "a", "b"] {
            let lanes = if urgency == Urgency::InTurn { &mut state.in_turn } else { &mut state.later };
            lanes.push(&lane(name), Box::new(|| ()));
            // The second job of a lane that has all it may have.
            assert_eq!(state.wants_another(1), state.pick(1).is_some(), "{urgency:?} {name}");
        }
    }
    state.in_turn.push(&lane("c"), Box::new(|| ()));
    assert!(state.wants_another(1));
    state.idle = 0;
    assert!(!state.wants_another(1), "there is nobody to wake");
}

/// On one thread, whose time stands still.
#[tokio::test(start_paused = true)]
async fn a_simulators_jobs_are_done_where_it_is_and_in_their_order() {
    let decisions = Arc::new(Decisions::inline(|| ()));
    let order = Arc::new(Mutex::new(Vec::new()));
    for (name, urgency) in
        [("a", Urgency::Later), ("a", Urgency::InTurn), ("a", Urgency::InTurn), ("b", Urgency::InTurn)]
    {
        let order = Arc::clone(&order);
        decisions.begin(&lane(name), urgency, "job", move || lock(&order).push((name, urgency)));
    }
    let here = thread::current().id();
    assert_eq!(decisions.run(&lane("c"), Urgency::Later, &"job", || thread::current().id()).await, Some(here));
    let names: Vec<_> = lock(&order).iter().map(|(name, urgency)| (*name, *urgency == Urgency::Later)).collect();
    assert_eq!(names, [("a", false), ("b", false), ("a", false), ("a", true)]);
    assert_eq!(decisions.run(&lane("a"), Urgency::InTurn, &"job", || panic!("on purpose")).await, None::<()>);
    assert_eq!(decisions.run(&lane("a"), Urgency::InTurn, &"job", || 1).await, Some(1));
}

#[tokio::test]
async fn a_short_job_is_done_by_its_bringer_where_nobody_else_has_any() {
    let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
    let (quiet, other) = (lane("quiet"), lane("other"));
    let here = decisions.here(&quiet);
    assert!(here.is_some() && decisions.here(&other).is_none(), "one at a time");
    assert!(run(&decisions, "other").await.unwrap().starts_with("decide-"), "nobody waits for it");
    drop(here);
    // How long the first took does not matter to a lane that has done nothing yet.
    let is_free = || lock(&decisions.shared.state).is_free(&lane("fresh"));
    let until = async |wanted: bool| {
        let wait = async {
            while is_free() != wanted {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await
    };
    let held = hold(&decisions, "hostile", Urgency::Later);
    until(false).await.expect("a thread is at work");
    drop(held);
    until(true).await.expect("none is any more");
    lock(&decisions.shared.state).later.push(&other, Box::new(|| ()));
    assert!(!is_free(), "somebody waits");
}

#[tokio::test(start_paused = true)]
async fn a_lane_of_which_one_was_not_short_is_left_to_threads_for_a_while() {
    let decisions = Decisions::inline(|| ());
    let (long, other) = (lane("long"), lane("other"));
    let end = |took| {
        let mut state = lock(&decisions.shared.state);
        state.running += 1;
        state.in_turn.begin(&long);
        state.end(Urgency::InTurn, &long, took);
    };
    end(Took { time: 10 * SLOW, used: SHORT });
    assert!(decisions.here(&long).is_some(), "others had the processor");
    end(Took { time: SHORT, used: SHORT + Duration::from_micros(1) });
    assert!(decisions.here(&long).is_none() && decisions.here(&other).is_some());
    tokio::time::advance(APART).await;
    assert!(decisions.here(&long).is_some());
    for number in 0..LANES {
        lock(&decisions.shared.state).long.insert(lane(&number.to_string()), Instant::now());
    }
    assert!(decisions.here(&other).is_none(), "nobody knows which");
}

#[tokio::test]
async fn what_a_short_job_took_is_what_its_thread_used() {
    let decisions = Decisions::with_threads(2, || ()).unwrap();
    let (idle, busy) = (lane("idle"), lane("busy"));
    let here = decisions.here(&idle);
    thread::sleep(2 * SHORT);
    drop(here);
    let here = decisions.here(&busy);
    let begun = processor::time();
    while processor::time() <= begun + SHORT {}
    drop(here);
    assert!(decisions.here(&busy).is_none());
    assert!(decisions.here(&idle).is_some());
}

#[tokio::test]
async fn what_came_to_its_lane_meanwhile_is_done_next() {
    let decisions = Arc::new(Decisions::with_threads(2, || ()).unwrap());
    let quiet = lane("quiet");
    for _ in 0..100 {
        let here = decisions.here(&quiet);
        let (done, is_done) = oneshot::channel();
        decisions.begin(&quiet, Urgency::InTurn, "job", move || {
            let _ = done.send(());
        });
        drop(here);
        assert_eq!(tokio::time::timeout(LIMIT, is_done).await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn what_nobody_waits_for_is_done_as_well() {
    let decisions = Decisions::with_threads(2, || ()).unwrap();
    let (done, is_done) = oneshot::channel();
    decisions.begin(&lane("hostile"), Urgency::InTurn, "job", || panic!("on purpose"));
    decisions.begin(&lane("hostile"), Urgency::Later, "job", move || {
        let _ = done.send(());
    });
    assert_eq!(tokio::time::timeout(LIMIT, is_done).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn a_job_that_panics_ends_nobody_else() {
    let decisions = Decisions::with_threads(2, || ()).unwrap();
    for _ in 0..4 {
        let answer = decisions.run(&lane("hostile"), Urgency::InTurn, &"job", || panic!("on purpose")).await;
        assert_eq!(answer, None::<()>);
    }
    assert!(run(&decisions, "hostile").await.is_some());
}

#[tokio::test]
async fn slow_jobs_are_counted_and_told_once_a_second() {
    static COUNTED: AtomicUsize = AtomicUsize::new(0);
    let count = || _ = COUNTED.fetch_add(1, Ordering::Relaxed);
    let decisions = Decisions::with_threads(2, count).unwrap();
    for _ in 0..2 {
        let slow = || thread::sleep(SLOW + Duration::from_millis(5));
        decisions.run(&lane("slow"), Urgency::InTurn, &"job", slow).await;
    }
    run(&decisions, "quick").await;
    assert!(COUNTED.load(Ordering::Relaxed) >= 2);
    assert_eq!(lock(&decisions.shared.told).unsaid, 1);
}
