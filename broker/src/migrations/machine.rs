//! `MigrationMachine`: Migrations, brought to their ends.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use broker_api::{Role, condition, keys};
use broker_core::{
    decision::Write,
    memory::{Memory, Subject},
    migration::{moved_origin::MovedOrigin, observed::Decided},
    related,
};
use runtime_effect::{interest::Interest, kind::Kind, note::Note, step::Step, write::Op};
use runtime_engine::{
    bodies::Needs,
    engine::Engine,
    machine::{InTheWay, Machine, Missing, Occasion, Plan, Refusal},
    recorder::Regarding,
};
use runtime_fleet::{
    cluster::Cluster,
    index::Change,
    object::{Object, ObjectKey},
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::{Value, json};

use super::registry::{Ends, MigrationWork};
use crate::broker::Broker;

/// How long to wait for what is not there yet.
const IDLE: Duration = Duration::from_secs(1);

/// See [`Machine`].
pub struct MigrationMachine {
    broker: Arc<Broker>,
}

impl MigrationMachine {
    /// The broker's.
    pub fn new(broker: Arc<Broker>) -> Arc<Self> {
        Arc::new(Self { broker })
    }

    /// Tells something on the Migration unless it was told a short time ago.
    fn tell_once(&self, key: &ObjectKey, note: &Note) {
        let broker = &self.broker;
        let (Some(uid), Some(hub)) = (broker.migrations.news(key, note), broker.hub()) else { return };
        let kind = Kind::from(&broker.watches.migrations.gvk);
        broker.engine.tell(Regarding::new(hub.name(), kind, key, &uid), note.clone());
    }
}

/// Whether an object in the way was made for the Migration with this id: then it is that Migration's to mend.
fn is_ours(object: &Object, name: &str, id: &str) -> bool {
    let labels = object.marks().labels;
    match labels.get(keys::MIGRATION_ID) {
        Some(held) => object.applied_by_us && held == id,
        // Its label was stripped, so that the watch does not see it.
        None => object.applied_by_us && name.strip_prefix(id).is_some_and(|rest| rest.starts_with('-')),
    }
}

/// What the API server made of a copy of a related object: its content and our labels.
fn made(write: &Write, object: &Object) -> Option<Value> {
    let (Subject::Related, Op::Merge(_)) = (write.subject, &write.op) else { return None };
    let value = object.value().ok()?;
    let mut body = related::observed(&value);
    let ours = [keys::MIGRATION_ID, keys::MANAGED_BY].into_iter();
    let ours = ours.filter_map(|key| Some((key.to_owned(), value["metadata"]["labels"].get(key)?.clone())));
    body["metadata"] = json!({"labels": ours.collect::<serde_json::Map<_, _>>()});
    Some(body)
}

/// The id that the object to be made is labelled with.
fn id(write: &Write) -> Option<&str> {
    let (Op::Create(body) | Op::Apply { body, .. }) = &write.op else { return None };
    body["metadata"]["labels"][keys::MIGRATION_ID].as_str()
}

impl Machine for MigrationMachine {
    type Key = MigrationWork;
    type Subject = Subject;

    const PASSES: usize = 24;

    fn engine(&self) -> &Arc<Engine> {
        &self.broker.engine
    }

    fn queue(&self) -> &Arc<Queue<MigrationWork>> {
        &self.broker.migrations.queue
    }

    fn needs(&self, work: &MigrationWork) -> Needs {
        self.broker.migration_needs(&work.key)
    }

    fn decide(&self, work: &MigrationWork, _occasion: &Occasion) -> Result<Plan<Subject>, Outcome> {
        let broker = &self.broker;
        let key = &work.key;
        let Some((known, mut about, memory)) = broker.migrations.get(key) else {
            // A decision that was under way when it went may have asked for some.
            broker.want_stages(key, &BTreeSet::new());
            return Err(Outcome::Done);
        };
        if !matches!(about, MovedOrigin::Known(..)) {
            let again = broker.about(&known, broker.signing.ring.load().as_deref());
            if again != about {
                about = again.clone();
                broker.origins.enqueue_each(broker.migrations.set_about(&known, again));
            }
        }
        let decided = broker.migrate(&known, &about, &memory).ok_or(Outcome::After(IDLE))?;
        let watches = !decided.distrusts && broker.want_stages(key, &decided.watches);
        let Decided { writes, interests, notes, again, ended_stages, failed, .. } = decided;
        let listens = broker.migrations.listen(key, &interests) || watches;
        broker.migrations.set_ends(key, Ends { stages: ended_stages, failed });
        if self.owns(work) {
            for note in &notes {
                self.tell_once(key, note);
            }
        }
        let steps = writes.into_iter().map(Step::from).collect();
        Ok(Plan { steps, interests, listens, again, ..Plan::default() })
    }

    fn went_through(&self, work: &MigrationWork) {
        self.broker.migrations.take_ends(&work.key).count();
    }

    fn remember<T>(&self, work: &MigrationWork, change: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        self.broker.migrations.remember(&work.key, change)
    }

    fn tell(&self, work: &MigrationWork, note: &Note) {
        self.tell_once(&work.key, note);
    }

    fn sees(&self, work: &MigrationWork, write: &Write) -> Option<Arc<WatchSpec>> {
        let migrations = &self.broker.watches.migrations;
        let itself = write.cluster.role() == Role::Coordination
            && write.kind.to_gvk() == migrations.gvk
            && ObjectKey::new(write.namespace.as_str(), write.name.as_str()) == work.key;
        if itself {
            return Some(Arc::clone(migrations));
        }
        self.broker.stages.spec_of(&write.kind, &write.namespace)
    }

    fn listens_by(&self, interest: &Interest) -> Option<Arc<WatchSpec>> {
        self.broker.watches.spec_of(Role::Provider, &interest.kind).cloned()
    }

    /// The namespace of the Migration itself is made where stages run. One that a template names is somebody else's.
    fn missing_namespace(&self, work: &MigrationWork, write: &Write) -> Missing {
        let (name, cluster) = (&write.namespace, &write.cluster);
        if !matches!(write.op, Op::Create(_)) {
            return Missing::Wait;
        }
        if **name == *work.key.namespace {
            return Missing::Make;
        }
        let message = format!("namespace {name}, which a template names, does not exist at {cluster}; create it there");
        Missing::Refuse(Refusal { reason: "NamespaceMissing", message })
    }

    /// Stage objects are watched by their label.
    fn may_be_unseen(&self, _work: &MigrationWork, write: &Write) -> bool {
        id(write).is_some()
    }

    fn in_the_way(&self, _work: &MigrationWork, write: &Write, found: &Object) -> InTheWay {
        if id(write).is_some_and(|id| is_ours(found, &write.name, id)) {
            return match found.marks().labels.contains_key(keys::MIGRATION_ID) {
                true => InTheWay::Known,
                // No watch of ours would tell that it is gone.
                false if found.deleting => InTheWay::Watched,
                false => InTheWay::Unlabelled,
            };
        }
        let message = format!(
            "{} {}/{} at {} exists already and was not made for this Migration; it is not overwritten: remove it",
            write.kind.kind, write.namespace, write.name, write.cluster
        );
        InTheWay::Foreign(Refusal { reason: condition::NAME_CONFLICT, message })
    }

    fn made(&self, write: &Write, object: &Object) -> Option<Value> {
        made(write, object)
    }

    fn refused(&self, work: &MigrationWork, _write: &Write, refusal: &Refusal) {
        self.tell_once(&work.key, &Note::warning(refusal.reason, refusal.message.clone()));
    }

    fn learned(&self, _key: &MigrationWork, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        if **spec == *self.broker.watches.migrations {
            self.broker.migration_changed(cluster.name(), change);
        } else {
            self.broker.stage_changed(change);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(manager: &str, id: Option<&str>) -> Object {
        let labels = id.map_or_else(|| json!({}), |id| json!({keys::MIGRATION_ID: id}));
        let value = json!({"metadata": {
            "name": "x1-job", "namespace": "n", "uid": "u", "resourceVersion": "1", "labels": labels,
            "managedFields": [{"manager": manager, "operation": "Apply"}],
        }});
        crate::conventions::object(&value).1
    }

    #[test]
    fn only_what_the_broker_applied_for_this_migration_is_its_own() {
        let ours = |object: &Object, name: &str| is_ours(object, name, "x1");
        assert!(ours(&object(keys::MANAGER, Some("x1")), "x1-job"));
        assert!(ours(&object(keys::MANAGER, Some("x1")), "named-by-the-template"));
        assert!(ours(&object(keys::MANAGER, None), "x1-job"), "its label was stripped");
        assert!(!ours(&object(keys::MANAGER, None), "x12-job"));
        assert!(!ours(&object(keys::MANAGER, Some("x2")), "x1-job"));
        assert!(!ours(&object("kubectl", Some("x1")), "x1-job"), "labelled by somebody else");
    }
}
