//! From a write that was decided for a Migration to the API server, and back into the indexes.

use std::{sync::Arc, time::Duration};

use broker_api::{Role, condition, keys};
use broker_core::{decision::Write, memory::Subject, related};
use runtime_effect::{note::Note, write::Op};
use runtime_fleet::{
    call::Caller,
    cluster::Cluster,
    error::CallError,
    kind::KindInfo,
    object::{Object, ObjectKey},
    watch::WatchSpec,
    write::{Precondition, Writer},
};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::known::Known;
use crate::{
    act::{Acted, namespaces, refusal},
    broker::Broker,
    metrics::{METRICS, ReasonLabels},
    observe,
};

/// A write, and all that it needs.
struct Sending<'a> {
    known: &'a Known,
    write: &'a Write,
    key: ObjectKey,
    cluster: Arc<Cluster>,
    caller: Caller,
    kind: Arc<KindInfo>,
    /// The watch that sees the object.
    spec: Option<Arc<WatchSpec>>,
}

impl Sending<'_> {
    fn writer(&self) -> Writer<'_> {
        Writer::new(&self.caller)
    }

    async fn send(&self) -> Result<Option<Object>, CallError> {
        let (writer, kind, key) = (self.writer(), &self.kind, &self.key);
        let written = match &self.write.op {
            Op::Create(body) => writer.apply(kind, key, body.clone(), &Precondition::Absent).await?,
            Op::Apply { body, uid } => writer.apply(kind, key, body.clone(), &Precondition::Uid(uid.clone())).await?,
            Op::Merge(patch) => writer.merge(kind, key, patch, false).await?,
            Op::MergeStatus(patch) => writer.merge(kind, key, patch, true).await?,
            Op::Delete { uid } => return writer.delete(kind, key, uid).await,
        };
        Ok(Some(written.object))
    }

    /// `Job n/x at compute#c`.
    fn place(&self) -> String {
        format!("{} {} at {}", self.write.kind.kind, self.key, self.write.cluster)
    }

    /// The id that the object to be made is labelled with.
    fn id(&self) -> Option<&str> {
        let (Op::Create(body) | Op::Apply { body, .. }) = &self.write.op else { return None };
        body["metadata"]["labels"][keys::MIGRATION_ID].as_str()
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
fn leftover(write: &Write, object: &Object) -> Option<Value> {
    let (Subject::Related, Op::Merge(_)) = (write.subject, &write.op) else { return None };
    let value = object.value().ok()?;
    let mut body = related::observed(&value);
    let ours = [keys::MIGRATION_ID, keys::MANAGED_BY].into_iter();
    let ours = ours.filter_map(|key| Some((key.to_owned(), value["metadata"]["labels"].get(key)?.clone())));
    body["metadata"] = json!({"labels": ours.collect::<serde_json::Map<_, _>>()});
    Some(body)
}

impl Broker {
    /// Executes one write.
    pub(super) async fn act_for(&self, known: &Known, write: &Write) -> Acted {
        let Some((cluster, caller, kind)) = self.reachable(&write.cluster, &write.kind) else { return Acted::Failed };
        let key = ObjectKey::new(write.namespace.as_str(), write.name.as_str());
        let itself = write.cluster.role() == Role::Coordination
            && write.kind.to_gvk() == self.watches.migrations.gvk
            && key == known.key;
        let spec = if itself {
            Some(Arc::clone(&self.watches.migrations))
        } else {
            self.stages.spec_of(&write.kind, &write.namespace)
        };
        let sending = Sending { known, write, key, cluster, caller, kind, spec };
        match sending.send().await {
            Ok(object) => {
                debug!(migration = %known.key, place = sending.place(), "written");
                self.sent(&sending, object);
                Acted::Done
            }
            Err(error) => self.not_sent(&sending, error).await,
        }
    }

    /// The answer goes into the index at once: the next decision is not to act on what it has itself changed.
    fn sent(&self, sending: &Sending<'_>, object: Option<Object>) {
        let Sending { known, write, key, cluster, spec, .. } = sending;
        let now = observe::now().millis;
        if !matches!(write.op, Op::Delete { .. }) {
            self.migrations.remember(&known.key, |memory, _| {
                // What the server made of a write matters only where the same was wanted before: then it was not held.
                let again = memory.wants_again(write.subject, write.intent);
                let leftover = object.as_ref().filter(|_| again).and_then(|object| leftover(write, object));
                memory.wrote(write.subject, write.intent, leftover.as_ref(), now);
            });
        }
        let Some(spec) = spec else { return };
        let change = if let Some(object) = object.filter(|object| !object.is_gone()) {
            cluster.learn(spec, key.clone(), object)
        } else {
            let uid = match &write.op {
                Op::Delete { uid } => Some(&**uid),
                // The last finalizer left with it.
                Op::Merge(patch) => patch["metadata"]["uid"].as_str(),
                Op::Create(_) | Op::Apply { .. } | Op::MergeStatus(_) => None,
            };
            uid.and_then(|uid| cluster.forget(spec, key, uid))
        };
        let Some(change) = change else { return };
        if **spec == *self.watches.migrations {
            self.migration_changed(cluster.name(), &change);
        } else {
            self.stage_changed(spec, &change);
        }
    }

    async fn not_sent(&self, sending: &Sending<'_>, error: CallError) -> Acted {
        METRICS.write_errors.get_or_create(&ReasonLabels { reason: error.reason().into() }).inc();
        let Sending { known, write, cluster, .. } = sending;
        let place = sending.place();
        debug!(migration = %known.key, %place, %error, "write failed");
        let (reason, message) = match error {
            CallError::Throttled { retry_after, .. } => {
                // A server that says "at once" would have us spin.
                let wait = retry_after.unwrap_or_default().max(Duration::from_millis(500));
                cluster.throttle(wait);
                return Acted::Wait(wait);
            }
            CallError::NamespaceMissing(_) if matches!(write.op, Op::Create(_)) => {
                match self.make_stage_namespace(sending).await {
                    Ok(acted) => return acted,
                    Err(refusal) => refusal,
                }
            }
            error if error.suspects_cluster() => {
                if let Some(connection) = cluster.connection() {
                    cluster.suspect(&connection);
                }
                return Acted::Failed;
            }
            CallError::Conflict(_) | CallError::AlreadyExists(_) => match self.look_what_is_there(sending).await {
                Ok(acted) => return acted,
                Err(why) => (condition::NAME_CONFLICT, why),
            },
            CallError::NotFound(_) | CallError::NamespaceMissing(_) | CallError::Gone(_) => return Acted::Failed,
            CallError::KindMissing(_) => {
                cluster.refresh_kind(&write.kind.to_gvk());
                return Acted::Failed;
            }
            error => {
                if matches!(error, CallError::SchemaMismatch(_)) {
                    cluster.refresh_kind(&write.kind.to_gvk());
                }
                refusal(&error, &place, write)
            }
        };
        warn!(migration = %known.key, reason, %message, "write refused");
        let now = observe::now().millis;
        self.tell_migration(known, &Note::warning(reason, message.clone()));
        self.migrations.remember(&known.key, |memory, _| {
            memory.refused(write.subject, write.intent, reason, message, now);
        });
        Acted::Refused
    }

    /// The namespace of the Migration itself is made where stages run. One that a template names is somebody else's.
    async fn make_stage_namespace(&self, sending: &Sending<'_>) -> Result<Acted, (&'static str, String)> {
        let Sending { known, write, .. } = sending;
        let (name, cluster) = (&write.namespace, &write.cluster);
        if **name != *known.key.namespace {
            let why = format!("namespace {name}, which a template names, does not exist at {cluster}; create it there");
            return Err(("NamespaceMissing", why));
        }
        let body = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {keys::MANAGED_BY: keys::MANAGER}},
        });
        match sending.writer().create(&namespaces(), &ObjectKey::new("", name.as_str()), &body).await {
            Ok(_) => {
                info!(migration = %known.key, namespace = name, %cluster, "namespace created");
                Ok(Acted::Prepared)
            }
            Err(CallError::AlreadyExists(_)) => Ok(Acted::Prepared),
            Err(CallError::Forbidden(why)) => Err((
                condition::FORBIDDEN,
                format!(
                    "namespace {name} does not exist at {cluster} and the broker may not create it ({why}); create it there"
                ),
            )),
            Err(error) if error.suspects_cluster() => Ok(Acted::Failed),
            Err(error) => {
                Err((condition::INVALID, format!("namespace {name} at {cluster} cannot be created: {error}")))
            }
        }
    }

    /// A stage object cannot be made because something is there that the watch by label does not see. One of ours is made
    /// known to the next decision, labelled again where it lost its label. `Err`: it is somebody else's.
    async fn look_what_is_there(&self, sending: &Sending<'_>) -> Result<Acted, String> {
        let Op::Create(body) = &sending.write.op else { return Ok(Acted::Failed) };
        let (Some(id), Some(spec)) = (sending.id(), &sending.spec) else { return Ok(Acted::Failed) };
        let Ok(Some(found)) = sending.writer().get(&sending.kind, &sending.key).await else { return Ok(Acted::Failed) };
        if !is_ours(&found, &sending.key.name, id) {
            let place = sending.place();
            return Err(format!(
                "{place} exists already and was not made for this Migration; it is not overwritten: remove it"
            ));
        }
        let held = if found.marks().labels.contains_key(keys::MIGRATION_ID) || found.deleting {
            Some(found)
        } else {
            self.label_again(sending, body, &found).await
        };
        let change = held.and_then(|held| sending.cluster.learn(spec, sending.key.clone(), held));
        let Some(change) = change else { return Ok(Acted::Failed) };
        self.stage_changed(spec, &change);
        Ok(Acted::Prepared)
    }

    async fn label_again(&self, sending: &Sending<'_>, body: &Value, found: &Object) -> Option<Object> {
        let precondition = Precondition::Uid(found.uid.clone());
        let applied = sending.writer().apply(&sending.kind, &sending.key, body.clone(), &precondition).await;
        match applied {
            Ok(written) => Some(written.object),
            Err(error) => {
                debug!(migration = %sending.known.key, place = sending.place(), %error, "cannot be labelled again");
                None
            }
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
