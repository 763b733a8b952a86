//! `SpokeMachine`: RGDs in spokes.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use broker_api::{
    condition,
    graphs::{keys, rollout::Offboarding},
};
use graphs_core::{
    crd::{self, Verdict},
    definition::{self, AT_ONCE, Instance},
    distribution::{self, Decision, Departure, Leaving, Subject, Write},
    rollout::{Assigned, Mark, Reason, Trouble},
};
use runtime_effect::{kind::Kind, memory::Memory, merge::digest, note::Note, seen::Seen, write::Op};
use runtime_engine::{
    bodies::Needs,
    clock,
    engine::Engine,
    machine::{Machine, Occasion, Plan, Refusal},
};
use runtime_fleet::{
    cluster::Cluster,
    error::CallError,
    index::Change,
    lock::lock,
    object::Object,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::json;

use super::{look::Look, record::Record};
use crate::{
    compiled::Compiled,
    definitions::{DefinitionKey, observe::Crd},
    graphs::Graphs,
    instances::generated,
    serving::Served,
    watches::{Holder, Need},
};

/// After so long is tried again what could not be read.
const AGAIN: Duration = Duration::from_secs(10);

/// After so long is looked again at instances of which one was just being marked as ours.
const MARKED: Duration = Duration::from_millis(50);

/// A revision waits for so many milliseconds, at the most, until all instances that there are were read: what was in ERROR
/// before it is not its fault. Those that were not are taken to be.
const READ: u64 = 10_000;

/// After so long is looked again whether they were.
const READING: Duration = Duration::from_millis(200);

/// See [`Machine`].
pub struct SpokeMachine {
    graphs: Arc<Graphs>,
}

/// What is wanted of a CRD.
enum Wanted {
    /// This write; and the digest of what it is for.
    Now(Op, [u8; 8]),
    /// It is not known yet what is to be said on it: after so long it may be.
    Later(Duration),
}

impl SpokeMachine {
    /// Of the process.
    pub fn new(graphs: Arc<Graphs>) -> Arc<Self> {
        Arc::new(Self { graphs })
    }

    /// Nothing of the RGD is served here any more.
    fn leave(&self, key: &DefinitionKey, record: &mut Record) {
        self.graphs.need(&Holder::Distributing(key.clone()), &key.cluster, BTreeSet::new());
        self.graphs.spokes.departs(key, false);
        self.disown(key, record);
    }

    /// Nothing of the RGD is served here any more, and what is there is left as its rollout says.
    fn depart(
        &self,
        look: &Look<'_>,
        crd: &Arc<str>,
        offboarding: Offboarding,
        record: &mut Record,
    ) -> Result<Vec<Write>, Outcome> {
        let (graphs, key) = (&self.graphs, look.key);
        if record.left == Some(offboarding) {
            return Ok(Vec::new());
        }
        record.left = None;
        let kind = look.held.as_ref().and(look.crd.present()).and_then(|crd| generated::kind_of(&crd.value));
        let kind = kind.filter(|_| offboarding != Offboarding::Orphan);
        graphs.spokes.departs(key, kind.is_some());
        if let Some(kind) = &kind {
            // Instances that are being deleted are brought to their end, which takes no revision.
            graphs.end_serving(key);
            self.watch(key, crd, Some(kind.clone()), record);
            if graphs.serving.is_marking(&key.cluster, &generated::group_kind(kind)) {
                return Err(Outcome::After(MARKED));
            }
        }
        let spec = kind.as_ref().map(|kind| Need::Instances(kind.clone()).spec());
        let index = spec.as_ref().and_then(|spec| graphs.engaged(&key.cluster)?.index(spec));
        let index = index.filter(|index| index.is_complete());
        let instances = index.as_ref().map(|index| {
            let deletes = offboarding == Offboarding::Delete;
            let is_held = |object: &Object| distribution::is_held(object.has_finalizers, &object.marks().labels);
            let held = index.snapshot().into_iter().filter(move |(_, object)| deletes || is_held(object));
            held.map(move |(at, object)| {
                let whole = if deletes { Seen::Unknown } else { graphs.engine.seen(&key.cluster, index.spec(), &at) };
                (Instance { key: at, uid: object.uid.clone(), deleting: object.deleting }, whole)
            })
        });
        let leaving = Leaving {
            cluster: &key.cluster,
            crd: look.crd,
            rgd_uid: &look.rgd.uid,
            hub: look.hub,
            offboarding,
            kind: kind.as_ref(),
        };
        match distribution::leave(&leaving, instances) {
            Departure::Unknown => Ok(Vec::new()),
            Departure::Left => {
                record.left = Some(offboarding);
                self.leave(key, record);
                Ok(Vec::new())
            }
            // What could not be read is read again.
            Departure::Going { writes, unread: true, .. } if writes.is_empty() => Err(Outcome::After(AGAIN)),
            Departure::Going { writes, instances, .. } => {
                if instances > 0 {
                    let what = format!("{}: {offboarding:?} of what is there, instances first", key.cluster);
                    self.say(key, &Note::normal("Offboarding", what), record);
                }
                Ok(writes)
            }
        }
    }

    /// Tells people, once.
    fn say(&self, key: &DefinitionKey, note: &Note, record: &mut Record) {
        if self.is_news(key, &mut record.told, note) {
            self.tell(key, note);
        }
    }

    /// The instances of a CRD are watched.
    fn watch(&self, key: &DefinitionKey, crd: &Arc<str>, kind: Option<Kind>, record: &mut Record) {
        if record.serves.as_ref().is_some_and(|before| before != crd) {
            self.disown(key, record);
        }
        record.serves = Some(Arc::clone(crd));
        let holder = Holder::Generated(key.cluster.clone(), Arc::clone(crd));
        let needs = kind.iter().map(|kind| Need::Instances(kind.clone())).collect();
        self.graphs.instances.generated.set(&key.cluster, crd, kind);
        self.graphs.need(&holder, &key.cluster, needs);
    }

    /// The CRD is not, or no longer, this RGD's: its instances are another's matter.
    fn disown(&self, key: &DefinitionKey, record: &mut Record) {
        self.graphs.end_serving(key);
        if let Some(crd) = record.serves.take() {
            self.graphs.instances.generated.set(&key.cluster, &crd, None);
            self.graphs.need(&Holder::Generated(key.cluster.clone(), crd), &key.cluster, BTreeSet::new());
        }
    }

    fn forget(&self, key: &DefinitionKey) {
        self.graphs.spokes.with(key, |record| self.leave(key, record));
        self.graphs.spokes.forget(key);
    }

    /// Serves the revision that the CRD names. Whether its instances are known.
    fn serve(&self, look: &Look<'_>, crd: &Arc<str>, cluster: &Cluster, record: &mut Record) -> bool {
        let (graphs, key) = (&self.graphs, look.key);
        graphs.spokes.departs(key, false);
        let (Some(mark), Some(held)) = (&look.held, look.crd.present()) else {
            self.disown(key, record);
            return false;
        };
        let kind = generated::kind_of(&held.value);
        self.watch(key, crd, kind.clone(), record);
        let serves = graphs.compiled_revision(key, mark.revision).or_else(|| {
            // One that is collected, or that nobody has issued: the newest that fits serves it.
            let is_unknown = graphs.is_unknown_revision(key, mark.revision);
            let all = if is_unknown { graphs.compiled_revisions(key) } else { Vec::new() };
            let fits = |compiled: &Compiled| {
                !matches!(crd::change(&held.value, &compiled.definition.crd, false), Verdict::Refuse(_))
            };
            let serves = all.into_iter().find(|(_, compiled)| fits(compiled));
            if is_unknown {
                let by = serves.as_ref().map_or("none that is kept fits it".to_owned(), |(number, _)| {
                    format!("revision {number} serves it")
                });
                let why = format!("{} runs revision {}, which is no more: {by}", key.cluster, mark.revision);
                self.say(key, &Note::warning("RevisionUnknown", why), record);
                if serves.is_none() {
                    graphs.end_serving(key);
                }
            }
            serves
        });
        if let Some((number, compiled)) = serves {
            graphs.serve_revision(
                key,
                Served { definition: key.clone(), uid: look.rgd.uid.clone(), number, inherited: false, compiled },
            );
        }
        let index = kind.and_then(|kind| cluster.index(&Need::Instances(kind).spec()));
        index.is_some_and(|index| index.is_complete())
    }

    /// What is to be written, and what is in its way.
    fn steps(&self, look: &Look<'_>, assigned: Assigned, record: &mut Record) -> (Option<Wanted>, Vec<Trouble>, bool) {
        let compiled = |revision| self.graphs.compiled_revision(look.key, revision).map(|(_, compiled)| compiled);
        let mut troubles: Vec<Trouble> = record.refused.iter().cloned().collect();
        let before = record.seen.as_ref().map(|seen| seen.troubles.clone()).unwrap_or_default();
        // In this order: one that is read in between is counted twice, and not left out.
        let unread = look.unread(assigned);
        let errors = self.graphs.errors(look.key).saturating_add(unread.unwrap_or_default());
        let wanted = assigned.mark(look.held.as_ref(), errors);
        let others = before.iter().filter(|trouble| {
            trouble.reason != Reason::ApplyRefused
                && wanted.as_ref().is_none_or(|mark| mark.revision != trouble.revision)
        });
        for trouble in others {
            // What was in the way may be gone.
            let mark = Mark { revision: trouble.revision, ..Mark::default() };
            match compiled(trouble.revision).map(|compiled| look.decide(&mark, &compiled)) {
                Some(Decision::Refuse(trouble)) => troubles.push(trouble),
                None | Some(Decision::Unknown) => troubles.push(trouble.clone()),
                Some(Decision::Keep { .. } | Decision::Write(_)) => {}
            }
        }
        let Some(mark) = wanted else { return (None, troubles, false) };
        let held = look.held.as_ref().map(|held| held.revision);
        let Some(compiled) = compiled(mark.revision) else {
            record.turn(None, held, clock::now().millis);
            return (None, troubles, false);
        };
        let kinds = compiled.kinds.iter().cloned().map(Need::Served);
        self.graphs.need(&Holder::Distributing(look.key.clone()), &look.key.cluster, kinds.collect());
        record.wanted = mark.revision;
        let decision = look.decide(&mark, &compiled);
        let is_barred = matches!(decision, Decision::Refuse(_));
        let to = (assigned != Assigned::Stay && !is_barred).then_some(mark.revision);
        record.turn(to, held, clock::now().millis);
        let begun_for = record.begun.as_ref().map_or(0, |begun| begun.waited(clock::now().millis));
        match decision {
            Decision::Unknown => (None, troubles, false),
            Decision::Write(_) if unread.is_none_or(|unread| unread > 0 && begun_for < READ) => {
                if let Some(begun) = &mut record.begun {
                    "its instances were not all read yet".clone_into(&mut begun.error);
                }
                // That all are listed is told.
                (Some(Wanted::Later(if unread.is_some() { READING } else { AGAIN })), troubles, false)
            }
            Decision::Keep { established } => (None, troubles, established),
            Decision::Write(op) => {
                let uid = look.crd.present().map(|held| &held.uid);
                let intent = json!([uid, mark.revision, mark.done, compiled.digest]);
                // One that only adds to what is said of a revision changes nothing of how it runs.
                let same = look.held.as_ref().is_some_and(|held| held.revision == mark.revision);
                if !same && record.planned.is_none_or(|(revision, _)| revision != mark.revision) {
                    record.planned = Some((mark.revision, clock::now().millis));
                }
                let runs = same && look.crd.present().is_some_and(definition::is_established);
                (Some(Wanted::Now(op, digest(&intent))), troubles, runs)
            }
            Decision::Refuse(trouble) => {
                let note = Note::warning("NotDistributed", format!("{}: {}", look.key.cluster, trouble.message));
                self.say(look.key, &note, record);
                troubles.push(trouble);
                (None, troubles, false)
            }
        }
    }
}

impl Machine for SpokeMachine {
    type Key = DefinitionKey;
    type Subject = Subject;

    fn engine(&self) -> &Arc<Engine> {
        &self.graphs.engine
    }

    fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        self.graphs.spokes.queue()
    }

    fn needs(&self, key: &DefinitionKey) -> Needs {
        let graphs = &self.graphs;
        let crd = graphs.crd_of(&key.name);
        let mut needs = graphs.definition_needs(key, crd.as_deref());
        let Some(Assigned::Leave(Offboarding::Release)) = graphs.assigned(key) else {
            return needs;
        };
        // Those that are to be released are read.
        let of = |crd: &str| graphs.instances.generated.kind(&key.cluster, crd);
        if let (Some(cluster), Some(kind)) = (graphs.engaged(&key.cluster), crd.as_deref().and_then(of)) {
            let spec = Need::Instances(kind).spec();
            let is_unread = |object: &Object| !object.has_body() && object.has_finalizers && !object.deleting;
            let all = cluster.index(&spec).map(|index| index.snapshot()).unwrap_or_default();
            for (object, _) in all.into_iter().filter(|(_, object)| is_unread(object)).take(AT_ONCE) {
                needs.look(&graphs.engine.bodies, Arc::clone(&cluster), &spec, &object);
            }
        }
        needs
    }

    fn decide(&self, key: &DefinitionKey, _occasion: &Occasion) -> Result<Plan<Subject>, Outcome> {
        let graphs = &self.graphs;
        let name = graphs.crd_of(&key.name);
        let Some(cluster) = graphs.engaged(&key.cluster) else {
            self.forget(key);
            return Err(Outcome::Done);
        };
        let own = graphs.hub_key(&key.name);
        let rgd = match graphs.definition(&own) {
            Seen::Present(rgd) => rgd,
            Seen::Unknown => return Err(Outcome::Done),
            Seen::Absent => {
                self.forget(key);
                return Err(Outcome::Done);
            }
        };
        let (Some(name), Some(hub)) = (name, graphs.hub_id()) else { return Err(Outcome::Done) };
        // One that could not be read is read again.
        let Crd::Seen(crd) = graphs.crd(&cluster, &name) else { return Err(Outcome::After(AGAIN)) };
        if crd == Seen::Unknown {
            return Err(Outcome::Done);
        }
        let held = crd.present().and_then(|crd| distribution::mark(crd, &rgd.uid, &hub));
        let assigned = graphs.assigned(key);
        // Before the record is locked: this looks at those of others.
        let coming = graphs.coming(key, assigned);
        let look = Look { graphs, key, rgd: &rgd, crd: &crd, hub: &hub, held, coming: &coming };
        let record = graphs.spokes.of(key);
        let mut record = lock(&record);
        // Since the CRD was read all may have become doubtful that is seen there, as the record says by now.
        if graphs.is_crd_unknown(&cluster, &name) {
            return Err(Outcome::Done);
        }
        if !matches!(assigned, Some(Assigned::Revision(_) | Assigned::Done(_) | Assigned::TakenBack(_))) {
            record.turn(None, look.held.as_ref().map(|held| held.revision), clock::now().millis);
        }
        let mut reading = None;
        let (writes, troubles, settled) = match assigned {
            Some(Assigned::Leave(offboarding)) => {
                (self.depart(&look, &name, offboarding, &mut record)?, Vec::new(), false)
            }
            Some(assigned) => {
                record.left = None;
                let (wanted, troubles, established) = self.steps(&look, assigned, &mut record);
                let writes = match wanted {
                    Some(Wanted::Now(op, intent)) => vec![look.write(&name, op, intent)],
                    Some(Wanted::Later(wait)) => {
                        reading = Some(wait);
                        Vec::new()
                    }
                    None => Vec::new(),
                };
                (writes, troubles, self.serve(&look, &name, &cluster, &mut record) && established)
            }
            None => {
                let established = crd.present().is_some_and(definition::is_established);
                (Vec::new(), Vec::new(), self.serve(&look, &name, &cluster, &mut record) && established)
            }
        };
        let fails = !troubles.is_empty();
        let is_news = record.see(look.held.clone(), settled, troubles, clock::now().millis);
        // Whoever brings what this waits for may give up, or begin, without any event.
        let is_waiting = writes.is_empty() && !coming.is_empty();
        let plan = Plan::paced(writes, &record.memory);
        drop(record);
        if is_news {
            graphs.rollouts.enqueue(own);
        }
        if is_news && fails {
            graphs.spokes.enqueue_begun(&key.cluster);
        }
        if let Some(wait) = reading {
            return Err(Outcome::After(wait));
        }
        match plan {
            _ if is_waiting => Err(Outcome::After(AGAIN)),
            plan => plan,
        }
    }

    fn remember<T>(&self, key: &DefinitionKey, change: impl FnOnce(&mut Memory<Subject>) -> T) -> Option<T> {
        self.graphs.spokes.with(key, |record| change(&mut record.memory))
    }

    /// On the RGD: nobody reads Events of a CRD.
    fn tell(&self, key: &DefinitionKey, note: &Note) {
        let own = self.graphs.hub_key(&key.name);
        if let Some(regarding) = self.graphs.regarding_definition(&own) {
            self.graphs.engine.tell(regarding, note.clone());
        }
    }

    fn manager(&self, _write: &Write) -> Option<&'static str> {
        Some(keys::DISTRIBUTOR)
    }

    fn sees(&self, _key: &DefinitionKey, write: &Write) -> Option<Arc<WatchSpec>> {
        Some(match write.subject {
            Subject::CustomResource => Arc::clone(&self.graphs.fixed.generated),
            Subject::Instance => Need::Instances(write.kind.clone()).spec(),
        })
    }

    fn failed(&self, key: &DefinitionKey, write: &Write, error: &CallError) {
        let Some(record) = self.graphs.spokes.get(key) else { return };
        if let Some(begun) = lock(&record).begun.as_mut().filter(|_| write.subject == Subject::CustomResource) {
            begun.error = error.to_string();
        }
    }

    fn wrote(&self, key: &DefinitionKey, _write: &Write, _object: Option<&Object>) {
        self.graphs.spokes.with(key, |record| record.refused = None);
    }

    fn refused(&self, key: &DefinitionKey, write: &Write, refusal: &Refusal) {
        if let Some(record) = self.graphs.spokes.get(key) {
            let mut record = lock(&record);
            // What is released or deleted is no revision that cannot be brought.
            if write.subject == Subject::Instance || matches!(write.op, Op::Delete { .. }) {
                let what = format!("{}: {} {}: {}", key.cluster, write.kind.kind, write.name, refusal.message);
                return self.say(key, &Note::warning("OffboardingRefused", what), &mut record);
            }
            if [condition::ADMISSION_FAILED, condition::WRITE_FAILED].contains(&refusal.reason)
                && let Some(begun) = &mut record.begun
            {
                // It may answer in a moment: until the deadline that is waited for.
                begun.error.clone_from(&refusal.message);
                return;
            }
            let (revision, message) = (record.wanted, format!("{}: {}", refusal.reason, refusal.message));
            record.refused = Some(Trouble { revision, reason: Reason::ApplyRefused, message });
        }
        self.graphs.spokes.enqueue(key.clone());
    }

    fn learned(&self, _key: &DefinitionKey, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        if **spec == *self.graphs.fixed.generated {
            self.graphs.look_at_spoke(cluster.name(), &change.key.name);
        } else {
            self.graphs.learned(cluster.name(), spec, change, None);
        }
    }
}
