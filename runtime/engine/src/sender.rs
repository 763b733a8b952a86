//! From a decided write to the API server and back into the indexes.

use std::{sync::Arc, time::Duration};

use runtime_effect::write::{Op, Write};
use runtime_fleet::{
    call::Caller,
    cluster::Cluster,
    error::CallError,
    kind::KindInfo,
    object::{Object, ObjectKey},
    queue::{BeingWritten, Writing},
    watch::WatchSpec,
    write::{Precondition, Writer},
};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use crate::{
    alone::throttle,
    clock,
    engine::Reachable,
    machine::{InTheWay, Machine, Missing, Refusal},
    namespace,
    refusal::{no_namespace, place, refusal},
    settling::wait_for,
};

/// How a write ended.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It went through.
    Done,
    /// It did not; again after a growing wait.
    Failed,
    /// It did not, and this is how long to wait.
    Wait(Duration),
    /// It was refused; the next decision says so where people look.
    Refused,
    /// What it needed is there now: decide again.
    Prepared,
}

/// A write, and all that it needs.
struct Sending<'a, M: Machine> {
    machine: &'a M,
    key: &'a M::Key,
    write: &'a Write<M::Subject>,
    object: ObjectKey,
    cluster: Arc<Cluster>,
    caller: Caller,
    kind: Arc<KindInfo>,
}

/// Executes one write that was decided for a key.
pub(crate) async fn send<M: Machine>(machine: &M, key: &M::Key, write: &Write<M::Subject>) -> Sent {
    let Some(Reachable { cluster, caller, kind }) = machine.engine().reachable(&write.cluster, &write.kind) else {
        return Sent::Failed;
    };
    let earlier = machine.remember(key, |memory| memory.failures(write.subject, write.intent));
    let caller = caller.after(machine.queue().failures(key).max(earlier.unwrap_or_default()));
    let _hold = match machine.hold(write) {
        Ok(hold) => hold,
        Err(wait) => return Sent::Wait(wait),
    };
    let object = ObjectKey::new(write.namespace.as_str(), write.name.as_str());
    let sending = Sending { machine, key, write, object, cluster, caller, kind };
    let writing = sending.writing();
    match sending.send().await {
        Ok(object) => {
            debug!(%key, place = place(write), op = name_of(&write.op), "written");
            let version = object.as_ref().map(|object| object.resource_version);
            sending.sent(object.filter(|object| !object.is_gone()));
            // Only now: what a watch tells until the index knows the answer is the same.
            if let Some((writing, version)) = writing.zip(version) {
                writing.answered(version);
            }
            Sent::Done
        }
        Err(error) => sending.not_sent(error).await,
    }
}

impl<M: Machine> Sending<'_, M> {
    fn writer(&self) -> Writer<'_> {
        let writer = Writer::new(&self.caller);
        match self.machine.manager(self.write) {
            Some(manager) => writer.named(manager),
            None => writer,
        }
    }

    /// Whoever has waited for an answer may have stood still meanwhile, and not be the one that writes for the key any more.
    fn is_taken_over(&self) -> bool {
        !self.machine.owns(self.key)
    }

    fn program(&self) -> &'static str {
        self.caller.conventions().program
    }

    /// Until this is answered, what the watch tells of the object is held for the answer.
    fn writing(&self) -> Option<Writing<M::Key>> {
        let written = BeingWritten {
            cluster: self.cluster.name().clone(),
            spec: self.spec()?,
            object: self.object.clone(),
            only_status: self.writes_status(),
        };
        Some(self.machine.queue().writing(self.key, written))
    }

    fn writes_status(&self) -> bool {
        matches!(self.write.op, Op::MergeStatus(_))
    }

    /// The watch that sees the object.
    fn spec(&self) -> Option<Arc<WatchSpec>> {
        self.machine.sees(self.key, self.write)
    }

    async fn send(&self) -> Result<Option<Object>, CallError> {
        self.writer().execute(&self.kind, &self.object, &self.write.op).await
    }

    /// The answer goes into the index at once: the next decision is not to act on what it has itself changed. `None`: the
    /// object is gone.
    fn sent(&self, object: Option<Object>) {
        let Self { machine, key, write, .. } = *self;
        if !matches!(write.op, Op::Delete { .. }) && object.is_some() {
            let now = clock::now().millis;
            machine.remember(key, |memory| {
                // What the server made of a write matters only where the same was wanted before: then it was not held.
                let again = memory.wants_again(write.subject, write.intent);
                let made = object.as_ref().filter(|_| again).and_then(|object| machine.made(write, object));
                memory.wrote(write.subject, write.intent, made.as_ref(), now);
            });
        }
        machine.wrote(key, write, object.as_ref());
        let Some(spec) = self.spec() else { return };
        match object {
            Some(object) => self.learn(&spec, object),
            None => self.forget(&spec),
        }
    }

    fn learn(&self, spec: &Arc<WatchSpec>, object: Object) {
        if let Some(change) = self.cluster.learn(spec, self.object.clone(), object) {
            self.machine.learned(self.key, &self.cluster, spec, &change);
            // An API server shows defaults of a kind that has changed although nobody has edited the object, and nothing else
            // tells of them.
            if self.writes_status() && change.asks_otherwise() {
                self.machine.queue().add(self.key.clone());
            }
        }
    }

    /// The write has ended the object: nobody should act on it until the watch says so, too.
    fn forget(&self, spec: &Arc<WatchSpec>) {
        let uid = match &self.write.op {
            Op::Delete { uid, .. } => Some(&**uid),
            // The last finalizer left with it. A merge patch names the uid that it is for.
            Op::Merge(patch) => patch["metadata"]["uid"].as_str(),
            Op::Create(_) | Op::Apply { .. } | Op::MergeStatus(_) => None,
        };
        if let Some(change) = uid.and_then(|uid| self.cluster.forget(spec, &self.object, uid)) {
            self.machine.learned(self.key, &self.cluster, spec, &change);
        }
    }

    fn suspect(&self) {
        if let Some(connection) = self.cluster.connection() {
            self.cluster.server().suspect(&connection);
        }
    }

    async fn not_sent(&self, error: CallError) -> Sent {
        let Self { machine, key, write, cluster, .. } = self;
        (machine.engine().meters.write_failed)(error.reason());
        debug!(%key, place = place(write), %error, "write failed");
        let refused = match error {
            CallError::Throttled { retry_after, .. } => return Sent::Wait(throttle(cluster, retry_after)),
            CallError::NamespaceMissing(_) => match machine.missing_namespace(key, write) {
                Missing::Make => match self.make_namespace().await {
                    Ok(sent) => return sent,
                    Err(refused) => refused,
                },
                Missing::Wait => return Sent::Failed,
                Missing::Refuse(refused) => refused,
            },
            error if error.suspects_cluster() => {
                self.suspect();
                self.wait_for_what_was_sent(&error);
                machine.failed(key, write, &error);
                let refused = refusal(&error, write, self.program());
                return self.failed(&error, &refused);
            }
            CallError::Conflict(_) | CallError::AlreadyExists(_) | CallError::NotFound(_) => {
                match self.look_what_is_there().await {
                    Ok(sent) => return sent,
                    Err(refused) => refused,
                }
            }
            CallError::Gone(_) => return Sent::Failed,
            CallError::KindMissing(_) => {
                cluster.server().refresh_kind(&write.kind.to_gvk());
                return Sent::Failed;
            }
            error => {
                if matches!(error, CallError::SchemaMismatch(_)) {
                    // The schema that pruned this write is out of date.
                    cluster.server().refresh_kind(&write.kind.to_gvk());
                }
                refusal(&error, write, self.program())
            }
        };
        let (now, luck) = (clock::now().millis, luck());
        let Refusal { reason, message } = refused.clone();
        machine.remember(key, |memory| memory.refused(write.subject, write.intent, reason, message, now, luck));
        self.refused(&refused)
    }

    fn refused(&self, refused: &Refusal) -> Sent {
        warn!(key = %self.key, reason = refused.reason, message = refused.message, "write refused");
        self.machine.refused(self.key, self.write, refused);
        Sent::Refused
    }

    /// No answer came, or the API server's word that it has failed. Where that is so again and again, and the API server is said
    /// to be ready all the same, it is this write that it fails at: the others need not wait for it.
    fn failed(&self, error: &CallError, refused: &Refusal) -> Sent {
        let Self { machine, key, write, .. } = *self;
        let is_ready = || machine.engine().reachable(&write.cluster, &write.kind).is_some();
        if !matches!(error, CallError::UnknownOutcome(_)) || !is_ready() {
            return Sent::Failed;
        }
        let (now, luck, message) = (clock::now().millis, luck(), refused.message.clone());
        let again = machine.remember(key, |memory| memory.failed(write.subject, write.intent, message, now, luck));
        if again == Some(true) { self.refused(refused) } else { Sent::Failed }
    }

    /// What was sent may have been done all the same.
    fn wait_for_what_was_sent(&self, error: &CallError) {
        if matches!(error, CallError::UnknownOutcome(_)) {
            wait_for(self.machine, self.key, self.write);
        }
    }

    async fn make_namespace(&self) -> Result<Sent, Refusal> {
        if self.is_taken_over() {
            return Ok(Sent::Failed);
        }
        let (name, conventions) = (&self.write.namespace, self.caller.conventions());
        let body = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {conventions.managed_by(): conventions.manager}},
        });
        match self.writer().create(&namespace::kind(), &ObjectKey::new("", name.as_str()), &body).await {
            Ok(_) => {
                info!(key = %self.key, namespace = name, cluster = %self.write.cluster, "namespace created");
                Ok(Sent::Prepared)
            }
            // Somebody else has just made it. Where it is not there all the same, the wait grows.
            Err(CallError::AlreadyExists(_)) => Ok(Sent::Failed),
            Err(error) if error.suspects_cluster() => {
                self.suspect();
                Ok(self.failed(&error, &no_namespace(&error, self.write, self.program())))
            }
            Err(error) => Err(no_namespace(&error, self.write, self.program())),
        }
    }

    /// The object changed, or something is there that no watch of ours sees. One of ours is made known to the next decision,
    /// applied again where it lost its labels.
    async fn look_what_is_there(&self) -> Result<Sent, Refusal> {
        if !self.machine.may_be_unseen(self.key, self.write) {
            return Ok(Sent::Failed);
        }
        let (Some(spec), Ok(found)) = (self.spec(), self.writer().get(&self.kind, &self.object).await) else {
            return Ok(Sent::Failed);
        };
        let (Op::Create(body), Some(found)) = (&self.write.op, found.as_ref()) else {
            return Ok(self.is_another(&spec, found));
        };
        let ours = match self.machine.in_the_way(self.key, self.write, found) {
            InTheWay::Known => Some(found.clone()),
            InTheWay::Unlabelled => self.apply_to(found, body.clone()).await?,
            InTheWay::Adopted(body) => self.apply_to(found, *body).await?,
            InTheWay::Watched => None,
            InTheWay::Foreign(refusal) => return Err(refusal),
        };
        let change = ours.and_then(|ours| self.cluster.learn(&spec, self.object.clone(), ours));
        let Some(change) = change else { return Ok(Sent::Failed) };
        self.machine.learned(self.key, &self.cluster, &spec, &change);
        Ok(Sent::Prepared)
    }

    /// Applies to an object that no watch of ours sees. `None`: that may work in a moment.
    async fn apply_to(&self, found: &Object, body: Value) -> Result<Option<Object>, Refusal> {
        if self.is_taken_over() {
            return Ok(None);
        }
        let precondition = Precondition::Uid(found.uid.clone());
        match self.writer().apply(&self.kind, &self.object, body, &precondition).await {
            Ok(written) => Ok(Some(written.object)),
            Err(error) => {
                debug!(key = %self.key, place = place(self.write), %error, "cannot be made ours");
                self.wait_for_what_was_sent(&error);
                let passing = error.suspects_cluster()
                    || matches!(error, CallError::Conflict(_) | CallError::NotFound(_) | CallError::Throttled { .. });
                if passing { Ok(None) } else { Err(refusal(&error, self.write, self.program())) }
            }
        }
    }

    /// What was to be changed is not what is there (any more), and no watch of ours would tell.
    fn is_another(&self, spec: &Arc<WatchSpec>, found: Option<Object>) -> Sent {
        let (Op::Apply { uid, .. } | Op::Delete { uid, .. }) = &self.write.op else { return Sent::Failed };
        if found.is_some_and(|found| found.uid == *uid) {
            return Sent::Failed;
        }
        match self.cluster.forget(spec, &self.object, uid) {
            Some(change) => {
                self.machine.learned(self.key, &self.cluster, spec, &change);
                Sent::Prepared
            }
            None => Sent::Failed,
        }
    }
}

/// By how much of a thousand what waits waits shorter than it might.
fn luck() -> u64 {
    runtime_fleet::random::within(0..=1000)
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
