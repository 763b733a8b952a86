//! `RolloutMachine`: which spoke gets which revision.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::{Role, graphs::rollout::ResourceGraphRolloutSpec};
use graphs_core::{
    definition::{Distributed, Elsewhere},
    rollout::{self, Assigned, Decision, Member, Reach, Reason, Settings, Snapshot},
};
use runtime_effect::{
    kind::Kind,
    memory::{Memory, Sole},
    note::Note,
    report,
    seen::Seen,
    view::View,
    write::{Op, Write},
};
use runtime_engine::{
    clock,
    engine::Engine,
    machine::{Machine, Occasion, Plan, Refusal},
    recorder::Regarding,
};
use runtime_fleet::{
    lock::lock,
    queue::{Outcome, Queue},
    watch::WatchSpec,
};
use serde::Deserialize as _;
use serde_json::Value;

use super::{Kept, Record};
use crate::{
    definitions::{DefinitionKey, key::key_of},
    graphs::Graphs,
};

/// Under which circumstances a rollout is decided on.
#[derive(Clone, Copy)]
struct How {
    /// The RGD is being deleted.
    ends: bool,
    /// Which revision is the target is known.
    is_known: bool,
}

/// Plural name of the kind.
pub const ROLLOUTS: &str = "resourcegraphrollouts";

/// Why a rollout cannot be followed that names a revision which is not there.
fn no_such_revision(key: &DefinitionKey, field: &str, revision: i64) -> String {
    let name = &key.name;
    format!(
        "{field}: there is no revision {revision} of {name}; `kubectl get graphrevisions` lists those that are kept"
    )
}

/// See [`Machine`].
pub struct RolloutMachine {
    graphs: Arc<Graphs>,
}

impl RolloutMachine {
    /// Of the process.
    pub fn new(graphs: Arc<Graphs>) -> Arc<Self> {
        Arc::new(Self { graphs })
    }

    /// The rollout of an RGD. Where the hub has no such CRD there is none; that the kind is not served for a moment says nothing.
    fn rollout(&self, key: &DefinitionKey) -> Seen {
        let spec = &self.graphs.fixed.rollouts;
        let is_missing = self.graphs.kinds.is_missing(&key.cluster, &Kind::from(&spec.gvk));
        if is_missing && !self.graphs.is_defined(&key.cluster, ROLLOUTS, &spec.gvk.group) {
            return Seen::Absent;
        }
        self.graphs.engine.seen(&key.cluster, spec, &key_of(&key.name))
    }

    fn members(&self, key: &DefinitionKey) -> Vec<Member> {
        // In this order: whoever can be used again is engaged before it is not rejected any more.
        let mut rejected = self.graphs.clusters.rejected();
        let clusters = self.graphs.fleet().in_role(Role::Spoke);
        rejected.retain(|name, _| clusters.iter().all(|cluster| cluster.name() != name));
        let members = clusters.iter().map(|cluster| {
            let own = DefinitionKey { cluster: cluster.name().clone(), name: Arc::clone(&key.name) };
            let mut reach = self.graphs.spokes.reach(&own, cluster);
            if let Reach::Reached(spoke) = &mut reach
                && spoke.mark.as_ref().is_some_and(|mark| !mark.done)
            {
                spoke.errors = self.graphs.errors(&own);
            }
            let labels = cluster.labels().map(|labels| (*labels).clone()).unwrap_or_default();
            Member { cluster: cluster.name().clone(), labels, reach }
        });
        let rejected = rejected.into_iter().map(|(cluster, from)| {
            // Its labels say to which wave it belongs, or that it is selected no more, whatever its kubeconfig is.
            let secret = from.secret().and_then(|key| self.graphs.spoke_secret(&key));
            Member {
                cluster,
                labels: secret.map(|secret| secret.marks().labels).unwrap_or_default(),
                reach: Reach::Unreachable {
                    reason: Reason::Unreachable,
                    message: "its kubeconfig cannot be used: see the Events of its Secret".to_owned(),
                    since: 0,
                },
            }
        });
        members.chain(rejected).collect()
    }

    /// The revisions that are run, or are to be: they have to stay, and to be compiled.
    fn kept(&self, key: &DefinitionKey, settings: &Settings, members: &[Member], decision: &Decision) -> Kept {
        let named = settings.revisions().map(|(_, revision)| revision);
        let mut kept: BTreeSet<i64> = named.chain(decision.target).collect();
        let (mut whole, mut run) = (true, BTreeSet::new());
        for Member { cluster, .. } in members {
            let own = DefinitionKey { cluster: cluster.clone(), name: Arc::clone(&key.name) };
            let last = self.graphs.spokes.last(&own);
            whole &= last.is_some();
            let Some(mark) = last.flatten() else { continue };
            run.insert(mark.revision);
            kept.extend(mark.previous);
        }
        if run.iter().any(|revision| self.graphs.is_unknown_revision(key, *revision)) {
            // Any other may be what fits where one runs that is no more.
            kept.extend(self.graphs.revision_numbers(key));
        }
        kept.extend(run);
        Kept { revisions: kept.into_iter().collect(), whole }
    }

    /// Takes a decision in.
    fn absorb(
        &self,
        key: &DefinitionKey,
        settings: &Settings,
        members: &[Member],
        decision: &Decision,
        how: How,
        record: &mut Record,
    ) {
        let graphs = &self.graphs;
        let kept = self.kept(key, settings, members, decision);
        let distributed = if how.is_known { rollout::distributed(decision) } else { Distributed::Unknown };
        let leaving = how.ends.then(|| decision.leaving.clone());
        let news = record.kept != kept
            || record.distributed != distributed
            || record.serves_hub != Some(settings.include_hub)
            || record.leaving != leaving;
        record.leaving = leaving;
        record.counts = decision.clusters;
        record.kept = kept;
        record.distributed = distributed;
        record.serves_hub = Some(settings.include_hub);
        let before = std::mem::replace(&mut record.assigned, decision.assigned.clone());
        if news {
            graphs.definitions.enqueue(key.clone());
        }
        for (cluster, assigned) in &record.assigned {
            let own = DefinitionKey { cluster: cluster.clone(), name: Arc::clone(&key.name) };
            // One of which nothing was seen may have been looked at before all was known that it takes.
            if before.get(cluster) != Some(assigned) || !graphs.spokes.is_seen(&own) {
                graphs.spokes.enqueue(own);
            }
        }
    }

    /// Nothing is decided of an RGD that is not there; its rollout, if there is one, says so.
    fn without_graph(&self, key: &DefinitionKey) -> Result<Plan<Sole>, Outcome> {
        let graphs = &self.graphs;
        for key in graphs.spokes.of_name(&key.name) {
            graphs.spokes.enqueue(key);
        }
        let Seen::Present(rollout) = self.rollout(key) else {
            graphs.rollouts.forget(key);
            return Err(Outcome::Done);
        };
        let held = graphs.rollouts.of(key);
        let mut record = lock(&held);
        *record = Record { memory: std::mem::take(&mut record.memory), ..Record::default() };
        let status = rollout::status_without_graph(&rollout, &clock::now().text);
        let write = self.status(&rollout, &status).ok_or(Outcome::Done)?;
        Plan::paced([write], &record.memory)
    }

    /// The write that says on the rollout how it stands, if that says anything new.
    fn status(&self, rollout: &View, wanted: &Value) -> Option<Write<Sole>> {
        let held = rollout.value.get("status");
        let times = [report::CONDITIONS, ("failing", &["since"][..])];
        let report = report::report(rollout.version(), held, wanted, &times)?;
        let name = rollout.value["metadata"]["name"].as_str()?.to_owned();
        Some(Write {
            cluster: self.graphs.hub.clone(),
            kind: Kind::from(&self.graphs.fixed.rollouts.gvk),
            namespace: String::new(),
            name,
            intent: report.intent,
            op: Op::MergeStatus(report.patch),
            subject: Sole,
            notes: rollout::news(held.unwrap_or(&Value::Null), wanted),
        })
    }
}

impl Machine for RolloutMachine {
    type Key = DefinitionKey;
    type Subject = Sole;

    fn engine(&self) -> &Arc<Engine> {
        &self.graphs.engine
    }

    fn queue(&self) -> &Arc<Queue<DefinitionKey>> {
        self.graphs.rollouts.queue()
    }

    fn decide(&self, key: &DefinitionKey, _occasion: &Occasion) -> Result<Plan<Sole>, Outcome> {
        let graphs = &self.graphs;
        let ends = match graphs.definition(key) {
            Seen::Unknown => return Err(Outcome::Done),
            Seen::Absent => return self.without_graph(key),
            Seen::Present(rgd) => rgd.deleting,
        };
        let rollout = match self.rollout(key) {
            Seen::Unknown => return Err(Outcome::Done),
            Seen::Absent => None,
            Seen::Present(rollout) => Some(rollout),
        };
        let spec = rollout.as_ref().map(|rollout| {
            ResourceGraphRolloutSpec::deserialize(&rollout.value["spec"]).map_err(|error| error.to_string())
        });
        let settings = match spec {
            Some(Ok(spec)) => Settings::of(Some(&spec)).map_err(|error| error.to_string()),
            Some(Err(why)) => Err(why),
            None => Settings::of(None).map_err(|error| error.to_string()),
        };
        let settings = settings.and_then(|settings| {
            // What would otherwise be waited for in silence.
            let is_unknown = |revision| !ends && graphs.is_unknown_revision(key, revision);
            let unknown = settings.revisions().find(|(_, revision)| is_unknown(*revision));
            unknown.map_or(Ok(settings), |(field, revision)| Err(no_such_revision(key, &field, revision)))
        });
        let now = clock::now();
        if !graphs.clusters.are_known() {
            // No spoke is not the same as none that was told of.
            return Err(Outcome::Done);
        }
        let held = graphs.rollouts.of(key);
        let settings = match settings {
            // With an RGD goes no more than the hub's own CRD.
            Ok(settings) if ends && !graphs.options.allow_crd_deletion => settings.without_deletion(),
            Ok(settings) => settings,
            // Nothing is to be deleted of which nobody can tell.
            Err(_) if ends => Settings::default(),
            Err(why) => {
                let mut record = lock(&held);
                for assigned in record.assigned.values_mut().filter(|assigned| !matches!(assigned, Assigned::Leave(_)))
                {
                    *assigned = Assigned::Stay;
                }
                let Some(rollout) = rollout else { return Err(Outcome::Done) };
                let status = rollout::status(&rollout, Err(why.as_str()), false, &now.text);
                let Some(write) = self.status(&rollout, &status) else { return Err(Outcome::Done) };
                return Plan::paced([write], &record.memory);
            }
        };
        // With a rollout each cluster decides by its own CRD.
        let newest = match rollout {
            Some(_) => graphs.known_newest(key).map(|newest| newest.map(|(number, _)| number)),
            None => graphs.admitted(key),
        };
        // Which revision is the target is not known: no other is taken for it, and all that run one go on with that.
        let is_known = newest.is_some() || settings.names_target();
        let members = self.members(key);
        let decision = rollout::decide(&Snapshot {
            settings: &settings,
            ends,
            newest: newest.flatten(),
            given_up: rollout.as_ref().and_then(rollout::given_up),
            completed: rollout.as_ref().and_then(rollout::completed),
            members: &members,
            now: now.millis,
        });
        let status = rollout.as_ref().filter(|_| is_known).and_then(|rollout| {
            let status = rollout::status(rollout, Ok(&decision), settings.is_paused(), &now.text);
            self.status(rollout, &status)
        });
        // That the target is given up is written before anything else.
        let is_written = !decision.gives_up || rollout.as_ref().and_then(rollout::given_up) == decision.target;
        let mut record = lock(&held);
        if is_written {
            self.absorb(key, &settings, &members, &decision, How { ends, is_known }, &mut record);
        }
        let Some(write) = status else {
            return decision.again.map_or(Err(Outcome::Done), |again| Err(Outcome::After(again)));
        };
        match (Plan::paced([write], &record.memory), decision.again) {
            (Ok(plan), again) => Ok(Plan { again, ..plan }),
            // What is due is due, although what is to be said is not taken.
            (Err(Outcome::After(wait)), Some(again)) => Err(Outcome::After(wait.min(again))),
            (Err(Outcome::Done), Some(again)) => Err(Outcome::After(again)),
            (Err(outcome), _) => Err(outcome),
        }
    }

    fn remember<T>(&self, key: &DefinitionKey, change: impl FnOnce(&mut Memory<Sole>) -> T) -> Option<T> {
        self.graphs.rollouts.with(key, |record| change(&mut record.memory))
    }

    fn tell(&self, key: &DefinitionKey, note: &Note) {
        let Seen::Present(rollout) = self.rollout(key) else { return };
        let kind = Kind::from(&self.graphs.fixed.rollouts.gvk);
        self.graphs.engine.tell(Regarding::new(&key.cluster, kind, &key_of(&key.name), &rollout.uid), note.clone());
    }

    fn sees(&self, _key: &DefinitionKey, _write: &Write<Sole>) -> Option<Arc<WatchSpec>> {
        Some(Arc::clone(&self.graphs.fixed.rollouts))
    }

    fn refused(&self, key: &DefinitionKey, _write: &Write<Sole>, refusal: &Refusal) {
        self.tell(key, &Note::warning(refusal.reason, refusal.message.clone()));
    }
}

impl Graphs {
    /// How it stands with the clusters of an RGD.
    pub(crate) fn distributed(&self, key: &DefinitionKey) -> Distributed {
        if !self.options.enable_multicluster {
            return Distributed::Off;
        }
        match self.rollouts.with(key, |record| record.distributed.clone()) {
            None | Some(Distributed::Off) => Distributed::Unknown,
            Some(decided) => decided,
        }
    }

    /// Where an RGD that is being deleted is still to be taken away.
    pub(crate) fn elsewhere(&self, key: &DefinitionKey, rgd: &Seen) -> Elsewhere {
        if !rgd.present().is_some_and(|rgd| rgd.deleting) {
            return Elsewhere::Nowhere;
        }
        match self.rollouts.with(key, |record| record.leaving.clone()).flatten() {
            None => Elsewhere::Unknown,
            Some(clusters) if clusters.is_empty() => Elsewhere::Nowhere,
            Some(clusters) => Elsewhere::In(rollout::names(&clusters)),
        }
    }
}
