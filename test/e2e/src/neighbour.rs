//! `Neighbour`: a tenant who has done nothing, and is served while somebody else attacks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use harness::wait_for;
use serde_json::json;
use tokio::{sync::watch, task::JoinHandle};

use crate::{
    DEADLINE, Kind, Place,
    broker::http_get,
    kind::{ACCEPT_API, CERTIFICATE},
    scene::ACCEPT_NAMESPACE,
};

/// What half of its objects' copies must come within.
const SERVED: Duration = Duration::from_secs(2);

/// What each of them, and each answer about the broker's health, must come within: one hiccup of the machine says
/// nothing, starvation does.
const STARVED: Duration = Duration::from_secs(20);

/// The object that it does not delete before it ends.
const RESIDENT: &str = "resident";

/// Between two looks for a copy.
const LOOK: Duration = Duration::from_millis(25);

/// Between two objects.
const PAUSE: Duration = Duration::from_millis(100);

/// Between two looks at the broker's health.
const PULSE: Duration = Duration::from_millis(100);

/// For how many seconds each attack goes on at the least, if this is set.
const SIEGE: &str = "HOSTILE_SECONDS";

/// A tenant who makes one object after another, waits for the copy of each, and deletes it.
pub struct Neighbour {
    done: Arc<AtomicUsize>,
    stop: watch::Sender<bool>,
    task: JoinHandle<Vec<Duration>>,
    pulse: JoinHandle<Duration>,
    until: Instant,
}

impl Neighbour {
    /// Begins: Certificates in the namespace `name` of `consumer`, which an AcceptAPI of `provider` accepts. `health` is
    /// the broker's health address, which must answer all the time.
    pub async fn start(name: &str, consumer: &Place, provider: &Place, health: &str) -> Self {
        Self::of_kind(&CERTIFICATE, name, consumer, provider, health).await
    }

    /// The same with objects of another kind whose `spec` takes `fqdn`.
    pub async fn of_kind(kind: &Kind, name: &str, consumer: &Place, provider: &Place, health: &str) -> Self {
        consumer.make_namespace(name).await;
        let domain = json!({"key": "fqdn", "suffix": format!(".{name}.test")});
        let spec = json!({"gvr": kind.gvr(), "filters": [domain]});
        provider.create(&ACCEPT_API, ACCEPT_NAMESPACE, name, json!({"spec": spec})).await;
        let done = Arc::new(AtomicUsize::new(0));
        let (stop, stopped) = watch::channel(false);
        let life = Life { kind: *kind, name: name.to_owned(), consumer: consumer.clone(), provider: provider.clone() };
        let listens = wait_for(STARVED, "the broker to listen", async || http_get(health, "/healthz").await);
        listens.await.unwrap_or_else(|error| panic!("{error:#}"));
        let pulse = tokio::spawn(pulse(health.to_owned(), stopped.clone()));
        let task = tokio::spawn(life.live(Arc::clone(&done), stopped));
        let siege = std::env::var(SIEGE).map_or(0, |seconds| seconds.parse().expect(SIEGE));
        Self { done, stop, task, pulse, until: Instant::now() + Duration::from_secs(siege) }
    }

    /// Waits until `count` more objects have been served, and the attack has gone on for long enough.
    pub async fn until_served(&self, count: usize) {
        let wanted = self.done.load(Ordering::Relaxed) + count;
        let what = format!("{count} more objects of the neighbour to be served");
        let limit = STARVED * u32::try_from(count).unwrap() + self.until.saturating_duration_since(Instant::now());
        let served = wait_for(limit, &what, async || {
            // A panic of the task is told by `end`.
            let found = self.done.load(Ordering::Relaxed);
            let enough = found >= wanted && Instant::now() >= self.until;
            if enough || self.task.is_finished() { Ok(()) } else { Err(format!("{found} of {wanted}")) }
        });
        served.await.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Ends, and says that it was served all the time. Panics where it was not.
    pub async fn end(self) {
        let _ = self.stop.send(true);
        let mut took = self.task.await.unwrap_or_else(|error| panic!("the neighbour was not served: {error}"));
        took.sort();
        let pulse = self.pulse.await.unwrap_or_else(|error| panic!("the broker was not healthy: {error}"));
        assert!(!took.is_empty(), "no object of the neighbour was served");
        let median = took[took.len() / 2];
        println!(
            "neighbour: {} objects, half of them within {median:?}, all within {:?}; health within {pulse:?}",
            took.len(),
            took[took.len() - 1]
        );
        assert!(median <= SERVED, "half of the neighbour's {} objects waited for {median:?} or more", took.len());
    }
}

struct Life {
    kind: Kind,
    name: String,
    consumer: Place,
    provider: Place,
}

/// Asks for the broker's health all the time; returns the longest wait for an answer.
async fn pulse(health: String, mut stopped: watch::Receiver<bool>) -> Duration {
    let mut longest = Duration::ZERO;
    while !*stopped.borrow() {
        let started = Instant::now();
        let asked = tokio::time::timeout(STARVED, http_get(&health, "/healthz")).await;
        let (status, body) = asked.expect("/healthz did not answer").expect("/healthz cannot be reached");
        assert_eq!(status, 200, "{body}");
        longest = longest.max(started.elapsed());
        let _ = tokio::time::timeout(PULSE, stopped.changed()).await;
    }
    longest
}

impl Life {
    async fn live(self, done: Arc<AtomicUsize>, mut stopped: watch::Receiver<bool>) -> Vec<Duration> {
        let Self { kind, name: namespace, consumer, provider } = self;
        let mut took = Vec::new();
        // It keeps one for good: another broker of the provider's would take the namespace for one that is left over whenever it
        // is empty, and remove it.
        consumer
            .create(&kind, &namespace, RESIDENT, json!({"spec": {"fqdn": format!("{RESIDENT}.{namespace}.test")}}))
            .await;
        while !*stopped.borrow() {
            let name = format!("calm-{}", took.len());
            let fqdn = format!("{name}.{namespace}.test");
            let started = Instant::now();
            consumer.create(&kind, &namespace, &name, json!({"spec": {"fqdn": fqdn}})).await;
            let copy = consumer.copy_name(&name);
            while provider.find(&kind, &namespace, &copy).await.is_none() {
                if started.elapsed() > STARVED {
                    let told = consumer.find(&kind, &namespace, &name).await;
                    let told = told.map_or_else(|| "it is gone".to_owned(), |object| object.to_string());
                    panic!("{namespace}/{name} has no copy after {STARVED:?}: {told}");
                }
                tokio::time::sleep(LOOK).await;
            }
            took.push(started.elapsed());
            consumer.delete(&kind, &namespace, &name).await;
            done.fetch_add(1, Ordering::Relaxed);
            let _ = tokio::time::timeout(PAUSE, stopped.changed()).await;
        }
        consumer.delete(&kind, &namespace, RESIDENT).await;
        // What stays behind is signed with this broker's key, and the next one would miss that.
        let stopped = Instant::now();
        while !consumer.list(&kind, &namespace).await.is_empty() {
            assert!(stopped.elapsed() < DEADLINE, "objects that are deleted stay in {namespace}");
            tokio::time::sleep(LOOK).await;
        }
        took
    }
}
