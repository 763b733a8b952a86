//! Counts the broker's requests.

use std::collections::{BTreeMap, HashMap};

use harness::AuditEvent;

use crate::stage::Requests;
use crate::widget;

/// Hex digits of a copy's prefix, and the dash.
const PREFIX: usize = 13;

/// Name of the origin of a copy.
pub(crate) fn origin_of(copy: &str) -> Option<&str> {
    let (prefix, name) = copy.split_at_checked(PREFIX)?;
    prefix.ends_with('-').then_some(name)
}

/// What a request is, for people: role, verb and resource, as in `consumer patch widgets/status`.
fn described(role: &str, event: &AuditEvent) -> String {
    let what = match (event.resource.as_str(), event.subresource.as_str()) {
        // Schemas are asked for with a hash behind.
        ("", _) => event.uri.split('?').next().unwrap_or_default(),
        (resource, "") => resource,
        (resource, subresource) => return format!("{role} {} {resource}/{subresource}", event.verb),
    };
    let failed = if event.code >= 400 { format!(" ({})", event.code) } else { String::new() };
    format!("{role} {} {what}{failed}", event.verb)
}

/// Requests by [`described`].
pub(crate) fn by_verb(requests: &[Requests]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (role, event) in all(requests) {
        *counts.entry(described(role, event)).or_default() += 1;
    }
    counts
}

/// All requests.
pub(crate) fn total(requests: &[Requests]) -> usize {
    all(requests).count()
}

/// Those that change something.
pub(crate) fn writes(requests: &[Requests]) -> usize {
    all(requests).filter(|(_, event)| event.is_write()).count()
}

/// Writes to brokered objects: neither Events nor the AcceptAPIs' own status, which are not per object.
pub(crate) fn widget_writes(requests: &[Requests]) -> usize {
    all(requests).filter(|(_, event)| event.is_write() && event.resource == widget::RESOURCE).count()
}

/// Writes that are for one object or another: neither Events, which are sent beside the work, nor the AcceptAPIs' status.
pub(crate) fn work(requests: &[Requests]) -> usize {
    all(requests).filter(|(_, event)| is_work(event)).count()
}

/// The same in one cluster.
pub(crate) fn work_at(requests: &[Requests], role: &str) -> usize {
    all(requests).filter(|(of, event)| *of == role && is_work(event)).count()
}

fn is_work(event: &AuditEvent) -> bool {
    event.is_write() && !matches!(event.resource.as_str(), "events" | "acceptapis" | "leases")
}

/// Writes to one resource, or to its subresource.
pub(crate) fn writes_on(requests: &[Requests], resource: &str, subresource: &str) -> usize {
    let on = |event: &AuditEvent| event.resource == resource && event.subresource == subresource;
    all(requests).filter(|(_, event)| event.is_write() && on(event)).count()
}

/// Those of [`widget_writes`] that had come when the last copy was made: more than two per object are writes that could
/// have waited.
pub(crate) fn widget_writes_until_last_copy(requests: &[Requests]) -> usize {
    let writes = || all(requests).filter(|(_, event)| event.is_write() && event.resource == widget::RESOURCE);
    let last = writes().filter(|(role, event)| *role == "provider" && event.code == 201).map(|(_, e)| e.received).max();
    writes().filter(|(_, event)| Some(event.received) <= last).count()
}

/// Events on objects, which are sent beside the work.
pub(crate) fn events(requests: &[Requests]) -> usize {
    all(requests).filter(|(_, event)| event.resource == "events").count()
}

/// Reads of any kind but watches: those last, and are renewed every few minutes however much there is to do.
pub(crate) fn reads(requests: &[Requests]) -> usize {
    all(requests).filter(|(_, event)| !event.is_write() && event.verb != "watch").count()
}

fn all(requests: &[Requests]) -> impl Iterator<Item = (&'static str, &AuditEvent)> {
    requests.iter().flat_map(|one| one.events.iter().map(|event| (one.role, event)))
}

/// For each of these origins, how many writes the broker made on it and on its copy until the copy was there, the write
/// that created it included.
pub(crate) fn writes_until_copy(requests: &[Requests], origins: &[String]) -> Vec<usize> {
    let mut of: HashMap<&str, Vec<(&str, &AuditEvent)>> =
        origins.iter().map(|name| (name.as_str(), Vec::new())).collect();
    for (role, event) in all(requests).filter(|(_, event)| event.resource == widget::RESOURCE && event.is_write()) {
        let name = if role == "provider" { origin_of(&event.name) } else { Some(event.name.as_str()) };
        if let Some(events) = name.and_then(|name| of.get_mut(name)) {
            events.push((role, event));
        }
    }
    let created = |events: &[(&str, &AuditEvent)]| {
        events.iter().filter(|(role, event)| *role == "provider" && event.code == 201).map(|(_, e)| e.received).min()
    };
    of.into_values()
        .map(|events| created(&events).map_or(0, |at| events.iter().filter(|(_, event)| event.received <= at).count()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_named_after_its_origin() {
        assert_eq!(origin_of("a8b70b353e97-burst-00001"), Some("burst-00001"));
        assert_eq!(origin_of("burst"), None);
        assert_eq!(origin_of("no-prefix-like-this"), None);
    }
}
