//! Tests of [`super::Queue`].

use super::*;
use crate::slots::Slots;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Job(ClusterName, u32);

impl Key for Job {
    fn lane(&self) -> &ClusterName {
        &self.0
    }
}

fn job(lane: &str, number: u32) -> Job {
    Job(ClusterName::consumer(lane), number)
}

fn queue() -> Arc<Queue<Job>> {
    Arc::default()
}

/// One write at a time.
fn slots() -> Arc<Slots> {
    Slots::new(1)
}

async fn take(queue: &Arc<Queue<Job>>) -> Job {
    queue.next().await.unwrap().key
}

#[tokio::test]
async fn a_flood_in_one_lane_costs_another_one_turn() {
    let queue = queue();
    for number in 0..50_000 {
        queue.add(job("flood", number));
    }
    queue.add(job("quiet", 1));
    let first = [take(&queue).await, take(&queue).await];
    assert!(first.contains(&job("quiet", 1)), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_turn_says_how_long_its_key_waited() {
    let queue = queue();
    queue.add(job("a", 1));
    let wait = Duration::from_secs(5);
    tokio::time::advance(wait).await;
    assert_eq!(queue.next().await.unwrap().waited, wait);
}

#[tokio::test]
async fn what_was_told_before_a_key_is_observed_needs_no_other_turn() {
    let queue = queue();
    queue.add(job("a", 1));
    let key = take(&queue).await;
    queue.add(key.clone());
    queue.observing(&key);
    queue.finish(&key, Outcome::Done);
    assert!(queue.is_idle());

    queue.add(key.clone());
    take(&queue).await;
    queue.observing(&key);
    for cause in [None, Some(ClusterName::consumer("b"))] {
        match cause {
            None => queue.add(key.clone()),
            Some(cause) => queue.add_later(key.clone(), &cause),
        }
        queue.finish(&key, Outcome::Done);
        assert_eq!(take(&queue).await, key, "it was told after that");
    }
}

#[tokio::test]
async fn repeats_merge_and_a_running_key_waits_for_its_end() {
    let queue = queue();
    queue.add(job("a", 1));
    queue.add(job("a", 1));
    let key = take(&queue).await;
    queue.add(key.clone());
    assert_eq!(queue.stats().depth, 0, "a running key is not handed out again");
    queue.finish(&key, Outcome::Done);
    assert_eq!(take(&queue).await, key);
    queue.finish(&key, Outcome::Done);
    assert!(queue.is_idle());
}

#[tokio::test]
async fn a_slow_cluster_holds_only_its_own_slots() {
    let queue = queue();
    let (slow, fast) = (slots(), slots());
    let held = slow.take().unwrap();
    assert!(slow.take().is_none());
    assert!(fast.take().is_some());
    queue.add(job("a", 1));
    let parked = take(&queue).await;
    queue.finish(&parked, Outcome::Park(Arc::clone(&slow)));
    assert_eq!(queue.stats().parked, 1);
    drop(held);
    let Turn { key, slot: handed, .. } = queue.next().await.unwrap();
    assert_eq!(key, parked);
    assert!(handed.unwrap().is_of(&slow));
    assert!(slow.take().is_some(), "dropping the handed slot frees it");
}

#[tokio::test]
async fn a_key_is_told_whether_others_wait() {
    let (queue, target) = (queue(), slots());
    let held = target.take();
    for number in 1..=2 {
        queue.add(job("a", number));
    }
    let alone = async || queue.next().await.unwrap().alone;
    assert!(!alone().await, "the other");
    assert!(alone().await, "the other is worked on");
    queue.finish(&job("a", 1), Outcome::Park(Arc::clone(&target)));
    queue.add(job("a", 3));
    assert!(!alone().await, "one waits for a slot");
    drop(held);
}

#[tokio::test]
async fn those_who_wait_for_a_slot_take_turns_by_lane() {
    let queue = queue();
    let target = slots();
    let held = target.take().unwrap();
    for key in [job("flood", 1), job("flood", 2), job("flood", 3), job("quiet", 1)] {
        queue.add(key);
        let key = take(&queue).await;
        queue.finish(&key, Outcome::Park(Arc::clone(&target)));
    }
    drop(held);
    let mut order = Vec::new();
    for _ in 0..4 {
        let Turn { key, slot: handed, .. } = queue.next().await.unwrap();
        order.push(key.0.name().to_owned());
        drop(handed);
    }
    assert_eq!(order, ["flood", "quiet", "flood", "flood"]);
}

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_each_time_and_success_forgets_them() {
    let queue = queue();
    let key = job("a", 1);
    queue.add(key.clone());
    let mut waits = Vec::new();
    for _ in 0..5 {
        take(&queue).await;
        waits.push(queue.finish(&key, Outcome::Failed).unwrap());
    }
    assert!(waits[4] > waits[0] * 4, "{waits:?}");
    take(&queue).await;
    queue.finish(&key, Outcome::Done);
    assert_eq!(queue.failures(&key), 0);
}

#[tokio::test(start_paused = true)]
async fn a_change_does_not_wait_for_the_retry() {
    let queue = queue();
    let key = job("a", 1);
    queue.add(key.clone());
    take(&queue).await;
    queue.finish(&key, Outcome::After(Duration::from_hours(1)));
    let before = Instant::now();
    queue.add(key.clone());
    assert_eq!(take(&queue).await, key);
    assert_eq!(before.elapsed(), Duration::ZERO);
    queue.finish(&key, Outcome::Done);
    // The old timer went with it.
    assert!(tokio::time::timeout(Duration::from_hours(2), queue.next()).await.is_err());
}

#[tokio::test]
async fn a_closed_queue_hands_out_nothing() {
    let queue = queue();
    queue.add(job("a", 1));
    queue.close();
    assert!(queue.next().await.is_none());
}

#[tokio::test]
async fn what_can_wait_waits_for_others_but_not_for_its_own_news() {
    let queue = queue();
    let (patient, other) = (job("a", 1), job("b", 2));
    queue.add(patient.clone());
    let key = take(&queue).await;
    queue.add(other.clone());
    assert!(queue.is_busy());
    queue.finish(&key, Outcome::WhenIdle);
    assert_eq!(take(&queue).await, other);
    queue.finish(&other, Outcome::Done);
    assert_eq!(take(&queue).await, patient);
    queue.finish(&patient, Outcome::WhenIdle);
    queue.add(patient.clone());
    queue.add(other.clone());
    assert_eq!([take(&queue).await, take(&queue).await], [patient.clone(), other], "news takes its turn");
    queue.finish(&patient, Outcome::Done);
    assert!(
        tokio::time::timeout(Duration::from_millis(20), queue.next()).await.is_err(),
        "and is not handed out twice"
    );
}

#[tokio::test(start_paused = true)]
async fn what_can_wait_may_have_to_wait_for_a_time_as_well() {
    let queue = queue();
    let (patient, other) = (job("a", 1), job("b", 2));
    let delay = Duration::from_secs(1);
    queue.add(patient.clone());
    let key = take(&queue).await;
    let started = tokio::time::Instant::now();
    queue.finish(&key, Outcome::IdleAfter(delay));
    assert_eq!(take(&queue).await, patient);
    assert!(started.elapsed() >= delay, "not before its time");
    queue.finish(&patient, Outcome::IdleAfter(delay));
    queue.add(other.clone());
    assert_eq!(take(&queue).await, other);
    assert!(tokio::time::timeout(delay * 5, queue.next()).await.is_err(), "nor while another is worked on");
    queue.finish(&other, Outcome::Done);
    let turn = queue.next().await.unwrap();
    assert!(turn.key == patient && turn.patient);
    queue.finish(&patient, Outcome::IdleAfter(delay));
    queue.add(patient.clone());
    assert!(!queue.next().await.unwrap().patient, "its own news come in their turn");
}

#[tokio::test]
async fn only_a_few_keys_of_a_lane_wait_for_their_first_decision() {
    let queue = queue();
    for number in 0..1000 {
        queue.add(job("flood", number));
    }
    let mut started = Vec::new();
    while let Ok(Some(turn)) = tokio::time::timeout(Duration::from_millis(20), queue.next()).await {
        started.push(turn);
    }
    assert!((2..500).contains(&started.len()), "{}", started.len());
    queue.add(job("quiet", 1));
    let turn = queue.next().await.unwrap();
    assert_eq!(turn.key, job("quiet", 1), "another lane's key comes at once");
    drop(started.pop());
    assert_eq!(queue.next().await.unwrap().key.0, ClusterName::consumer("flood"));
}

#[tokio::test]
async fn what_others_edits_concern_waits_apart_and_comes_once() {
    let queue = queue();
    let (one, two) = (ClusterName::provider("one"), ClusterName::provider("two"));
    let key = job("a", 1);
    queue.add_later(key.clone(), &one);
    queue.add_later(key.clone(), &one);
    queue.add_later(key.clone(), &two);
    assert!(!queue.is_busy(), "nobody waits for that");
    queue.add(job("b", 1));
    assert_eq!(take(&queue).await, job("b", 1), "what is in its turn goes first");
    let turn = queue.next().await.unwrap();
    assert_eq!((turn.key, turn.cause), (key.clone(), Some(one.clone())));
    queue.add_later(key.clone(), &two);
    queue.finish(&key, Outcome::Done);
    let turn = queue.next().await.unwrap();
    assert_eq!((turn.key, turn.cause), (key.clone(), Some(two)), "it was added again while it was worked on");
    queue.finish(&key, Outcome::Done);
    queue.finish(&job("b", 1), Outcome::Done);
    assert!(tokio::time::timeout(Duration::from_millis(20), queue.next()).await.is_err(), "no more than that");
    assert!(queue.is_idle());
}

#[tokio::test]
async fn a_key_that_waits_for_others_edits_takes_its_turn_for_its_own_news() {
    let queue = queue();
    let (cause, key) = (ClusterName::provider("one"), job("a", 1));
    queue.add_later(key.clone(), &cause);
    queue.add(key.clone());
    let turn = queue.next().await.unwrap();
    assert_eq!((&turn.key, &turn.cause), (&key, &None));
    queue.add_later(key.clone(), &cause);
    queue.add(key.clone());
    queue.finish(&key, Outcome::Done);
    assert_eq!(queue.next().await.unwrap().cause, None, "its own news counts for more");
    queue.finish(&key, Outcome::Done);
    queue.add(key.clone());
    queue.add_later(key.clone(), &cause);
    assert_eq!(queue.next().await.unwrap().cause, None, "it waits for its turn already");
    queue.finish(&key, Outcome::Done);
    assert!(tokio::time::timeout(Duration::from_millis(20), queue.next()).await.is_err());
}

/// A queue with a hundred keys of one lane, and the turns of those that it hands out before any of them ends.
async fn flooded() -> (Arc<Queue<Job>>, Vec<Turn<Job>>) {
    let queue = queue();
    for number in 0..100 {
        queue.add(job("flood", number));
    }
    let mut begun = Vec::new();
    while let Ok(turn) = tokio::time::timeout(Duration::from_millis(20), queue.next()).await {
        begun.push(turn.unwrap());
    }
    (queue, begun)
}

/// The order in which keys are handed out is part of the story that a seed tells.
#[tokio::test(start_paused = true)]
async fn a_seed_has_as_many_ahead_on_every_machine() {
    random::seed(1);
    assert_eq!(flooded().await.1.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn who_ends_a_key_takes_what_that_sets_free() {
    let (queue, mut begun) = flooded().await;
    let ahead = begun.len();
    // Nobody waits in `next` here: what is taken is what ending a key sets free.
    let mut worked = 0;
    while let Some(Turn { key, start, .. }) = begun.pop() {
        begun.extend(queue.finish_and_take(&key, Outcome::Done, start).1);
        worked += 1;
        assert_eq!(begun.len(), ahead.min(100 - worked));
    }
    assert_eq!((worked, queue.is_idle()), (100, true));
}

#[tokio::test(start_paused = true)]
async fn who_ends_a_key_wakes_those_who_wait_when_it_has_to_be_looked_at_later() {
    let queue = queue();
    queue.add(job("a", 1));
    let Turn { key, start, .. } = queue.next().await.unwrap();
    let waiting = {
        let queue = Arc::clone(&queue);
        tokio::spawn(async move { queue.next().await.map(|turn| turn.key) })
    };
    tokio::task::yield_now().await;
    let (wait, next) = queue.finish_and_take(&key, Outcome::Failed, start);
    assert!(next.is_empty());
    let found = tokio::time::timeout(wait.unwrap() * 2, waiting).await;
    assert_eq!(found.unwrap().unwrap(), Some(key));
}

#[tokio::test]
async fn a_closed_queue_hands_out_nothing_to_who_ends_a_key_either() {
    let queue = queue();
    queue.add(job("a", 1));
    let Turn { key, start, .. } = queue.next().await.unwrap();
    queue.add(job("a", 2));
    queue.close();
    assert!(queue.finish_and_take(&key, Outcome::Done, start).1.is_empty());
}

/// What [`Queue::stats`] says, counted key by key.
fn counted(queue: &Queue<Job>, target: &Slots) -> (usize, usize, usize, Duration) {
    let inner = queue.lock();
    let running = inner.places.values().filter_map(|place| match place {
        inner::Place::Running { since, .. } => Some(since.elapsed()),
        _ => None,
    });
    let longest = running.clone().max().unwrap_or_default();
    (inner.places.len() - running.clone().count(), target.waiting(), running.count(), longest)
}

#[tokio::test(start_paused = true)]
async fn what_is_counted_is_what_is_there() {
    let queue = queue();
    let (target, cause) = (slots(), ClusterName::provider("q"));
    let mut random = 7_u32;
    let mut dice = |sides: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) % sides
    };
    let (mut under_way, mut held): (Vec<Turn<Job>>, Vec<Slot>) = (Vec::new(), Vec::new());
    let mut seen = QueueStats::default();
    for _ in 0..4000 {
        let key = job(["a", "b", "c"][dice(3) as usize], dice(12));
        match dice(5) {
            0 => queue.add(key),
            1 => queue.add_later(key, &cause),
            2 => held = target.take().into_iter().collect(),
            3 => {
                let turn = tokio::time::timeout(Duration::from_millis(1), queue.next()).await;
                under_way.extend(turn.ok().flatten());
            }
            _ if under_way.is_empty() => {}
            _ => {
                let Turn { key, .. } = under_way.swap_remove(dice(u32::try_from(under_way.len()).unwrap()) as usize);
                let delay = Duration::from_millis(u64::from(dice(20)));
                let outcomes =
                    [Outcome::Done, Outcome::After(delay), Outcome::Park(Arc::clone(&target)), Outcome::WhenIdle];
                queue.finish(&key, outcomes[dice(4) as usize].clone());
            }
        }
        tokio::time::advance(Duration::from_millis(u64::from(dice(3)))).await;
        let stats = queue.stats();
        assert_eq!((stats.depth, stats.parked, stats.running, stats.longest_running), counted(&queue, &target));
        seen.depth = seen.depth.max(stats.depth);
        seen.parked = seen.parked.max(stats.parked);
        seen.running = seen.running.max(stats.running);
        seen.longest_running = seen.longest_running.max(stats.longest_running);
    }
    drop(held);
    assert!(seen.depth > 3 && seen.parked > 1 && seen.running > 2, "{seen:?}");
    assert!(seen.longest_running > Duration::from_millis(100), "{seen:?}");
}

#[tokio::test]
async fn whoever_waits_for_the_last_key_hears_when_it_is_done() {
    let queue = queue();
    queue.add(job("a", 1));
    queue.add(job("a", 2));
    let mut idled = std::pin::pin!(queue.idled());
    for number in [1, 2] {
        assert!(futures::poll!(idled.as_mut()).is_pending() && !queue.is_idle(), "before {number}");
        let key = take(&queue).await;
        queue.finish(&key, Outcome::Done);
    }
    assert!(futures::poll!(idled.as_mut()).is_ready() && queue.is_idle());
    queue.add(job("a", 3));
    let idled = queue.idled();
    let turn = queue.next().await.unwrap();
    queue.finish_and_take(&turn.key, Outcome::Done, turn.start);
    idled.await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_that_is_over_keeps_no_room() {
    let queue = queue();
    for number in 0..50_000 {
        queue.add(job("flood", number));
    }
    assert!(queue.inner.lock().unwrap().places.capacity() >= 50_000);
    for _ in 0..50_000 {
        let key = take(&queue).await;
        queue.finish(&key, Outcome::Failed);
    }
    assert!(queue.inner.lock().unwrap().timer_of.capacity() >= 50_000);
    tokio::time::advance(Duration::from_secs(1)).await;
    for _ in 0..50_000 {
        let key = take(&queue).await;
        queue.finish(&key, Outcome::Done);
    }
    let inner = queue.inner.lock().unwrap();
    let room = (inner.places.capacity(), inner.timer_of.capacity(), inner.failures.capacity());
    assert!(room.0 < 5_000 && room.1 < 5_000 && room.2 < 5_000, "{room:?}");
}
