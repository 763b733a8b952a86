//! A consumer, providers, and a shell that observes, decides and acts as the binary does.

mod bystanders;
mod evaluation;
mod kinds;
mod live;
mod moves;
mod oddities;
mod relations;
mod server;
mod succession;
mod writes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use broker_api::{AcceptApiSpec, ClusterName, Role};
use broker_core::{
    acceptance::{AcceptId, Acceptance},
    assignment::{Key, KeyRing, Seal},
    copy,
    decide::decide,
    decision::{Decision, State, Write},
    memory::{OriginMemory, Subject},
    movement::Route,
    snapshot::{Brake, Confirmed, Holder, Limits, OriginKey, Quota, Snapshot},
};
use objects::KindRule;
use runtime_cel::expression::Evaluator;
use runtime_effect::{kind::Kind, now::Now, write::Op};
use serde_json::{Value, json};

pub(crate) use objects::{At, Refused};

pub(crate) use self::{
    kinds::{certificate, config_map, consumer_rule, provider_rule, secret},
    live::question,
    moves::MovesWorld,
    server::{DEEP, Server},
    writes::verb,
};
use self::{oddities::Oddities, relations::Relations};

pub(crate) const NAMESPACE: &str = "team";

/// More passes than any way to the goal takes.
const PASSES: usize = 30;

#[expect(clippy::struct_excessive_bools, reason = "each is a thing that may be so in the world")]
pub(crate) struct World {
    pub(crate) servers: BTreeMap<ClusterName, Server>,
    pub(crate) acceptances: BTreeMap<String, Arc<Acceptance>>,
    pub(crate) memories: BTreeMap<OriginKey, OriginMemory>,
    pub(crate) keys: BTreeSet<OriginKey>,
    pub(crate) related_kinds: Vec<Kind>,
    pub(crate) limits: Limits,
    /// How many objects a consumer may have.
    pub(crate) quota: Option<u64>,
    pub(crate) ring: KeyRing,
    pub(crate) millis: u64,
    /// When the broker was started last.
    started: u64,
    /// All writes that went through.
    pub(crate) log: Vec<Write>,
    /// The object under this key is a copy of ours.
    pub(crate) taken_for_copy: bool,
    pub(crate) brake: Brake,
    pub(crate) owned_known: bool,
    /// Not all that this provider holds has been seen.
    pub(crate) unseen: Option<&'static str>,
    /// Providers bring up whatever they hold, at once.
    pub(crate) benign: bool,
    pub(crate) moves: MovesWorld,
    pub(crate) oddities: Oddities,
    /// Whether people are told no providers and rules.
    pub(crate) brief: bool,
    counted: BTreeMap<OriginKey, AcceptId>,
    /// To ask an expression is a strike against it.
    asked_once: bool,
    evaluator: Arc<Evaluator>,
}

pub(crate) fn ring(id: &str) -> KeyRing {
    KeyRing::new(vec![Key { id: id.to_owned(), secret: id.bytes().cycle().take(32).collect() }]).unwrap()
}

pub(crate) fn key(consumer: &str, name: &str) -> OriginKey {
    OriginKey {
        cluster: ClusterName::consumer(consumer),
        gvk: Arc::new(certificate()),
        namespace: NAMESPACE.into(),
        name: name.into(),
    }
}

/// The origin that most tests speak of.
pub(crate) fn web() -> OriginKey {
    key("homer", "web")
}

impl World {
    /// A consumer `homer` and these providers, none of which accepts anything yet.
    pub(crate) fn new(providers: &[&str]) -> Self {
        thread_local!(static EVALUATOR: Arc<Evaluator> = Arc::new(Evaluator::new()));
        let mut world = Self {
            servers: BTreeMap::new(),
            acceptances: BTreeMap::new(),
            memories: BTreeMap::new(),
            keys: BTreeSet::new(),
            related_kinds: vec![secret(), config_map()],
            limits: Limits { status: 64 << 10, related: 256 << 10, related_total: 1 << 20 },
            quota: None,
            ring: ring("first"),
            millis: 1_700_000_000_000,
            started: 1_700_000_000_000,
            log: Vec::new(),
            taken_for_copy: false,
            brake: Brake::Free,
            owned_known: true,
            unseen: None,
            benign: false,
            moves: MovesWorld::default(),
            oddities: Oddities::default(),
            brief: false,
            counted: BTreeMap::new(),
            asked_once: false,
            evaluator: EVALUATOR.with(Arc::clone),
        };
        world.engage(ClusterName::consumer("homer"));
        for provider in providers {
            world.engage(ClusterName::provider(*provider));
        }
        world
    }

    /// A consumer, one provider that accepts all, and the origin `web`.
    pub(crate) fn with_origin() -> Self {
        let mut world = Self::new(&["p1"]);
        world.accept("p1", &json!({}));
        world.create(&web(), json!({"fqdn": "a.corp"}));
        world
    }

    /// [`World::with_origin`], after the first copy and the provider's first status.
    pub(crate) fn served() -> Self {
        let mut world = Self::with_origin();
        world.settle(&web());
        world.provider_status("p1", &web(), json!({"phase": "Up"}));
        world.settle(&web());
        world.log.clear();
        world
    }

    pub(crate) fn engage(&mut self, cluster: ClusterName) {
        let mut server = Server::new(cluster.name());
        let rule = if cluster.role() == Role::Consumer { consumer_rule() } else { provider_rule() };
        server.objects.kinds.insert(certificate(), rule);
        for kind in [secret(), config_map()] {
            server.objects.kinds.insert(kind, KindRule::free());
        }
        self.servers.insert(cluster, server);
    }

    pub(crate) fn consumer(&mut self) -> &mut Server {
        self.servers.get_mut(&ClusterName::consumer("homer")).unwrap()
    }

    pub(crate) fn provider(&mut self, name: &str) -> &mut Server {
        self.servers.get_mut(&ClusterName::provider(name)).unwrap()
    }

    pub(crate) fn providers(&self) -> impl Iterator<Item = (&ClusterName, &Server)> {
        self.servers.iter().filter(|(name, _)| name.role() == Role::Provider)
    }

    /// A provider makes or changes its AcceptAPI `all`; `spec` is merged over one that accepts everything.
    pub(crate) fn accept(&mut self, provider: &str, spec: &Value) {
        self.accept_as(provider, "all", spec);
    }

    pub(crate) fn accept_as(&mut self, provider: &str, name: &str, spec: &Value) {
        let mut whole =
            json!({"gvr": {"group": "example.platform-mesh.io", "version": "v1alpha1", "resource": "certificates"}});
        objects::merge(&mut whole, spec);
        let spec: AcceptApiSpec = serde_json::from_value(whole).unwrap();
        let id = AcceptId { provider: ClusterName::provider(provider), namespace: "default".into(), name: name.into() };
        let acceptance = Acceptance::compile(id, &spec, &self.evaluator).unwrap();
        self.acceptances.insert(format!("{provider}/{name}"), Arc::new(acceptance));
    }

    /// What people say in an AcceptAPI's annotations.
    pub(crate) fn annotate(&mut self, id: &str, drain: bool, rebalance: bool) {
        let held = self.acceptances.get_mut(id).unwrap();
        *held = Arc::new((**held).clone().annotated(drain, rebalance));
    }

    pub(crate) fn accept_no_more(&mut self, provider: &str) {
        self.acceptances.retain(|_, acceptance| acceptance.id.provider.name() != provider);
    }

    pub(crate) fn origin_at(key: &OriginKey) -> At {
        ((*key.gvk).clone(), key.namespace.to_string(), key.name.to_string())
    }

    pub(crate) fn copy_at(key: &OriginKey) -> At {
        ((*key.gvk).clone(), key.namespace.to_string(), copy::name(key))
    }

    pub(crate) fn create(&mut self, key: &OriginKey, spec: impl Into<Value>) {
        self.keys.insert(key.clone());
        let server = self.servers.get_mut(&key.cluster).unwrap();
        assert!(server.get(&Self::origin_at(key)).is_none(), "exists already");
        server.put(&Self::origin_at(key), json!({"metadata": {}, "spec": spec.into()}));
    }

    pub(crate) fn origin(&self, key: &OriginKey) -> Option<&Value> {
        self.servers[&key.cluster].get(&Self::origin_at(key))
    }

    pub(crate) fn copy(&self, provider: &str, key: &OriginKey) -> Option<&Value> {
        self.servers[&ClusterName::provider(provider)].get(&Self::copy_at(key))
    }

    pub(crate) fn edit(&mut self, key: &OriginKey, edit: impl FnOnce(&mut Value)) {
        self.servers.get_mut(&key.cluster).unwrap().edit(&Self::origin_at(key), edit);
    }

    pub(crate) fn edit_copy(&mut self, provider: &str, key: &OriginKey, edit: impl FnOnce(&mut Value)) {
        self.provider(provider).edit(&Self::copy_at(key), edit);
    }

    pub(crate) fn delete(&mut self, key: &OriginKey) {
        self.servers.get_mut(&key.cluster).unwrap().delete(&Self::origin_at(key));
    }

    /// Removes the origin whatever holds it.
    pub(crate) fn force_remove(&mut self, key: &OriginKey) {
        self.edit(key, |origin| origin["metadata"]["finalizers"] = json!([]));
        self.delete(key);
    }

    pub(crate) fn provider_status(&mut self, provider: &str, key: &OriginKey, status: Value) {
        self.edit_copy(provider, key, |copy| copy["status"] = status);
    }

    /// The provider brings the copy it holds up and says so, on top of what else its status says.
    pub(crate) fn serve(&mut self, provider: &str, key: &OriginKey) {
        self.edit_copy(provider, key, |copy| {
            let generation = copy["metadata"]["generation"].clone();
            copy["status"]["conditions"] = json!([
                {"type": "Ready", "status": "True", "reason": "Up", "message": "", "observedGeneration": generation,
                 "lastTransitionTime": "2026-01-01T00:00:00Z"},
            ]);
        });
    }

    /// Settles an origin whose providers bring up whatever they hold.
    pub(crate) fn settle_served(&mut self, key: &OriginKey) -> Decision {
        self.benign = true;
        let decision = self.settle(key);
        self.benign = false;
        decision
    }

    pub(crate) fn put_secret(&mut self, cluster: &ClusterName, name: &str, value: Value) {
        let at = (secret(), NAMESPACE.to_owned(), name.to_owned());
        self.servers.get_mut(cluster).unwrap().put(&at, value);
    }

    pub(crate) fn secret(&self, cluster: &ClusterName, name: &str) -> Option<&Value> {
        self.servers[cluster].get(&(secret(), NAMESPACE.to_owned(), name.to_owned()))
    }

    /// A condition of the origin's status as `Status/Reason: message`.
    pub(crate) fn condition(&self, key: &OriginKey, kind: &str) -> Option<String> {
        let conditions = self.origin(key)?["status"]["conditions"].as_array()?;
        let found = conditions.iter().find(|condition| condition["type"] == kind)?;
        let text = |field: &str| found[field].as_str().unwrap().to_owned();
        Some(format!("{}/{}: {}", text("status"), text("reason"), text("message")))
    }

    /// What a copy's signature says, by the present key ring.
    pub(crate) fn signed(&self, provider: &str, key: &OriginKey) -> Option<Seal> {
        let uid = self.origin(key)?["metadata"]["uid"].as_str()?;
        let text = self.copy(provider, key)?["metadata"]["annotations"][broker_api::keys::ORIGIN].as_str()?;
        self.ring.verify_origin(&key.subject(uid), provider, text)
    }

    pub(crate) fn now(&self) -> Now {
        let seconds = self.millis / 1000;
        Now { millis: self.millis, started: self.started, text: format!("2026-01-01T00:00:00Z+{seconds}") }
    }

    pub(crate) fn decide(&self, key: &OriginKey, confirmed: Option<&Confirmed>) -> Decision {
        let engaged = self.providers().filter(|(name, _)| !self.moves.left.contains_key(name));
        let holders = engaged.map(|(name, server)| Holder {
            provider: name.clone(),
            reach: server.reach.clone(),
            silent_millis: server.silent_since.map_or(0, |since| self.millis.saturating_sub(since)),
            serving: server.serving(&key.gvk),
            copy: server.seen(&Self::copy_at(key)),
            acceptances_known: server.acceptances_known,
            acceptances_served: server.acceptances_served,
            trouble: self.oddities.trouble.clone(),
        });
        let consumer = &self.servers[&key.cluster];
        let nothing = OriginMemory::default();
        let engaged = |acceptance: &&Arc<Acceptance>| !self.moves.left.contains_key(&acceptance.id.provider);
        let acceptances: Vec<_> = self.acceptances.values().filter(engaged).cloned().collect();
        let has_room = |acceptance: &Acceptance| {
            let others = self.counted.iter().filter(|(other, id)| *other != key && **id == acceptance.id).count();
            let seen = self.unseen != Some(acceptance.id.provider.name());
            let room = |capacity| seen.then_some((others as u64) < capacity);
            acceptance.capacity.map_or(Some(true), room)
        };
        let cluster = |other: &&OriginKey| *other != key && other.cluster == key.cluster;
        let has_quota = || {
            let others = self.counted.keys().filter(cluster).count();
            self.quota.is_none_or(|most| (others as u64) < most)
        };
        let has_share = |acceptance: &Acceptance| {
            let others = self.counted.iter().filter(|(other, id)| cluster(other) && **id == acceptance.id).count();
            acceptance.capacity_per_consumer.is_none_or(|most| (others as u64) < most)
        };
        let absent = |provider: &ClusterName| self.moves.absent(provider, self.millis);
        let may_move = |route: &Route| self.moves.may_move(key, route);
        let moves = || self.moves.of(key, &may_move, &absent);
        let decide = |holders: Vec<Holder>| {
            let snapshot = Snapshot {
                key,
                now: self.now(),
                consumer: consumer.reach.clone(),
                consumer_kind: consumer.serving(&key.gvk),
                consumer_labels: Some(Arc::default()),
                origin: consumer.seen(&Self::origin_at(key)),
                confirmed: confirmed.cloned(),
                brake: &|_| self.brake,
                is_copy: self.taken_for_copy,
                holders,
                hidden: &self.oddities.hidden,
                acceptances: &acceptances,
                has_room: &has_room,
                quota: Quota { most: self.quota, has_room: &has_quota, has_room_at: &has_share },
                limits: self.limits,
                synced: true,
                busy: self.oddities.busy,
                moves: moves(),
                brief: self.brief,
                ring: &self.ring,
                evaluator: &self.evaluator,
                related_kinds: &self.related_kinds,
                related: &Relations { world: self, consumer: &key.cluster },
                memory: self.memories.get(key).unwrap_or(&nothing),
            };
            if self.oddities.asked { self.oddities.answer(&snapshot) } else { decide(&snapshot) }
        };
        self.beside_bystanders(key, holders.collect(), &acceptances, &moves().migrations, decide)
    }

    /// Observes and decides, with what API servers say where it asks them.
    pub(crate) fn look(&mut self, key: &OriginKey) -> Decision {
        let decision = self.decide_asking(key);
        if let (Some(route), None) = (&decision.route, &decision.moving) {
            assert!(!self.moves.may_move(key, route), "it waits for a turn that it could have: {decision:#?}");
        }
        let before = self.moves.moving(key);
        self.memories.entry(key.clone()).or_default().absorb(&decision, before, self.millis);
        self.moves.absorb(key, &decision);
        match &decision.counted {
            Some(id) => self.counted.insert(key.clone(), id.clone()),
            None => self.counted.remove(key),
        };
        decision
    }

    /// One pass: at most `budget` of the decision's writes are carried out, none after the first failure.
    pub(crate) fn pass_within(&mut self, key: &OriginKey, budget: usize) -> Decision {
        let decision = self.look(key);
        for write in decision.writes().take(budget) {
            if self.carry_out(key, write).is_err() {
                break;
            }
        }
        self.millis += 1;
        if self.benign {
            let providers: Vec<ClusterName> = self.providers().map(|(name, _)| name.clone()).collect();
            for provider in providers {
                self.serve(provider.name(), key);
            }
        }
        decision
    }

    pub(crate) fn pass(&mut self, key: &OriginKey) -> Decision {
        self.pass_within(key, usize::MAX)
    }

    pub(crate) fn carry_out(&mut self, key: &OriginKey, write: &Write) -> Result<(), Refused> {
        // Where there is a coordination cluster the Migration is made there, else by what is scripted.
        if write.subject == Subject::Migration && !self.servers.contains_key(&write.cluster) {
            self.moves.make(key, write, self.millis)?;
            self.memories.entry(key.clone()).or_default().writes.wrote(write.subject, write.intent, None, self.millis);
            self.log.push(write.clone());
            return Ok(());
        }
        self.check_succession(key, write);
        let at = (write.kind.clone(), write.namespace.clone(), write.name.clone());
        let before = self.servers[&write.cluster].get(&at).is_some();
        let after = self.servers.get_mut(&write.cluster).ok_or(Refused::Unreachable)?.execute(&at, &write.op)?;
        let now = self.millis;
        let memory = self.memories.entry(key.clone()).or_default();
        if !matches!(write.op, Op::Delete { .. }) {
            let leftover = after.as_ref().and_then(|after| writes::leftover(write, after));
            memory.writes.wrote(write.subject, write.intent, leftover.as_ref(), now);
        }
        if let (Subject::Copy, Some(after), Op::Create(_) | Op::Apply { .. }) = (write.subject, &after, &write.op) {
            memory.copy_uid = Some(after["metadata"]["uid"].as_str().unwrap().into());
            if !before {
                memory.created_at = Some(now);
            }
        }
        self.log.push(write.clone());
        Ok(())
    }

    /// Passes until one wants nothing, now or later; returns that one.
    pub(crate) fn settle(&mut self, key: &OriginKey) -> Decision {
        let mut seen = Vec::new();
        for _ in 0..PASSES {
            let decision = self.pass(key);
            match decision.again {
                _ if !decision.steps.is_empty() => seen.push(decision),
                Some(wait) => {
                    self.millis += u64::try_from(wait.as_millis()).unwrap();
                    seen.push(decision);
                }
                None => return decision,
            }
        }
        panic!("{key} never gets quiet; the last passes: {:#?}", &seen[seen.len() - 2..]);
    }

    /// Passes until one wants nothing now; what it wants later does not come.
    pub(crate) fn settle_briefly(&mut self, key: &OriginKey) -> Decision {
        for _ in 0..PASSES {
            let decision = self.pass(key);
            if decision.steps.is_empty() {
                return decision;
            }
        }
        panic!("{key} never gets quiet");
    }

    pub(crate) fn settle_all(&mut self) {
        for key in self.keys.clone() {
            self.settle(&key);
        }
    }

    /// The broker restarts with nothing in memory.
    pub(crate) fn restart(&mut self) {
        self.started = self.millis;
        self.memories.clear();
        self.counted.clear();
        self.moves.forget_turns();
    }

    /// Asserts that nothing is written, now and after a restart.
    #[track_caller]
    pub(crate) fn assert_steady(&mut self, key: &OriginKey) {
        for restarted in [false, true] {
            if restarted {
                self.restart();
            }
            let decision = self.look(key);
            assert_eq!(decision.steps, [], "restarted: {restarted}, {:?}", decision.state);
        }
    }

    /// Asserts that the next look at the origin wants no write, whatever else it says.
    #[track_caller]
    pub(crate) fn assert_holds_still(&mut self, key: &OriginKey) -> State {
        let decision = self.look(key);
        assert_eq!(decision.steps, []);
        decision.state
    }

    /// The writes since the log was cleared, as `verb cluster/name`.
    pub(crate) fn writes(&self) -> Vec<String> {
        self.log.iter().map(|write| format!("{} {}/{}", verb(&write.op), write.cluster.name(), write.name)).collect()
    }
}
