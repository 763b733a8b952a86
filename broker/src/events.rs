//! Kubernetes Events: the story of a consumer object, for people. Best effort, bounded, never repeated.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker_api::{ClusterName, Role, keys};
use broker_core::{copy, decision::Decision, snapshot::OriginKey};
use runtime_effect::note::Note;
use runtime_fleet::{GroupVersionKind, error::CallError, kind::KindInfo, object::ObjectKey, write::Writer};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info};

use crate::{broker::Broker, metrics::METRICS};

/// Events that wait to be sent.
const BACKLOG: usize = 2000;

/// Events a second to one cluster in the long run, and at once: of warnings, and of the rest. A flood of new objects,
/// of which each is good news, must not silence what people should look at.
const RATE: f64 = 5.0;
const BURST: f64 = 30.0;

/// Different things told of one origin that are remembered.
const TOLD: usize = 80;

/// API servers keep Events for an hour (`--event-ttl`). Until then the same Event is still there to be read.
const KEPT: Duration = Duration::from_hours(1);

/// Longest text of an Event (events.k8s.io/v1).
const LONGEST: usize = 1024;

/// What an Event is about.
#[derive(Debug, Clone)]
pub struct About {
    /// Cluster it is sent to.
    pub cluster: ClusterName,
    /// `v1`, or `group/version`.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// uid.
    pub uid: String,
}

#[derive(Debug)]
struct Message {
    about: About,
    note: Note,
}

/// Takes Events and sends them later.
#[derive(Debug)]
pub struct Recorder {
    sender: mpsc::Sender<Message>,
    receiver: Mutex<Option<mpsc::Receiver<Message>>>,
}

impl Default for Recorder {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Recorder {
    /// Sends an Event when there is time. Dropped when too many wait.
    pub fn send(&self, about: About, note: Note) {
        if self.sender.try_send(Message { about, note }).is_err() {
            METRICS.events_dropped.inc();
        }
    }
}

/// What may be sent to one cluster now.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn take(&mut self) -> bool {
        self.tokens = (self.tokens + self.at.elapsed().as_secs_f64() * RATE).min(BURST);
        self.at = Instant::now();
        let may = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(may));
        may
    }
}

fn events() -> KindInfo {
    let gvk = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
    KindInfo { gvk, plural: "events".into(), namespaced: true, has_status: false }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// The same Event has the same name, so that a restarted broker cannot say twice what is still to be read.
fn event(about: &About, note: &Note, micro_time: &str) -> (ObjectKey, Value) {
    let mut text = note.message.clone();
    if text.len() > LONGEST {
        let end = (0..LONGEST - 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    let stem: String = about.name.chars().take(200).collect();
    let name =
        format!("{}.{:016x}", stem.trim_end_matches(['.', '-']), hash(&(&about.uid, note.reason, &note.message)));
    let body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace},
        "eventTime": micro_time,
        "reportingController": keys::MANAGER,
        "reportingInstance": keys::MANAGER,
        "action": note.reason,
        "reason": note.reason,
        "note": text,
        "type": if note.warning { "Warning" } else { "Normal" },
        "regarding": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
        },
    });
    (ObjectKey::new(about.namespace.as_str(), name), body)
}

/// Sends what was recorded, until `stop`.
pub async fn run(broker: Arc<Broker>, stop: CancellationToken) {
    let receiver = broker.recorder.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut receiver) = receiver else { return };
    let mut buckets: HashMap<(ClusterName, bool), Bucket> = HashMap::new();
    loop {
        let message = tokio::select! {
            () = stop.cancelled() => return,
            message = receiver.recv() => message,
        };
        let Some(Message { about, note }) = message else { return };
        let bucket = buckets
            .entry((about.cluster.clone(), note.warning))
            .or_insert_with(|| Bucket { tokens: BURST, at: Instant::now() });
        if !bucket.take() {
            METRICS.events_dropped.inc();
            continue;
        }
        // Only whoever leads tells; what waited here when the lease was lost is the next leader's to tell.
        if broker.leads() {
            // Each on its own: a cluster that does not answer holds up nobody else's. The bucket bounds how many there are.
            tokio::spawn(send(Arc::clone(&broker), about, note));
        }
    }
}

async fn send(broker: Arc<Broker>, about: About, note: Note) {
    let Some(connection) = broker.fleet().cluster(&about.cluster).and_then(|cluster| cluster.connection()) else {
        return;
    };
    let micro_time = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let (key, body) = event(&about, &note, &micro_time);
    let writer = Writer::new(&connection.caller);
    match tokio::time::timeout(Duration::from_secs(3), writer.create(&events(), &key, &body)).await {
        Ok(Ok(_) | Err(CallError::AlreadyExists(_))) => {}
        Ok(Err(error)) => debug!(cluster = %about.cluster, %error, "Event not sent"),
        Err(_) => debug!(cluster = %about.cluster, "Event not sent in time"),
    }
}

/// Notes that this is told now. Says whether it was not told, or so long ago that its Event is gone.
pub(crate) fn is_news(told: &mut HashMap<u64, Instant>, note: &Note) -> bool {
    if told.len() >= TOLD
        && let Some(oldest) = told.iter().min_by_key(|(_, at)| **at).map(|(digest, _)| *digest)
    {
        told.remove(&oldest);
    }
    let before = told.insert(hash(note), Instant::now());
    before.is_none_or(|before| before.elapsed() > KEPT)
}

impl Broker {
    /// Tells what a decision has to tell. What was so before this process started is not news.
    pub(crate) fn tell(&self, key: &OriginKey, decision: &Decision, known: bool) {
        for note in &decision.notes {
            let news = self.is_news(key, note);
            if news && (known || decision.writes().next().is_some()) {
                self.tell_note(key, note);
            }
        }
        for full in &decision.unabridged {
            if self.is_news(key, &Note::warning("Unabridged", full.as_str())) {
                info!(origin = %key, "{full}");
            }
        }
    }

    /// Tells something unless it was told a short time ago.
    pub(crate) fn tell_once(&self, key: &OriginKey, note: &Note) {
        if self.is_news(key, note) {
            self.tell_note(key, note);
        }
    }

    fn is_news(&self, key: &OriginKey, note: &Note) -> bool {
        self.records.with(key, |record| is_news(&mut record.told, note)) == Some(true)
    }

    pub(crate) fn tell_note(&self, key: &OriginKey, note: &Note) {
        let object = self.uid_of(Role::Consumer, key, &key.cluster, &key.name);
        if let Some(uid) = object {
            self.recorder.send(about(key, &key.cluster, &key.name, uid), note.clone());
        }
        if let Some(provider) = &note.also {
            let name = copy::name(key);
            if let Some(uid) = self.uid_of(Role::Provider, key, provider, &name) {
                self.recorder.send(about(key, provider, &name, uid), note.clone());
            }
        }
    }

    pub(crate) fn uid_of(&self, role: Role, key: &OriginKey, cluster: &ClusterName, name: &str) -> Option<String> {
        let spec = self.watches.spec_of(role, &key.gvk)?;
        let key = ObjectKey::new(&*key.namespace, name);
        Some(self.fleet().cluster(cluster)?.index(spec)?.get(&key).found()?.uid.to_string())
    }
}

fn about(key: &OriginKey, cluster: &ClusterName, name: &str, uid: String) -> About {
    About {
        cluster: cluster.clone(),
        api_version: key.gvk.api_version(),
        kind: key.gvk.kind.clone(),
        namespace: key.namespace.to_string(),
        name: name.to_owned(),
        uid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_event_has_the_same_name_and_a_bounded_text() {
        let about = About {
            cluster: ClusterName::consumer("c"),
            api_version: "v1".into(),
            kind: "Secret".into(),
            namespace: "n".into(),
            name: "x".repeat(253),
            uid: "u".into(),
        };
        let note = Note::warning("Refused", "é".repeat(2000));
        let (first, body) = event(&about, &note, "t");
        let (second, _) = event(&about, &note, "later");
        assert_eq!(first, second);
        assert!(first.name.len() <= 253);
        assert!(body["note"].as_str().unwrap().len() <= LONGEST);
    }

    #[test]
    fn a_flood_is_cut() {
        let mut bucket = Bucket { tokens: BURST, at: Instant::now() };
        let sent = (0..1000).filter(|_| bucket.take()).count();
        assert!((30..40).contains(&sent), "{sent}");
    }
}
