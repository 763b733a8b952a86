//! `InstanceMachine`: instances.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    str::FromStr as _,
    sync::Arc,
    time::Duration,
};

use broker_api::graphs::keys;
use graphs_core::{
    applyset::{self, GroupKind},
    instance::{self, Authored, Form, Graph, Memory, NodeView, Rendered, Snapshot, State, Subject},
    render::{Made, Pass, Want},
};
use runtime_effect::{
    kind::Kind,
    note::Note,
    seen::Seen,
    view::View,
    write::{Op, Write},
};
use runtime_engine::{
    bodies::Needs,
    clock,
    engine::Engine,
    machine::{InTheWay, Machine, Missing, Occasion, Plan, Refusal},
    recorder::Regarding,
    view::view,
};
use runtime_fleet::{
    cluster::Cluster,
    index::Change,
    lock::lock,
    object::Object,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde_json::Value;

use super::{
    InstanceKey,
    generated::group_kind,
    groups::Version,
    record::Record,
    world::{Findings, World},
};
use crate::{
    conventions::KRO_VERSION,
    graphs::Graphs,
    kinds::GONE,
    serving::Served,
    watches::{Holder, Need, children},
};

/// See [`Machine`].
pub struct InstanceMachine {
    graphs: Arc<Graphs>,
}

/// The kinds that the inventory on an instance names, as far as it is read. One that is too long blocks a deletion until
/// somebody mends it: nothing is looked for before.
fn inventory(instance: &View) -> BTreeSet<GroupKind> {
    let text = instance.annotation(keys::APPLYSET_GROUP_KINDS).unwrap_or_default();
    let entries = || text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    if instance.deleting && entries().nth(applyset::MAX_GROUP_KINDS).is_some() {
        return BTreeSet::new();
    }
    entries().take(applyset::MAX_GROUP_KINDS).filter_map(|entry| GroupKind::from_str(entry).ok()).collect()
}

/// The namespaces, beside the instance's own, that the inventory on it names.
fn namespaces(instance: &Seen) -> BTreeSet<&str> {
    let text = instance.present().and_then(|instance| instance.annotation(keys::APPLYSET_NAMESPACES));
    text.unwrap_or_default().split(',').map(str::trim).take(applyset::MAX_NAMESPACES).collect()
}

/// An author's condition as decisions have it.
fn authored(made: Vec<graphs_core::render::Authored>) -> Vec<Authored> {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let one = |value: &Value| Authored::Condition {
        kind: text(value, "type"),
        status: text(value, "status"),
        reason: text(value, "reason"),
        message: text(value, "message"),
    };
    let all = made.into_iter().flat_map(|entry| match entry.made {
        Made::Conditions(all) => all.iter().map(one).collect(),
        Made::Pending if entry.types.is_empty() => vec![Authored::Pending(None)],
        Made::Pending => entry.types.into_iter().map(|kind| Authored::Pending(Some(kind))).collect(),
        Made::Failed(why) => vec![Authored::Failed(why)],
    });
    all.collect()
}

/// After so long is decided anew on an instance whose expressions got no time.
const STARVED: Duration = Duration::from_secs(1);

/// The same where they are not evaluated for a minute, because they ran out of time too often.
const RESTED: Duration = Duration::from_secs(61);

/// After so long is decided anew on an instance that nothing serves any more.
const UNSERVED: Duration = Duration::from_millis(50);

/// What one decision is made on.
struct Look<'a> {
    graphs: &'a Graphs,
    key: &'a InstanceKey,
    cluster: &'a Cluster,
    kind: &'a Kind,
    instance: &'a Seen,
    served: Option<&'a Served>,
    set: &'a str,
    /// The kinds that have members, and the versions in which they are watched.
    kinds: &'a [(GroupKind, Version)],
}

impl Look<'_> {
    fn decide(&self, memory: &Memory) -> (instance::Decision, Findings) {
        let none = runtime_fleet::hashed::HashMap::default();
        let world = World {
            engine: &self.graphs.engine,
            kinds: &self.graphs.kinds,
            cluster: self.cluster,
            key: self.key,
            set: self.set,
            namespaces: namespaces(self.instance),
            resources: self.served.map_or(&none, |served| &served.compiled.resources),
            found: RefCell::default(),
        };
        let decision = match (self.served, self.instance) {
            (Some(served), Seen::Present(view)) if !view.deleting => match view.unread {
                None if instance::is_too_deep(view) => self.with(Graph::Failed(instance::TOO_DEEP), &world, memory),
                None => self.rendered(served, view, &world, memory),
                Some(unread) => self.with(Graph::Failed(unread.why()), &world, memory),
            },
            _ => self.with(Graph::None, &world, memory),
        };
        (decision, world.found.into_inner())
    }

    fn rendered(&self, served: &Served, instance: &View, world: &World<'_>, memory: &Memory) -> instance::Decision {
        let compiled = &served.compiled;
        let mut pass = Pass::over(&compiled.graph, &instance.value, world, &self.graphs.evaluator);
        let (nodes, conflict) = (std::mem::take(&mut pass.nodes), pass.conflict.take());
        let views: Vec<NodeView> = {
            let mut found = world.found.borrow_mut();
            let resources = compiled.graph.resources.iter().zip(nodes);
            let views = resources.filter_map(|(resource, node)| {
                Some(NodeView {
                    resource: Arc::clone(compiled.resources.get(&resource.id)?),
                    node,
                    observed: found.seen.remove(&resource.id).unwrap_or_default(),
                    trouble: found.trouble.remove(&resource.id),
                })
            });
            views.collect()
        };
        let (fields, errors) = (std::mem::take(&mut pass.status), std::mem::take(&mut pass.status_errors));
        let own = !compiled.graph.conditions.is_empty();
        let pass = RefCell::new(pass);
        let author = |builtin: &[Value]| authored(pass.borrow_mut().conditions(builtin));
        let status = Rendered { fields, errors, conditions: own.then_some(&author as _) };
        let graph = instance::Served {
            rgd_name: &served.definition.name,
            rgd_uid: &served.uid,
            inherited: served.inherited,
            nodes: &views,
            conflict: conflict.as_deref(),
            status,
        };
        let decision = self.with(Graph::Served(graph), world, memory);
        world.found.borrow_mut().want = pass.borrow().want();
        decision
    }

    fn with(&self, graph: Graph<'_>, world: &World<'_>, memory: &Memory) -> instance::Decision {
        let (now, members) = (clock::now(), world.members(self.kinds));
        let schema = self.graphs.kinds.schema(&self.key.cluster, &[], self.kind);
        instance::decide(&Snapshot {
            cluster: &self.key.cluster,
            kind: self.kind,
            key: &self.key.object,
            instance: self.instance,
            schema: schema.as_deref(),
            graph,
            members: &members,
            memory,
            now: &now,
            version: KRO_VERSION,
            tells_conditions: self.graphs.options.feature_gates.instance_condition_events,
        })
    }
}

impl InstanceMachine {
    /// Of the process.
    pub fn new(graphs: Arc<Graphs>) -> Arc<Self> {
        Arc::new(Self { graphs })
    }

    /// All kinds that may have members of the instance's set, each in the version in which it is watched.
    fn kinds(&self, key: &InstanceKey, instance: &Seen, served: Option<&Served>) -> Vec<(GroupKind, Version)> {
        let mut kinds: BTreeMap<GroupKind, Version> = BTreeMap::new();
        let resources = served.into_iter().flat_map(|served| &served.compiled.graph.resources);
        for resource in resources.filter(|resource| !resource.role.is_external()) {
            let kind = Kind::from(&resource.kind.name);
            kinds.insert(group_kind(&kind), Version::Is(kind));
        }
        for named in instance.present().into_iter().flat_map(inventory) {
            if let Entry::Vacant(entry) = kinds.entry(named) {
                let version = self.graphs.version_of(key, entry.key());
                entry.insert(version);
            }
        }
        kinds.into_iter().collect()
    }

    /// Watches the kinds that the graph has nothing of. Whether that is new.
    fn watch(&self, key: &InstanceKey, kinds: &[(GroupKind, Version)], served: Option<&Served>, record: &mut Record) {
        let of_graph = |kind: &Kind| {
            served.is_some_and(|served| {
                let mut own = served.compiled.resources.values();
                own.any(|resource| {
                    resource.kind == *kind && !matches!(resource.form, Form::Reference | Form::Selection)
                })
            })
        };
        let holder = Holder::Instance(key.clone());
        let mut needs = BTreeSet::new();
        for (named, version) in kinds {
            let read = if let Version::Is(kind) = version { Some(kind) } else { None };
            if read.is_some_and(of_graph) {
                continue;
            }
            needs.extend(read.cloned().map(Need::Children));
            // Whether it is served is told as long as the inventory names it, also in the other versions of its group, and where
            // it is served in none: what nobody tells of may be back at any time.
            let all = read.cloned().into_iter().chain(self.graphs.candidates(&key.cluster, named));
            needs.extend(all.map(Need::Served));
        }
        if kinds.iter().any(|(_, version)| *version == Version::Unknown) {
            let held = self.graphs.needed.of(&holder).into_iter();
            needs.extend(held.filter(|(cluster, _)| *cluster == key.cluster).map(|(_, need)| need));
        }
        if record.needs || !needs.is_empty() {
            record.needs = !needs.is_empty();
            self.graphs.need(&holder, &key.cluster, needs);
        }
    }

    /// Whether something that the instance needs is about to be known.
    fn is_coming(&self, cluster: &Cluster, served: Option<&Served>) -> bool {
        let resources = served.into_iter().flat_map(|served| served.compiled.resources.values());
        let mut specs = resources.map(|resource| match resource.form {
            Form::Single | Form::Collection => Arc::new(children(&resource.kind)),
            Form::Reference | Form::Selection => Need::References(resource.kind.clone()).spec(),
        });
        specs.any(|spec| match cluster.index(&spec) {
            None => true,
            Some(index) => {
                let kind = Kind::from(&spec.gvk);
                let missing = self.graphs.kinds.is_missing(cluster.name(), &kind);
                !index.is_complete() && index.trouble().is_none() && !missing
            }
        })
    }

    /// Whether its status says ERROR.
    fn says(&self, key: &InstanceKey, fails: bool, record: &mut Record) {
        let before = record.fails.replace(fails);
        if self.graphs.instances.verdicts.change(key, before, record.fails) {
            self.tell_rollouts(key);
        }
    }

    /// More, or fewer, instances say ERROR than before: rollouts to spokes count those.
    fn tell_rollouts(&self, key: &InstanceKey) {
        let generated = &self.graphs.instances.generated;
        let crd = generated.crd(&key.cluster, &key.kind).filter(|_| key.cluster != self.graphs.hub);
        for definition in crd.into_iter().flat_map(|crd| self.graphs.definitions.of_crd(&crd)) {
            self.graphs.rollouts.enqueue(definition);
        }
    }

    fn forget(&self, key: &InstanceKey) {
        self.graphs.instances.references.set(key, BTreeSet::new());
        if self.graphs.instances.with(key, |record| record.needs) == Some(true) {
            self.graphs.need(&Holder::Instance(key.clone()), &key.cluster, BTreeSet::new());
        }
        if self.graphs.instances.leave(key) {
            self.tell_rollouts(key);
        }
    }
}

impl Machine for InstanceMachine {
    type Key = InstanceKey;
    type Subject = Subject;

    /// A layer of the graph takes one.
    const PASSES: usize = 128;

    fn engine(&self) -> &Arc<Engine> {
        &self.graphs.engine
    }

    fn queue(&self) -> &Arc<Queue<InstanceKey>> {
        self.graphs.instances.queue()
    }

    fn needs(&self, key: &InstanceKey) -> Needs {
        let mut needs = Needs::default();
        if let (Some(cluster), Some((_, need))) = (self.graphs.engaged(&key.cluster), self.graphs.instances_by(key)) {
            needs.look(&self.graphs.engine.bodies, cluster, &need.spec(), &key.object);
        }
        needs
    }

    fn decide(&self, key: &InstanceKey, _occasion: &Occasion) -> Result<Plan<Subject>, Outcome> {
        let graphs = &self.graphs;
        let (Some(cluster), Some((kind, need))) = (graphs.engaged(&key.cluster), graphs.instances_by(key)) else {
            self.forget(key);
            return Err(Outcome::Done);
        };
        let seen = graphs.engine.look(&cluster, &need.spec(), &key.object);
        if seen == Seen::Absent {
            self.forget(key);
            return Err(Outcome::Done);
        }
        let served = graphs.serving.of(&key.cluster, &key.kind);
        let served = served.as_deref();
        let record = graphs.instances.of(key);
        let mut record = lock(&record);
        if let Some(instance) = seen.present().filter(|_| record.fails.is_none()) {
            // That counts, whenever it can be looked at.
            self.says(key, instance::says_error(instance), &mut record);
        }
        if self.is_coming(&cluster, served) {
            return Err(Outcome::Done);
        }
        let kinds = self.kinds(key, &seen, served);
        self.watch(key, &kinds, served, &mut record);
        let set = applyset::id(&key.object.name, &key.object.namespace, &key.kind.kind, &key.kind.group);
        let look =
            Look { graphs, key, cluster: &cluster, kind: &kind, instance: &seen, served, set: &set, kinds: &kinds };
        let (mut decision, findings) = look.decide(&record.memory);
        let again = match findings.want {
            // What is said of it stays.
            Want::Threads => return Err(Outcome::After(STARVED)),
            Want::Time => Some(STARVED),
            Want::Rest => Some(RESTED),
            Want::Nothing => None,
        };
        let again = again.or(findings.doubt.then_some(GONE));
        decision.again = [decision.again, again].into_iter().flatten().min();
        let listens = graphs.instances.references.set(key, findings.references);
        let before = std::mem::replace(&mut record.state, decision.state);
        graphs.instances.counts.change(before, decision.state);
        if let Some(instance) = seen.present() {
            self.says(key, decision.says_error(instance), &mut record);
        }
        // With the answer to the write of its status it has another version. Once: its status may say which.
        let reads_version = served.is_some_and(|served| served.compiled.graph.reads_version);
        let complete = decision.complete && (!reads_version || record.reviewed);
        record.reviewed &= !complete && !decision.writes.is_empty();
        let is_news = |note: &Note| self.is_news(key, &mut record.told, note);
        let news: Vec<Note> = decision.notes.into_iter().filter(is_news).collect();
        drop(record);
        for note in &news {
            self.tell(key, note);
        }
        if decision.state == State::Gone {
            self.forget(key);
        }
        let steps = instance::Decision::steps(decision.writes);
        Ok(Plan { steps, listens, again: decision.again, complete, ..Plan::default() })
    }

    fn wrote(&self, key: &InstanceKey, write: &Write<Subject>, _object: Option<&Object>) {
        if write.subject == Subject::Status
            && let Some(record) = self.graphs.instances.get(key)
        {
            lock(&record).reviewed = true;
        }
    }

    fn remember<T>(&self, key: &InstanceKey, change: impl FnOnce(&mut Memory) -> T) -> Option<T> {
        self.graphs.instances.with(key, |record| change(&mut record.memory))
    }

    fn tell(&self, key: &InstanceKey, note: &Note) {
        let Some((kind, need)) = self.graphs.instances_by(key) else { return };
        let Seen::Present(view) = self.graphs.engine.seen(&key.cluster, &need.spec(), &key.object) else { return };
        self.graphs.engine.tell(Regarding::new(&key.cluster, kind, &key.object, &view.uid), note.clone());
    }

    fn manager(&self, write: &Write<Subject>) -> Option<&'static str> {
        Some(write.subject.manager())
    }

    fn sees(&self, _key: &InstanceKey, write: &Write<Subject>) -> Option<Arc<WatchSpec>> {
        match write.subject {
            Subject::Child | Subject::Removal => Some(Arc::new(children(&write.kind))),
            Subject::Managed | Subject::Inventory | Subject::Leave | Subject::Status => {
                Some(Need::Instances(write.kind.clone()).spec())
            }
        }
    }

    /// What is released is not taken up again by a decision of before.
    fn hold<'a>(&'a self, write: &Write<Subject>) -> Result<Option<Box<dyn Send + 'a>>, Duration> {
        if write.subject != Subject::Managed {
            return Ok(None);
        }
        let marking = self.graphs.serving.mark(&write.cluster, &group_kind(&write.kind)).ok_or(UNSERVED)?;
        Ok(Some(Box::new(marking)))
    }

    /// Namespaces are made by people, or by another resource of the graph.
    fn missing_namespace(&self, _key: &InstanceKey, write: &Write<Subject>) -> Missing {
        if !matches!(write.op, Op::Create(_)) {
            return Missing::Wait;
        }
        let message = format!("namespace {:?} does not exist; create it", write.namespace);
        Missing::Refuse(Refusal { reason: "NamespaceMissing", message })
    }

    /// Children are watched by their label.
    fn may_be_unseen(&self, _key: &InstanceKey, write: &Write<Subject>) -> bool {
        matches!(write.subject, Subject::Child | Subject::Removal)
    }

    fn in_the_way(&self, key: &InstanceKey, write: &Write<Subject>, found: &Object) -> InTheWay {
        let (Op::Create(body), Some(found)) = (&write.op, view(found)) else { return InTheWay::Watched };
        let own = body["metadata"]["labels"][keys::APPLYSET_PART_OF].as_str().unwrap_or_default();
        let object = format!("{}/{}", write.namespace, write.name);
        match found.label(keys::APPLYSET_PART_OF) {
            // Its watch will tell.
            _ if found.deleting => InTheWay::Watched,
            Some(set) if set == own => InTheWay::Known,
            Some(other) => {
                let what = format!("{object} ({})", instance::gvk_text(&write.kind));
                let message = instance::belongs_elsewhere(&what, other, own);
                InTheWay::Foreign(Refusal { reason: "Conflict", message })
            }
            None if instance::has_lost_labels(&found, body) => InTheWay::Unlabelled,
            None => {
                self.tell(key, &instance::adoption(&format!("{} {object}", write.kind.kind)));
                InTheWay::Adopted(Box::new(instance::adopting(body.clone())))
            }
        }
    }

    fn made(&self, write: &Write<Subject>, object: &Object) -> Option<Value> {
        instance::made(write, &object.value().ok()?)
    }

    fn learned(&self, key: &InstanceKey, cluster: &Cluster, spec: &Arc<WatchSpec>, change: &Change) {
        self.graphs.learned(cluster.name(), spec, change, Some(key));
    }

    fn refused(&self, key: &InstanceKey, _write: &Write<Subject>, refusal: &Refusal) {
        self.tell(key, &Note::warning(refusal.reason, refusal.message.clone()));
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
