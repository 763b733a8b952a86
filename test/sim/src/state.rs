//! `State`: all that one API server holds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::{Value, json};

use crate::{
    builtin,
    clock::Clock,
    failure::Failure,
    history::{Event, History, Key},
    kinds::Kinds,
    resource::{Resource, Storage},
    uids::Uids,
};

/// Where CRDs are kept.
pub(crate) const CRDS: [&str; 2] = ["apiextensions.k8s.io", "customresourcedefinitions"];

/// What every API server makes.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Revisions begin here, so that `1` is one that there never was.
const FIRST: u64 = 1000;

/// Objects, what has happened to them, and which kinds are served.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) uids: Uids,
    pub(crate) kinds: Kinds,
    pub(crate) history: History,
    /// How long an object may be that is kept, in bytes.
    pub(crate) longest: Option<usize>,
    objects: BTreeMap<Storage, BTreeMap<Key, Arc<Value>>>,
}

impl State {
    /// With the namespaces that every API server makes.
    pub(crate) fn new(seed: u64, clock: Clock) -> Self {
        let mut state = Self::empty(Uids::seeded(seed), clock, History::from(FIRST));
        state.make_namespaces();
        state
    }

    /// With nothing at all.
    pub(crate) fn empty(uids: Uids, clock: Clock, history: History) -> Self {
        Self { clock, uids, kinds: Kinds::default(), history, longest: None, objects: BTreeMap::new() }
    }

    /// Holds an object as it is, as if it had always been there.
    pub(crate) fn hold(&mut self, storage: &Storage, key: Key, object: Value) {
        let object = Arc::new(object);
        self.served(storage, &object, true);
        self.objects.entry(storage.clone()).or_default().insert(key, object);
    }

    /// Another server that begins with what this one holds, but for the namespaces that every API server makes itself.
    /// Nobody has seen what came before.
    pub(crate) fn begin(&self, seed: u64, clock: Clock) -> Self {
        let mut state = Self { clock, uids: Uids::seeded(seed), ..self.clone() };
        for name in NAMESPACES {
            state.remove(&Storage::new("", builtin::NAMESPACES), &Key::new("", name));
        }
        state.make_namespaces();
        state.history.compact();
        state
    }

    fn make_namespaces(&mut self) {
        for name in NAMESPACES {
            let (uid, now) = (self.uids.uid(), self.clock.stamp());
            let labels = json!({"kubernetes.io/metadata.name": name});
            self.put(
                &Storage::new("", builtin::NAMESPACES),
                json!({"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": name, "uid": uid, "creationTimestamp": now, "labels": labels},
                    "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
            );
        }
    }

    /// The objects of a kind.
    pub(crate) fn all(&self, storage: &Storage) -> impl Iterator<Item = (&Key, &Value)> {
        self.kept(storage).map(|(key, object)| (key, &**object))
    }

    /// The same, to be shared.
    pub(crate) fn kept(&self, storage: &Storage) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        self.objects.get(storage).into_iter().flatten()
    }

    /// Where there are, or were, objects.
    pub(crate) fn storages(&self) -> Vec<Storage> {
        self.objects.keys().cloned().collect()
    }

    pub(crate) fn get(&self, storage: &Storage, key: &Key) -> Option<&Value> {
        self.share(storage, key).map(|object| &**object)
    }

    /// The same, to be shared.
    pub(crate) fn share(&self, storage: &Storage, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(storage)?.get(key)
    }

    /// The objects of a kind as they were at a revision that is still known.
    pub(crate) fn at(&self, storage: &Storage, revision: u64) -> BTreeMap<Key, Arc<Value>> {
        let mut objects = self.objects.get(storage).cloned().unwrap_or_default();
        let touched: BTreeSet<Key> = self.history.touched(storage, revision).cloned().collect();
        for key in touched {
            match self.history.undone(storage, &key, revision, objects.get(&key)) {
                Some(before) => objects.insert(key, before),
                None => objects.remove(&key),
            };
        }
        objects
    }

    /// Keeps an object under a new revision, and returns it as it is kept.
    pub(crate) fn put(&mut self, storage: &Storage, mut object: Value) -> Arc<Value> {
        let revision = self.history.advance();
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        let key = Key::of(&object);
        let object = Arc::new(object);
        let objects = self.objects.entry(storage.clone()).or_default();
        let before = objects.insert(key.clone(), Arc::clone(&object));
        let event = Event { revision, storage: storage.clone(), key, before, after: Some(Arc::clone(&object)) };
        self.history.record(event);
        self.served(storage, &object, true);
        object
    }

    /// Takes an object away.
    pub(crate) fn remove(&mut self, storage: &Storage, key: &Key) {
        let Some(before) = self.objects.get_mut(storage).and_then(|objects| objects.remove(key)) else { return };
        let revision = self.history.advance();
        self.served(storage, &before, false);
        self.history.record(Event {
            revision,
            storage: storage.clone(),
            key: key.clone(),
            before: Some(before),
            after: None,
        });
    }

    /// A CRD says what is served.
    fn served(&mut self, storage: &Storage, object: &Arc<Value>, present: bool) {
        if [&*storage.group, &*storage.plural] == CRDS {
            self.kinds.define(object, present, self.history.revision());
        }
    }

    /// The kind that a path leads to, if it is served.
    pub(crate) fn resource(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        self.kinds.find(group, version, plural).cloned()
    }

    /// Whether an object is short enough to be kept.
    pub(crate) fn has_room(&self, object: &Value) -> Result<(), Failure> {
        let Some(longest) = self.longest else { return Ok(()) };
        let fits = serde_json::to_vec(object).is_ok_and(|bytes| bytes.len() <= longest);
        if fits { Ok(()) } else { Err(Failure::internal("etcdserver: request is too large")) }
    }

    /// Whether something can be created in a namespace.
    pub(crate) fn admits(&self, resource: &Resource, namespace: &str, name: &str) -> Result<(), Failure> {
        if !resource.namespaced {
            return Ok(());
        }
        let storage = Storage::new("", builtin::NAMESPACES);
        let Some(held) = self.get(&storage, &Key::new("", namespace)) else {
            return Err(Failure::no_namespace(namespace));
        };
        if held["metadata"]["deletionTimestamp"].is_string() {
            return Err(Failure::terminating(resource, name, namespace));
        }
        Ok(())
    }
}
