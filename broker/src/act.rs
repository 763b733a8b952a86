//! From a decided write to the API server and back into the indexes.

use std::{sync::Arc, time::Duration};

use broker_api::{ClusterName, Role, condition, keys};
use broker_core::{copy, decision::Write, memory::Subject, related, snapshot::OriginKey};
use runtime_effect::{kind::Kind, note::Note, write::Op};
use runtime_fleet::{
    GroupVersionKind,
    call::Caller,
    cluster::Cluster,
    error::CallError,
    kind::{KindInfo, KindState},
    object::{Object, ObjectKey},
    well_known,
    write::{Precondition, Writer, Written},
};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::{
    broker::Broker,
    metrics::{METRICS, ReasonLabels},
    observe,
    owned::owners,
};

/// How a write ended.
#[derive(Debug)]
pub enum Acted {
    /// It went through.
    Done,
    /// It did not; again after a growing wait.
    Failed,
    /// It did not, and the API server says how long to wait.
    Wait(Duration),
    /// It was refused; the next decision says so where people look.
    Refused,
    /// What it needed is there now: decide again.
    Prepared,
}

/// How long the creation of a copy waits for its namespace, which is just being deleted.
const REMOVAL: Duration = Duration::from_millis(200);

/// The kind `Namespace`.
pub fn namespaces() -> KindInfo {
    let gvk = GroupVersionKind::gvk("", "v1", "Namespace");
    well_known(&gvk).unwrap_or_else(|| KindInfo {
        gvk,
        plural: "namespaces".into(),
        namespaced: false,
        has_status: true,
    })
}

impl Broker {
    /// The engaged cluster, its connection and how it serves a kind; `None` where one of them is missing.
    pub(crate) fn reachable(&self, name: &ClusterName, kind: &Kind) -> Option<(Arc<Cluster>, Caller, Arc<KindInfo>)> {
        let cluster = self.fleet().cluster(name)?;
        let connection = cluster.connection()?;
        let KindState::Found(info) = cluster.kind(&kind.to_gvk()) else { return None };
        Some((cluster, connection.caller.clone(), info))
    }

    /// Executes one write.
    pub async fn act(&self, origin: &OriginKey, write: &Write) -> Acted {
        let Some((cluster, caller, kind)) = self.reachable(&write.cluster, &write.kind) else { return Acted::Failed };
        let key = ObjectKey::new(write.namespace.as_str(), write.name.as_str());
        let _creating = match (&write.op, write.cluster.role()) {
            (Op::Create(_), Role::Provider) => match self.namespaces.create(&write.cluster, &write.namespace) {
                None => return Acted::Wait(REMOVAL),
                creating => creating,
            },
            _ => None,
        };
        let result = self.send(&caller, &kind, &key, write).await;
        match result {
            Ok(written) => {
                debug!(%origin, cluster = %write.cluster, kind = %write.kind.kind, %key, op = name_of(&write.op), "written");
                self.succeeded(origin, &cluster, &key, write, written);
                Acted::Done
            }
            Err(error) => self.failed(origin, &cluster, &caller, &key, write, error).await,
        }
    }

    async fn send(
        &self,
        caller: &Caller,
        kind: &KindInfo,
        key: &ObjectKey,
        write: &Write,
    ) -> Result<Option<Written>, CallError> {
        let writer = Writer::new(caller);
        match &write.op {
            Op::Create(body) => writer.apply(kind, key, body.clone(), &Precondition::Absent).await.map(Some),
            Op::Apply { body, uid } => {
                writer.apply(kind, key, body.clone(), &Precondition::Uid(uid.clone())).await.map(Some)
            }
            Op::Merge(patch) => writer.merge(kind, key, patch, false).await.map(Some),
            Op::MergeStatus(patch) => writer.merge(kind, key, patch, true).await.map(Some),
            Op::Delete { uid } => {
                let left = writer.delete(kind, key, uid).await?;
                Ok(left.map(|object| Written { object, created: false }))
            }
        }
    }

    fn succeeded(
        &self,
        origin: &OriginKey,
        cluster: &Cluster,
        key: &ObjectKey,
        write: &Write,
        written: Option<Written>,
    ) {
        let Some(written) = written.filter(|written| !written.object.is_gone()) else {
            return self.gone(cluster, key, write);
        };
        let now = observe::now().millis;
        let latency = self.records.with(origin, |record| {
            if !matches!(write.op, Op::Delete { .. }) {
                // What the server made of a write matters only where the same was wanted before: then it was not held.
                let again = record.memory.writes.wants_again(write.subject, write.intent);
                let leftover = again.then(|| leftover(write, &written.object)).flatten();
                record.memory.writes.wrote(write.subject, write.intent, leftover.as_ref(), now);
            }
            if write.subject != Subject::Copy || matches!(write.op, Op::Delete { .. }) {
                return None;
            }
            record.memory.copy_uid = Some(written.object.uid.clone());
            if matches!(write.op, Op::Create(_)) {
                record.memory.created_at = Some(now);
                return record.seen_at.take().map(|seen| seen.elapsed());
            }
            None
        });
        if let Some(latency) = latency.flatten() {
            METRICS.create_to_copy.observe(latency.as_secs_f64());
        }
        let Some(spec) = self.watches.spec_of(write.cluster.role(), &write.kind) else { return };
        if let Some(change) = cluster.learn(spec, key.clone(), written.object) {
            self.learned(cluster, spec, &change);
        }
    }

    /// The write has ended the object: nobody should act on it until the watch says so, too.
    fn gone(&self, cluster: &Cluster, key: &ObjectKey, write: &Write) {
        let Some(spec) = self.watches.spec_of(write.cluster.role(), &write.kind) else { return };
        let Some(held) = cluster.index(spec).and_then(|index| index.get(key).found()) else { return };
        let deleted = match &write.op {
            Op::Delete { uid } => *uid == held.uid,
            // A merge patch names the uid that it is for.
            Op::Merge(patch) => patch["metadata"]["uid"].as_str() == Some(&*held.uid),
            Op::Create(_) | Op::Apply { .. } | Op::MergeStatus(_) => false,
        };
        if deleted && let Some(change) = cluster.forget(spec, key, &held.uid) {
            self.learned(cluster, spec, &change);
            if write.subject == Subject::Copy {
                self.copy_gone(cluster.name(), &change.key.namespace);
            }
        }
    }

    async fn failed(
        &self,
        origin: &OriginKey,
        cluster: &Cluster,
        caller: &Caller,
        key: &ObjectKey,
        write: &Write,
        error: CallError,
    ) -> Acted {
        METRICS.write_errors.get_or_create(&ReasonLabels { reason: error.reason().into() }).inc();
        let place = format!("{} {key} at {}", write.kind.kind, write.cluster);
        debug!(%origin, %place, %error, "write failed");
        let (reason, message) = match &error {
            CallError::Throttled { retry_after, .. } => {
                // A server that says "at once" would have us spin.
                let wait = retry_after.unwrap_or_default().max(Duration::from_millis(500));
                cluster.throttle(wait);
                return Acted::Wait(wait);
            }
            CallError::NamespaceMissing(_)
                if matches!(write.subject, Subject::Copy | Subject::Successor | Subject::Migration) =>
            {
                match self.make_namespace(caller, &write.namespace, origin).await {
                    Ok(()) => return Acted::Prepared,
                    Err(CallError::Forbidden(why)) => (
                        condition::FORBIDDEN,
                        format!(
                            "namespace {} does not exist at {} and the broker may not create it ({why}); create it there, or grant the broker create on namespaces",
                            write.namespace, write.cluster
                        ),
                    ),
                    Err(error) if error.suspects_cluster() => {
                        suspect(cluster);
                        return Acted::Failed;
                    }
                    Err(error) => (
                        condition::INVALID,
                        format!("namespace {} at {} cannot be created: {error}", write.namespace, write.cluster),
                    ),
                }
            }
            error if error.suspects_cluster() => {
                suspect(cluster);
                return Acted::Failed;
            }
            CallError::Conflict(_) | CallError::AlreadyExists(_) => {
                if !self.is_taken(origin, cluster, caller, key, write).await {
                    return Acted::Failed;
                }
                // Nobody tells when the name becomes free: it is tried again, ever more slowly.
                (
                    "RelatedConflict",
                    format!(
                        "{} {} exists already and is not the broker's; it is not overwritten",
                        write.kind.kind, key.name
                    ),
                )
            }
            CallError::NotFound(_) | CallError::NamespaceMissing(_) | CallError::Gone(_) => return Acted::Failed,
            CallError::KindMissing(_) => {
                cluster.refresh_kind(&write.kind.to_gvk());
                return Acted::Failed;
            }
            error @ CallError::SchemaMismatch(_) => {
                // The schema that pruned this write is out of date.
                cluster.refresh_kind(&write.kind.to_gvk());
                refusal(error, &place, write)
            }
            error => refusal(error, &place, write),
        };
        warn!(%origin, reason, %message, "write refused");
        let now = observe::now().millis;
        if !matches!(write.subject, Subject::Copy | Subject::Successor | Subject::Migration) {
            // The next decision tells of the others in a condition, too. What the consumer's own API server refuses can
            // hardly be shown there.
            self.tell_once(origin, &Note::warning(reason, message.clone()));
        }
        self.records
            .with(origin, |record| record.memory.writes.refused(write.subject, write.intent, reason, message, now));
        Acted::Refused
    }

    /// Whether the name of a related copy is taken by somebody else's object, which a watch by label does not see. Ours,
    /// its label stripped, is labelled again, and the next decision knows it.
    async fn is_taken(
        &self,
        origin: &OriginKey,
        cluster: &Cluster,
        caller: &Caller,
        key: &ObjectKey,
        write: &Write,
    ) -> bool {
        let (Op::Create(_), Subject::Related) = (&write.op, write.subject) else { return false };
        let KindState::Found(kind) = cluster.kind(&write.kind.to_gvk()) else { return false };
        let found = Writer::new(caller).get(&kind, key).await;
        let Ok(Some(object)) = found else { return false };
        let uid = self.uid_of(Role::Consumer, origin, &origin.cluster, &origin.name);
        let owned = owners(&object).iter().any(|owner| Some(&owner.uid) == uid.as_ref());
        let labelled = object.marks().labels.get(keys::MANAGED_BY).is_some_and(|manager| manager == keys::MANAGER);
        // An owner alone proves nothing: others make objects that the origin owns, too. The Go broker did.
        if labelled || !(owned && object.applied_by_us) {
            return !labelled;
        }
        // Ours, without the label by which the watch would see it.
        let label = json!({"metadata": {
            "labels": {keys::MANAGED_BY: keys::MANAGER},
            "resourceVersion": object.resource_version.to_string(),
            "uid": &*object.uid,
        }});
        match Writer::new(caller).merge(&kind, key, &label, false).await {
            Ok(written) => {
                if let Some(spec) = self.watches.spec_of(write.cluster.role(), &write.kind)
                    && let Some(change) = cluster.learn(spec, key.clone(), written.object)
                {
                    self.learned(cluster, spec, &change);
                }
            }
            Err(error) => debug!(%origin, key = %key, %error, "a related copy cannot be labelled again"),
        }
        false
    }

    async fn make_namespace(&self, caller: &Caller, name: &str, origin: &OriginKey) -> Result<(), CallError> {
        let body = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {keys::MANAGED_BY: keys::MANAGER}},
        });
        let writer = Writer::new(caller);
        match writer.create(&namespaces(), &ObjectKey::new("", name), &body).await {
            Ok(_) => {
                info!(%origin, namespace = name, "namespace created at the provider");
                Ok(())
            }
            Err(CallError::AlreadyExists(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Reads the origin from its API server. `Err`: nobody can tell.
    pub async fn confirm(&self, origin: &OriginKey) -> Result<Option<Box<str>>, CallError> {
        let missing = || CallError::Unreachable(format!("{} is not ready", origin.cluster));
        let (cluster, caller, kind) = self.reachable(&origin.cluster, &origin.gvk).ok_or_else(missing)?;
        let key = ObjectKey { namespace: Arc::clone(&origin.namespace), name: Arc::clone(&origin.name) };
        let found = Writer::new(&caller).get(&kind, &key).await;
        if found.as_ref().is_err_and(CallError::suspects_cluster) {
            suspect(&cluster);
        }
        Ok(found?.map(|object| object.uid))
    }
}

/// What an API server's refusal of a write means, for conditions: CamelCase word, and what to do about it.
pub(crate) fn refusal(error: &CallError, place: &str, write: &Write) -> (&'static str, String) {
    match error {
        CallError::SchemaMismatch(why) => {
            (condition::INVALID, format!("{place} does not fit the kind's schema there: {why}"))
        }
        CallError::NamespaceTerminating(_) => (
            condition::NAMESPACE_TERMINATING,
            format!(
                "namespace {} at {} is being deleted; the object is brought back once it is gone",
                write.namespace, write.cluster
            ),
        ),
        CallError::Forbidden(why) => {
            (condition::FORBIDDEN, format!("the broker may not write {place}: {why}; grant it in that cluster's RBAC"))
        }
        CallError::TooLarge(why) => (
            condition::TOO_LARGE,
            format!("{place} is larger than its API server takes: {why}; make the object smaller"),
        ),
        error => (condition::INVALID, format!("{place} is refused: {error}")),
    }
}

fn suspect(cluster: &Cluster) {
    if let Some(connection) = cluster.connection() {
        cluster.suspect(&connection);
    }
}

/// What the API server made of a write, if that is not what was wanted.
fn leftover(write: &Write, object: &Object) -> Option<Value> {
    let value = object.value().ok()?;
    Some(match write.subject {
        Subject::Copy | Subject::Successor => copy::observed(&value),
        Subject::Status => value.get("status").cloned().unwrap_or_else(|| json!({})),
        Subject::Related => related::observed(&value),
        Subject::Marks | Subject::Migration => return None,
    })
}

fn name_of(op: &Op) -> &'static str {
    match op {
        Op::Create(_) => "create",
        Op::Apply { .. } => "apply",
        Op::Merge(_) => "merge",
        Op::MergeStatus(_) => "merge status",
        Op::Delete { .. } => "delete",
    }
}
