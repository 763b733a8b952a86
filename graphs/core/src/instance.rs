//! `decide`: from what was seen of one instance to what to do about it. Pure: the same function runs in unit tests,
//! property tests and production.
//!
//! One pass emits the writes that can be made on what is known now: a layer of the graph. With the answers, the shell has
//! the instance rendered and decided on again, until a pass wants nothing: so a crash between any two writes leaves a state
//! that `decide` goes on from. The status is written last, once nothing else is to be written.

mod child;
mod condition;
mod decision;
mod leave;
mod manage;
mod nesting;
mod prune;
mod set;
mod snapshot;
mod subject;
mod walk;

use broker_api::graphs::{condition as words, keys};
use runtime_effect::{
    memory::{Pace, Subject as _},
    note::Note,
    report::{self, Report},
    seen::Seen,
    view::View,
    write::Op,
};
use serde_json::{Map, Value, json};

pub use self::{
    child::{adopting, adoption, as_stored, belongs_elsewhere, gvk_text, has_lost_labels, target},
    decision::{Decision, State, Write, says_error},
    nesting::{DEEPEST, TOO_DEEP, is_too_deep},
    snapshot::{Author, Authored, Form, Found, Graph, Members, NodeView, Rendered, Resource, Served, Snapshot},
    subject::{Memory, Subject},
};
use self::{
    condition::{Builtin, Ground, Said},
    set::Set,
    walk::{Wants, listed},
};
use crate::applyset::Inventory;

/// What to do about the snapshot's instance.
pub fn decide(snapshot: &Snapshot<'_>) -> Decision {
    let instance = match snapshot.instance {
        Seen::Unknown => return Decision::default(),
        Seen::Absent => return Decision { state: State::Gone, ..Decision::default() },
        Seen::Present(instance) => instance,
    };
    let mut pass = Pass { snapshot, set: Set::new(snapshot, instance), decision: Decision::default() };
    pass.run(instance);
    pass.decision
}

/// What an API server made of a write, as a later decision compares it: for [`Memory::wrote`].
pub fn made(write: &Write, object: &Value) -> Option<Value> {
    match write.subject {
        Subject::Child => Some(child::observed(object)),
        Subject::Status => Some(object.get("status").cloned().unwrap_or_default()),
        Subject::Managed | Subject::Inventory | Subject::Removal | Subject::Leave => None,
    }
}

/// What became of a write that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    /// It goes out.
    Now,
    /// The API server has already made of it what is there.
    Settled,
    /// It was refused and waits; for people.
    Refused(String),
    /// Somebody keeps undoing it, and it waits.
    Later,
}

/// One pass over one instance.
struct Pass<'a> {
    snapshot: &'a Snapshot<'a>,
    set: Set<'a>,
    decision: Decision,
}

impl<'a> Pass<'a> {
    fn run(&mut self, instance: &'a View) {
        let snapshot = self.snapshot;
        if instance.deleting {
            return self.leave(instance);
        }
        if matches!(snapshot.graph, Graph::None) {
            return self.state(State::Unserved);
        }
        let held = match self.inventory(instance) {
            Ok(held) => held,
            Err(error) => return self.unmanaged(instance, &error.to_string()),
        };
        if let Some(unread) = instance.unread {
            return self.unmanaged(instance, unread.why());
        }
        let served = match &snapshot.graph {
            Graph::Served(served) if !is_suspended(instance) => return self.serve(instance, served, &held),
            Graph::Served(served) => Some(served),
            Graph::Failed(_) | Graph::None => None,
        };
        match self.manage(instance, served, &held) {
            Err(why) => return self.unmanaged(instance, &why),
            Ok(true) => return self.state(State::InProgress),
            Ok(false) => {}
        }
        match &snapshot.graph {
            Graph::Failed(why) if !is_suspended(instance) => {
                self.state(State::Error);
                let resolved = Said::no(words::RESOLUTION_FAILED, *why);
                self.show_over(instance, &[Some(managed()), Some(resolved), None], Some(words::INSTANCE_ERROR));
            }
            _ => self.suspended(instance, served),
        }
    }

    fn state(&mut self, state: State) {
        self.decision.state = state;
    }

    fn unmanaged(&mut self, instance: &'a View, why: &str) {
        self.state(State::Error);
        self.decision.notes.push(Note::warning(words::MANAGEMENT_FAILED, why));
        let said = Said::no(words::MANAGEMENT_FAILED, why);
        self.show_over(instance, &[Some(said), None, None], Some(words::INSTANCE_ERROR));
    }

    /// Nothing but conditions: fields and state stay what they were.
    fn suspended(&mut self, instance: &'a View, served: Option<&'a Served<'a>>) {
        self.state(State::Suspended);
        let said = Said::no(words::RECONCILIATION_SUSPENDED, words::SUSPENDED_MESSAGE);
        let builtin = [Some(managed()), served.map(|_| resolved(&[])), Some(said)];
        match served.and_then(|served| served.status.conditions) {
            None => self.show_over(instance, &builtin, None),
            Some(author) => {
                let (conditions, _) = Ground::new(instance, &self.snapshot.now.text).authored(author, &builtin);
                self.show(instance, held_fields(instance), conditions, None);
            }
        }
    }

    /// Nodes, pruning, inventory, status: each only when nothing before it is to be written.
    fn serve(&mut self, instance: &'a View, served: &'a Served<'a>, held: &Inventory) {
        let own = &self.snapshot.key.namespace;
        let wants = Wants::new(self, served.nodes);
        // Before anything is applied: what is not in it would not be found again.
        match self.manage(instance, Some(served), &held.union(&wants.expected(own))) {
            Err(why) => return self.unmanaged(instance, &why),
            Ok(true) => return self.state(State::InProgress),
            Ok(false) => {}
        }
        if let Some(conflict) = served.conflict.or(wants.conflict.as_deref()) {
            let why = format!("resource reconciliation failed: {conflict}");
            return self.report(instance, served, Said::no(words::NOT_READY, why), State::Error);
        }
        let walk = self.walk(served, &wants);
        let mut round = prune::Round { left: Vec::new(), held: Vec::new(), refused: Vec::new() };
        if self.decision.writes.is_empty() && walk.is_resolved() && !walk.has_failed() {
            let Some(pruned) = self.prune(instance, served, &wants, held) else { return };
            round = pruned;
        }
        if !self.decision.writes.is_empty() {
            return self.state(State::InProgress);
        }
        if walk.is_unknown() {
            // What was said before may well be true.
            return self.state(State::Unknown);
        }
        let (said, state) = match listed(round.refused.iter().map(String::as_str)) {
            Some(why) => (Said::no(words::NOT_READY, format!("resource reconciliation failed: {why}")), State::Error),
            None => walk.verdict(&round.left),
        };
        self.report(instance, served, said, state);
    }

    /// What is no longer wanted goes, then the inventory shrinks. `None`: that cannot be done, and it is told.
    fn prune(
        &mut self,
        instance: &'a View,
        served: &'a Served<'a>,
        wants: &Wants<'_>,
        held: &Inventory,
    ) -> Option<prune::Round> {
        let nothing = prune::Round { left: Vec::new(), held: Vec::new(), refused: Vec::new() };
        let own = &self.snapshot.key.namespace;
        let exact = wants.inventory(own);
        let mut leaving = match self.members(&held.union(&exact)) {
            prune::Members::Known(members) => members,
            prune::Members::Unknown(None) => return Some(nothing),
            prune::Members::Unknown(Some(why)) => {
                self.decision.notes.push(Note::warning("PruneBlocked", why));
                return Some(nothing);
            }
        };
        leaving.retain(|one| !wants.wants(&one.group_kind(), one.key()));
        if !leaving.is_empty() {
            return Some(self.remove(instance, leaving));
        }
        if let Err(why) = self.manage(instance, Some(served), &exact) {
            self.unmanaged(instance, &why);
            return None;
        }
        Some(nothing)
    }

    /// The status of an instance whose graph was gone through.
    fn report(&mut self, instance: &'a View, served: &'a Served<'a>, ready: Said, mut state: State) {
        let builtin = [Some(managed()), Some(resolved(&served.status.errors)), Some(ready)];
        let ground = Ground::new(instance, &self.snapshot.now.text);
        let conditions = match served.status.conditions {
            None => ground.builtin(&builtin),
            Some(author) => {
                let (conditions, errors) = ground.authored(author, &builtin);
                if let Some(why) = listed(errors.iter().map(String::as_str)) {
                    state = State::Error;
                    self.decision.notes.push(Note::warning("ConditionsFailed", why));
                }
                conditions
            }
        };
        self.state(state);
        let word = match state {
            State::Active => words::INSTANCE_ACTIVE,
            State::Error => words::INSTANCE_ERROR,
            _ => words::INSTANCE_IN_PROGRESS,
        };
        self.show(instance, served.status.fields.clone(), conditions, Some(word));
    }

    /// Conditions, and the state if one is given, over what is there.
    fn show_over(&mut self, instance: &'a View, builtin: &Builtin, state: Option<&str>) {
        let conditions = Ground::new(instance, &self.snapshot.now.text).laid_over(builtin);
        self.show(instance, held_fields(instance), conditions, state);
    }

    /// Writes the status as a whole, if it is another one. Without a state, that which is there stays.
    fn show(
        &mut self,
        instance: &'a View,
        mut fields: Map<String, Value>,
        conditions: Vec<Value>,
        state: Option<&str>,
    ) {
        // What is there and not known would be lost.
        if instance.unread.is_some() || !instance.conditions_known {
            return;
        }
        let nothing = json!({});
        let held = instance.value.get("status").unwrap_or(&nothing);
        fields.remove("state");
        if let Some(state) = state.or_else(|| held.get("state")?.as_str()) {
            fields.insert("state".into(), json!(state));
        }
        fields.insert("conditions".into(), Value::Array(conditions));
        let fields = Value::Object(fields);
        let wanted = self.snapshot.schema.map_or_else(|| fields.clone(), |schema| schema.stored_status(fields.clone()));
        let report = report::report(instance.version(), Some(held), &wanted, &[report::CONDITIONS]);
        let Some(Report { patch, intent }) = report else { return };
        let mut write = self.of_instance(Op::MergeStatus(patch), Subject::Status, intent);
        if self.snapshot.tells_conditions {
            write.notes = condition::changes(held, &wanted);
        }
        if self.write(write, held) == Written::Now {
            self.decision.complete = true;
        }
    }

    fn of_instance(&self, op: Op, subject: Subject, intent: [u8; 8]) -> Write {
        let snapshot = self.snapshot;
        Write {
            cluster: snapshot.cluster.clone(),
            kind: snapshot.kind.clone(),
            namespace: snapshot.key.namespace.to_string(),
            name: snapshot.key.name.to_string(),
            op,
            intent,
            subject,
            notes: Vec::new(),
        }
    }

    fn write_instance(&mut self, op: Op, subject: Subject, intent: [u8; 8]) -> Written {
        let write = self.of_instance(op, subject, intent);
        self.write(write, &Value::Null)
    }

    /// Adds a write, unless the API server has already made `observed` of it, refused it, or somebody keeps undoing it.
    fn write(&mut self, write: Write, observed: &Value) -> Written {
        let (memory, now) = (self.snapshot.memory, self.snapshot.now.millis);
        if memory.is_settled(write.subject, write.intent, observed) {
            return Written::Settled;
        }
        let mut pace = memory.pace(write.subject, write.intent, now);
        if pace == Pace::Go && write.subject.is_paced() {
            pace = memory.allowance(0, now);
        }
        if let Pace::Wait(millis) = pace {
            self.decision.again_in(millis);
            let trouble = memory.trouble_with(write.subject, write.intent);
            let trouble = trouble.filter(|trouble| now < trouble.until);
            return trouble.map_or(Written::Later, |trouble| Written::Refused(trouble.message.clone()));
        }
        self.decision.writes.push(write);
        Written::Now
    }
}

/// Whether a person has told us to leave an instance as it is.
fn is_suspended(instance: &View) -> bool {
    let said = instance.annotation(keys::RECONCILE).unwrap_or_default();
    [keys::SUSPENDED, keys::DISABLED].into_iter().any(|word| said.eq_ignore_ascii_case(word))
}

fn managed() -> Said {
    Said::yes(words::MANAGED, words::MANAGED_MESSAGE)
}

/// Fields of the status that failed are left out, and named.
fn resolved(errors: &[String]) -> Said {
    let message = match listed(errors.iter().map(String::as_str)) {
        None => words::GRAPH_RESOLVED_MESSAGE.to_owned(),
        Some(why) => format!("{}; left out of the status: {why}", words::GRAPH_RESOLVED_MESSAGE),
    };
    Said::yes(words::RESOLVED, message)
}

fn held_fields(instance: &View) -> Map<String, Value> {
    let fields = instance.value.get("status").and_then(Value::as_object).cloned();
    let mut fields = fields.unwrap_or_default();
    fields.remove("conditions");
    fields
}
