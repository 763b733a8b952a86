//! An API server, which knows any kind.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use broker_api::graphs::keys;
use graphs_core::instance::Write;
use objects::{KindRule, Objects};
use runtime_effect::{kind::Kind, view::View, write::Op};
use serde_json::{Value, json};

use crate::instance::toy::kind;

/// Kind, namespace, name.
pub(crate) type Key = objects::At;

/// `of`: a kind of [`kind`].
pub(crate) fn key(of: &str, namespace: &str, name: &str) -> Key {
    (kind(of), namespace.to_owned(), name.to_owned())
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) objects: Objects,
    /// Writes about objects of these names are refused, with this message.
    pub(crate) refuses: BTreeMap<String, String>,
    /// What was written, in order.
    pub(crate) log: Vec<String>,
}

impl Default for Server {
    fn default() -> Self {
        Self { objects: Objects::new("uid"), refuses: BTreeMap::new(), log: Vec::new() }
    }
}

/// What an API server makes of a Secret.
fn encode(secret: &mut Value) {
    if let Some(Value::Object(texts)) = secret.as_object_mut().unwrap().remove("stringData") {
        for (name, text) in texts {
            secret["data"][name] = json!(STANDARD.encode(text.as_str().unwrap()));
        }
    }
    if secret["type"].is_null() {
        secret["type"] = json!("Opaque");
    }
}

impl Server {
    /// Every kind is served from when it is first asked for.
    fn serve(&mut self, kind: &Kind) {
        let rule = match &*kind.kind {
            "ConfigMap" => KindRule::free(),
            "Secret" => KindRule { webhook: Some(encode), ..KindRule::free() },
            _ => KindRule { has_status: true, ..KindRule::free() },
        };
        self.objects.kinds.entry(kind.clone()).or_insert(rule);
    }

    /// It has a CRD of this kind.
    pub(crate) fn know(&mut self, kind: &Kind, schema: Value) {
        self.objects.kinds.insert(kind.clone(), KindRule { schema, has_status: true, ..KindRule::free() });
    }

    /// From now on it writes `data.value` of ConfigMaps in capitals.
    pub(crate) fn shout(&mut self) {
        let shout: fn(&mut Value) = |object| {
            if let Some(text) = object["data"]["value"].as_str() {
                object["data"]["value"] = json!(text.to_uppercase());
            }
        };
        self.objects.kinds.insert(kind("ConfigMap"), KindRule { webhook: Some(shout), ..KindRule::free() });
    }

    pub(crate) fn put(&mut self, key: Key, object: Value) {
        self.serve(&key.0);
        self.objects.put(&key, object);
    }

    pub(crate) fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Value)) {
        assert!(self.objects.edit(key, change), "there is no {key:?}");
    }

    pub(crate) fn view(&self, key: &Key) -> Option<View> {
        self.objects.stored(key).map(objects::Stored::view)
    }

    /// As a user: gone, unless finalizers hold it.
    pub(crate) fn delete(&mut self, key: &Key) {
        assert!(self.objects.contains(key), "there is no {key:?}");
        self.objects.delete(key);
    }

    /// Carries out a write. `Err`: it was refused.
    pub(crate) fn send(&mut self, write: &Write) -> Result<Option<Value>, String> {
        let key = (write.kind.clone(), write.namespace.clone(), write.name.clone());
        self.serve(&key.0);
        if let Some(why) = self.refuses.get(&write.name) {
            return Err(why.clone());
        }
        let (name, fields) = match &write.op {
            Op::Create(_) => ("create", None),
            Op::Apply { .. } => ("apply", None),
            Op::Merge(patch) => ("patch", Some((patch, 1))),
            Op::MergeStatus(patch) => ("status", Some((patch, 2))),
            Op::Delete { version, .. } => {
                assert!(version.is_some(), "nothing is deleted that has changed since");
                ("delete", None)
            }
        };
        self.log.push(format!("{name} {}", write.name));
        assert!(fields.is_none_or(|(patch, count)| patch.as_object().unwrap().len() == count), "{write:?}");
        // Nobody interferes here between what is seen and what is written.
        Ok(self.objects.execute(&key, &write.op).unwrap_or_else(|refused| panic!("{refused:?}: {write:?}")))
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
        let all = self.objects.all().map(|(at, stored)| (at.clone(), Value::clone(&stored.value)));
        let mut all: BTreeMap<Key, Value> = all.collect();
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
