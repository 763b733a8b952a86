//! One API server in memory.

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

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

use super::structure;

/// Why a write does not go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refused {
    Exists,
    Gone,
    Conflict,
    Unreachable,
    NoKind,
}

/// An annotation, which does not travel: the object cannot be read.
pub(crate) const DEEP: &str = "test.k8s.io/deep";

#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) value: Value,
    /// What the broker's field manager applied last.
    applied: Option<Value>,
}

#[derive(Debug, Clone)]
pub(crate) struct KindRule {
    pub(crate) schema: Value,
    pub(crate) has_status: bool,
    pub(crate) namespaced: bool,
    /// Whether the broker has read the schema.
    pub(crate) published: bool,
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
    fn store(&mut self, at: &At, mut value: Value, applied: Option<Value>) {
        let rule = &self.kinds[&at.0];
        let metadata = value["metadata"].take();
        structure::prune(&rule.schema, &mut value);
        structure::default(&rule.schema, &mut value);
        value["metadata"] = metadata;
        let held = self.objects.get(at).cloned();
        for field in ["uid", "resourceVersion", "generation"] {
            if let Some(held) = &held {
                value["metadata"][field] = held.value["metadata"][field].clone();
            }
        }
        let content = |value: &Value| {
            let mut content = value.clone();
            content.as_object_mut().unwrap().remove("status");
            content.as_object_mut().unwrap().remove("metadata");
            content
        };
        match &held {
            Some(held) if held.value == value => {}
            Some(held) => {
                if content(&held.value) != content(&value) {
                    let generation = held.value["metadata"]["generation"].as_i64().unwrap();
                    value["metadata"]["generation"] = json!(generation + 1);
                }
                value["metadata"]["resourceVersion"] = json!(self.tick().to_string());
            }
            None => {
                let number = self.tick();
                value["metadata"]["uid"] = json!(format!("{}-{number}", self.name));
                value["metadata"]["resourceVersion"] = json!(number.to_string());
                value["metadata"]["generation"] = json!(1);
            }
        }
        self.objects.insert(at.clone(), Stored { value, applied });
        self.collect(at);
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
        let applied = self.objects.get(at).and_then(|stored| stored.applied.clone());
        self.store(at, value, applied);
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
        match op {
            Op::Create(_) if live.is_some() => return Err(Refused::Exists),
            Op::Create(body) => self.apply(at, body),
            Op::Apply { body, uid } => {
                check_uid(live.as_ref(), uid)?;
                self.apply(at, body);
            }
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
                self.store(at, value, live.applied);
            }
        }
        Ok(self.get(at).cloned())
    }

    fn apply(&mut self, at: &At, body: &Value) {
        let nothing = Stored { value: json!({"metadata": {}}), applied: None };
        let live = self.objects.get(at).cloned().unwrap_or(nothing);
        let mut value = live.value.clone();
        let old = live.applied.unwrap_or(Value::Null);
        structure::apply(&self.kinds[&at.0].schema, &mut value, &old, body);
        value["apiVersion"] = json!(at.0.api_version());
        value["kind"] = json!(at.0.kind);
        value["metadata"]["namespace"] = json!(at.1);
        value["metadata"]["name"] = json!(at.2);
        self.store(at, value, Some(body.clone()));
    }
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
    match live {
        None => Err(Refused::Gone),
        Some(live) if live.value["metadata"]["uid"] == *uid => Ok(()),
        Some(_) => Err(Refused::Conflict),
    }
}
