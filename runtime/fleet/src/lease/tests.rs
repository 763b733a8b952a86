//! Elections on a Lease in memory, with tokio's paused clock: time passes only when every task waits for it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    future::pending,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard},
};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::MicroTime,
    jiff::{SignedDuration, Timestamp},
};
use tokio::{
    sync::Notify,
    task::JoinHandle,
    time::{Duration, Instant, advance, timeout},
};
use tokio_util::sync::CancellationToken;

use super::*;

/// What goes wrong between one elector and the store.
#[derive(Clone, Copy, PartialEq)]
enum Link {
    Works,
    /// Requests are not answered and have no effect.
    Hangs,
    /// Requests are refused at once.
    Refuses,
    /// Reads work; writes take effect, but their answers are lost.
    LosesAnswers,
}

/// What a wait for a release is like.
#[derive(Clone, Copy, PartialEq)]
enum Watch {
    Works,
    Refused,
    /// Says that the Lease is released, whatever it is.
    Lies,
    /// Ends at once.
    Ends,
}

#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
    reads: usize,
    watches: usize,
    changed: Arc<Notify>,
}

/// One elector's way to the shared Lease.
#[derive(Clone)]
struct Store {
    server: Arc<Mutex<Server>>,
    link: Arc<Mutex<Link>>,
    watch: Arc<Mutex<Watch>>,
    /// Of whoever uses it.
    leadership: Arc<Mutex<Option<Leadership>>>,
    /// How often that has won.
    won: Arc<Mutex<usize>>,
}

impl Store {
    fn new() -> Self {
        let (link, watch) = (Arc::new(Mutex::new(Link::Works)), Arc::new(Mutex::new(Watch::Works)));
        Self { server: Arc::default(), link, watch, leadership: Arc::default(), won: Arc::default() }
    }

    /// Another way to the same Lease.
    fn beside(&self) -> Self {
        Self { server: Arc::clone(&self.server), ..Self::new() }
    }

    fn server(&self) -> MutexGuard<'_, Server> {
        self.server.lock().unwrap()
    }

    fn set(&self, link: Link) {
        *self.link.lock().unwrap() = link;
    }

    fn watching(self, watch: Watch) -> Self {
        *self.watch.lock().unwrap() = watch;
        self
    }

    fn holder(&self) -> String {
        let spec = self.server().lease.clone().unwrap().spec.unwrap();
        spec.holder_identity.unwrap()
    }

    fn edit(&self, edit: impl FnOnce(&mut Lease)) {
        let mut server = self.server();
        server.version += 1;
        let version = server.version.to_string();
        let lease = server.lease.get_or_insert_default();
        lease.metadata.resource_version = Some(version);
        edit(lease);
        server.changed.notify_waiters();
    }

    async fn read(&self) -> Result<Option<Lease>, StoreError> {
        let link = *self.link.lock().unwrap();
        self.server().reads += 1;
        match link {
            Link::Works | Link::LosesAnswers => Ok(self.server().lease.clone()),
            Link::Hangs => pending().await,
            Link::Refuses => Err(StoreError::Other("refused".into())),
        }
    }

    async fn write(&self, effect: impl FnOnce(&mut Server) -> Result<Lease, StoreError>) -> Result<Lease, StoreError> {
        let link = *self.link.lock().unwrap();
        match link {
            Link::Works => effect(&mut self.server()),
            Link::Hangs => pending().await,
            Link::Refuses => Err(StoreError::Other("refused".into())),
            Link::LosesAnswers => {
                let _ = effect(&mut self.server());
                pending().await
            }
        }
    }
}

fn put(server: &mut Server, lease: &Lease) -> Lease {
    server.version += 1;
    let mut lease = lease.clone();
    lease.metadata.resource_version = Some(server.version.to_string());
    server.lease = Some(lease.clone());
    server.changed.notify_waiters();
    lease
}

impl LeaseStore for Store {
    async fn get(&self) -> Result<Option<Lease>, StoreError> {
        self.read().await
    }

    async fn create(&self, lease: &Lease) -> Result<Lease, StoreError> {
        self.write(|server| match server.lease {
            Some(_) => Err(StoreError::Conflict),
            None => Ok(put(server, lease)),
        })
        .await
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let given = lease.metadata.resource_version.clone().expect("every replace is conditional");
        self.write(|server| {
            let stored = server.lease.as_ref().ok_or(StoreError::NotFound)?;
            if stored.metadata.resource_version.as_ref() != Some(&given) {
                return Err(StoreError::Conflict);
            }
            Ok(put(server, lease))
        })
        .await
    }

    fn won(&self) {
        assert!(!self.leadership.lock().unwrap().as_ref().is_some_and(Leadership::is_leader), "nobody may write yet");
        *self.won.lock().unwrap() += 1;
    }

    async fn released(&self, seen: &Lease) -> Result<bool, StoreError> {
        self.server().watches += 1;
        let watch = *self.watch.lock().unwrap();
        match watch {
            Watch::Works => {}
            Watch::Refused => return Err(StoreError::Other("forbidden".into())),
            Watch::Lies => return Ok(true),
            Watch::Ends => return Ok(false),
        }
        let changed = Arc::clone(&self.server().changed);
        let version = |lease: &Lease| lease.metadata.resource_version.clone();
        loop {
            let mut notified = pin!(changed.notified());
            notified.as_mut().enable();
            let lease = self.server().lease.clone();
            let news = lease.filter(|lease| version(lease) != version(seen));
            if news.is_some_and(|lease| lease.spec.unwrap().holder_identity.unwrap().is_empty()) {
                return Ok(true);
            }
            notified.await;
        }
    }
}

struct Broker {
    store: Store,
    leadership: Leadership,
    cancel: CancellationToken,
    task: JoinHandle<()>,
}

impl Broker {
    fn start(identity: &str, store: Store) -> Self {
        let options = LeaseOptions { identity: identity.to_owned(), ..LeaseOptions::new("ns", "broker") };
        let (elector, leadership) = Elector::with_store(store.clone(), options);
        *store.leadership.lock().unwrap() = Some(leadership.clone());
        let cancel = CancellationToken::new();
        let task = tokio::spawn(elector.run(cancel.clone()));
        Self { store, leadership, cancel, task }
    }

    /// Waits for leadership to be won or lost; answers how long that took.
    async fn until(&self, leads: bool) -> Duration {
        let start = Instant::now();
        let mut changes = self.leadership.changes();
        timeout(Duration::from_mins(2), changes.wait_for(|now| *now == leads)).await.expect("in time").unwrap();
        assert_eq!(self.leadership.is_leader(), leads);
        start.elapsed()
    }

    async fn stop(self) -> Leadership {
        self.cancel.cancel();
        self.task.await.unwrap();
        self.leadership
    }
}

fn foreign(seconds: i32) -> LeaseSpec {
    LeaseSpec { holder_identity: Some("other".into()), lease_duration_seconds: Some(seconds), ..LeaseSpec::default() }
}

#[tokio::test(start_paused = true)]
async fn the_first_leads_and_the_second_follows() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    let b = Broker::start("b", a.store.beside());
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(a.leadership.is_leader());
    assert!(!b.leadership.is_leader());
    assert_eq!(b.leadership.valid_until(), None);
    assert_eq!(a.store.holder(), "a");
    let won = |broker: &Broker| *broker.store.won.lock().unwrap();
    assert_eq!((won(&a), won(&b)), (1, 0), "once, however often it is renewed");
}

/// A leader stops at a moment between two looks of its follower; how long until that leads.
async fn handed_over(watch: Watch) -> Duration {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    let b = Broker::start("b", a.store.beside().watching(watch));
    tokio::time::sleep(Duration::from_millis(10_500)).await;
    let store = a.store.clone();
    let old = a.stop().await;
    assert!(!old.is_leader());
    assert_ne!(store.holder(), "a");
    let waited = b.until(true).await;
    let spec = store.server().lease.clone().unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("b"), Some(1)));
    waited
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_taken_at_once() {
    assert_eq!(handed_over(Watch::Works).await, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn without_a_watch_it_is_taken_within_a_retry() {
    for watch in [Watch::Refused, Watch::Ends, Watch::Lies] {
        assert!(handed_over(watch).await <= Duration::from_secs(3));
    }
}

#[tokio::test(start_paused = true)]
async fn of_many_followers_one_takes_a_released_lease() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    let others: Vec<_> = (0..10).map(|n| Broker::start(&format!("b{n}"), a.store.beside())).collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    a.stop().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(others.iter().filter(|broker| broker.leadership.is_leader()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_or_lies_makes_no_load() {
    for (watch, reads, watches) in [
        // One look in 2 s and a bit.
        (Watch::Works, 250..=300, 1..=1),
        (Watch::Refused, 250..=300, 5..=40),
        (Watch::Ends, 250..=300, 250..=300),
        (Watch::Lies, 300..=600, 50..=300),
    ] {
        let store = Store::new();
        store.edit(|lease| lease.spec = Some(foreign(3600)));
        let b = Broker::start("b", store.clone().watching(watch));
        tokio::time::sleep(Duration::from_mins(10)).await;
        let Server { reads: read, watches: watched, .. } = *store.server();
        assert!(reads.contains(&read) && watches.contains(&watched), "{read} reads, {watched} watches");
        assert!(!b.leadership.is_leader());
    }
}

#[tokio::test(start_paused = true)]
async fn renewals_and_deletions_release_nothing() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    let b = Broker::start("b", a.store.beside());
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(a.leadership.is_leader() && !b.leadership.is_leader());
    assert_eq!(a.store.server().watches, 1);
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_stops_writes_nothing() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.set(Link::Hangs);
    let before = a.store.server().version;
    let b = Broker::start("b", a.store.beside());
    tokio::time::sleep(Duration::from_secs(3)).await;
    b.stop().await;
    assert_eq!(a.store.server().version, before);
}

#[tokio::test(start_paused = true)]
async fn a_cut_off_leader_stops_before_another_starts() {
    for link in [Link::Hangs, Link::Refuses] {
        let a = Broker::start("a", Store::new());
        a.until(true).await;
        let b = Broker::start("b", a.store.beside());
        tokio::time::sleep(Duration::from_secs(7)).await;
        a.store.set(link);
        let lost = a.until(false).await;
        assert!(lost <= Duration::from_secs(10), "{lost:?}");
        assert!(!b.leadership.is_leader());
        let margin = b.until(true).await;
        // 15 s − 10 s, less the time by which b saw the last renewal later.
        assert!(margin >= Duration::from_secs(4), "{margin:?}");
        // Healed, it follows.
        a.store.set(Link::Works);
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(!a.leadership.is_leader() && b.leadership.is_leader());
    }
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_changes_nothing() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.set(Link::Refuses);
    tokio::time::sleep(Duration::from_secs(7)).await;
    a.store.set(Link::Works);
    let mut changes = a.leadership.changes();
    changes.mark_unchanged();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(a.leadership.is_leader());
    assert!(!changes.has_changed().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_slept_past_its_lease_knows_at_once() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    // Nothing runs the election any more, as in a process that was just woken.
    a.task.abort();
    let until = a.leadership.valid_until().unwrap();
    advance(until.duration_since(Instant::now() + Duration::from_millis(1))).await;
    assert!(a.leadership.is_leader());
    advance(Duration::from_millis(1)).await;
    assert!(!a.leadership.is_leader());
}

#[tokio::test(start_paused = true)]
async fn remote_clocks_are_not_believed() {
    for skew in [-3600, 3600] {
        let store = Store::new();
        let wrong = MicroTime(Timestamp::now() + SignedDuration::from_secs(skew));
        store.edit(|lease| {
            lease.spec = Some(LeaseSpec { renew_time: Some(wrong), ..foreign(15) });
        });
        let b = Broker::start("b", store);
        let waited = b.until(true).await;
        assert!(waited >= Duration::from_secs(15) && waited < Duration::from_secs(19), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_holders_own_duration_counts() {
    let store = Store::new();
    store.edit(|lease| lease.spec = Some(foreign(40)));
    let b = Broker::start("b", store);
    let waited = b.until(true).await;
    assert!(waited >= Duration::from_secs(40), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_label_does_not_keep_a_dead_leader_alive() {
    let store = Store::new();
    store.edit(|lease| lease.spec = Some(foreign(15)));
    let b = Broker::start("b", store.clone());
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        store.edit(|_| {});
    }
    assert!(b.leadership.is_leader());
}

#[tokio::test(start_paused = true)]
async fn a_touched_lease_is_renewed_all_the_same() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    let mut changes = a.leadership.changes();
    changes.mark_unchanged();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(2)).await;
        a.store.edit(|lease| {
            lease.metadata.labels.get_or_insert_default().insert("touched".into(), "yes".into());
        });
    }
    assert!(a.leadership.is_leader());
    assert!(!changes.has_changed().unwrap());
    assert!(a.store.server().lease.clone().unwrap().metadata.labels.is_some());
}

#[tokio::test(start_paused = true)]
async fn lost_answers_neither_end_nor_double_a_leadership() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.set(Link::LosesAnswers);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(a.leadership.is_leader());
    a.store.set(Link::Works);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(a.leadership.is_leader());
}

#[tokio::test(start_paused = true)]
async fn an_acquisition_whose_answer_was_lost_is_released_on_shutdown() {
    let store = Store::new();
    store.edit(|lease| lease.spec = Some(LeaseSpec { holder_identity: Some(String::new()), ..LeaseSpec::default() }));
    store.set(Link::LosesAnswers);
    let a = Broker::start("a", store.clone());
    while store.holder().is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(!a.leadership.is_leader());
    store.set(Link::Works);
    a.stop().await;
    assert_eq!(store.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_a_dead_server() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.set(Link::Hangs);
    let start = Instant::now();
    assert!(!a.stop().await.is_leader());
    assert!(start.elapsed() <= Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_stolen_or_deleted_lease_ends_leadership_at_the_next_renewal() {
    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.edit(|lease| lease.spec = Some(foreign(15)));
    assert!(a.until(false).await <= Duration::from_secs(3));
    assert_eq!(a.store.holder(), "other");

    let a = Broker::start("a", Store::new());
    a.until(true).await;
    a.store.server().lease = None;
    assert!(a.until(false).await <= Duration::from_secs(3));
    a.until(true).await;
}

#[tokio::test(start_paused = true)]
async fn of_many_at_once_one_leads() {
    let store = Store::new();
    let brokers: Vec<_> = (0..10).map(|n| Broker::start(&format!("b{n}"), store.beside())).collect();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let leaders = brokers.iter().filter(|broker| broker.leadership.is_leader()).count();
        assert_eq!(leaders, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn without_an_election_everybody_leads() {
    let leadership = Leadership::always();
    advance(Duration::from_hours(24)).await;
    assert!(leadership.is_leader());
    assert!(leadership.valid_until().unwrap() > Instant::now());
    assert!(*leadership.changes().borrow());
}

#[test]
fn identities_differ_between_processes() {
    assert_ne!(LeaseOptions::new("ns", "l").identity, LeaseOptions::new("ns", "l").identity);
}
