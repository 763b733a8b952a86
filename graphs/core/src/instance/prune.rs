//! Children that are no longer wanted, in falling waves: what pruning and deletion have in common.

use std::collections::BTreeSet;

use broker_api::graphs::keys;
use runtime_effect::{kind::Kind, merge, note::Note, object_key::ObjectKey, view::View, write::Op};
use serde_json::{Map, Value, json};

use super::{Pass, Written, decision::Write, manage::marks, snapshot::Found, subject::Subject, walk::listed};
use crate::applyset::{GroupKind, Inventory};

/// A child that is to go.
pub(super) struct Leaving<'a> {
    kind: &'a Kind,
    key: ObjectKey,
    object: &'a View,
}

impl Leaving<'_> {
    /// Its wave; one that says none, or nonsense, goes last.
    fn wave(&self) -> u32 {
        self.object.annotation(keys::APPLY_ORDER).and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// For people: what it is, and what holds it.
    fn text(&self) -> String {
        let finalizers = listed(self.object.finalizers()).map(|held| format!(" (finalizers: {held})"));
        format!("{} {}{}", self.kind.kind, self.key, finalizers.unwrap_or_default())
    }
}

/// What is there of a set.
pub(super) enum Members<'a> {
    /// All of it.
    Known(Vec<Leaving<'a>>),
    /// Not all of it can be seen. With why, where that will not change soon; for people.
    Unknown(Option<String>),
}

/// What became of a round of removals.
pub(super) struct Round {
    /// What is not gone; for people.
    pub(super) left: Vec<String>,
    /// What is not gone and is being deleted; for people.
    pub(super) held: Vec<String>,
    /// What could not be removed, and why; for people.
    pub(super) refused: Vec<String>,
}

impl<'a> Pass<'a> {
    /// All members of the set in the kinds and namespaces of an inventory, without the instance itself.
    pub(super) fn members(&self, inventory: &Inventory) -> Members<'a> {
        let snapshot = self.snapshot;
        let (mut all, mut unknown, mut why) = (Vec::new(), false, None);
        let mut seen: BTreeSet<(&GroupKind, ObjectKey)> = BTreeSet::new();
        for group_kind in &inventory.group_kinds {
            let mut found = snapshot.members.iter().filter(|members| members.group_kind == *group_kind).peekable();
            unknown |= found.peek().is_none();
            for members in found {
                match &members.found {
                    Found::NotServed => {}
                    Found::Unknown(trouble) => {
                        unknown = true;
                        why = why.or_else(|| Some(format!("{group_kind} cannot be listed: {}", trouble.as_ref()?)));
                    }
                    Found::Listed { kind, objects } => {
                        for object in objects {
                            let key = key_of(object);
                            if self.is_member(object, &key, kind, inventory)
                                && seen.insert((&members.group_kind, key.clone()))
                            {
                                all.push(Leaving { kind, key, object });
                            }
                        }
                    }
                }
            }
        }
        if unknown { Members::Unknown(why) } else { Members::Known(all) }
    }

    fn is_member(&self, object: &View, key: &ObjectKey, kind: &Kind, inventory: &Inventory) -> bool {
        let own = &self.snapshot.key.namespace;
        let is_near =
            key.namespace.is_empty() || key.namespace == *own || inventory.namespaces.contains(&*key.namespace);
        object.label(keys::APPLYSET_PART_OF) == Some(self.set.id.as_str())
            && is_near
            && *object.uid != *self.set.uid
            && !self.set.is_instance(&kind.group, &kind.kind, &key.namespace, &key.name)
    }

    /// Removes the highest wave of what is to go. The next begins when all of it is gone.
    pub(super) fn remove(&mut self, instance: &View, mut leaving: Vec<Leaving<'a>>) -> Round {
        leaving.sort_by(|a, b| (a.wave(), &a.kind, &a.key).cmp(&(b.wave(), &b.kind, &b.key)));
        let highest = leaving.iter().map(Leaving::wave).max().unwrap_or_default();
        let retain = instance.annotation(keys::ADOPTION) == Some(keys::RETAIN);
        let mut round = Round { left: Vec::new(), held: Vec::new(), refused: Vec::new() };
        for one in &leaving {
            round.left.push(one.text());
            if one.wave() < highest {
                continue;
            }
            if one.object.deleting {
                round.held.push(one.text());
                continue;
            }
            let released = retain && one.object.annotation(keys::ADOPTED).is_some();
            let written = if released { self.release(one) } else { self.delete(one) };
            if let Written::Refused(why) = written {
                round.refused.push(format!("{} {}: {why}", one.kind.kind, one.key));
            }
        }
        round
    }

    fn delete(&mut self, leaving: &Leaving<'_>) -> Written {
        self.removal(leaving, Op::delete_seen(leaving.object), None)
    }

    /// Takes off an adopted object all that we have put onto it.
    fn release(&mut self, leaving: &Leaving<'_>) -> Written {
        let ours = |name: &str| {
            crate::labels::is_reserved_key(name) || name == keys::APPLYSET_PART_OF || name == keys::MANAGED_BY
        };
        let mut metadata = Map::new();
        for map in ["labels", "annotations"] {
            let nulls = marks(leaving.object, map).into_keys().filter(|name| ours(name));
            metadata.insert(map.into(), Value::Object(nulls.map(|name| (name, Value::Null)).collect()));
        }
        let patch = leaving.object.version().guard(json!({"metadata": metadata}));
        let note = Note::normal(
            "Released",
            format!("{} {} was there before the instance and stays", leaving.kind.kind, leaving.key),
        );
        self.removal(leaving, Op::Merge(patch), Some(note))
    }

    fn removal(&mut self, leaving: &Leaving<'_>, op: Op, note: Option<Note>) -> Written {
        let write = Write {
            cluster: self.snapshot.cluster.clone(),
            kind: leaving.kind.clone(),
            namespace: leaving.key.namespace.to_string(),
            name: leaving.key.name.to_string(),
            op,
            intent: merge::digest(&json!(&*leaving.object.uid)),
            subject: Subject::Removal,
            notes: note.into_iter().collect(),
        };
        self.write(write, &Value::Null)
    }
}

impl Leaving<'_> {
    pub(super) fn group_kind(&self) -> GroupKind {
        super::manage::group_kind(self.kind)
    }

    pub(super) fn key(&self) -> &ObjectKey {
        &self.key
    }
}

fn key_of(object: &View) -> ObjectKey {
    let text = |pointer: &str| object.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    ObjectKey::new(text("/metadata/namespace"), text("/metadata/name"))
}
