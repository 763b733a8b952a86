//! What of ours is on an instance: finalizer, labels and inventory, in one write.

use std::collections::BTreeMap;

use broker_api::graphs::keys;
use runtime_effect::{kind::Kind, merge, note::Note, view::View, write::Op};
use serde_json::{Map, Value, json};

use super::{Pass, Written, snapshot::Served, subject::Subject};
use crate::{
    applyset::{GroupKind, Inventory, InventoryError, MAX_GROUP_KINDS, MAX_NAMESPACES},
    labels,
};

const INVENTORY: [&str; 3] = [keys::APPLYSET_GROUP_KINDS, keys::APPLYSET_NAMESPACES, keys::APPLYSET_TOOLING];

pub(super) fn group_kind(kind: &Kind) -> GroupKind {
    GroupKind { kind: kind.kind.clone(), group: kind.group.clone() }
}

/// All labels or annotations of an object.
pub(super) fn marks(object: &View, map: &str) -> BTreeMap<String, String> {
    let held = object.value.get("metadata").and_then(|metadata| metadata.get(map)).and_then(Value::as_object);
    let texts = held.into_iter().flatten().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    texts.collect()
}

impl Pass<'_> {
    /// The inventory of an instance that lives. One that somebody has changed is taken for as much as it says, and written
    /// anew; another tool's is not touched.
    pub(super) fn inventory(&mut self, instance: &View) -> Result<Inventory, InventoryError> {
        let annotations = marks(instance, "annotations");
        if !INVENTORY.into_iter().any(|name| annotations.contains_key(name)) {
            return Ok(Inventory::default());
        }
        // The label is put right by the next write; the hash says whose the annotations are.
        let labels = BTreeMap::from([(keys::APPLYSET_ID.to_owned(), self.set.id.clone())]);
        match Inventory::read(&self.set.id, &labels, &annotations) {
            Err(error @ InventoryError::Tooling(_)) if annotations.contains_key(keys::APPLYSET_TOOLING) => Err(error),
            Err(error) => {
                self.decision.notes.push(Note::warning("InventoryRepaired", format!("{error}; it is written anew")));
                Ok(salvaged(&annotations))
            }
            Ok(inventory) => Ok(inventory),
        }
    }

    /// Brings finalizer, labels and inventory onto the instance. `Err`: they cannot be brought; for people. `Ok(true)`: they
    /// are written now.
    pub(super) fn manage(
        &mut self,
        instance: &View,
        served: Option<&Served<'_>>,
        inventory: &Inventory,
    ) -> Result<bool, String> {
        let snapshot = self.snapshot;
        let (labels, whole) = self.labels(served);
        let mut annotations =
            inventory.annotations(&self.set.id, &format!("{}{}", keys::TOOLING_PREFIX, snapshot.version));
        annotations.extend(whole);
        let news = |map: &str, wanted: BTreeMap<&'static str, String>, rides: &dyn Fn(&str, &str) -> bool| {
            let differs = |name: &&'static str, value: &String| {
                instance.value.pointer(&format!("/metadata/{map}")).and_then(|held| held.get(name)?.as_str())
                    != Some(value.as_str())
            };
            let news: BTreeMap<_, _> = wanted.into_iter().filter(|(name, value)| differs(name, value)).collect();
            let held = marks(instance, map);
            let counts = news.keys().any(|name| !held.get(*name).is_some_and(|held| rides(name, held)));
            (news, counts)
        };
        // What only a new version changes goes with the next write.
        let (labels, labels_count) = news("labels", labels, &|name, _| name == keys::VERSION);
        let by_kro = |name: &str, held: &str| name == keys::APPLYSET_TOOLING && held.starts_with(keys::TOOLING_PREFIX);
        let (annotations, annotations_count) = news("annotations", annotations, &by_kro);
        let finalizer = !instance.has_finalizer(keys::FINALIZER);
        if !finalizer && !labels_count && !annotations_count {
            return Ok(false);
        }
        let mut metadata = Map::new();
        if finalizer {
            metadata.insert("finalizers".into(), instance.finalizers().chain([keys::FINALIZER]).collect());
        }
        metadata.insert("labels".into(), json!(labels));
        metadata.insert("annotations".into(), json!(annotations));
        metadata.retain(|_, value| value.as_object().is_none_or(|fields| !fields.is_empty()));
        let subject = if finalizer || labels_count { Subject::Managed } else { Subject::Inventory };
        match self.patch(instance, &metadata, subject) {
            Written::Now => Ok(true),
            Written::Refused(why) => Err(why),
            // With the finalizer on it, and all kinds in the inventory, nothing is lost by going on without a label.
            Written::Later if !finalizer && !annotations_count => Ok(false),
            Written::Later => Err("something keeps undoing finalizer, labels or inventory on the instance; \
                they are written again ever more slowly"
                .to_owned()),
            Written::Settled => Ok(false),
        }
    }

    fn labels(&self, served: Option<&Served<'_>>) -> (BTreeMap<&'static str, String>, Vec<(&'static str, String)>) {
        let mut wanted = BTreeMap::from([
            (keys::OWNED, keys::TRUE.to_owned()),
            (keys::VERSION, labels::version(self.snapshot.version).into_owned()),
            (keys::APPLYSET_ID, self.set.id.clone()),
        ]);
        let mut whole = Vec::new();
        for (key, text) in
            served.into_iter().flat_map(|graph| [(keys::RGD_ID, graph.rgd_uid), (keys::RGD_NAME, graph.rgd_name)])
        {
            let value = labels::value(text);
            wanted.insert(key, value.value.into_owned());
            whole.extend(value.whole.map(|whole| (key, whole.to_owned())));
        }
        (wanted, whole)
    }

    /// A merge patch of the instance's metadata.
    pub(super) fn patch(&mut self, instance: &View, metadata: &Map<String, Value>, subject: Subject) -> Written {
        let intent = merge::digest(&json!(metadata));
        let patch = instance.version().guard(json!({"metadata": metadata}));
        self.write_instance(Op::Merge(patch), subject, intent)
    }
}

/// All entries that can be ones.
fn salvaged(annotations: &BTreeMap<String, String>) -> Inventory {
    let entries = |key: &str, most| {
        let text = annotations.get(key).map(String::as_str).unwrap_or_default();
        text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).take(most)
    };
    // With those of a graph there are no more than are read again.
    let group_kinds = entries(keys::APPLYSET_GROUP_KINDS, MAX_GROUP_KINDS / 2);
    let namespaces = entries(keys::APPLYSET_NAMESPACES, MAX_NAMESPACES);
    Inventory {
        group_kinds: group_kinds.filter_map(|entry| entry.parse().ok()).collect(),
        namespaces: namespaces.filter(|entry| is_namespace(entry)).map(str::to_owned).collect(),
    }
}

fn is_namespace(entry: &str) -> bool {
    let ends = [entry.bytes().next(), entry.bytes().next_back()];
    entry.len() <= 63
        && entry.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && ends.into_iter().flatten().all(|byte| byte != b'-')
}
