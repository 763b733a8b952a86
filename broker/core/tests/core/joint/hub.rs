//! Both machines and what is between them: the coordination cluster, which is the compute cluster as well.

use std::{
    collections::BTreeSet,
    sync::{Arc, LazyLock},
};

use broker_api::{ClusterName, MigrationStage, Role, keys, migration::time_of};
use broker_core::{
    decision::Decision,
    migration::{
        book::Book,
        configuration::Configuration,
        known::Known,
        machine::migrate,
        moved_origin::MovedOrigin,
        observed::{Applicable, Decided, Observed, StageView},
    },
    migration_object,
    movement::Configured,
};
use runtime_cel::expression::Evaluator;
use runtime_effect::{
    kind::Kind, object_key::ObjectKey, reach::Reach, seen::Seen, serving::Serving, view::View, write::Op,
};
use serde_json::{Value, json};

use crate::decide::world::{At, NAMESPACE, Server, World, config_map, consumer_rule, web};
use crate::joint::{
    ledger::Ledger,
    links::{Record, about, copy_at, known, linked, provided},
};

pub(crate) static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(Evaluator::new);

pub(crate) const PROVIDERS: [&str; 3] = ["p1", "p2", "p3"];
const TTL: u64 = 24 * 3600 * 1000;

pub(crate) fn hub() -> ClusterName {
    ClusterName::new(Role::Coordination, "hub")
}

fn key_of(name: &str) -> ObjectKey {
    ObjectKey::new(NAMESPACE, name)
}

pub(crate) fn migration_at(name: &str) -> At {
    (migration_object::kind(), NAMESPACE.to_owned(), name.to_owned())
}

/// The MigrationConfiguration that there is, if any.
#[derive(Debug, Clone)]
pub(crate) enum Setting {
    None,
    Invalid,
    Stages(Arc<Configuration>),
}

/// What is remembered of a Migration beside what decisions need.
#[derive(Debug, Default)]
struct Rest {
    /// Version that was taken in.
    version: Value,
    watches: BTreeSet<Kind>,
}

pub(crate) struct Joint {
    pub(crate) world: World,
    pub(crate) setting: Setting,
    pub(crate) ledger: Ledger,
    record: Option<Record>,
    book: Book<Rest>,
    /// Decided, and not carried out yet.
    slow_decision: Option<Decision>,
    slow_decided: Option<(String, Decided)>,
}

impl Joint {
    pub(crate) fn new() -> Self {
        let mut world = World::new(&PROVIDERS);
        world.engage(hub());
        let mut rule = consumer_rule();
        (rule.schema, rule.published) = (Value::Null, false);
        world.servers.get_mut(&hub()).unwrap().objects.kinds.insert(migration_object::kind(), rule);
        Self {
            world,
            setting: Setting::None,
            ledger: Ledger::default(),
            record: None,
            book: Book::default(),
            slow_decision: None,
            slow_decided: None,
        }
    }

    pub(crate) fn hub(&mut self) -> &mut Server {
        self.world.servers.get_mut(&hub()).unwrap()
    }

    /// Names of the Migrations that there are.
    pub(crate) fn migrations(&self) -> Vec<String> {
        let objects = self.world.servers[&hub()].objects.places();
        objects.filter(|at| at.0 == migration_object::kind()).map(|at| at.2.clone()).collect()
    }

    pub(crate) fn migration(&self, name: &str) -> Option<&Value> {
        self.world.servers[&hub()].get(&migration_at(name))
    }

    /// What stages made.
    pub(crate) fn stage_objects(&self) -> Vec<At> {
        let made = |value: &Value| value["metadata"]["labels"].get(keys::MIGRATION_STAGE).is_some();
        let objects = &self.world.servers[&hub()].objects;
        objects.all().filter(|(_, stored)| made(&stored.value)).map(|(at, _)| at.clone()).collect()
    }

    /// The watch of Migrations brings what there is to whoever decides on the origin.
    fn link(&mut self) {
        let now = self.world.millis;
        for name in self.migrations() {
            let dated = self.migration(&name).unwrap()["metadata"].get("creationTimestamp").is_some();
            if !dated {
                let created = serde_json::to_value(time_of(now)).unwrap();
                self.hub().edit(&migration_at(&name), |migration| {
                    migration["metadata"]["creationTimestamp"] = created;
                });
            }
        }
        let listed = self.world.servers[&hub()].listed;
        self.world.moves.migrations_known = listed;
        self.world.moves.configured = match &self.setting {
            _ if !listed => Configured::Unknown,
            Setting::None => Configured::No,
            Setting::Invalid => Configured::Invalid("spec.stages[0]: no".into()),
            Setting::Stages(_) => Configured::Yes,
        };
        if !listed {
            return;
        }
        let names = self.migrations();
        let is_gone = |key: &&ObjectKey| !names.iter().any(|name| **name == *key.name);
        let gone: Vec<ObjectKey> = self.book.iter().map(|(key, _)| key).filter(is_gone).cloned().collect();
        for key in gone {
            self.book.update(&key, None);
        }
        for name in &names {
            let key = key_of(name);
            let version = self.migration(name).unwrap()["metadata"]["resourceVersion"].clone();
            let before = self.book.get(&key);
            if before.is_some_and(|before| before.rest.version == version) {
                continue;
            }
            let known = known(&self.world, name, before.map(|before| &**before.known())).unwrap();
            let about = self.about(&known);
            self.book.update(&key, Some((known, about)));
            self.book.get_mut(&key).unwrap().rest.version = version;
        }
        let origin = self.world.servers[&web().cluster].seen(&World::origin_at(&web()));
        let own = origin.present().map(|origin| self.book.of(&web(), &origin.uid)).unwrap_or_default();
        self.world.moves.migrations = own.into_iter().map(|view| (web(), view)).collect();
    }

    /// Which origin a Migration is about, as far as can be told now.
    fn about(&self, known: &Known) -> MovedOrigin {
        about(&self.world, known, &|| self.book.makes_for(known))
    }

    /// Whether anybody watches stage objects of a kind.
    fn watches(&self, kind: &Kind) -> bool {
        self.book.iter().any(|(_, entry)| entry.rest.watches.contains(kind))
    }

    /// Decides on the origin; what it says of its move is known at once.
    fn decide(&mut self) -> Decision {
        self.link();
        let decision = self.world.look(&web());
        Record::absorb(&mut self.record, &decision);
        decision
    }

    fn carry_out(&mut self, decision: &Decision, budget: usize, at_once: bool) -> bool {
        let mut wrote = false;
        for write in decision.writes().take(budget) {
            Ledger::before(&self.world, write, at_once);
            let shown = Ledger::shown(&self.world);
            if self.world.carry_out(&web(), write).is_err() {
                break;
            }
            wrote = true;
            self.link();
            self.ledger.after(&self.world, &shown);
        }
        self.world.millis += 1;
        wrote
    }

    /// One pass over the origin. Returns whether it wrote, and when it wants to look again.
    pub(crate) fn pass(&mut self, budget: usize) -> (bool, Option<u64>) {
        self.slow_decision = None;
        let decision = self.decide();
        let wrote = self.carry_out(&decision, budget, true);
        let wanted = decision.writes().next().is_some();
        (wrote || wanted, decision.again.map(|wait| u64::try_from(wait.as_millis()).unwrap()))
    }

    pub(crate) fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    pub(crate) fn decide_slowly(&mut self) {
        if self.slow_decision.is_none() {
            let decision = self.decide();
            self.slow_decision = Some(decision);
        }
    }

    pub(crate) fn migrate_slowly(&mut self, name: &str) {
        if self.slow_decided.is_none() {
            self.slow_decided = self.observe(name).map(|decided| (name.to_owned(), decided));
        }
    }

    /// What was decided a while ago goes out.
    pub(crate) fn catch_up(&mut self) {
        if let Some(decision) = self.slow_decision.take() {
            self.carry_out(&decision, usize::MAX, false);
        }
        if let Some((name, decided)) = self.slow_decided.take() {
            self.execute(&name, &decided, usize::MAX, false);
        }
    }

    /// Observes a Migration and decides. `None`: it cannot be seen.
    fn observe(&mut self, name: &str) -> Option<Decided> {
        self.link();
        let Seen::Present(object) = self.world.servers[&hub()].seen(&migration_at(name)) else { return None };
        let key = key_of(name);
        let known = Arc::clone(self.book.get(&key).unwrap().known());
        if self.book.get(&key).unwrap().about().origin().is_none() {
            let about = self.about(&known);
            self.book.set_about(&known, about);
            self.link();
        }
        let entry = self.book.get(&key).unwrap();
        let (movement, maker) = linked(&self.world, &known, entry.about(), self.record.as_ref());
        let applicable = match &self.setting {
            Setting::None => Applicable::None,
            Setting::Invalid => Applicable::Invalid("spec.stages[0]: no"),
            Setting::Stages(configuration) => Applicable::Found(configuration),
        };
        let decided = migrate(&Observed {
            now: self.world.now(),
            object: &object,
            movement,
            origin: match entry.about() {
                MovedOrigin::Known(key, uid) => Some((key, &**uid)),
                MovedOrigin::Unknown | MovedOrigin::Refused(..) => None,
            },
            applicable,
            from: copy_at(&self.world, &known.from),
            to: copy_at(&self.world, &known.to),
            coordination: hub(),
            compute: hub(),
            compute_reach: self.world.servers[&hub()].reach.clone(),
            stage: self,
            related_kinds: &self.world.related_kinds,
            stage_namespaces: &[],
            maker,
            ring: &self.world.ring,
            evaluator: &EVALUATOR,
            memory: &entry.memory,
            ttl_millis: TTL,
        });
        self.book.get_mut(&key).unwrap().rest.watches.clone_from(&decided.watches);
        Some(decided)
    }

    fn execute(&mut self, name: &str, decided: &Decided, budget: usize, at_once: bool) -> bool {
        let mut wrote = false;
        for write in decided.writes.iter().take(budget) {
            let at = (write.kind.clone(), write.namespace.clone(), write.name.clone());
            let key = web();
            self.ledger.before_stage(&self.world, name, write, at_once);
            let now = self.world.millis;
            if self.hub().execute(&at, &write.op).is_err() {
                break;
            }
            wrote = true;
            if let (false, Some(entry)) = (matches!(write.op, Op::Delete { .. }), self.book.get_mut(&key_of(name))) {
                entry.memory.wrote(write.subject, write.intent, None, now);
            }
            self.link();
            self.ledger.after_stage(&self.world, &key, name);
        }
        self.world.millis += 1;
        wrote
    }

    /// One pass over a Migration. Returns whether it wants to write, and when it wants to look again.
    pub(crate) fn migrate(&mut self, name: &str, budget: usize) -> (bool, Option<u64>) {
        self.slow_decided = None;
        // A watch that is new brings what there is, and it is decided again.
        let known = self.book.get(&key_of(name)).map(|entry| entry.rest.watches.clone());
        let Some(mut decided) = self.observe(name) else { return (false, None) };
        if known.as_ref() != Some(&decided.watches) {
            decided = self.observe(name).unwrap();
        }
        let wrote = self.execute(name, &decided, budget, true);
        let wants = !decided.writes.is_empty();
        (wrote || wants, decided.again.map(|wait| u64::try_from(wait.as_millis()).unwrap()))
    }

    /// The broker dies and starts anew.
    pub(crate) fn restart(&mut self) {
        self.world.restart();
        self.record = None;
        self.book = Book::default();
        self.world.moves.migrations.clear();
        (self.slow_decision, self.slow_decided) = (None, None);
        self.link();
    }

    /// A person makes a Migration.
    pub(crate) fn ask(&mut self, name: &str, from: &str, to: &str) {
        let kind = (*web().gvk).clone();
        let side = |cluster: &str| {
            json!({"gvk": {"group": kind.group, "version": kind.version, "kind": kind.kind},
                "name": World::copy_at(&web()).2, "namespace": NAMESPACE, "clusterName": cluster})
        };
        let value = json!({"metadata": {}, "spec": {"from": side(from), "to": side(to)}});
        self.hub().put(&migration_at(name), value);
        self.link();
    }
}

impl StageView for Joint {
    fn reaches(&self, _: &str) -> bool {
        true
    }

    fn serving(&self, kind: &Kind) -> Serving {
        self.world.servers[&hub()].serving(kind)
    }

    fn object(&self, kind: &Kind, namespace: &str, name: &str) -> Seen {
        if !self.watches(kind) {
            return Seen::Unknown;
        }
        let seen = self.world.servers[&hub()].seen(&(kind.clone(), namespace.to_owned(), name.to_owned()));
        match seen {
            Seen::Present(view) if view.label(keys::MIGRATION_ID).is_none() => Seen::Absent,
            seen => seen,
        }
    }

    fn all(&self, id: &str) -> Vec<(Kind, View)> {
        let hub = &self.world.servers[&hub()];
        if !hub.listed {
            return Vec::new();
        }
        let ours =
            hub.cached_views().filter(|(at, view)| self.watches(&at.0) && view.label(keys::MIGRATION_ID) == Some(id));
        ours.map(|(at, view)| (at.0.clone(), view)).collect()
    }

    fn all_known(&self, kinds: &BTreeSet<Kind>) -> bool {
        self.world.servers[&hub()].listed && kinds.iter().all(|kind| self.watches(kind))
    }

    fn source(&self, provider: &ClusterName, kind: &Kind, namespace: &str, name: &str) -> Seen {
        provided(&self.world, provider, &(kind.clone(), namespace.to_owned(), name.to_owned()))
    }
}

/// Stages with a ConfigMap each; `done` and `failed` in its data are set by others.
pub(crate) fn stages(stages: &[(&str, bool, Option<i64>, &str)]) -> Arc<Configuration> {
    let stages = stages.iter().map(|(name, progress, timeout, on_failure)| {
        let template =
            json!({"apiVersion": config_map().api_version(), "kind": "ConfigMap", "data": {"of": "${stage.name}"}});
        let mut stage = json!({
            "name": name,
            "templates": {"work": template},
            "successConditions": ["has(work.data.done) && work.data.done == 'true'"],
            "failureConditions": ["has(work.data.failed) && work.data.failed == 'true'"],
            "progress": progress,
            "onFailure": on_failure,
        });
        if let Some(timeout) = timeout {
            stage["timeoutSeconds"] = json!(timeout);
        }
        stage
    });
    let stages: Vec<MigrationStage> = serde_json::from_value(stages.collect()).unwrap();
    Arc::new(Configuration::compile("config", "certs", 1, &stages, &EVALUATOR).unwrap())
}

/// Whether requests to a cluster go through.
pub(crate) fn answers(server: &Server) -> bool {
    server.reach == Reach::Ready
}
