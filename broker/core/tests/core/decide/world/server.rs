//! One API server in memory.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use runtime_cel::schema::Schema;
use runtime_effect::{
    kind::Kind,
    reach::Reach,
    seen::Seen,
    serving::{KindView, Serving},
    view::{Unread, View},
    write::Op,
};
use serde_json::{Value, json};

use super::{
    fields::{self, Fields, Path, Step},
    structure,
};

/// Why a write does not go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    Exists,
    Gone,
    Conflict,
    Unreachable,
    NoKind,
    /// What is applied has fields that the kind has not.
    Untyped,
    /// Nothing is left of a map that is to be empty.
    Emptied,
    /// A finalizer for what is being deleted.
    Late,
}

/// An annotation, which does not travel: the object cannot be read.
pub(crate) const DEEP: &str = "test.k8s.io/deep";

#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) value: Value,
    /// What the broker's field manager applies, and has not lost to others since.
    applied: Option<Fields>,
    /// What others have written.
    others: Fields,
}

#[derive(Debug, Clone)]
pub(crate) struct KindRule {
    pub(crate) schema: Value,
    pub(crate) has_status: bool,
    pub(crate) namespaced: bool,
    /// Whether the broker has read the schema.
    pub(crate) published: bool,
    /// What a webhook makes of everything that is written.
    pub(crate) webhook: Option<fn(&mut Value)>,
}

pub(crate) type At = (Kind, String, String);

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) kinds: BTreeMap<Kind, KindRule>,
    pub(crate) objects: BTreeMap<At, Stored>,
    pub(crate) reach: Reach,
    /// Since when it does not answer.
    pub(crate) silent_since: Option<u64>,
    /// Whether the broker's list of objects is complete.
    pub(crate) listed: bool,
    /// Whether the broker knows which kinds there are.
    pub(crate) discovered: bool,
    pub(crate) acceptances_known: bool,
    /// What the broker's cache holds, where it lags behind.
    pub(crate) stale: Option<BTreeMap<At, Stored>>,
    counter: u64,
    name: String,
}

impl Server {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            kinds: BTreeMap::new(),
            objects: BTreeMap::new(),
            reach: Reach::Ready,
            silent_since: None,
            listed: true,
            discovered: true,
            acceptances_known: true,
            stale: None,
            counter: 0,
            name: name.to_owned(),
        }
    }

    fn tick(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub(crate) fn view(stored: &Stored) -> View {
        let metadata = &stored.value["metadata"];
        // What stands for nesting that cannot be read. The fleet then knows metadata and what of the status is flat.
        let unread = metadata["annotations"].get(DEEP).map(|_| Unread::Nested);
        let mut value = stored.value.clone();
        if let (Some(_), Some(fields)) = (unread, value.as_object_mut()) {
            fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        }
        View {
            uid: metadata["uid"].as_str().unwrap().into(),
            resource_version: metadata["resourceVersion"].as_str().unwrap().parse().unwrap(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            applied_by_us: stored.applied.is_some(),
            value: Arc::new(value),
            unread,
            conditions_known: true,
        }
    }

    /// What the broker's cache says.
    pub(crate) fn seen(&self, at: &At) -> Seen {
        if !self.listed {
            return Seen::Unknown;
        }
        self.cached().get(at).map_or(Seen::Absent, |stored| Seen::Present(Self::view(stored)))
    }

    pub(crate) fn cached(&self) -> &BTreeMap<At, Stored> {
        self.stale.as_ref().unwrap_or(&self.objects)
    }

    pub(crate) fn cached_views(&self) -> impl Iterator<Item = (&At, View)> {
        self.cached().iter().map(|(at, stored)| (at, Self::view(stored)))
    }

    pub(crate) fn serving(&self, kind: &Kind) -> Serving {
        if !self.discovered {
            return Serving::Unknown;
        }
        self.kinds.get(kind).map_or(Serving::Missing, |rule| {
            Serving::Served(KindView {
                plural: "certificates".into(),
                namespaced: rule.namespaced,
                has_status: rule.has_status,
                schema: if rule.published { compiled(&rule.schema) } else { Arc::new(Schema::any()) },
            })
        })
    }

    pub(crate) fn get(&self, at: &At) -> Option<&Value> {
        self.objects.get(at).map(|stored| &stored.value)
    }

    /// Stores `value` as the next version of what is there, if it is another one.
    fn store(&mut self, at: &At, mut value: Value, (applied, others): (Option<Fields>, Fields)) {
        self.shape(at, &mut value);
        let has_generation = self.kinds[&at.0].has_status;
        let held = self.objects.get(at).cloned();
        for field in ["uid", "resourceVersion", "generation"] {
            if let Some(kept) = held.as_ref().and_then(|held| held.value["metadata"].get(field)) {
                value["metadata"][field] = kept.clone();
            }
        }
        let content = |value: &Value| {
            let mut content = value.clone();
            content.as_object_mut().unwrap().remove("status");
            content.as_object_mut().unwrap().remove("metadata");
            content
        };
        match &held {
            // Whose its fields are is a part of it.
            Some(held) if held.value == value && held.applied == applied && held.others == others => {}
            Some(held) => {
                let is_going = |value: &Value| value["metadata"].get("deletionTimestamp").is_some();
                let goes = is_going(&value) && !is_going(&held.value);
                if has_generation && (goes || content(&held.value) != content(&value)) {
                    let generation = held.value["metadata"]["generation"].as_i64().unwrap();
                    value["metadata"]["generation"] = json!(generation + 1);
                }
                value["metadata"]["resourceVersion"] = json!(self.tick().to_string());
            }
            None => {
                let number = self.tick();
                value["metadata"]["uid"] = json!(format!("{}-{number}", self.name));
                value["metadata"]["resourceVersion"] = json!(number.to_string());
                if has_generation {
                    value["metadata"]["generation"] = json!(1);
                }
            }
        }
        self.objects.insert(at.clone(), Stored { value, applied, others });
        self.collect(at);
    }

    /// What the API server makes of what it is given.
    fn shape(&self, at: &At, value: &mut Value) {
        let KindRule { schema, webhook, .. } = &self.kinds[&at.0];
        if let Some(webhook) = webhook {
            webhook(value);
        }
        let mut metadata = value["metadata"].take();
        structure::tidy(&mut metadata);
        structure::prune(schema, value);
        structure::default(schema, value);
        value["metadata"] = metadata;
    }

    /// A deleted object goes with its last finalizer.
    fn collect(&mut self, at: &At) {
        let metadata = &self.objects[at].value["metadata"];
        let held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if metadata.get("deletionTimestamp").is_some() && !held {
            let uid = metadata["uid"].clone();
            self.objects.remove(at);
            let owned = |stored: &Stored| stored.value["metadata"]["ownerReferences"][0]["uid"] == uid;
            self.objects.retain(|_, stored| !owned(stored));
        }
    }

    /// A write of somebody else: replaces the object, creating it if it is not there.
    pub(crate) fn put(&mut self, at: &At, mut value: Value) {
        value["apiVersion"] = json!(at.0.api_version());
        value["kind"] = json!(at.0.kind);
        value["metadata"]["namespace"] = json!(at.1);
        value["metadata"]["name"] = json!(at.2);
        self.change(at, value);
    }

    /// Changes an object, if it is there.
    pub(crate) fn edit(&mut self, at: &At, edit: impl FnOnce(&mut Value)) -> bool {
        let Some(mut value) = self.get(at).cloned() else { return false };
        edit(&mut value);
        self.put(at, value);
        true
    }

    pub(crate) fn delete(&mut self, at: &At) {
        self.edit(at, |value| value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    }

    /// Carries out a write of the broker's.
    pub(crate) fn execute(&mut self, at: &At, op: &Op) -> Result<Option<Value>, Refused> {
        if self.reach != Reach::Ready {
            return Err(Refused::Unreachable);
        }
        let Some(rule) = self.kinds.get(&at.0) else { return Err(Refused::NoKind) };
        let has_status = rule.has_status;
        let live = self.objects.get(at).cloned();
        if let Op::Create(body) | Op::Apply { body, .. } = op
            && !structure::has_fields(&rule.schema, body)
        {
            return Err(Refused::Untyped);
        }
        match op {
            Op::Create(_) if live.is_some() => return Err(Refused::Exists),
            Op::Create(body) => self.apply(at, body)?,
            Op::Apply { body, uid } => {
                check_uid(live.as_ref(), uid)?;
                self.apply(at, body)?;
            }
            // What is gone is deleted.
            Op::Delete { .. } if live.is_none() => {}
            Op::Delete { uid, version } => {
                check_uid(live.as_ref(), uid)?;
                let stale = |live: Stored| {
                    version.is_some_and(|version| live.value["metadata"]["resourceVersion"] != *version.to_string())
                };
                if live.is_some_and(stale) {
                    return Err(Refused::Conflict);
                }
                self.delete(at);
            }
            Op::Merge(patch) | Op::MergeStatus(patch) => {
                let live = live.ok_or(Refused::Gone)?;
                for precondition in ["uid", "resourceVersion"] {
                    assert!(patch["metadata"][precondition].is_string(), "a merge patch without {precondition}");
                    if patch["metadata"][precondition] != live.value["metadata"][precondition] {
                        return Err(Refused::Conflict);
                    }
                }
                let mut value = live.value.clone();
                if matches!(op, Op::MergeStatus(_)) {
                    assert!(has_status, "no status subresource");
                    structure::merge(&mut value["status"], &patch["status"]);
                } else {
                    let status = value.get("status").cloned();
                    structure::merge(&mut value, patch);
                    if let (true, Some(status)) = (has_status, status) {
                        value["status"] = status;
                    }
                }
                if is_late(&live.value, &value) {
                    return Err(Refused::Late);
                }
                self.change(at, value);
            }
        }
        Ok(self.get(at).cloned())
    }

    /// Whoever changes a field has it, and nobody else.
    fn change(&mut self, at: &At, mut value: Value) {
        self.shape(at, &mut value);
        let schema = &self.kinds[&at.0].schema;
        let now = fields::fields(schema, &value);
        let Some(Stored { value: held, applied, others }) = self.objects.get(at) else {
            return self.store(at, value, (None, now));
        };
        let before = fields::fields(schema, held);
        let is_there = |path: &Path| now.keys().any(|other| other.starts_with(path));
        let is_kept = |path: &Path, _: &mut Value| is_there(path) && now.get(path) == before.get(path);
        let (mut applied, mut others) = (applied.clone(), others.clone());
        applied.iter_mut().for_each(|applied| applied.retain(is_kept));
        others.retain(|path, _| now.contains_key(path));
        others.extend(now.into_iter().filter(|(path, value)| before.get(path) != Some(value)));
        // Who has nothing is not remembered.
        self.store(at, value, (applied.filter(|applied| !applied.is_empty()), others));
    }

    fn apply(&mut self, at: &At, body: &Value) -> Result<(), Refused> {
        let schema = &self.kinds[&at.0].schema;
        let nothing = Stored { value: json!({"metadata": {}}), applied: None, others: Fields::new() };
        let Stored { mut value, applied, mut others } = self.objects.get(at).cloned().unwrap_or(nothing);
        let now = fields::fields(schema, body);
        fields::merge(schema, &mut value, body);
        others.retain(|path, value| now.get(path).is_none_or(|wanted| wanted == value));
        // All that something of ours was in goes with it, where nothing of anybody is left.
        let applied = applied.unwrap_or_default();
        let within = applied.keys().flat_map(|path| (1..=path.len()).map(|length| &path[..length]));
        let within: BTreeSet<_> = within.map(|path| (path.len(), path)).collect();
        for (_, path) in within {
            // An element is somebody's who has written it as a whole, and takes along what others have changed in it.
            let is_element = matches!(path.last(), Some(Step::Element(_)));
            let is_kept = |other: &Path| if is_element { other == path } else { other.starts_with(path) };
            if !now.keys().chain(others.keys()).any(is_kept)
                && fields::remove(schema, &mut value, path)
                && !schema.is_null()
                && path.len() > 1
                && path[0] != Step::Field("metadata".to_owned())
            {
                return Err(Refused::Emptied);
            }
        }
        let left = fields::fields(schema, &value);
        others.retain(|path, _| left.contains_key(path));
        value["apiVersion"] = json!(at.0.api_version());
        value["kind"] = json!(at.0.kind);
        value["metadata"]["namespace"] = json!(at.1);
        value["metadata"]["name"] = json!(at.2);
        self.store(at, value, (Some(now).filter(|now| !now.is_empty()), others));
        Ok(())
    }
}

/// Whether something is to hold what is being deleted already.
fn is_late(held: &Value, value: &Value) -> bool {
    let finalizers = |of: &Value| of["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let before = finalizers(held);
    held["metadata"].get("deletionTimestamp").is_some() && finalizers(value).iter().any(|one| !before.contains(one))
}

/// Schemas are compiled once, as in the binary.
fn compiled(schema: &Value) -> Arc<Schema> {
    thread_local!(static COMPILED: RefCell<Vec<(Value, Arc<Schema>)>> = const { RefCell::new(Vec::new()) });
    COMPILED.with_borrow_mut(|known| {
        let found = known.iter().find(|(source, _)| source == schema).map(|(_, compiled)| Arc::clone(compiled));
        found.unwrap_or_else(|| {
            let compiled = Arc::new(Schema::compile(schema));
            known.push((schema.clone(), Arc::clone(&compiled)));
            compiled
        })
    })
}

fn check_uid(live: Option<&Stored>, uid: &str) -> Result<(), Refused> {
    let is_it = live.is_some_and(|live| live.value["metadata"]["uid"] == *uid);
    if is_it { Ok(()) } else { Err(Refused::Conflict) }
}
