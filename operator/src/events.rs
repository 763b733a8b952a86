//! Events on a Broker: what turned, once. Best effort.

use broker_api::broker::BrokerStatus;
use k8s_openapi::{
    api::{core::v1::ObjectReference, events::v1::Event},
    apimachinery::pkg::apis::meta::v1::{Condition, MicroTime, ObjectMeta},
    jiff::Timestamp,
};
use kube::{Api, Resource as _, api::PostParams};
use tracing::debug;

use crate::{
    NAME,
    call::call,
    context::Context,
    owner::Owner,
    status::{AVAILABLE, DEGRADED, GRAPHS_AVAILABLE, PROGRESSING},
    trouble::line,
};

/// Longest note of an Event.
const LONGEST: usize = 1000;

/// What to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Whether somebody should do something.
    pub warning: bool,
    /// CamelCase word.
    pub reason: String,
    /// For people.
    pub text: String,
}

/// What turned between two statuses. A new message alone is not worth an Event.
pub fn notes(previous: &BrokerStatus, new: &BrokerStatus) -> Vec<Note> {
    let before = |kind: &str| previous.conditions.iter().find(|condition| condition.type_ == kind);
    let turned = |condition: &&Condition| {
        before(&condition.type_).is_none_or(|old| old.status != condition.status || old.reason != condition.reason)
    };
    new.conditions.iter().filter(turned).filter_map(|condition| note(condition, before(&condition.type_))).collect()
}

fn note(new: &Condition, old: Option<&Condition>) -> Option<Note> {
    let was = old.is_some_and(|old| old.status == "True");
    let say = |warning, reason: &str| {
        let text =
            if new.message.is_empty() { format!("{} is {}", new.type_, new.status) } else { new.message.clone() };
        Some(Note { warning, reason: reason.to_owned(), text: line(&text, LONGEST) })
    };
    match (new.type_.as_str(), new.status == "True") {
        (DEGRADED, true) => say(true, &new.reason),
        (DEGRADED, false) if was => say(false, "Recovered"),
        (AVAILABLE, true) if !was => say(false, "Available"),
        (AVAILABLE, false) if was => say(new.reason != "Stopped", "Unavailable"),
        (GRAPHS_AVAILABLE, true) if !was => say(false, "GraphsAvailable"),
        (GRAPHS_AVAILABLE, false) if was => say(new.reason != "Stopped", "GraphsUnavailable"),
        (PROGRESSING, true) if !was => say(false, "RollingOut"),
        (PROGRESSING, false) if was => say(false, &new.reason),
        _ => None,
    }
}

/// Tells what turned.
pub async fn tell(context: &Context, owner: &Owner, previous: &BrokerStatus, new: &BrokerStatus) {
    let api: Api<Event> = Api::namespaced(context.client.clone(), &owner.namespace);
    for note in notes(previous, new) {
        let event = event(owner, &note);
        if let Err(error) = call(api.create(&PostParams::default(), &event)).await {
            debug!(%error, reason = %note.reason, "an Event is not told");
        }
    }
}

fn event(owner: &Owner, note: &Note) -> Event {
    let broker = broker_api::broker::Broker::api_version(&());
    let kind = broker_api::broker::Broker::kind(&());
    // As client-go names them: the object, and a time that makes it unique.
    let now = Timestamp::now();
    Event {
        metadata: ObjectMeta {
            name: Some(format!("{}.{:x}", owner.name, now.as_nanosecond())),
            namespace: Some(owner.namespace.clone()),
            ..ObjectMeta::default()
        },
        regarding: Some(ObjectReference {
            api_version: Some(broker.into_owned()),
            kind: Some(kind.into_owned()),
            name: Some(owner.name.clone()),
            namespace: Some(owner.namespace.clone()),
            uid: Some(owner.uid.clone()),
            ..ObjectReference::default()
        }),
        type_: Some(if note.warning { "Warning" } else { "Normal" }.to_owned()),
        reason: Some(note.reason.clone()),
        note: Some(note.text.clone()),
        action: Some("Reconcile".to_owned()),
        event_time: Some(MicroTime(now)),
        reporting_controller: Some(format!("broker.platform-mesh.io/{NAME}")),
        reporting_instance: Some(std::env::var("HOSTNAME").unwrap_or_else(|_| NAME.to_owned())),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use broker_api::condition::condition;

    use super::*;

    fn status(stands: &[(&str, bool, &str)]) -> BrokerStatus {
        let conditions =
            stands.iter().map(|(kind, is, reason)| condition(kind, *is, reason, "m", None, Timestamp::UNIX_EPOCH));
        BrokerStatus { conditions: conditions.collect(), observed_generation: None }
    }

    fn told(old: &[(&str, bool, &str)], new: &[(&str, bool, &str)]) -> Vec<(bool, String)> {
        notes(&status(old), &status(new)).into_iter().map(|note| (note.warning, note.reason)).collect()
    }

    #[test]
    fn what_turned_is_told_once() {
        let good =
            [(AVAILABLE, true, "InstanceReady"), (PROGRESSING, false, "Complete"), (DEGRADED, false, "AsExpected")];
        let bad = [(AVAILABLE, false, "X"), (PROGRESSING, true, "RollingOut"), (DEGRADED, true, "X")];
        let owned = |list: &[(bool, &str)]| {
            list.iter().map(|(warning, word)| (*warning, (*word).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(told(&[], &good), owned(&[(false, "Available")]));
        assert_eq!(told(&good, &good), []);
        assert_eq!(told(&good, &bad), owned(&[(true, "Unavailable"), (false, "RollingOut"), (true, "X")]));
        assert_eq!(told(&bad, &good), owned(&[(false, "Available"), (false, "Complete"), (false, "Recovered")]));
        assert_eq!(told(&[(DEGRADED, true, "X")], &[(DEGRADED, true, "Y")]), owned(&[(true, "Y")]));
    }
}
