//! Kubernetes Events: the story of an object, for people. Best effort, bounded, never repeated.

mod budget;
pub mod events;

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Mutex,
    time::Duration,
};

use broker_api::ClusterName;
use runtime_effect::{kind::Kind, note::Note, object_key::ObjectKey};
use runtime_fleet::hashed::HashMap;
use tokio::{sync::mpsc, time::Instant};

/// Events that wait to be sent.
const BACKLOG: usize = 2000;

/// Different things told of one object that are remembered.
const TOLD: usize = 80;

/// API servers keep Events for an hour (`--event-ttl`). Until then the same Event is still there to be read.
const KEPT: Duration = Duration::from_hours(1);

/// What an Event is about: its `regarding`.
#[derive(Debug, Clone)]
pub struct Regarding {
    /// Cluster it is sent to.
    pub cluster: ClusterName,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace, empty where it has none, and its name.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Box<str>,
}

impl Regarding {
    /// An object.
    pub fn new(cluster: &ClusterName, kind: Kind, key: &ObjectKey, uid: &str) -> Self {
        Self { cluster: cluster.clone(), kind, key: key.clone(), uid: uid.into() }
    }

    /// A Secret.
    pub fn secret(cluster: &ClusterName, key: &ObjectKey, uid: &str) -> Self {
        Self::new(cluster, Kind::core("Secret"), key, uid)
    }
}

#[derive(Debug)]
struct Message {
    regarding: Regarding,
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
    /// Whether there is room for one more.
    fn send(&self, regarding: Regarding, note: Note) -> bool {
        self.sender.try_send(Message { regarding, note }).is_ok()
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What was told of one object, and when.
#[derive(Debug, Clone, Default)]
pub struct Told(HashMap<u64, Instant>);

impl Told {
    /// Notes that this is told now. Says whether it was not told, or so long ago that its Event is gone.
    pub fn is_news(&mut self, note: &Note) -> bool {
        if self.0.len() >= TOLD
            && let Some(oldest) = self.0.iter().min_by_key(|(_, at)| **at).map(|(digest, _)| *digest)
        {
            self.0.remove(&oldest);
        }
        let before = self.0.insert(hash(note), Instant::now());
        before.is_none_or(|before| before.elapsed() > KEPT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_no_news_until_there_was_much_else() {
        let mut told = Told::default();
        let note = |text: &str| Note::normal("Placed", text);
        assert!(told.is_news(&note("a")) && !told.is_news(&note("a")));
        for at in 0..TOLD {
            assert!(told.is_news(&note(&at.to_string())));
        }
        assert!(told.is_news(&note("a")), "the oldest is forgotten");
    }
}
