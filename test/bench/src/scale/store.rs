//! What one stub holds: objects as the bytes that are sent of them, and what has happened to them.
//!
//! Of an API server it does what the broker relies on: versions, preconditions, generations, finalizers, watches that go on
//! from a version. Of server-side apply only as much as a copy needs: whoever applies an object is the only one who does, so
//! that what is applied is all of it but its status.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::change::{Change, Role};
use super::kind::{Kind, Target};
use super::object;
use super::refusal::Refusal;
use crate::merge::merge;
use crate::widget;

/// Events that are remembered at the most: whoever is further behind lists again.
const EVENTS: usize = 20_000;

/// One thing that has happened.
struct Event {
    revision: u64,
    kind: Kind,
    /// As in the `type` of a watch's line.
    what: &'static str,
    body: Bytes,
}

/// See the module.
pub(super) struct Store {
    role: Role,
    /// Which cluster it is of.
    number: usize,
    /// Of the last change.
    revision: u64,
    /// What was before is not known any more.
    forgotten: u64,
    /// Objects that were ever made.
    made: u64,
    held: [BTreeMap<String, Bytes>; 2],
    events: VecDeque<Event>,
    changes: UnboundedSender<Change>,
}

/// What a write has led to.
#[derive(Debug)]
pub(super) struct Written {
    /// HTTP status.
    pub(super) code: u16,
    /// The object.
    pub(super) body: Bytes,
}

/// Which part of a list is wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// So many objects at the most; 0: all.
    pub(super) limit: usize,
    /// Where the page before it ended, and of which version that was.
    pub(super) behind: Option<(u64, String)>,
    /// Without anything but metadata.
    pub(super) metadata_only: bool,
}

impl Store {
    /// An empty one, which tells of changes of Widgets.
    pub(super) fn new(role: Role, number: usize, changes: UnboundedSender<Change>) -> Self {
        let (made, held, events) = Default::default();
        // `1` is a version that there never was.
        Self { role, number, revision: 1_000, forgotten: 1_000, made, held, events, changes }
    }

    fn parsed(&self, target: &Target<'_>) -> Option<Value> {
        // It was written by this very store.
        serde_json::from_slice(self.get(target)?).ok()
    }

    /// One object.
    pub(super) fn get(&self, target: &Target<'_>) -> Option<&Bytes> {
        self.held[target.kind as usize].get(&target.key())
    }

    /// How many objects of a kind there are.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.held[kind as usize].len()
    }

    /// Forgets what has happened: whoever watches has been told of it.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.events.shrink_to_fit();
        self.forgotten = self.revision;
    }

    /// Makes an object, in the name of a person.
    pub(super) fn create(&mut self, target: &Target<'_>, mut object: Value) -> Result<Written, Refusal> {
        if self.get(target).is_some() {
            return Err(Refusal::already_exists(target));
        }
        object::manage(target.kind, &mut object, "bench", "Update");
        Ok(self.begin(target, object))
    }

    /// Server-side apply with force.
    pub(super) fn apply(&mut self, target: &Target<'_>, mut new: Value, manager: &str) -> Result<Written, Refusal> {
        let (uid, version) = (object::take(&mut new, "uid"), object::take(&mut new, "resourceVersion"));
        new["metadata"]["namespace"] = target.namespace.into();
        object::manage(target.kind, &mut new, manager, "Apply");
        let Some(old) = self.parsed(target) else {
            if uid.is_some() {
                return Err(Refusal::conflict(target, "has no object of this uid"));
            }
            let mut written = self.begin(target, new);
            self.serve(target);
            written.code = 201;
            return Ok(written);
        };
        check(target, &old, uid.as_deref(), version.as_deref())?;
        object::keep(&old, &mut new);
        object::count(&old, &mut new);
        let written = self.change(target, &old, new);
        self.serve(target);
        Ok(written)
    }

    /// A merge patch of an object, or of its status.
    pub(super) fn patch(&mut self, target: &Target<'_>, mut patch: Value) -> Result<Written, Refusal> {
        let old = self.parsed(target).ok_or_else(|| Refusal::not_found(target))?;
        let (uid, version) = (object::take(&mut patch, "uid"), object::take(&mut patch, "resourceVersion"));
        check(target, &old, uid.as_deref(), version.as_deref())?;
        let mut new = old.clone();
        if target.status {
            merge(&mut new["status"], &patch["status"]);
        } else {
            if let Some(fields) = patch.as_object_mut() {
                fields.remove("status");
            }
            merge(&mut new, &patch);
            object::count(&old, &mut new);
        }
        if object::is_deleting(&new) && !object::is_held(&new) {
            return Ok(Written { code: 200, body: self.remove(target, new) });
        }
        Ok(self.change(target, &old, new))
    }

    /// Deletes an object, or has it go once nothing holds it any more. `None`: it is gone.
    pub(super) fn delete(&mut self, target: &Target<'_>, options: &Value) -> Result<Option<Written>, Refusal> {
        let old = self.parsed(target).ok_or_else(|| Refusal::not_found(target))?;
        let wanted = |field: &str| options["preconditions"][field].as_str();
        check(target, &old, wanted("uid"), wanted("resourceVersion"))?;
        if !object::is_held(&old) {
            self.remove(target, old);
            return Ok(None);
        }
        let mut new = old.clone();
        object::delete(&mut new);
        Ok(Some(self.change(target, &old, new)))
    }

    fn begin(&mut self, target: &Target<'_>, mut object: Value) -> Written {
        self.made += 1;
        object::begin(&mut object, format!("{:08x}-0000-4000-8000-{:012x}", self.number, self.made));
        Written { code: 201, body: self.keep(target, object, "ADDED") }
    }

    fn change(&mut self, target: &Target<'_>, old: &Value, new: Value) -> Written {
        // Whoever changes nothing gets what there is, under its old version.
        let same = *old == new;
        let held = self.get(target).filter(|_| same).cloned();
        Written { code: 200, body: held.unwrap_or_else(|| self.keep(target, new, "MODIFIED")) }
    }

    /// What a provider's controller does: it serves a copy at once, and says which generation of it.
    fn serve(&mut self, target: &Target<'_>) {
        if self.role != Role::Provider || target.kind != Kind::Widget {
            return;
        }
        let Some(old) = self.parsed(target) else { return };
        let generation = object::generation(&old);
        let mut new = old.clone();
        new["status"] = widget::status(generation);
        new["status"]["conditions"][0]["observedGeneration"] = json!(generation);
        self.change(target, &old, new);
    }

    /// Keeps an object under a new version.
    fn keep(&mut self, target: &Target<'_>, mut object: Value, what: &'static str) -> Bytes {
        let body = self.record(target.kind, &mut object, what);
        self.held[target.kind as usize].insert(target.key(), body.clone());
        body
    }

    fn remove(&mut self, target: &Target<'_>, mut object: Value) -> Bytes {
        self.held[target.kind as usize].remove(&target.key());
        self.record(target.kind, &mut object, "DELETED")
    }

    fn record(&mut self, kind: Kind, object: &mut Value, what: &'static str) -> Bytes {
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        // A tree of JSON values is always written. As long as it is and no longer: there are a hundred thousand of them.
        let body = Bytes::from(serde_json::to_vec(object).unwrap_or_default().into_boxed_slice());
        self.events.push_back(Event { revision: self.revision, kind, what, body: body.clone() });
        if self.events.len() > EVENTS
            && let Some(first) = self.events.pop_front()
        {
            self.forgotten = first.revision;
        }
        if kind == Kind::Widget {
            // Nobody listens any more where the bench ends.
            let _ = self.changes.send(Change::of(self.role, self.number, object));
        }
        body
    }

    /// A list, or a page of one. All pages are of the version of the first: what has changed meanwhile is told twice to
    /// whoever watches from there.
    pub(super) fn list(&self, target: &Target<'_>, page: &Page) -> Vec<u8> {
        let (revision, behind) = match &page.behind {
            Some((revision, key)) => (*revision, Bound::Excluded(key.clone())),
            None => (self.revision, Bound::Unbounded),
        };
        let within = |key: &str| target.namespace.is_empty() || key.split('/').next() == Some(target.namespace);
        let mut rest =
            self.held[target.kind as usize].range((behind, Bound::Unbounded)).filter(|(key, _)| within(key)).peekable();
        let limit = if page.limit == 0 { usize::MAX } else { page.limit };
        let (mut items, mut end) = (Vec::new(), "");
        for (key, body) in rest.by_ref().take(limit) {
            if !items.is_empty() {
                items.push(b',');
            }
            if page.metadata_only {
                items.extend(metadata(body));
            } else {
                items.extend_from_slice(body);
            }
            end = key;
        }
        let next = rest.peek().map(|_| format!("{revision}.{}", hex::encode(end))).unwrap_or_default();
        let (kind, api_version) = if page.metadata_only {
            ("PartialObjectMetadata", "meta.k8s.io/v1")
        } else {
            (target.kind.name(), target.kind.api_version())
        };
        let mut list = format!(
            r#"{{"kind":"{kind}List","apiVersion":"{api_version}","metadata":{{"resourceVersion":"{revision}","continue":"{next}"}},"items":["#
        )
        .into_bytes();
        list.append(&mut items);
        list.extend_from_slice(b"]}");
        list
    }

    /// What has happened to a kind since a version, a line each, and the version now. `None`: nobody knows any more.
    pub(super) fn news(&self, kind: Kind, since: u64) -> Option<(Vec<u8>, u64)> {
        if since < self.forgotten {
            return None;
        }
        let from = self.events.partition_point(|event| event.revision <= since);
        let mut lines = Vec::new();
        for Event { what, body, .. } in self.events.range(from..).filter(|event| event.kind == kind) {
            lines.extend_from_slice(format!(r#"{{"type":"{what}","object":"#).as_bytes());
            lines.extend_from_slice(body);
            lines.extend_from_slice(b"}\n");
        }
        Some((lines, self.revision))
    }
}

/// An object without anything but its metadata.
fn metadata(body: &[u8]) -> Vec<u8> {
    let object: Value = serde_json::from_slice(body).unwrap_or_default();
    let partial =
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]});
    partial.to_string().into_bytes()
}

/// Whether an object is the one that is meant.
fn check(target: &Target<'_>, object: &Value, uid: Option<&str>, version: Option<&str>) -> Result<(), Refusal> {
    for (field, wanted) in [("uid", uid), ("resourceVersion", version)] {
        if wanted.is_some_and(|wanted| object["metadata"][field] != wanted) {
            return Err(Refusal::conflict(target, &format!("has another {field}")));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
