//! An API server of maps.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use broker_api::graphs::keys;
use graphs_core::instance::Write;
use runtime_effect::{view::View, write::Op};
use serde_json::{Map, Value, json};

/// Kind, namespace, name.
pub(crate) type Key = (String, String, String);

pub(crate) fn key(kind: &str, namespace: &str, name: &str) -> Key {
    (kind.to_owned(), namespace.to_owned(), name.to_owned())
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Server {
    pub(crate) objects: BTreeMap<Key, Value>,
    /// What was last applied.
    applied: BTreeMap<Key, Value>,
    /// Writes about objects of these names are refused, with this message.
    pub(crate) refuses: BTreeMap<String, String>,
    /// It writes `data.value` in capitals.
    pub(crate) capitals: bool,
    /// What was written, in order.
    pub(crate) log: Vec<String>,
    counter: u64,
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        let fields = target.as_object_mut().unwrap();
        if value.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

/// Without what was applied before and is not any more.
fn disown(held: &mut Value, before: &Value, now: &Value) {
    let (Some(held), Some(before)) = (held.as_object_mut(), before.as_object()) else { return };
    for (name, before) in before {
        match (now.get(name), held.get_mut(name)) {
            (None, Some(_)) => drop(held.remove(name)),
            (Some(now), Some(held)) => disown(held, before, now),
            _ => {}
        }
    }
}

impl Server {
    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    pub(crate) fn put(&mut self, key: Key, mut object: Value) {
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = json!(format!("uid-{}", self.next()));
        }
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.retain(|_, value| !value.as_object().is_some_and(Map::is_empty) && *value != json!([]));
        if self.capitals
            && key.0 == "ConfigMap"
            && let Some(text) = object["data"]["value"].as_str()
        {
            object["data"]["value"] = json!(text.to_uppercase());
        }
        if key.0 == "Secret" {
            if let Some(Value::Object(texts)) = object.as_object_mut().unwrap().remove("stringData") {
                for (name, text) in texts {
                    object["data"][name] = json!(STANDARD.encode(text.as_str().unwrap()));
                }
            }
            if object["type"].is_null() {
                object["type"] = json!("Opaque");
            }
        }
        if let Some(held) = self.objects.get(&key) {
            object["metadata"]["resourceVersion"] = held["metadata"]["resourceVersion"].clone();
        }
        if self.objects.get(&key) != Some(&object) {
            object["metadata"]["resourceVersion"] = json!(self.next().to_string());
            self.objects.insert(key, object);
        }
    }

    pub(crate) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        let mut object = self.objects[key].clone();
        change(&mut object);
        self.put(key.clone(), object);
    }

    pub(crate) fn view(&self, key: &Key) -> Option<View> {
        let value = self.objects.get(key)?;
        Some(View {
            uid: value["metadata"]["uid"].as_str().unwrap().into(),
            resource_version: value["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap(),
            deleting: !value["metadata"]["deletionTimestamp"].is_null(),
            applied_by_us: self.applied.contains_key(key),
            value: value.clone().into(),
            unread: None,
            conditions_known: true,
        })
    }

    /// As a user: gone, unless finalizers hold it.
    pub(crate) fn delete(&mut self, key: &Key) {
        let held = self.objects[key]["metadata"]["finalizers"].as_array().is_some_and(|held| !held.is_empty());
        if held {
            self.edit(key, |object| object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
        } else {
            self.objects.remove(key);
            self.applied.remove(key);
        }
    }

    /// Carries out a write. `Err`: it was refused.
    pub(crate) fn send(&mut self, write: &Write) -> Result<Option<Value>, String> {
        let key = key(&write.kind.kind, &write.namespace, &write.name);
        if let Some(why) = self.refuses.get(&write.name) {
            return Err(why.clone());
        }
        let held = self.objects.get(&key).cloned();
        let name = match write.op {
            Op::Create(_) => "create",
            Op::Apply { .. } => "apply",
            Op::Merge(_) => "patch",
            Op::MergeStatus(_) => "status",
            Op::Delete { .. } => "delete",
        };
        self.log.push(format!("{name} {}", write.name));
        match &write.op {
            Op::Create(body) => {
                assert!(held.is_none(), "{key:?} exists");
                self.apply(&key, json!({}), body);
            }
            Op::Apply { body, uid } => {
                let held = held.unwrap();
                assert_eq!(held["metadata"]["uid"], **uid);
                self.apply(&key, held, body);
            }
            Op::Merge(patch) | Op::MergeStatus(patch) => {
                let mut object = held.unwrap();
                for field in ["uid", "resourceVersion"] {
                    assert_eq!(patch["metadata"][field], object["metadata"][field], "{field} of {key:?}");
                }
                if let Op::MergeStatus(_) = write.op {
                    assert_eq!(patch.as_object().unwrap().len(), 2, "{patch}");
                    merge(&mut object, &json!({"status": patch["status"]}));
                } else {
                    assert_eq!(patch.as_object().unwrap().len(), 1, "{patch}");
                    merge(&mut object, patch);
                }
                let free = object["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
                if free && !object["metadata"]["deletionTimestamp"].is_null() {
                    self.objects.remove(&key);
                } else {
                    self.put(key.clone(), object);
                }
            }
            Op::Delete { uid, version } => {
                let metadata = &held.as_ref().unwrap()["metadata"];
                assert_eq!(metadata["uid"], **uid);
                assert_eq!(version.map(|version| version.to_string()).as_deref(), metadata["resourceVersion"].as_str());
                self.delete(&key);
            }
        }
        Ok(self.objects.get(&key).cloned())
    }

    fn apply(&mut self, key: &Key, mut object: Value, body: &Value) {
        if let Some(before) = self.applied.insert(key.clone(), body.clone()) {
            disown(&mut object, &before, body);
        }
        merge(&mut object, body);
        self.put(key.clone(), object);
    }

    pub(crate) fn part_of(&self, key: &Key) -> Option<&str> {
        self.objects.get(key)?["metadata"]["labels"][keys::APPLYSET_PART_OF].as_str()
    }

    /// What was written since the last time.
    pub(crate) fn written(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// All objects, without what differs from run to run.
    pub(crate) fn timeless(&self) -> BTreeMap<Key, Value> {
        let mut all = self.objects.clone();
        for object in all.values_mut() {
            let metadata = object["metadata"].as_object_mut().unwrap();
            metadata.retain(|name, _| !["uid", "resourceVersion", "generation"].contains(&name.as_str()));
            for entry in object["status"]["conditions"].as_array_mut().into_iter().flatten() {
                entry
                    .as_object_mut()
                    .unwrap()
                    .retain(|name, _| !["lastTransitionTime", "observedGeneration"].contains(&&**name));
            }
            if object["status"].is_null() {
                object.as_object_mut().unwrap().remove("status");
            }
            if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
                labels.remove(keys::INSTANCE_ID);
            }
            if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
                annotations.remove(keys::APPLIED_DIGEST);
            }
        }
        all
    }
}
