//! `Objects`: see the crate.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Index,
    sync::Arc,
};

use runtime_effect::{kind::Kind, write::Op};
use serde_json::{Value, json};

use crate::{
    fields::{self, Fields, Path, Step},
    kind_rule::KindRule,
    refused::Refused,
    stored::Stored,
    structure,
};

/// Kind, namespace, name.
pub type At = (Kind, String, String);

/// See the crate.
#[derive(Debug, Clone)]
pub struct Objects {
    /// The kinds that are served.
    pub kinds: BTreeMap<Kind, KindRule>,
    held: BTreeMap<At, Stored>,
    counter: u64,
    name: String,
}

impl Objects {
    /// None, of no kind; uids begin with `name`.
    pub fn new(name: &str) -> Self {
        Self { kinds: BTreeMap::new(), held: BTreeMap::new(), counter: 0, name: name.to_owned() }
    }

    fn tick(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// The object there.
    pub fn get(&self, at: &At) -> Option<&Value> {
        self.stored(at).map(|stored| &*stored.value)
    }

    /// The same, with whose its fields are.
    pub fn stored(&self, at: &At) -> Option<&Stored> {
        self.held.get(at)
    }

    /// Whether there is one.
    pub fn contains(&self, at: &At) -> bool {
        self.held.contains_key(at)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = (&At, &Stored)> {
        self.held.iter()
    }

    /// Where they are.
    pub fn places(&self) -> impl Iterator<Item = &At> {
        self.held.keys()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Takes one away, whatever holds it.
    pub fn remove(&mut self, at: &At) -> Option<Value> {
        self.held.remove(at).map(|stored| Arc::unwrap_or_clone(stored.value))
    }

    /// Puts one there as it was somewhere else.
    pub fn restore(&mut self, at: At, stored: Stored) {
        self.held.insert(at, stored);
    }

    /// Makes something else of what is there, as no request can.
    pub fn corrupt(&mut self, at: &At, change: impl FnOnce(&mut Value)) {
        if let Entry::Occupied(mut held) = self.held.entry(at.clone()) {
            change(Arc::make_mut(&mut held.get_mut().value));
        }
    }

    /// Stores `value` as the next version of what is there, if it is another one.
    fn store(&mut self, at: &At, mut value: Value, (applied, others): (Option<Fields>, Fields)) {
        self.shape(at, &mut value);
        let has_generation = self.kinds[&at.0].has_status;
        let held = self.held.get(at);
        for field in ["uid", "resourceVersion", "generation"] {
            if let Some(kept) = held.and_then(|held| held.value["metadata"].get(field)) {
                value["metadata"][field] = kept.clone();
            }
        }
        let content = |value: &Value| {
            let mut content = value.clone();
            content.as_object_mut().unwrap().remove("status");
            content.as_object_mut().unwrap().remove("metadata");
            content
        };
        match held {
            // Whose its fields are is a part of it.
            Some(held) if *held.value == value && held.applied == applied && held.others == others => return,
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
        self.held.insert(at.clone(), Stored { value: Arc::new(value), applied, others });
        self.collect(at);
    }

    /// What the API server makes of what it is given.
    fn shape(&self, at: &At, value: &mut Value) {
        let KindRule { schema, webhook, .. } = &self.kinds[&at.0];
        if let Some(webhook) = webhook {
            webhook(value);
        }
        structure::tidy(&mut value["metadata"]);
        structure::within(value, |content| {
            structure::prune(schema, content);
            structure::default(schema, content);
        });
    }

    /// A deleted object goes with its last finalizer.
    fn collect(&mut self, at: &At) {
        let metadata = &self.held[at].value["metadata"];
        let held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
        if metadata.get("deletionTimestamp").is_some() && !held {
            let uid = metadata["uid"].clone();
            self.held.remove(at);
            let owned = |stored: &Stored| stored.value["metadata"]["ownerReferences"][0]["uid"] == uid;
            self.held.retain(|_, stored| !owned(stored));
        }
    }

    /// A write of somebody else: replaces the object, creating it if it is not there.
    pub fn put(&mut self, at: &At, mut value: Value) {
        address(at, &mut value);
        self.change(at, value);
    }

    /// Changes an object, if it is there.
    pub fn edit(&mut self, at: &At, edit: impl FnOnce(&mut Value)) -> bool {
        let Some(mut value) = self.get(at).cloned() else { return false };
        edit(&mut value);
        self.put(at, value);
        true
    }

    /// A deletion by somebody else.
    pub fn delete(&mut self, at: &At) {
        self.edit(at, |value| value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    }

    /// Carries out a decided write. Returns what is there then.
    ///
    /// # Errors
    /// Why it does not go through.
    pub fn execute(&mut self, at: &At, op: &Op) -> Result<Option<Value>, Refused> {
        let Some(rule) = self.kinds.get(&at.0) else { return Err(Refused::NoKind) };
        let has_status = rule.has_status;
        let live = self.held.get(at).map(|stored| Arc::clone(&stored.value));
        if let Op::Create(body) | Op::Apply { body, .. } = op
            && !structure::fits(&rule.schema, body)
        {
            return Err(Refused::Untyped);
        }
        match op {
            Op::Create(_) if live.is_some() => return Err(Refused::Exists),
            Op::Create(body) => self.apply(at, body)?,
            Op::Apply { body, uid } => {
                check_uid(live.as_deref(), uid)?;
                self.apply(at, body)?;
            }
            // What is gone is deleted.
            Op::Delete { .. } if live.is_none() => {}
            Op::Delete { uid, version } => {
                check_uid(live.as_deref(), uid)?;
                let stale = |live: Arc<Value>| {
                    version.is_some_and(|version| live["metadata"]["resourceVersion"] != *version.to_string())
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
                    if patch["metadata"][precondition] != live["metadata"][precondition] {
                        return Err(Refused::Conflict);
                    }
                }
                let mut value = Value::clone(&live);
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
                if is_late(&live, &value) {
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
        let Some(Stored { value: held, applied, others }) = self.held.get(at) else {
            return self.store(at, value, (None, now));
        };
        let before = fields::fields(schema, held);
        let is_kept = |path: &Path, _: &mut Value| match (now.get(path), before.get(path)) {
            (None, None) => now.keys().any(|other| other.starts_with(path)),
            (now, before) => now == before,
        };
        let (mut applied, mut others) = (applied.clone(), others.clone());
        if let Some(applied) = &mut applied {
            applied.retain(is_kept);
        }
        others.retain(|path, _| now.contains_key(path));
        others.extend(now.into_iter().filter(|(path, value)| before.get(path) != Some(value)));
        // Who has nothing is not remembered.
        self.store(at, value, (applied.filter(|applied| !applied.is_empty()), others));
    }

    fn apply(&mut self, at: &At, body: &Value) -> Result<(), Refused> {
        let schema = &self.kinds[&at.0].schema;
        let held = self.held.get(at);
        let mut value = held.map_or_else(|| json!({"metadata": {}}), |held| Value::clone(&held.value));
        let mut others = held.map_or_else(Fields::new, |held| held.others.clone());
        let applied = held.and_then(|held| held.applied.as_ref());
        let now = fields::fields(schema, body);
        fields::merge(schema, &mut value, body);
        others.retain(|path, value| now.get(path).is_none_or(|wanted| wanted == value));
        // All that something of ours was in goes with it, where nothing of anybody is left.
        let applied = applied.into_iter().flat_map(Fields::keys).filter(|path| !now.contains_key(*path));
        let within = applied.flat_map(|path| (1..=path.len()).map(|length| &path[..length]));
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
        address(at, &mut value);
        self.store(at, value, (Some(now).filter(|now| !now.is_empty()), others));
        Ok(())
    }
}

impl Index<&At> for Objects {
    type Output = Value;

    fn index(&self, at: &At) -> &Value {
        self.get(at).unwrap_or_else(|| panic!("there is no {at:?}"))
    }
}

/// An object says where it is.
fn address((kind, namespace, name): &At, object: &mut Value) {
    object["apiVersion"] = json!(kind.api_version());
    object["kind"] = json!(kind.kind);
    object["metadata"]["name"] = json!(name);
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
}

/// Whether something is to hold what is being deleted already.
fn is_late(held: &Value, value: &Value) -> bool {
    let finalizers = |of: &Value| of["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let before = finalizers(held);
    held["metadata"].get("deletionTimestamp").is_some() && finalizers(value).iter().any(|one| !before.contains(one))
}

fn check_uid(live: Option<&Value>, uid: &str) -> Result<(), Refused> {
    let is_it = live.is_some_and(|live| live["metadata"]["uid"] == *uid);
    if is_it { Ok(()) } else { Err(Refused::Conflict) }
}
