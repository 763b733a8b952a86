//! `decide`: from what was seen of one origin to what to do about it. Pure: the same function runs in unit tests,
//! property tests and production.
//!
//! One pass emits the writes that can be made on what is known now. After them the shell observes again and decides
//! again, until a pass wants nothing: so a crash between any two writes leaves a state that `decide` goes on from.

mod bring;
mod claim;
mod confirm;
mod depart;
mod explain;
mod gate;
mod held;
mod leave;
mod place;
mod progress;
mod relocate;
mod reroute;
mod serve;
mod target;
mod transfer;

use std::{cell::RefCell, collections::HashMap};

use broker_api::{ClusterName, condition, keys};
use runtime_effect::{
    kind::Kind,
    memory::{Pace, Subject as _},
    merge,
    note::Note,
    reach::Reach,
    seen::Seen,
    serving::Serving,
    size,
    view::{Unread, View},
    write::Op,
};
use serde_json::json;

pub use self::explain::{Answer, Asked, Explanation, explain, proposed};
use self::held::Predecessors;
use crate::{
    acceptance::{AcceptId, Verdict},
    decision::{Decision, State, Write},
    memory::Subject,
    snapshot::Snapshot,
    status::{self, Own},
};

/// What to do about the snapshot's origin.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let mut pass = Pass::new(snapshot);
    pass.run();
    let mut decision = pass.decision;
    // What follows from an origin's marks, or from a copy that was changed, is decided once they are.
    let leads_on = |write: &Write| write.subject == Subject::Marks || matches!(write.op, Op::Apply { .. });
    if decision.writes().any(leads_on) {
        decision.complete = false;
    }
    decision
}

/// One pass over one origin.
struct Pass<'a> {
    snapshot: &'a Snapshot<'a>,
    decision: Decision,
    /// Why the origin stays where it is although it should move.
    staying: Option<Own>,
    /// Whether it stays cannot be told now: what people were told of that stands.
    undecided: bool,
    /// What the AcceptAPIs of each provider say of the origin, once they were asked.
    verdicts: RefCell<HashMap<&'a ClusterName, HashMap<&'a AcceptId, Verdict>>>,
    /// Writes of this pass that follow a provider's word.
    paced: u64,
    /// What the consumer shows is to be written, and has to wait.
    behind: bool,
    /// Providers where a copy of an earlier object of this name does not go, and who holds it.
    held: Vec<(ClusterName, String)>,
    /// A person asks: what holds something up is told at once, not only once it lasts.
    at_once: bool,
}

impl<'a> Pass<'a> {
    fn new(snapshot: &'a Snapshot<'a>) -> Self {
        Self {
            snapshot,
            decision: Decision::default(),
            staying: None,
            undecided: false,
            verdicts: RefCell::default(),
            paced: 0,
            behind: false,
            held: Vec::new(),
            at_once: false,
        }
    }

    fn run(&mut self) {
        let snapshot = self.snapshot;
        // Others move meanwhile. A blip is no reason to change the order.
        self.decision.rests = matches!(snapshot.consumer, Reach::Unreachable(_));
        let origin = match &snapshot.origin {
            Seen::Unknown => return self.state(State::Unknown),
            Seen::Absent => return self.absent(),
            Seen::Present(origin) => origin,
        };
        if snapshot.is_copy {
            return self.state(State::Gone);
        }
        if origin.annotated_true(keys::PAUSED) {
            self.decision.rests = true;
            return self.state(State::Paused);
        }
        if origin.deleting {
            return self.leave(origin);
        }
        if origin.label(keys::IGNORE) == Some(keys::TRUE) {
            self.decision.rests = true;
            return self.state(State::Ignored);
        }
        let (Serving::Served(kind), Reach::Ready) = (&snapshot.consumer_kind, &snapshot.consumer) else {
            if matches!(snapshot.consumer, Reach::Lost(_))
                && self.annotated(origin).is_some_and(|held| held.moving_to.is_some())
            {
                // Nobody tells that it is gone for longer than a moment, from when on others move in its place.
                self.decision.again_in(LOST_MILLIS);
            }
            return self.state(State::Unknown);
        };
        if !kind.namespaced {
            let why =
                format!("{} is a cluster-scoped kind; only namespaced kinds can be brokered", snapshot.key.gvk.kind);
            return self.blocked(origin, condition::INVALID, why);
        }
        let earlier = self.predecessors(origin);
        if earlier == Predecessors::Braked {
            return;
        }
        if let Some(unread) = origin.unread {
            return self.unread(origin, unread);
        }
        match self.claim(origin) {
            // The consumer's cache is behind: what it says is of an earlier object.
            _ if earlier == Predecessors::Newer => self.state(State::Placing),
            claim::Claim::Unknown => self.state(State::Unknown),
            claim::Claim::None if earlier == Predecessors::Going => self.state(State::Placing),
            claim::Claim::None => self.place(origin),
            claim::Claim::At(assigned) => self.serve(origin, &assigned),
        }
    }

    fn state(&mut self, state: State) {
        self.decision.state = state;
    }

    /// Nothing can be done for the origin now: say why.
    fn blocked(&mut self, origin: &'a View, reason: &'static str, why: impl Into<String>) {
        let why = why.into();
        self.state(State::Blocked);
        self.decision.notes.push(Note::warning(reason, why.clone()));
        self.show(origin, None, false, &[Own::not_brokered(reason, why)]);
    }

    /// The origin is known by its metadata only: it keeps its provider, its copy stays as it is, and people are told.
    fn unread(&mut self, origin: &'a View, unread: Unread) {
        if let claim::Claim::At(assigned) = self.claim(origin) {
            self.decision.provider = Some(assigned.provider);
        }
        self.blocked(origin, unread.reason(), unread.why());
    }

    /// Writes what the consumer should see, if it sees something else.
    fn show(&mut self, origin: &'a View, copy: Option<&'a View>, in_sync: bool, own: &[Own]) {
        let snapshot = self.snapshot;
        let Serving::Served(kind) = &snapshot.consumer_kind else { return };
        // Conditions are written as a whole: what is there and not known would be lost.
        if !origin.conditions_known {
            return;
        }
        let mut own: Vec<Own> = own.iter().cloned().chain(self.staying.take()).collect();
        // What a copy says counts only where all of it can be read.
        let copy = copy.filter(|copy| copy.unread.is_none()).filter(|copy| self.is_shown(copy, &mut own));
        if !kind.has_status {
            if copy.and_then(View::status).is_some() {
                self.decision.notes.push(Note::warning(
                    "StatusUnsupported",
                    "the kind has no status subresource in this cluster, so the provider's status cannot be shown; add `subresources: {status: {}}` to its CRD",
                ));
            }
            return;
        }
        if let Some(count) = status::curtailed(origin, copy) {
            self.decision.notes.push(Note::warning(
                condition::STATUS_TRUNCATED,
                format!(
                    "the status has {count} conditions, of which the consumer is shown the first {}",
                    status::MOST_CONDITIONS
                ),
            ));
        }
        let inputs = status::Inputs {
            key: snapshot.key,
            origin,
            copy,
            in_sync,
            own: &own,
            unsaid: if self.undecided { &[condition::MOVING, condition::ACCEPTED] } else { &[] },
            schema: &kind.schema,
            now: &snapshot.now,
        };
        let Some(patch) = status::patch(&inputs) else { return };
        if let (true, Some(created)) = (patch.only_good_news, snapshot.memory.created_at) {
            // The provider's first status is about to come and can carry the good news: one write instead of two.
            // A clock that was set back must not hold it back.
            let age = snapshot.now.millis.checked_sub(created);
            let young = age.is_some_and(|age| age < PATIENCE_MILLIS);
            if snapshot.busy && young {
                // What else is to be looked at again must not wait for an idle moment as well.
                self.decision.when_idle = self.decision.again.is_none();
                if !self.decision.when_idle {
                    self.decision.again_in(GOOD_NEWS_MILLIS);
                }
                return;
            }
            if let Some(left) = age.and_then(|age| GOOD_NEWS_MILLIS.checked_sub(age)).filter(|left| *left > 0) {
                return self.decision.again_in(left);
            }
        }
        let nothing = json!({});
        let held = origin.value.get("status").unwrap_or(&nothing);
        let intent = patch.intent;
        self.write(Subject::Status, intent, held, |_| Write {
            cluster: snapshot.key.cluster.clone(),
            kind: (*snapshot.key.gvk).clone(),
            namespace: snapshot.key.namespace.to_string(),
            name: snapshot.key.name.to_string(),
            op: Op::MergeStatus(patch.patch),
            intent,
            subject: Subject::Status,
            notes: Vec::new(),
        });
    }

    /// Whether a copy's status is small enough to be brought. Else what the consumer shows stays, and it is told.
    fn is_shown(&mut self, copy: &View, own: &mut [Own]) -> bool {
        let most = self.snapshot.limits.status;
        if copy.status().is_none_or(|status| size::of(status) <= most) {
            return true;
        }
        // Without its size: a new one each time would be a write each time.
        let why = format!(
            "its provider's status is larger than {} (--max-status-size) and is not brought; what was there before stays",
            size::text(most)
        );
        self.decision.notes.push(Note::warning(condition::STATUS_TOO_LARGE, why.clone()));
        if let Some(placed) = own.iter_mut().find(|own| own.kind == condition::BROKERED && own.status) {
            placed.reason = condition::STATUS_TOO_LARGE;
            placed.message = format!("{}; {why}", placed.message);
        }
        false
    }

    /// Adds a write, unless the API server has already made `observed` of the same intent, or somebody keeps undoing it.
    /// Returns whether it was added.
    fn write(
        &mut self,
        subject: Subject,
        intent: [u8; 8],
        observed: &serde_json::Value,
        write: impl FnOnce(&Self) -> Write,
    ) -> bool {
        let memory = self.snapshot.memory;
        if memory.writes.is_settled(subject, intent, observed) {
            return false;
        }
        if let Pace::Wait(millis) = memory.writes.pace(subject, intent, self.snapshot.now.millis) {
            self.decision.again_in(millis);
            // What keeps the copy from being written is also in a condition: there it is told.
            if let Some(trouble) = memory
                .writes
                .trouble_with(subject, intent)
                .filter(|_| matches!(subject, Subject::Marks | Subject::Status | Subject::Related))
            {
                self.decision.notes.push(Note::warning(trouble.reason, trouble.message.clone()));
            }
            let what = match subject {
                Subject::Copy | Subject::Successor | Subject::Migration | Subject::Removal => None,
                Subject::Marks => Some("the broker's finalizer and annotations"),
                Subject::Status => Some("the status"),
                Subject::Related => Some("a related resource"),
            };
            if let Some(what) = what.filter(|_| memory.writes.is_fought(subject, self.snapshot.now.millis)) {
                let message = format!(
                    "something in the consumer cluster keeps changing {what} back; the broker repeats its write ever more slowly"
                );
                self.decision.notes.push(Note::warning(condition::FIGHTING, message));
            }
            return false;
        }
        if subject.is_paced() {
            if let Pace::Wait(millis) = memory.writes.allowance(self.paced, self.snapshot.now.millis) {
                self.decision.again_in(millis);
                self.behind |= subject == Subject::Status;
                return false;
            }
            self.paced += 1;
        }
        let write = write(self);
        self.decision.steps.push(write.into());
        true
    }

    /// A write to the origin's metadata. Returns whether it is written now.
    fn patch_origin(&mut self, origin: &View, patch: serde_json::Value, note: Option<Note>) -> bool {
        let key = self.snapshot.key;
        // A new signature of the same assignment is a repeat too.
        let mut unsigned = patch.clone();
        if let Some(annotations) = unsigned["metadata"]["annotations"].as_object_mut() {
            annotations.remove(keys::ASSIGNMENT);
        }
        let intent = merge::digest(&unsigned);
        let nothing = json!(null);
        self.write(Subject::Marks, intent, &nothing, |_| Write {
            cluster: key.cluster.clone(),
            kind: (*key.gvk).clone(),
            namespace: key.namespace.to_string(),
            name: key.name.to_string(),
            op: Op::Merge(origin.version().guard(patch)),
            intent,
            subject: Subject::Marks,
            notes: note.into_iter().collect(),
        })
    }

    /// Deletes a copy at a provider. Returns whether that is written now.
    fn delete_copy(&mut self, provider: &ClusterName, copy: &View) -> bool {
        let key = self.snapshot.key;
        self.delete(Subject::Removal, &copy.uid, |intent| Write {
            cluster: provider.clone(),
            kind: (*key.gvk).clone(),
            namespace: key.namespace.to_string(),
            name: crate::copy::name(key),
            op: Op::delete_seen(copy),
            intent,
            subject: Subject::Removal,
            notes: Vec::new(),
        })
    }

    /// Why the last deletion of a copy was refused, behind a colon; nothing where it was not.
    fn refused_removal(&self, copy: &View) -> String {
        let trouble = self.snapshot.memory.writes.trouble_with(Subject::Removal, deletion(&copy.uid));
        trouble.map_or_else(String::new, |trouble| format!(": {}", trouble.message))
    }

    /// One that was refused waits: what is decided does not stop there. Returns whether it is written now.
    fn delete(&mut self, subject: Subject, uid: &str, write: impl FnOnce([u8; 8]) -> Write) -> bool {
        let intent = deletion(uid);
        if let Pace::Wait(millis) = self.snapshot.memory.writes.pace(subject, intent, self.snapshot.now.millis) {
            self.decision.again_in(millis);
            return false;
        }
        self.decision.steps.push(write(intent).into());
        true
    }

    /// Deletes a related copy in the consumer. Returns whether that is written now.
    fn delete_related(&mut self, kind: &Kind, held: &View) -> bool {
        let metadata = &held.value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
        let cluster = self.snapshot.key.cluster.clone();
        self.delete(Subject::Related, &held.uid, |intent| Write {
            cluster,
            kind: kind.clone(),
            namespace: text("namespace"),
            name: text("name"),
            op: Op::delete_seen(held),
            intent,
            subject: Subject::Related,
            notes: Vec::new(),
        })
    }
}

/// What tells the deletion of an object from others.
fn deletion(uid: &str) -> [u8; 8] {
    merge::digest(&json!(["delete", uid]))
}

/// How long `Brokered=True` waits for the provider's first status.
const GOOD_NEWS_MILLIS: u64 = 1000;

/// How long it may wait for others' work.
const PATIENCE_MILLIS: u64 = 60_000;

/// When to ask again whether copies without an origin may go.
const BRAKE_MILLIS: u64 = 300;
/// When to look again at what is known soon after a start.
const SOON_MILLIS: u64 = 500;

/// How long a copy may be on its way out before anybody is told that its provider's finalizers hold it.
const HELD_MILLIS: u64 = 5_000;

/// When to look again at what depends on a cluster that was lost a moment ago.
const LOST_MILLIS: u64 = 2000;

/// When to look again at what depends on an expression that says nothing for a while.
const SILENT_MILLIS: u64 = 60_000;
