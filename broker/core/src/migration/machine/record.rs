//! The status: its conditions, its stages, and the one write that stores them.

use std::time::Duration;

use broker_api::{
    ClusterName, MigrationRef, MigrationState, Role,
    condition::condition,
    keys,
    migration::{self, PROGRESSING, STALLED, SUCCEEDED, StageState, StageStatus, time_of},
    set_condition,
};
use runtime_effect::{memory::Pace, merge, note::Note, report, write::Op};
use serde_json::{Value, json};

use super::Pass;
use crate::{
    assignment::Errand, decision::Write, memory::Subject, migration::observed::Observed, migration_object,
    movement::Movement, snapshot::OriginKey,
};

impl Pass<'_> {
    /// Sets one condition of the next status.
    pub(super) fn set(&mut self, kind: &str, status: bool, reason: &str, message: impl Into<String>) {
        let object = self.observed.object;
        let now = self.observed.now.millis;
        // By its time the origin knows the end of its own move from that of an earlier one: a clock that was set back must
        // not date it before the move.
        let at = match &self.observed.movement {
            Movement::Underway(moving) if kind == SUCCEEDED => now.max(moving.epoch),
            _ => now,
        };
        let at = time_of(at).0;
        let new = condition(kind, status, reason, shortened(message.into()), Some(object.generation()), at);
        set_condition(&mut self.next.conditions, new);
    }

    /// It goes on by itself.
    pub(super) fn advance(&mut self, reason: &str, message: &str) {
        let message = match self.abort_is_late() {
            Some(late) => format!("{message}; {late}"),
            None => message.to_owned(),
        };
        self.set(PROGRESSING, true, reason, message);
        self.next.conditions.retain(|condition| condition.type_ != STALLED);
    }

    /// It goes no further by itself.
    pub(super) fn stall(&mut self, reason: &'static str, message: &str) {
        let told = self.held.conditions.iter().find(|held| held.type_ == STALLED);
        if told.is_none_or(|told| told.reason != reason || told.message != message) {
            self.tell(Note::warning(reason, message));
        }
        self.stall_quietly(reason, message);
    }

    /// The same, without telling it as news.
    pub(super) fn stall_quietly(&mut self, reason: &str, message: &str) {
        self.set(STALLED, true, reason, message);
        let message = match self.abort_is_late() {
            Some(late) => format!("{message}; {late}"),
            None => message.to_owned(),
        };
        self.set(PROGRESSING, false, reason, message);
    }

    /// The current stage runs and nothing is wrong with it.
    pub(super) fn running(&mut self) {
        let stage = self.next.stage.clone().unwrap_or_default();
        if let Some(entry) = self.entry_mut() {
            entry.message = None;
        }
        self.advance("StageRunning", &format!("stage {stage} runs"));
    }

    /// It has failed for good.
    pub(super) fn fail(&mut self, reason: &'static str, message: &str) {
        self.end_running_stage(message);
        self.next.state = MigrationState::Failed;
        self.set(PROGRESSING, false, reason, message);
        self.set(STALLED, true, reason, message);
        self.set(SUCCEEDED, false, reason, message);
        self.decided.failed = Some(reason);
        let refused = matches!(self.observed.movement, Movement::Refused(..));
        let what = if refused { "Refused" } else { "Failed" };
        self.tell(Note::warning(what, format!("{reason}: {message}")));
    }

    /// All is done, or the rest is skipped.
    pub(super) fn complete(&mut self, message: &str) {
        self.end_running_stage(message);
        self.next.state = MigrationState::CutoverCompleted;
        self.next.conditions.retain(|condition| condition.type_ != STALLED);
        self.set(PROGRESSING, false, "Completed", message);
        self.set(SUCCEEDED, true, "Completed", message);
        self.tell(Note::normal("Completed", message));
    }

    fn end_running_stage(&mut self, message: &str) {
        let running = self.entry_mut().is_some_and(|entry| entry.state == StageState::Running);
        if running {
            self.end_stage(StageState::Failed, Some(message));
        }
    }

    /// The stage that the cursor is on, if it has begun.
    pub(super) fn entry(&self) -> Option<&StageStatus> {
        let name = self.held.stage.as_deref()?;
        self.held.stages.iter().find(|entry| entry.name == name)
    }

    /// The same in the next status.
    pub(super) fn entry_mut(&mut self) -> Option<&mut StageStatus> {
        let name = self.next.stage.as_deref()?;
        self.next.stages.iter_mut().find(|entry| entry.name == name)
    }

    /// The current stage has succeeded or failed.
    pub(super) fn end_stage(&mut self, state: StageState, message: Option<&str>) {
        let (now, retry) = (self.observed.now.millis, self.spec.retry);
        let Some(entry) = self.entry_mut() else { return };
        entry.state = state;
        entry.finished = Some(time_of(now));
        entry.message = message.map(|message| shortened(message.to_owned()));
        // Only what a person asks for from now on counts.
        entry.retry = retry;
        let took = entry.started.as_ref().map_or(0, |started| now.saturating_sub(migration::millis_of(started)));
        let ended = (entry.name.clone(), took, state == StageState::Succeeded);
        self.decided.ended_stages.push(ended);
    }

    /// The stage of this name begins, perhaps again: the cursor is on it.
    pub(super) fn begin_stage(&mut self, name: &str) {
        let entry = StageStatus {
            name: name.to_owned(),
            state: StageState::Running,
            started: Some(time_of(self.observed.now.millis)),
            retry: self.spec.retry,
            ..StageStatus::default()
        };
        self.next.stage = Some(name.to_owned());
        match self.entry_mut() {
            Some(held) => *held = entry,
            None => self.next.stages.push(entry),
        }
        self.running();
        self.tell(Note::normal("StageStarted", format!("stage {name} runs")));
    }

    /// To tell when the status is written.
    pub(super) fn tell(&mut self, note: Note) {
        self.decided.notes.extend(self.note.replace(note));
    }

    /// Looks again after so many milliseconds, or sooner if that was already wanted.
    pub(super) fn again_in(&mut self, millis: u64) {
        let wait = Duration::from_millis(millis);
        self.decided.again = Some(self.decided.again.map_or(wait, |held| held.min(wait)));
    }

    /// Writes the next status, if it is another one.
    pub(super) fn flush(&mut self) {
        if self.next == self.held {
            return;
        }
        let object = self.observed.object;
        self.next.observed_generation = Some(object.generation());
        // What this release does not know of the status stays: only what changed in its own terms is written.
        let value = |status| serde_json::to_value(status).unwrap_or_default();
        let (held, next) = (value(&self.held), value(&self.next));
        let Some(report) = report::report(object.version(), Some(&held), &next, &TIMES) else { return };
        let note = self.note.take();
        if !self.write_own(Subject::Status, report.intent, Op::MergeStatus(report.patch), note) {
            // Nothing has happened yet.
            self.decided.notes.clear();
            self.decided.ended_stages.clear();
            self.decided.failed = None;
        }
    }

    /// Writes the finalizer and the annotations that it is watched and told by. Returns whether all else has to wait.
    pub(super) fn mark(&mut self) -> bool {
        let object = self.observed.object;
        let mut metadata = json!({});
        if !object.has_finalizer(keys::FINALIZER) {
            let begun = self.held.state != MigrationState::Unknown;
            if self.observed.origin.is_none() && !begun {
                return true;
            }
            let finalizers: Vec<&str> = object.finalizers().chain([keys::FINALIZER]).collect();
            metadata["finalizers"] = json!(finalizers);
        }
        if let Some((key, uid)) = self.observed.origin {
            let signature = self.signature(key, uid);
            let wanted = [
                (keys::CONSUMER_CLUSTER, key.cluster.name()),
                (keys::CONSUMER_NAMESPACE, &*key.namespace),
                (keys::CONSUMER_NAME, &*key.name),
                (keys::CONSUMER_UID, uid),
                (keys::ORIGIN, &signature),
            ];
            for (annotation, value) in wanted {
                if object.annotation(annotation) != Some(value) {
                    metadata["annotations"][annotation] = json!(value);
                }
            }
        }
        metadata.as_object().is_some_and(|fields| !fields.is_empty()) && {
            self.patch_metadata(&metadata);
            true
        }
    }

    /// What proves that the broker wrote which origin it is about.
    fn signature(&self, key: &OriginKey, uid: &str) -> String {
        let Observed { object, ring, maker, .. } = self.observed;
        let provider = |side: &MigrationRef| ClusterName::written(Role::Provider, &side.cluster_name);
        let (from, to) = (provider(&self.spec.from), provider(&self.spec.to));
        let errand = Errand {
            namespace: self.own_namespace(),
            name: object.value["metadata"]["name"].as_str().unwrap_or_default(),
            uid: &object.uid,
            from: from.name(),
            to: to.name(),
        };
        ring.sign_migration(&key.subject(uid), &errand, *maker)
    }

    /// Patches the Migration's metadata.
    pub(super) fn patch_metadata(&mut self, metadata: &Value) {
        let object = self.observed.object;
        let intent = merge::digest(metadata);
        let patch = object.version().guard(json!({"metadata": metadata}));
        self.write_own(Subject::Marks, intent, Op::Merge(patch), None);
    }

    /// A write to the Migration itself. Returns whether it goes out now.
    pub(super) fn write_own(&mut self, subject: Subject, intent: [u8; 8], op: Op, note: Option<Note>) -> bool {
        if let Pace::Wait(millis) = self.observed.memory.pace(subject, intent, self.observed.now.millis) {
            self.again_in(millis);
            return false;
        }
        let text = |field: &str| self.observed.object.value["metadata"][field].as_str().unwrap_or_default().to_owned();
        self.decided.writes.push(Write {
            cluster: self.observed.coordination.clone(),
            kind: migration_object::kind(),
            namespace: text("namespace"),
            name: text("name"),
            op,
            intent,
            subject,
            notes: note.into_iter().collect(),
        });
        true
    }
}

/// Where the status of a Migration holds times.
const TIMES: [(&str, &[&str]); 2] = [report::CONDITIONS, ("stages", &["started", "finished"])];

/// Conditions and stages hold no more than 32 KiB of text; people read less.
fn shortened(mut message: String) -> String {
    const MOST: usize = 2048;
    if message.len() > MOST {
        let mut end = MOST;
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push('…');
    }
    message
}
