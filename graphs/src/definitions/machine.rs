//! `DefinitionMachine`: RGDs.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use broker_api::{
    ClusterName,
    graphs::{GraphRevisionSpec, ResourceGraphDefinitionSpec, keys},
};
use graphs_core::{
    applyset::GroupKind,
    crd::Owner,
    definition::{
        self, Compilation, Decision, Distributed, Elsewhere, Flags, Instances, Revisions, Serve, Snapshot, Subject,
    },
    revision,
};
use runtime_effect::{
    interest::Interest,
    kind::Kind,
    memory::Memory,
    note::Note,
    seen::Seen,
    step::{Confirmed, Live, Step},
    view::View,
    write::Write,
};
use runtime_engine::{
    bodies::Needs,
    clock,
    engine::Engine,
    machine::{Machine, Occasion, Plan, Refusal},
};
use runtime_fleet::{
    cluster::Cluster,
    index::Change,
    lock::lock,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde::Deserialize as _;

use super::{
    DefinitionKey,
    key::key_of,
    observe::Crd,
    record::{Attempt, Record},
};
use crate::{
    compiled::Compiled,
    conventions::KRO_VERSION,
    graphs::Graphs,
    rollouts::Kept,
    serving::Served,
    watches::{Holder, Need},
};

/// Revisions that one decision compiles at the most, before others get their turn.
const COMPILED: usize = 8;

/// After so long is compiled again what the machine was too busy for.
const BUSY: Duration = Duration::from_secs(1);

/// What was decided of the RGD's spokes.
struct Spokes {
    /// Revisions that they run, or are to.
    kept: Kept,
    distributed: Distributed,
    /// Instances in the hub are served; `None`: that is not decided.
    serves_hub: Option<bool>,
    /// Where an RGD that is being deleted is still to be taken away.
    elsewhere: Elsewhere,
}

/// See [`Machine`].
pub struct DefinitionMachine {
    graphs: Arc<Graphs>,
}

impl DefinitionMachine {
    /// Of the process.
    pub fn new(graphs: Arc<Graphs>) -> Arc<Self> {
        Arc::new(Self { graphs })
    }

    /// Compiles the spec of the RGD, unless that was done.
    fn compile_own(&self, key: &DefinitionKey, rgd: &View, record: &mut Record) {
        let held = record.own.as_ref().filter(|own| own.uid == rgd.uid && own.generation == rgd.generation());
        if held.is_some_and(|own| !own.busy) || rgd.unread.is_some() {
            return;
        }
        // One that cannot be read is told of by the decision.
        let Ok(spec) = ResourceGraphDefinitionSpec::deserialize(&rgd.value["spec"]) else { return };
        record.own = Some(self.attempt(key, rgd, rgd, &spec, record.crd.as_deref()));
    }

    /// Compiles the spec `of` an RGD, or of a revision of it, whose CRD has this name.
    fn attempt(
        &self,
        key: &DefinitionKey,
        rgd: &View,
        of: &View,
        spec: &ResourceGraphDefinitionSpec,
        crd: Option<&str>,
    ) -> Attempt {
        let owner = Owner { name: &key.name, uid: &rgd.uid, version: KRO_VERSION };
        let own = definition::generated_kind(rgd);
        let plural = |kind: &GroupKind| {
            // What the decision looks at; a revision may be of another kind.
            let own = crd.filter(|_| own.as_ref() == Some(kind)).map(Arc::from);
            let name = own.or_else(|| self.graphs.crd_name(&key.cluster, kind))?;
            name.strip_suffix(kind.group.as_str())?.strip_suffix('.').map(str::to_owned)
        };
        let is_defined = |plural: &str, group: &str| self.graphs.is_defined(&key.cluster, plural, group);
        let others = self.graphs.others();
        let result = self.graphs.compiler(&key.cluster, &others, &is_defined, &plural).compile(owner, spec);
        Attempt::new(&of.uid, of.generation(), result)
    }

    /// Compiles a revision by its name. False: what it comes to cannot be told now, and would not be by doing so again.
    fn compile_revision(
        &self,
        key: &DefinitionKey,
        rgd: &View,
        revisions: &[definition::Revision],
        name: &str,
        record: &mut Record,
    ) -> bool {
        let named = |revision: &&definition::Revision| revision.view.value["metadata"]["name"] == name;
        let Some(definition::Revision { view, .. }) = revisions.iter().find(named) else { return false };
        let attempt = match GraphRevisionSpec::deserialize(&view.value["spec"]) {
            Ok(spec) => self.attempt(key, rgd, view, &spec.snapshot.spec, record.crd.as_deref()),
            Err(error) => Attempt {
                uid: view.uid.clone(),
                generation: view.generation(),
                outcome: Compilation::Invalid(format!("the revision cannot be read: {error}")),
                compiled: None,
                kinds: Arc::default(),
                busy: false,
            },
        };
        let is_told = !matches!(attempt.outcome, Compilation::Pending);
        record.revisions.retain(|held| held.uid != attempt.uid);
        record.revisions.push(attempt);
        is_told
    }

    /// What the CRD of the RGD is called now, where that is not what it was called.
    fn other_name(&self, key: &DefinitionKey, rgd: &Seen, record: &Record) -> Option<Arc<str>> {
        let kind = definition::generated_kind(rgd.present()?)?;
        self.graphs.crd_name(&key.cluster, &kind).filter(|name| record.crd.as_ref() != Some(name))
    }

    /// The decision, with all that it needs compiled.
    fn decision(
        &self,
        key: &DefinitionKey,
        rgd: &Seen,
        record: &mut Record,
        spokes: &Spokes,
        confirmed: bool,
    ) -> Option<Decision> {
        let graphs = &self.graphs;
        let cluster = graphs.engaged(&key.cluster)?;
        if let Seen::Present(rgd) = rgd {
            self.compile_own(key, rgd, record);
        }
        let crd = match record.crd.as_ref().map(|crd| graphs.crd(&cluster, crd)) {
            Some(Crd::Unread) => Seen::Unknown,
            // It has gone since its name was asked for: one of a plural of its own is not made again.
            Some(Crd::Seen(Seen::Absent)) if self.other_name(key, rgd, record).is_some() => {
                graphs.definitions.enqueue(key.clone());
                return None;
            }
            Some(Crd::Seen(seen)) => seen,
            // Which one is its own is not known yet.
            None if rgd.present().is_some_and(|rgd| definition::generated_kind(rgd).is_some()) => Seen::Unknown,
            None => Seen::Absent,
        };
        let controller = Graphs::controller(&cluster, &crd, spokes.serves_hub);
        let (now, pending) = (clock::now(), Compilation::Pending);
        let mut decision = Decision::default();
        for _ in 0..COMPILED {
            let revisions = graphs.revisions(&cluster, &key.name, record);
            let instances = self.instances(&cluster, rgd, &crd);
            let outcome = record.own.as_ref().map_or(&pending, |own| &own.outcome);
            decision = definition::decide(&Snapshot {
                cluster: &key.cluster,
                name: &key.name,
                rgd,
                outcome,
                revisions: revisions.as_deref().map_or(Revisions::Unknown, |list| Revisions::Known { list, confirmed }),
                crd: &crd,
                instances: instances.as_deref().map_or(Instances::Unknown, Instances::Known),
                controller: controller.clone(),
                memory: &record.memory,
                flags: Flags {
                    max_revisions: graphs.options.rgd_max_graph_revisions,
                    kept: spokes.kept.whole.then_some(&*spokes.kept.revisions),
                    allow_crd_deletion: graphs.options.allow_crd_deletion,
                    version: KRO_VERSION,
                },
                distributed: &spokes.distributed,
                elsewhere: &spokes.elsewhere,
                now: &now,
            });
            let (Some(name), Seen::Present(view)) = (&decision.compile, rgd) else { break };
            if !self.compile_revision(key, view, revisions.as_deref().unwrap_or_default(), name, record) {
                break;
            }
        }
        if let Seen::Present(view) = rgd {
            let known = graphs.revisions(&cluster, &key.name, record);
            if graphs.options.enable_multicluster {
                let newest = known.as_deref().and_then(|revisions| record.newest_of(view, revisions));
                record.newest = newest.or(record.newest.take());
                record.breaks = decision.breaks.or(record.breaks);
            }
            let revisions = known.unwrap_or_default();
            for &number in &spokes.kept.revisions {
                let name = revision::name(&key.name, number);
                let is_pending = |revision: &&definition::Revision| {
                    revision.view.value["metadata"]["name"] == name.as_str() && revision.outcome == Compilation::Pending
                };
                if record.serves.as_ref().is_none_or(|(serves, _)| *serves != number)
                    && revisions.iter().any(|revision| is_pending(&revision))
                {
                    // Where it is what the hub's CRD was made for, it serves there, too.
                    if self.compile_revision(key, view, &revisions, &name, record) {
                        graphs.definitions.enqueue(key.clone());
                    }
                }
            }
        }
        Some(decision)
    }

    /// The kinds that it is compiled with: those of the hub, and of the spokes where the hub has none.
    fn kinds_at(&self, key: &DefinitionKey, record: &Record) -> BTreeSet<(ClusterName, Need)> {
        let (kinds, others) = (record.kinds(), self.graphs.others());
        let missing = kinds.iter().filter(|kind| self.graphs.kinds.is_missing(&key.cluster, kind));
        let elsewhere: Vec<(ClusterName, Need)> =
            missing.flat_map(|kind| others.iter().map(|other| (other.clone(), Need::Kind(kind.clone())))).collect();
        kinds.into_iter().map(|kind| (key.cluster.clone(), Need::Kind(kind))).chain(elsewhere).collect()
    }

    /// The instances, where the RGD takes them with it.
    fn instances(&self, cluster: &Cluster, rgd: &Seen, crd: &Seen) -> Option<Vec<definition::Instance>> {
        let leaves = rgd.present().is_some_and(|rgd| rgd.deleting) && self.graphs.options.allow_crd_deletion;
        Graphs::instances_of_crd(cluster, crd.present().filter(|_| leaves)?)
    }

    /// Serves what was decided.
    fn serve(&self, key: &DefinitionKey, serve: &Serve, rgd: &Seen, spokes: &Spokes, record: &mut Record) {
        match serve {
            Serve::AsBefore => {}
            Serve::Nothing => {
                record.serves = None;
                self.graphs.end_serving(key);
            }
            Serve::Revision { number, name, uid } => {
                let Seen::Present(rgd) = rgd else { return };
                let compiled = record.of(uid).or(record.own.as_ref()).and_then(|attempt| attempt.compiled.clone());
                let Some(compiled) = compiled else { return };
                record.serves = Some((*number, Arc::clone(&compiled)));
                match spokes.serves_hub {
                    None => return,
                    Some(false) => return self.graphs.end_serving(key),
                    Some(true) => {}
                }
                let served = Served {
                    definition: key.clone(),
                    uid: rgd.uid.clone(),
                    number: *number,
                    inherited: self.is_inherited(key, name),
                    compiled,
                };
                self.graphs.serve_revision(key, served);
            }
        }
    }

    /// Whether a revision was issued by an earlier owner.
    fn is_inherited(&self, key: &DefinitionKey, name: &str) -> bool {
        let seen = self.graphs.engine.seen(&key.cluster, &self.graphs.fixed.revisions, &key_of(name));
        seen.present().is_some_and(|revision| !revision.applied_by_us)
    }
}

/// Whether the same was compiled, at the same time.
fn are_same(one: &[Arc<Compiled>], other: &[Arc<Compiled>]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| Arc::ptr_eq(one, other))
}

impl Machine for DefinitionMachine {
    type Key = DefinitionKey;
    type Subject = Subject;

    const PASSES: usize = 24;

    fn engine(&self) -> &Arc<Engine> {
        &self.graphs.engine
    }

    fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        self.graphs.definitions.queue()
    }

    fn needs(&self, key: &DefinitionKey) -> Needs {
        let crd = self.graphs.definitions.with(key, |record| record.crd.clone()).flatten();
        self.graphs.definition_needs(key, crd.as_deref())
    }

    fn decide(&self, key: &DefinitionKey, occasion: &Occasion) -> Result<Plan<Subject>, Outcome> {
        let (graphs, definitions) = (&self.graphs, &self.graphs.definitions);
        let rgd = graphs.definition(key);
        // Before the record is locked: whoever decides on rollouts asks for what it holds.
        let spokes = if graphs.options.enable_multicluster {
            Spokes {
                kept: graphs.rollouts.with(key, |record| record.kept.clone()).unwrap_or_default(),
                distributed: graphs.distributed(key),
                serves_hub: graphs.rollouts.with(key, |record| record.serves_hub).flatten(),
                elsewhere: graphs.elsewhere(key, &rgd),
            }
        } else {
            let kept = Kept { revisions: Vec::new(), whole: true };
            Spokes { kept, distributed: Distributed::Off, serves_hub: Some(true), elsewhere: Elsewhere::Nowhere }
        };
        let held = definitions.of(key);
        let mut record = lock(&held);
        let (compiled, newest) = (record.compiled(), record.newest_number());
        if let Some(name) = self.other_name(key, &rgd, &record) {
            definitions.name(key, record.crd.as_ref(), &name);
            record.name(name);
            if !graphs.definition_needs(key, record.crd.as_deref()).nothing() {
                return Ok(Plan { listens: true, ..Plan::default() });
            }
        }
        let itself_at = at(key, &graphs.fixed.definitions, &key.name);
        let is_there = |live: &Live| rgd.present().is_some_and(|rgd| live.is_of(&rgd.uid));
        let confirmed =
            occasion.confirmed.as_ref().is_some_and(|said| said.object == itself_at && is_there(&said.live));
        let decision = self.decision(key, &rgd, &mut record, &spokes, confirmed).ok_or(Outcome::Done)?;
        let needs = self.kinds_at(key, &record);
        let busy = record.own.iter().chain(&record.revisions).any(|attempt| attempt.busy);
        let mut steps: Vec<Step<Subject>> = decision.writes.into_iter().map(Step::from).collect();
        if decision.confirm
            && let Seen::Present(rgd) = &rgd
        {
            let last = rgd.value["status"]["lastIssuedRevision"].as_i64().unwrap_or_default();
            let revision = at(key, &graphs.fixed.revisions, &revision::name(&key.name, last));
            let ask = match &occasion.confirmed {
                None => Some(revision),
                // The watch of one that is gone may be silent.
                Some(Confirmed { object, live: Live::Absent }) if *object == revision => Some(itself_at),
                // What is there, or gone, the watch will tell.
                Some(_) => None,
            };
            steps.extend(ask.map(|object| Step::Confirm(Box::new(object))));
        }
        let is_news = |note: &Note| self.is_news(key, &mut record.told, note);
        let news: Vec<Note> = decision.notes.into_iter().filter(is_news).collect();
        let before = record.serves.as_ref().map(|(number, _)| *number);
        self.serve(key, &decision.serve, &rgd, &spokes, &mut record);
        let itself = rgd.present().map(|rgd| (rgd.uid.clone(), rgd.annotated_true(keys::ALLOW_BREAKING_CHANGES)));
        let is_other = !are_same(&record.compiled(), &compiled)
            || record.itself != itself
            || record.newest_number() != newest
            || record.serves.as_ref().map(|(number, _)| *number) != before;
        record.itself = itself;
        let known = graphs.revision_uids(key);
        if let Some(known) = &known {
            record.revisions.retain(|attempt| known.contains(&attempt.uid));
        }
        drop(record);
        graphs.need_at(&Holder::Compiling(key.clone()), needs);
        if graphs.options.enable_multicluster {
            graphs.rollouts.enqueue(key.clone());
            if is_other {
                graphs.spokes.of_name(&key.name).into_iter().for_each(|key| graphs.spokes.enqueue(key));
            }
        }
        if rgd == Seen::Absent && known.is_some_and(|known| known.is_empty()) {
            definitions.forget(key);
            graphs.need(&Holder::Compiling(key.clone()), &key.cluster, BTreeSet::new());
        }
        for note in &news {
            self.tell(key, note);
        }
        let again = decision.again.map(Duration::from_millis).or(busy.then_some(BUSY));
        Ok(Plan { steps, again, ..Plan::default() })
    }

    fn remember<T>(&self, key: &DefinitionKey, change: impl FnOnce(&mut Memory<Subject>) -> T) -> Option<T> {
        self.graphs.definitions.with(key, |record| change(&mut record.memory))
    }

    fn tell(&self, key: &DefinitionKey, note: &Note) {
        if let Some(regarding) = self.graphs.regarding_definition(key) {
            self.graphs.engine.tell(regarding, note.clone());
        }
    }

    fn sees(&self, _key: &DefinitionKey, write: &Write<Subject>) -> Option<Arc<WatchSpec>> {
        let fixed = &self.graphs.fixed;
        match write.subject {
            Subject::Marks | Subject::Status => Some(Arc::clone(&fixed.definitions)),
            Subject::Revision | Subject::RevisionEnd | Subject::RevisionStatus => Some(Arc::clone(&fixed.revisions)),
            Subject::CustomResource => Some(Arc::clone(&fixed.generated)),
            Subject::Instance => Some(Need::Instances(write.kind.clone()).spec()),
        }
    }

    fn refused(&self, key: &DefinitionKey, _write: &Write<Subject>, refusal: &Refusal) {
        self.tell(key, &Note::warning(refusal.reason, refusal.message.clone()));
    }

    fn learned(&self, _key: &DefinitionKey, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        self.graphs.learned(cluster.name(), spec, change, None);
    }
}

/// Where an object of the hub is that belongs to an RGD.
fn at(key: &DefinitionKey, spec: &WatchSpec, name: &str) -> Interest {
    Interest {
        cluster: key.cluster.clone(),
        kind: Kind::from(&spec.gvk),
        namespace: String::new(),
        name: name.to_owned(),
    }
}
