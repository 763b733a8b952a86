//! Copies of both sides' related objects in the compute cluster, for the stages to read: `<id>-from-…` and `<id>-to-…`.

use broker_api::{ClusterName, MigrationRef, Role, condition, keys};
use runtime_effect::{interest::Interest, merge, note::Note, seen::Seen, view::View, write::Op};
use serde_json::{Value, json};

use super::{
    Pass, names,
    objects::{Obstacles, Wanted, intent},
};
use crate::related::{self, Related, Terms};

impl Pass<'_> {
    /// Makes the copies, and keeps them up to date.
    pub(super) fn bring_related(&mut self, obstacles: &mut Obstacles) {
        let observed = self.observed;
        let sides = [("from", &observed.from, self.spec.from.clone()), ("to", &observed.to, self.spec.to.clone())];
        for (side, seen, reference) in sides {
            match seen {
                Seen::Unknown => obstacles.unknown = true,
                Seen::Absent => {}
                Seen::Present(copy) => self.bring_side(side, copy, &reference, obstacles),
            }
        }
    }

    fn bring_side(&mut self, side: &str, copy: &View, reference: &MigrationRef, obstacles: &mut Obstacles) {
        let Some(status) = copy.status().filter(|status| status.get("relatedResources").is_some()) else { return };
        // Which names are another consumer's depends on whose copies these are.
        let Some((key, _)) = self.observed.origin else {
            obstacles.unknown = true;
            return;
        };
        let namespace = copy.value["metadata"]["namespace"].as_str().unwrap_or_default();
        // Here each has the Migration's id in front: any name will do.
        let terms = Terms { kinds: self.observed.related_kinds, narrowed: &[], names: None };
        let listing = related::listing(key, status, namespace, terms);
        for why in listing.refused {
            self.decided.notes.push(Note::warning("RelatedRefused", format!("{side}: {why}")));
        }
        let provider = ClusterName::written(Role::Provider, &reference.cluster_name);
        for entry in listing.allowed {
            self.decided.interests.push(Interest {
                cluster: provider.clone(),
                kind: entry.kind.clone(),
                namespace: entry.namespace.clone(),
                name: entry.name.clone(),
            });
            match self.observed.stage.source(&provider, &entry.kind, &entry.namespace, &entry.name) {
                Seen::Unknown => obstacles.unknown = true,
                Seen::Absent => {}
                Seen::Present(source) if source.deleting => {}
                Seen::Present(source) => match related::refusal(&entry.kind, &source, copy) {
                    Some(why) => {
                        let message = format!("{side}: {} {} is refused: {why}", entry.kind.kind, entry.name);
                        self.decided.notes.push(Note::warning("RelatedRefused", message));
                    }
                    None => self.bring_one(side, &entry, &source, obstacles),
                },
            }
        }
    }

    fn bring_one(&mut self, side: &str, entry: &Related, source: &View, obstacles: &mut Obstacles) {
        let wanted = Wanted {
            kind: entry.kind.clone(),
            namespace: self.own_namespace().to_owned(),
            name: names::related(&self.id, side, &entry.name),
        };
        let desired = self.desired_related(source);
        let intent = intent(&wanted, &desired);
        match self.observed.stage.object(&wanted.kind, &wanted.namespace, &wanted.name) {
            Seen::Unknown => obstacles.unknown = true,
            Seen::Absent => {
                let op = self.creation(&wanted, desired);
                self.write_object(wanted, intent, op, Some(obstacles));
            }
            Seen::Present(held) if !self.is_ours(&held) => {
                obstacles.block(condition::NAME_CONFLICT, wanted.foreign());
            }
            Seen::Present(held) if held.deleting => obstacles.waiting = true,
            Seen::Present(held) => {
                let observed = self.observed_related(&held);
                let Some(patch) = merge::diff(&observed, &desired) else { return };
                if self.observed.memory.is_settled(crate::memory::Subject::Related, intent, &observed) {
                    return;
                }
                let patch = held.version().guard(patch);
                self.write_object(wanted, intent, Op::Merge(patch), Some(obstacles));
            }
        }
    }

    /// The content of the source, under our labels; what owns the source does not own it.
    fn desired_related(&self, source: &View) -> Value {
        let mut body = related::observed(&source.value);
        body["metadata"] = json!({"labels": self.labels()});
        body
    }

    /// What of a copy is ours.
    fn observed_related(&self, held: &View) -> Value {
        let mut body = related::observed(&held.value);
        let labels = self.labels();
        let ours = labels.as_object().into_iter().flatten();
        let ours: serde_json::Map<String, Value> =
            ours.filter_map(|(key, _)| Some((key.clone(), json!(held.label(key)?)))).collect();
        body["metadata"] = json!({"labels": ours});
        body
    }

    fn labels(&self) -> Value {
        json!({keys::MIGRATION_ID: self.id, keys::MANAGED_BY: keys::MANAGER})
    }
}
