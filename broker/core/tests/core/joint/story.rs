//! What people, providers, controllers and faults do to the world, and how it comes to rest.

use std::sync::{Arc, LazyLock};

use broker_api::{ClusterName, keys};
use broker_core::{
    acceptance::{Acceptance, Applicant, Verdict},
    allowance::Allowance,
    decision::State,
    migration::configuration::Configuration,
    snapshot::OriginKey,
};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use crate::decide::world::{World, config_map, web};
use crate::joint::{
    dice::{Dice, Event},
    hub::{EVALUATOR, Joint, PROVIDERS, Setting, answers, hub, migration_at, stages},
    links::known,
};

/// More rounds than any way to the goal takes.
const ROUNDS: usize = 600;

static CONFIGURATIONS: LazyLock<[Arc<Configuration>; 4]> = LazyLock::new(|| {
    [
        stages(&[("dump", true, None, "Rollback"), ("clean", false, None, "Hold")]),
        stages(&[
            ("dump", false, Some(60), "Rollback"),
            ("load", true, None, "Hold"),
            ("clean", false, Some(60), "Rollback"),
        ]),
        stages(&[("dump", false, None, "Hold"), ("load", false, Some(60), "Rollback")]),
        stages(&[]),
    ]
});

pub(crate) struct Story {
    pub(crate) joint: Joint,
    past: Vec<Value>,
    asked: usize,
}

fn cluster(index: usize) -> ClusterName {
    match index {
        0..=2 => ClusterName::provider(PROVIDERS[index]),
        3 => web().cluster,
        _ => hub(),
    }
}

impl Story {
    /// `web` is served by p1; a configuration is there.
    pub(crate) fn new(seed: usize) -> Self {
        let mut story = Self { joint: Joint::new(), past: Vec::new(), asked: 0 };
        for (provider, (least, most)) in PROVIDERS.into_iter().zip([(0, 10), (10, 20), (10, 30)]) {
            story.accept(provider, least, most);
        }
        story.joint.world.create(&web(), json!({"fqdn": "x", "size": 5}));
        story.happen(&Event::Configure(seed % 6));
        story.rounds(6);
        story
    }

    fn accept(&mut self, provider: &str, least: i64, most: i64) {
        let filters = json!([{"key": "size", "boundary": {"min": least, "max": most}}]);
        self.joint.world.accept(provider, &json!({"filters": filters, "unreachableAfterSeconds": 600}));
    }

    fn remember(&mut self) {
        if let Some(origin) = self.joint.world.origin(&web()) {
            self.past.push(origin["metadata"]["annotations"].clone());
        }
    }

    /// A provider brings up the copy it holds, with a Secret of its own.
    fn serve(&mut self, provider: &str) -> bool {
        let world = &mut self.joint.world;
        let Some(copy) = world.copy(provider, &web()) else { return false };
        if copy["metadata"].get("deletionTimestamp").is_some() {
            return false;
        }
        let generation = copy["metadata"]["generation"].clone();
        let before = copy["metadata"]["resourceVersion"].clone();
        let name = World::copy_at(&web()).2;
        let status = json!({
            "phase": provider,
            "relatedResources": {"tls": {"gvk": {"group": "core", "version": "v1", "kind": "Secret"}, "name": name}},
            "conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": "",
                "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        });
        world.provider_status(provider, &web(), status);
        let cluster = ClusterName::provider(provider);
        if world.secret(&cluster, &name).is_none() {
            world.put_secret(&cluster, &name, json!({"metadata": {}, "type": "Opaque", "data": {"k": provider}}));
        }
        self.joint.world.copy(provider, &web()).unwrap()["metadata"]["resourceVersion"] != before
    }

    fn work(&mut self, which: usize, word: &str) {
        let objects = self.joint.stage_objects();
        let Some(at) = objects.get(which % objects.len().max(1)).filter(|at| at.0 == config_map()) else { return };
        self.joint.hub().edit(at, |object| match word {
            "undone" => {
                object["data"].as_object_mut().unwrap().remove("done");
            }
            word => object["data"][word] = json!("true"),
        });
    }

    /// Both machines look at all there is; providers and controllers do their work. Returns whether anything happened,
    /// and when somebody wants to look again.
    fn round(&mut self) -> (bool, Option<u64>) {
        let (mut busy, mut again) = self.joint.pass(usize::MAX);
        for name in self.joint.migrations() {
            let (wrote, wait) = self.joint.migrate(&name, usize::MAX);
            busy |= wrote;
            again = [again, wait].into_iter().flatten().min();
        }
        for provider in PROVIDERS {
            busy |= self.serve(provider);
        }
        for at in self.joint.stage_objects() {
            let data = &self.joint.world.servers[&hub()].get(&at).unwrap()["data"];
            if data.get("done").is_none() && data.get("failed").is_none() {
                self.joint.hub().edit(&at, |object| object["data"]["done"] = json!("true"));
                busy = true;
            }
        }
        (busy, again)
    }

    fn rounds(&mut self, count: usize) {
        for _ in 0..count {
            self.round();
        }
    }

    fn named(&self, which: usize) -> Option<String> {
        let all = self.joint.migrations();
        all.get(which % all.len().max(1)).cloned()
    }

    fn mark(&mut self, edit: impl FnOnce(&mut Value)) {
        self.remember();
        self.joint.world.edit(&web(), |origin| edit(&mut origin["metadata"]));
    }

    pub(crate) fn happen(&mut self, event: &Event) {
        match event.clone() {
            Event::Rounds(count) => self.rounds(count),
            Event::Pass(budget) => {
                self.remember();
                self.joint.pass(budget);
            }
            Event::Migrate(which, budget) => {
                if let Some(name) = self.named(which) {
                    self.joint.migrate(&name, budget);
                }
            }
            Event::Crash(origin, which, budget) => {
                if origin {
                    self.joint.pass(budget);
                } else if let Some(name) = self.named(which) {
                    self.joint.migrate(&name, budget);
                }
                self.joint.restart();
            }
            Event::DecideSlowly => self.joint.decide_slowly(),
            Event::MigrateSlowly(which) => {
                if let Some(name) = self.named(which) {
                    self.joint.migrate_slowly(&name);
                }
            }
            Event::CatchUp => self.joint.catch_up(),
            Event::Edit(size) => self.joint.world.edit(&web(), |origin| origin["spec"]["size"] = json!(size)),
            Event::Accept(provider, least, most) => self.accept(provider, least, most),
            Event::AcceptNoMore(provider) => self.joint.world.accept_no_more(provider),
            Event::Annotate(provider, drain) => {
                let id = format!("{provider}/all");
                if self.joint.world.acceptances.contains_key(&id) {
                    self.joint.world.annotate(&id, drain, false);
                }
            }
            Event::Serve(provider) => {
                self.serve(provider);
            }
            Event::Unserve(provider) => self.joint.world.edit_copy(provider, &web(), |copy| {
                if copy["status"]["conditions"].is_array() {
                    copy["status"]["conditions"][0]["status"] = json!("False");
                }
            }),
            Event::DeleteCopy(provider, slowly) => {
                let world = &mut self.joint.world;
                world.edit_copy(provider, &web(), |copy| {
                    copy["metadata"]["finalizers"] = if slowly { json!(["theirs/one"]) } else { json!([]) };
                });
                world.provider(provider).delete(&World::copy_at(&web()));
            }
            Event::Reach(index, how) => {
                let millis = self.joint.world.millis;
                let server = self.joint.world.servers.get_mut(&cluster(index)).unwrap();
                server.reach = match how {
                    0 | 1 => Reach::Ready,
                    2 => Reach::Lost("blip".into()),
                    _ => Reach::Unreachable("down".into()),
                };
                server.silent_since = (!answers(server)).then(|| server.silent_since.unwrap_or(millis));
            }
            Event::Listed(index, listed) => self.joint.world.servers.get_mut(&cluster(index)).unwrap().listed = listed,
            Event::Leave(provider, back) => {
                let (provider, world) = (ClusterName::provider(provider), &mut self.joint.world);
                if back {
                    world.moves.left.remove(&provider);
                } else {
                    world.moves.left.entry(provider).or_insert(world.millis);
                }
            }
            Event::Work(which, word) => self.work(which, word),
            Event::DeleteWork(which) => {
                let objects = self.joint.stage_objects();
                if let Some(at) = Dice(which as u64).pick(&objects) {
                    self.joint.hub().delete(&at);
                }
            }
            Event::Configure(how) => {
                self.joint.setting = match how {
                    0..=3 => Setting::Stages(Arc::clone(&CONFIGURATIONS[how])),
                    4 => Setting::None,
                    _ => Setting::Invalid,
                };
            }
            Event::Ask(from, to) => {
                if from != to && self.asked < 4 {
                    self.asked += 1;
                    self.joint.ask(&format!("asked-{}", self.asked), from, to);
                }
            }
            Event::Spec(which, field, value) => {
                if let Some(name) = self.named(which) {
                    self.joint.hub().edit(&migration_at(&name), |migration| migration["spec"][field] = value);
                }
            }
            Event::DeleteMigration(which) => {
                if let Some(name) = self.named(which) {
                    self.joint.hub().delete(&migration_at(&name));
                }
            }
            Event::Delete => self.joint.world.delete(&web()),
            Event::Create(size) => {
                if self.joint.world.origin(&web()).is_none() {
                    self.joint.world.create(&web(), json!({"fqdn": "x", "size": size}));
                }
            }
            Event::Pause(paused) => {
                self.mark(|metadata| metadata["annotations"][keys::PAUSED] = json!(paused.to_string()));
            }
            Event::Ignore(ignored) => {
                self.mark(|metadata| metadata["labels"][keys::IGNORE] = json!(ignored.to_string()));
            }
            Event::Strip(finalizer) => self.mark(|metadata| {
                metadata["annotations"] = json!({});
                if finalizer && metadata.get("deletionTimestamp").is_none() {
                    metadata["finalizers"] = json!([]);
                }
            }),
            Event::Replay(which) => {
                self.remember();
                if let Some(annotations) = self.past.get(which).cloned() {
                    self.joint.world.edit(&web(), |origin| origin["metadata"]["annotations"] = annotations);
                }
            }
            Event::Wait(millis) => self.joint.world.millis += millis,
            // A process reads the wall clock when it starts, and never again.
            Event::Back(millis) => {
                self.joint.world.millis -= millis;
                self.joint.restart();
            }
        }
    }

    /// All faults end; people leave as it is what they paused or what holds for them.
    pub(crate) fn heal(&mut self) {
        self.joint.catch_up();
        let world = &mut self.joint.world;
        for server in world.servers.values_mut() {
            (server.reach, server.silent_since, server.listed) = (Reach::Ready, None, true);
        }
        world.moves.left.clear();
        world.edit(&web(), |origin| {
            let metadata = &mut origin["metadata"];
            if metadata["annotations"][keys::PAUSED] == "true" {
                metadata["annotations"][keys::PAUSED] = json!("false");
            }
            if metadata["labels"][keys::IGNORE] == "true" {
                metadata["labels"][keys::IGNORE] = json!("false");
            }
        });
        for provider in PROVIDERS {
            world.edit_copy(provider, &web(), |copy| copy["metadata"]["finalizers"] = json!([]));
        }
        if matches!(self.joint.setting, Setting::Invalid) {
            self.joint.setting = Setting::Stages(Arc::clone(&CONFIGURATIONS[0]));
        }
        for _ in 0..ROUNDS {
            match self.round() {
                (true, _) => {}
                (false, Some(wait)) => self.joint.world.millis += wait,
                (false, None) => return,
            }
        }
        panic!("it does not come to rest");
    }

    /// What has to be so once all is well again.
    pub(crate) fn check(&mut self) {
        let world = &self.joint.world;
        let mut waits = false;
        for name in self.joint.migrations() {
            let value = self.joint.migration(&name).unwrap();
            let known = known(&self.joint.world, &name, None).unwrap();
            assert!(!known.view.has_ended(), "{name} has ended and is not removed: {value:#}");
            let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let stalled = conditions.iter().any(|condition| condition["type"] == "Stalled");
            let paused = value["spec"]["paused"] == true;
            // One that is to leave a copy that another Migration is to make is not even begun.
            let behind = conditions.is_empty() || conditions.iter().any(|condition| condition["reason"] == "Waiting");
            assert!(paused || stalled || behind, "{name} neither ends nor waits for a person: {value:#}");
            waits |= paused || stalled;
        }
        assert!(waits || self.joint.migrations().is_empty(), "Migrations wait, and nobody is waited for");
        for (at, stored) in world.servers[&hub()].objects.all() {
            let Some(id) = stored.value["metadata"]["labels"].get(keys::MIGRATION_ID) else { continue };
            let owner = self
                .joint
                .migrations()
                .into_iter()
                .find(|name| self.joint.migration(name).unwrap()["status"]["id"] == *id);
            assert!(owner.is_some(), "{at:?} is left over");
        }
        let copies: Vec<&str> = PROVIDERS.into_iter().filter(|at| world.copy(at, &web()).is_some()).collect();
        let state = self.joint.record().map_or(State::Gone, |record| record.state);
        let Some(origin) = world.origin(&web()) else {
            assert!(copies.is_empty(), "copies without an origin: {copies:?}");
            return;
        };
        let shown = crate::joint::ledger::Ledger::shown(world);
        if matches!(state, State::Waiting | State::NotAccepted) {
            let object = Arc::new(origin.clone());
            let OriginKey { cluster, gvk, namespace, .. } = web();
            let applicant =
                Applicant { object: &object, kind: &gvk, namespace: &namespace, consumer: &cluster, labels: None };
            let accepts = |acceptance: &&Arc<Acceptance>| {
                let verdict = acceptance.judge(&applicant, &EVALUATOR, &mut Allowance::default());
                verdict == Verdict::Accepted && !acceptance.is_draining()
            };
            let accepts = world.acceptances.values().find(accepts).map(|acceptance| acceptance.id.to_string());
            assert_eq!(accepts, None, "it ends as {state:?}");
        }
        match state {
            // Its copy is gone; one that another provider still held when it came back goes once there is a new one.
            State::NotAccepted
                if !copies.iter().any(|at| origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER] == *at) =>
            {
                assert!(copies.len() <= 1, "copies at {copies:?}");
            }
            State::Served | State::NotAccepted => {
                let [provider] = copies[..] else { panic!("{state:?} with copies at {copies:?}") };
                assert_eq!(origin["metadata"]["annotations"][keys::PROVIDER_CLUSTER], provider);
                assert!(origin["metadata"]["annotations"].get(keys::NEW_PROVIDER_CLUSTER).is_none());
                assert_eq!((&shown.status, &shown.secret), (&json!(provider), &json!(provider)));
                let copy = world.copy(provider, &web()).unwrap();
                assert!(state == State::NotAccepted || copy["spec"]["size"] == origin["spec"]["size"]);
            }
            State::Moving => {
                assert!(waits, "it moves, and nobody is waited for: {:?}", self.joint.record());
                assert!((1..=2).contains(&copies.len()), "copies at {copies:?}");
            }
            State::Waiting => assert!(copies.is_empty(), "copies at {copies:?}"),
            other => panic!("it ends as {other:?}"),
        }
        self.joint.restart();
        for _ in 0..2 {
            assert!(!self.joint.pass(usize::MAX).0, "another pass over the origin writes");
            for name in self.joint.migrations() {
                assert!(!self.joint.migrate(&name, usize::MAX).0, "another pass over {name} writes");
            }
        }
    }
}

/// Both ask for the same move. The second is looked at before the origin has been decided on since it was made.
#[test]
fn a_second_migration_does_not_take_the_move_of_the_first_for_its_own() {
    let mut story = Story::new(0);
    story.accept("p2", 0, 30);
    let state = |story: &Story, name: &str| story.joint.migration(name).unwrap()["status"]["state"].clone();
    story.joint.ask("first", "p1", "p2");
    for _ in 0..10 {
        story.joint.pass(usize::MAX);
        story.joint.migrate("first", usize::MAX);
        story.serve("p2");
    }
    assert_eq!(state(&story, "first"), "InitialInProgress");
    story.joint.ask("second", "p1", "p2");
    for _ in 0..10 {
        story.joint.migrate("second", usize::MAX);
    }
    assert_eq!(state(&story, "second"), "Pending");
    story.heal();
    story.check();
}
