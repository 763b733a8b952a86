//! The task that sends what was recorded, as Events.

use std::{
    borrow::Cow,
    sync::{Arc, PoisonError},
    time::Duration,
};

use runtime_effect::note::Note;
use runtime_fleet::{
    GroupVersionKind, crash::spawn, error::CallError, kind::KindInfo, object::ObjectKey, write::Writer,
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::{Message, Regarding, budget::Budget, hash};
use crate::engine::Engine;

/// How long one takes at the most.
const LIMIT: Duration = Duration::from_secs(3);

/// Longest wait for an API server that wants a pause; what it lasts longer than that costs an Event.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest text of an Event (events.k8s.io/v1).
const LONGEST: usize = 1024;

/// Longest reason and action.
const LONGEST_REASON: usize = 128;

impl Engine {
    /// Sends an Event when there is time. Dropped when too many wait.
    pub fn tell(&self, regarding: Regarding, note: Note) {
        if !self.recorder.send(regarding, note) {
            (self.meters.event_dropped)();
        }
    }
}

fn events() -> KindInfo {
    let gvk = GroupVersionKind::gvk("events.k8s.io", "v1", "Event");
    KindInfo { gvk, plural: "events".into(), namespaced: true, has_status: false }
}

/// The text, or as much of it as `longest` bytes hold.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", text.get(..text.floor_char_boundary(longest - '…'.len_utf8())).unwrap_or_default()))
}

/// The same Event has the same name, so that a restarted broker cannot say twice what is still to be read.
fn event(manager: &str, regarding: &Regarding, note: &Note, micro_time: &str) -> (ObjectKey, Value) {
    let (text, reason) = (cut(&note.message, LONGEST), cut(&note.reason, LONGEST_REASON));
    let Regarding { cluster: _, kind, key, uid } = regarding;
    // Where API servers keep Events of what is in no namespace.
    let namespace = if key.namespace.is_empty() { "default" } else { &*key.namespace };
    let stem: String = key.name.chars().take(200).collect();
    let name = format!("{}.{:016x}", stem.trim_end_matches(['.', '-']), hash(&(uid, &note.reason, &note.message)));
    let body = json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": micro_time,
        "reportingController": manager,
        "reportingInstance": manager,
        "action": reason,
        "reason": reason,
        "note": text,
        "type": if note.warning { "Warning" } else { "Normal" },
        "regarding": {
            "apiVersion": kind.api_version(),
            "kind": kind.kind,
            "namespace": namespace,
            "name": &*key.name,
            "uid": uid,
        },
    });
    (ObjectKey::new(namespace, name), body)
}

/// Sends what was recorded, until `stop`.
pub async fn run(engine: Arc<Engine>, stop: CancellationToken) {
    let receiver = engine.recorder.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(mut receiver) = receiver else { return };
    let mut budget = Budget::default();
    loop {
        let message = tokio::select! {
            () = stop.cancelled() => return,
            message = receiver.recv() => message,
        };
        let Some(Message { regarding, note }) = message else { return };
        if !budget.take(&regarding, &note, Instant::now()) {
            (engine.meters.event_dropped)();
            continue;
        }
        // Only whoever leads tells; what waited here when the lease was lost is the next leader's to tell.
        if engine.leads() {
            // Each on its own: a cluster that does not answer holds up nobody else's. The budget bounds how many there are.
            spawn(send(Arc::clone(&engine), regarding, note));
        }
    }
}

async fn send(engine: Arc<Engine>, regarding: Regarding, note: Note) {
    let Some(cluster) = engine.fleet().cluster(&regarding.cluster) else { return };
    let pause = cluster.server().traffic().throttled().unwrap_or_default();
    tokio::time::sleep(pause.min(PATIENCE)).await;
    let Some(connection) = cluster.connection() else { return };
    let micro_time = runtime_fleet::wall::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let manager = connection.caller.conventions().manager;
    let (key, body) = event(manager, &regarding, &note, &micro_time);
    let writer = Writer::new(&connection.caller);
    let kind = events();
    let act = async {
        let created = tokio::time::timeout(LIMIT, writer.create(&kind, &key, &body)).await;
        created.unwrap_or_else(|_| Err(CallError::UnknownOutcome("no answer in time".to_owned())))
    };
    match engine.write_alone(&cluster, act).await {
        Some(Ok(_) | Err(CallError::AlreadyExists(_))) => {}
        Some(Err(error)) => debug!(cluster = %regarding.cluster, %error, "Event not sent"),
        None => debug!(cluster = %regarding.cluster, "Event not sent: another process leads"),
    }
}

#[cfg(test)]
mod tests {
    use broker_api::ClusterName;
    use runtime_effect::kind::Kind;

    use super::*;

    #[test]
    fn the_same_event_has_the_same_name_and_a_bounded_text() {
        let regarding = Regarding::secret(&ClusterName::consumer("c"), &ObjectKey::new("n", "x".repeat(253)), "u");
        let note = Note::warning("Refused", "é".repeat(2000));
        let (first, body) = event("us", &regarding, &note, "t");
        let (second, _) = event("us", &regarding, &note, "later");
        assert_eq!(first, second);
        assert!(first.name.len() <= 253);
        assert!(body["note"].as_str().unwrap().len() <= LONGEST);
    }

    #[test]
    fn of_what_is_in_no_namespace_the_event_is_in_the_default_one() {
        let kind = Kind { group: "g".into(), ..Kind::core("Namespaceless") };
        let regarding = Regarding::new(&ClusterName::consumer("c"), kind, &ObjectKey::new("", "x"), "u");
        let (key, body) = event("us", &regarding, &Note::normal("Done", "it is"), "t");
        assert_eq!((&*key.namespace, &body["metadata"]["namespace"]), ("default", &json!("default")));
        let about =
            json!({"apiVersion": "g/v1", "kind": "Namespaceless", "namespace": "default", "name": "x", "uid": "u"});
        assert_eq!(body["regarding"], about);
    }
}
