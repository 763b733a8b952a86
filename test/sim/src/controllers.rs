//! What controllers do that belong to every cluster: namespaces are emptied, and what has lost its owner is collected.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    builtin::NAMESPACES,
    deletion::{FOREGROUND, ORPHAN},
    history::{Event, Key},
    meta::{finalizers, is_deleting, set, text},
    resource::Storage,
    state::{CRDS, State},
};

/// Whether it goes, or would with its owners.
fn may_go(object: &Value) -> bool {
    is_deleting(object) || object["metadata"]["ownerReferences"].as_array().is_some_and(|owners| !owners.is_empty())
}

/// The uids of those that own an object.
fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    owners.map(|owner| owner["uid"].as_str().unwrap_or_default())
}

impl State {
    /// Whether the controllers of every cluster may have something to do because of what has happened since: hardly ever, for
    /// most of what is written is leases, Events and statuses.
    pub(crate) fn has_work_since(&self, revision: u64) -> bool {
        let crds = Storage::new(CRDS[0], CRDS[1]);
        let concerns = |event: &Event| event.storage == crds || event.after.as_deref().is_none_or(may_go);
        !self.history.reaches(revision) || self.history.since(revision).any(concerns)
    }

    /// One step of the controller of namespaces. Whether there was anything to do.
    pub(crate) fn settle_namespaces(&mut self) -> bool {
        let storage = Storage::new("", NAMESPACES);
        let leaving = |(key, namespace): (&Key, &Value)| is_deleting(namespace).then(|| key.clone());
        let leaving: Vec<Key> = self.all(&storage).filter_map(leaving).collect();
        let mut busy = false;
        for key in leaving {
            let mut left = false;
            for contents in self.storages().into_iter().filter(|contents| *contents != storage) {
                busy |= self.delete_all(&contents, |object| object.namespace == key.name);
                left |= self.all(&contents).any(|(object, _)| object.namespace == key.name);
            }
            if !left && let Some(namespace) = self.get(&storage, &key).cloned() {
                busy |= self.finish(&storage, &key, namespace);
            }
        }
        busy
    }

    fn finish(&mut self, storage: &Storage, key: &Key, mut namespace: Value) -> bool {
        if !finalizers(&namespace).is_empty() {
            let held = namespace["spec"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
            if held {
                namespace["spec"] = json!({});
                self.put(storage, namespace);
            }
            return held;
        }
        self.remove(storage, key);
        true
    }

    /// One step of the collector of garbage. Whether there was anything to do.
    pub(crate) fn collect(&mut self) -> bool {
        let objects = self.collectable();
        if objects.is_empty() {
            return false;
        }
        let uids = self.uids_in_use();
        let before = self.history.revision();
        for (storage, key) in objects {
            let Some(object) = self.get(&storage, &key).cloned() else { continue };
            if is_deleting(&object) && finalizers(&object).contains(&ORPHAN) {
                self.orphan(&object);
                self.drop_finalizer(&storage, &key, ORPHAN);
            } else if is_deleting(&object) && finalizers(&object).contains(&FOREGROUND) {
                self.delete_dependents(&storage, &key, &object);
            } else {
                self.collect_one(&storage, &key, object, &uids);
            }
        }
        self.history.revision() != before
    }

    /// What the collector has to look at: what goes in its own way, and what has lost an owner. Almost always there is none.
    fn collectable(&self) -> Vec<(Storage, Key)> {
        let storages = self.storages();
        let objects = || storages.iter().flat_map(|storage| self.all(storage).map(move |held| (storage, held)));
        let concerned: Vec<_> = objects().filter(|(_, (_, object))| may_go(object)).collect();
        if concerned.is_empty() {
            return Vec::new();
        }
        // Where owners are, in their namespaces; all else that is there is of no matter.
        let wanted: BTreeSet<&str> = concerned.iter().flat_map(|(_, (_, object))| owners(object)).collect();
        let all = objects().map(|(_, (key, object))| (&*key.namespace, text(object, "uid")));
        let uids: BTreeSet<(&str, &str)> = all.filter(|(_, uid)| wanted.contains(uid)).collect();
        let has_lost = |key: &Key, object: &Value| {
            let mut owners = owners(object);
            owners.any(|uid| !uids.contains(&(&*key.namespace, uid)) && !uids.contains(&("", uid)))
        };
        let found = concerned.into_iter().filter(|(_, (key, object))| {
            let held = finalizers(object);
            let in_its_way = is_deleting(object) && (held.contains(&ORPHAN) || held.contains(&FOREGROUND));
            in_its_way || has_lost(key, object)
        });
        found.map(|(storage, (key, _))| (storage.clone(), key.clone())).collect()
    }

    /// The uids of all objects, with their namespaces.
    fn uids_in_use(&self) -> BTreeSet<(String, String)> {
        let storages = self.storages();
        let objects = storages.iter().flat_map(|storage| self.all(storage));
        objects.map(|(key, object)| (key.namespace.clone(), text(object, "uid").to_owned())).collect()
    }

    fn collect_one(&mut self, storage: &Storage, key: &Key, mut object: Value, uids: &BTreeSet<(String, String)>) {
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        let there = |owner: &Value| {
            let uid = owner["uid"].as_str().unwrap_or_default().to_owned();
            uids.contains(&(key.namespace.clone(), uid.clone())) || uids.contains(&(String::new(), uid))
        };
        let left: Vec<Value> = owners.iter().filter(|owner| there(owner)).cloned().collect();
        if left.len() == owners.len() {
            return;
        }
        if left.is_empty() {
            if !is_deleting(&object) {
                self.delete(storage, key, "Background");
            }
        } else {
            set(&mut object, "ownerReferences", json!(left));
            self.put(storage, object);
        }
    }

    /// Objects that an object owns.
    fn dependents(&self, owner: &Value) -> Vec<(Storage, Key)> {
        let uid = text(owner, "uid");
        let is_its = |object: &Value| {
            object["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|one| one["uid"] == uid)
        };
        let storages = self.storages();
        let found = storages.iter().flat_map(|storage| {
            self.all(storage).filter(|(_, object)| is_its(object)).map(move |(key, _)| (storage.clone(), key.clone()))
        });
        found.collect()
    }

    fn orphan(&mut self, owner: &Value) {
        for (storage, key) in self.dependents(owner) {
            let Some(mut object) = self.get(&storage, &key).cloned() else { continue };
            let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            let left: Vec<Value> = owners.into_iter().filter(|one| one["uid"] != text(owner, "uid")).collect();
            set(&mut object, "ownerReferences", if left.is_empty() { Value::Null } else { json!(left) });
            self.put(&storage, object);
        }
    }

    fn delete_dependents(&mut self, storage: &Storage, key: &Key, owner: &Value) {
        let dependents = self.dependents(owner);
        let blocking = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners
                .into_iter()
                .flatten()
                .any(|one| one["uid"] == text(owner, "uid") && one["blockOwnerDeletion"] == true)
        };
        let blocked = dependents.iter().any(|(storage, key)| self.get(storage, key).is_some_and(blocking));
        for (storage, key) in &dependents {
            if self.get(storage, key).is_some_and(|object| !is_deleting(object)) {
                self.delete(storage, key, "Background");
            }
        }
        if !blocked {
            self.drop_finalizer(storage, key, FOREGROUND);
        }
    }

    fn drop_finalizer(&mut self, storage: &Storage, key: &Key, name: &str) {
        let Some(mut object) = self.get(storage, key).cloned() else { return };
        let left: Vec<String> = finalizers(&object).into_iter().filter(|one| *one != name).map(str::to_owned).collect();
        if left.is_empty() {
            self.remove(storage, key);
        } else {
            set(&mut object, "finalizers", json!(left));
            self.put(storage, object);
        }
    }
}
