//! Whatever people, faults and clocks do, in whatever order: each write keeps the rules of `world::rules`, and once all is
//! well again every migration ends or holds for a person, nothing of its own is left over once it has ended, and nothing
//! more is written.

use std::sync::{Arc, LazyLock};

use broker_api::{
    MigrationState::{self, CutoverCompleted, Failed, InitialCompleted},
    keys,
};
use broker_core::{
    memory::Memory,
    migration::configuration::Configuration,
    movement::{Movement, Phase},
};
use proptest::{prelude::*, test_runner::Config};
use runtime_effect::{reach::Reach, write::Op};
use serde_json::{Value, json};

use crate::migrate::world::{
    Applied, At, FROM, ID, NAMESPACE, START, TO, World, configuration, job, related, secret, underway,
};

/// Draws from one number: generating that is cheap, and smaller numbers are simpler.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        let face = self.0 % sides;
        self.0 = (self.0 / sides) ^ self.0.rotate_left(23).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        face
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == sides - 1
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        (!of.is_empty()).then(|| &of[usize::try_from(self.roll(of.len() as u64)).unwrap()])
    }
}

const KEYS: [&str; 3] = ["job", "job-two", "notes"];

fn stage(dice: &mut Dice, number: usize) -> Value {
    let mut templates = json!({});
    let (mut success, mut failure) = (Vec::new(), Vec::new());
    for key in KEYS.iter().take(usize::try_from(dice.roll(4)).unwrap()) {
        let kind = if *key == "notes" { ("v1", "ConfigMap") } else { ("batch/v1", "Job") };
        let namespace = if dice.one_in(5) { "config" } else { "${migration.metadata.namespace}" };
        templates[key] = json!({
            "apiVersion": kind.0, "kind": kind.1,
            "metadata": {"namespace": namespace},
            "data": {"of": "${stage.name}"},
        });
        let variable = key.replace('-', "_");
        if *key != "notes" {
            success.push(format!("has({variable}.status) && {variable}.status.succeeded == 1"));
            failure.push(format!("has({variable}.status) && {variable}.status.failed > 0"));
        }
    }
    match dice.roll(8) {
        0 => success.push("to.spec.missing == 1".to_owned()),
        1 => success.push("to.spec.fqdn != from.spec.fqdn".to_owned()),
        _ => {}
    }
    let mut stage = json!({
        "name": format!("stage-{number}"),
        "templates": templates,
        "successConditions": success,
        "failureConditions": failure,
        "progress": dice.one_in(3),
        "onFailure": if dice.one_in(2) { "Hold" } else { "Rollback" },
    });
    if dice.one_in(3) {
        stage["timeoutSeconds"] = json!(60);
    }
    stage
}

static CONFIGURATIONS: LazyLock<Vec<Arc<Configuration>>> = LazyLock::new(|| {
    let one = |seed: u64| {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let stages = (0..usize::try_from(dice.roll(4)).unwrap()).map(|number| stage(&mut dice, number));
        Arc::new(configuration(Value::Array(stages.collect())))
    };
    (1..64).map(one).collect()
});

fn applied(dice: &mut Dice) -> Applied {
    match dice.roll(12) {
        9 => Applied::None,
        10 => Applied::Unknown,
        11 => Applied::Invalid("spec.stages[0]: no".into()),
        _ => Applied::Found(Arc::clone(dice.pick(&CONFIGURATIONS).unwrap())),
    }
}

/// The world of a case, and what has been done to it for good.
struct Case {
    world: World,
    /// There is no such move any more.
    gone: bool,
    foreign: Vec<(At, Value)>,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut world = World::with(applied(&mut dice));
        if dice.one_in(2) {
            world.relate(FROM, "tls", "b2xk");
        }
        if dice.one_in(2) {
            world.relate(TO, "tls", "bmV3");
        }
        Self { world, gone: false, foreign: Vec::new() }
    }

    /// What an origin does that goes on with the move as the Migration's state says.
    fn follow(&mut self) {
        if self.world.migration().is_none() {
            return;
        }
        self.world.movement = match self.world.state() {
            _ if self.gone => Movement::Over("OriginGone", "the object is gone".into()),
            CutoverCompleted | Failed => Movement::Over("Ended", "it has ended".into()),
            InitialCompleted | MigrationState::CutoverInProgress => underway(Phase::Switched),
            _ => underway(Phase::Ready),
        };
    }

    fn some_object(&self, dice: &mut Dice) -> Option<At> {
        let ours: Vec<At> = self.world.ours().cloned().collect();
        dice.pick(&ours).cloned()
    }

    fn report(&mut self, dice: &mut Dice, status: &Value) {
        if let Some(at) = self.some_object(dice).filter(|at| at.0 == job()) {
            self.world.report(&at, status.clone());
        }
    }

    /// Somebody else's object takes a name that the broker may want, or wears its label.
    fn squat(&mut self, dice: &mut Dice) {
        let key = *dice.pick(&KEYS).unwrap();
        let (kind, name) = match dice.roll(3) {
            0 => (secret(), format!("{ID}-from-tls")),
            _ => (job(), format!("{ID}-{key}")),
        };
        let (name, labels) = match dice.roll(4) {
            0 => (name, json!({keys::MIGRATION_ID: "m123"})),
            1 => ("worn".to_owned(), json!({keys::MIGRATION_ID: ID, keys::MIGRATION_STAGE: "stage-0"})),
            _ => (name, json!({})),
        };
        let at = (kind, NAMESPACE.to_owned(), name);
        if !self.world.objects.contains(&at) {
            self.world.put(&at, json!({"metadata": {"labels": labels}, "data": {"foreign": true}}));
            let value = self.world.objects[&at].clone();
            self.foreign.push((at, value));
        }
    }

    fn evict(&mut self) {
        for (at, value) in self.foreign.drain(..) {
            assert_eq!(self.world.objects.remove(&at), Some(value), "a foreign object is never touched");
        }
    }

    fn event(&mut self, number: u64) {
        let dice = &mut Dice(number);
        let world = &mut self.world;
        match dice.roll(40) {
            0..=5 => {
                world.pass();
            }
            6..=11 => {
                self.follow();
                for _ in 0..=dice.roll(4) {
                    self.world.pass();
                    self.follow();
                }
            }
            12 | 13 => {
                world.pass_at_most(usize::try_from(dice.roll(4)).unwrap());
                (world.started, world.memory) = (world.now, Memory::default());
            }
            14..=17 => self.report(dice, &json!({"succeeded": 1, "failed": 0})),
            18 => self.report(dice, &json!({"succeeded": dice_bit(number), "failed": 1})),
            19 => self.report(dice, &json!({"active": 1, "succeeded": 0, "failed": 0})),
            20 => {
                if let Some(at) = self.some_object(dice) {
                    self.world.objects.remove(&at);
                }
            }
            21 => self.squat(dice),
            22 => self.evict(),
            23 | 24 => world.edit("paused", json!(dice.one_in(2))),
            25 if dice.one_in(2) => world.edit("abort", json!(true)),
            26 => world.edit("retry", json!(dice.roll(4))),
            27 if dice.one_in(3) => world.edit("force", json!(dice.one_in(2))),
            28 if dice.one_in(3) => world.delete(),
            29 if dice.one_in(4) => world.annotate(keys::FORCE_DELETE, "true"),
            30 => world.movement = Movement::Unknown,
            31 => {
                world.movement = match dice.roll(3) {
                    0 => Movement::Waits("others move".into()),
                    _ => underway(Phase::Copying),
                }
            }
            32 if dice.one_in(4) => {
                self.gone = true;
                self.follow();
            }
            33 => world.applied = applied(dice),
            34 => world.now += if dice.one_in(2) { 3_600_000 } else { dice.roll(90_000) },
            // The clock was set, which only another process notices.
            35 => {
                world.now = if dice.one_in(2) { world.now + 3_600_000 } else { world.now - 3_600_000 };
                world.started = world.now;
                world.memory = Memory::default();
            }
            36 => {
                world.reach = match dice.roll(3) {
                    0 => Reach::Unreachable("connection refused".into()),
                    1 => Reach::Lost("timeout".into()),
                    _ => Reach::Ready,
                }
            }
            37 => world.listed = dice.one_in(2),
            38 => world.sides_known = dice.one_in(2),
            _ => match dice.roll(3) {
                0 => {
                    world.kinds.remove(&job());
                }
                1 => {
                    world.kinds.insert(job(), true);
                }
                _ => {
                    if let Some(source) = world.sources.get_mut(&related(FROM, "tls")) {
                        source["data"]["key"] = json!(number.to_string());
                    }
                }
            },
        }
        for (at, value) in &self.foreign {
            assert_eq!(self.world.objects.get(at), Some(value), "a foreign object is never touched");
        }
    }

    /// Events stop, and the world is benign: clusters answer, Jobs succeed that have not failed, the origin follows.
    fn come_to_rest(&mut self) {
        self.evict();
        let world = &mut self.world;
        world.now = world.now.max(START);
        world.reach = Reach::Ready;
        (world.listed, world.sides_known) = (true, true);
        world.kinds.insert(job(), true);
        if matches!(world.applied, Applied::Unknown) {
            world.applied = Applied::None;
        }
        for _ in 0..300 {
            self.follow();
            let jobs: Vec<At> = self.world.ours().filter(|at| at.0 == job()).cloned().collect();
            let mut worked = false;
            for at in jobs {
                let status = &self.world.objects[&at]["status"];
                if status["succeeded"] != 1 && status["failed"].as_i64().unwrap_or(0) == 0 {
                    self.world.report(&at, json!({"succeeded": 1, "failed": 0}));
                    worked = true;
                }
            }
            let decided = self.world.pass();
            if !decided.writes.is_empty() || worked {
                continue;
            }
            match decided.again {
                Some(wait) => self.world.now += u64::try_from(wait.as_millis()).unwrap(),
                None => return,
            }
        }
        panic!("it does not come to rest: {:#?}", self.world.decide());
    }

    fn check_rest(&self) {
        let world = &self.world;
        assert!(world.decide().writes.is_empty(), "a second decision writes nothing");
        let Some(migration) = world.migration() else {
            let forced = world.forced;
            assert!(forced || world.ours().next().is_none(), "nothing is left: {:?}", world.objects);
            return;
        };
        assert!(migration["metadata"].get("deletionTimestamp").is_none(), "a deleted Migration goes");
        let status = world.status();
        assert!(!matches!(status.state, CutoverCompleted | Failed), "what has ended is removed");
        let paused = migration["spec"]["paused"] == true;
        assert!(paused || world.condition("Stalled").is_some(), "it holds for a person, and says so: {status:#?}");
    }
}

fn dice_bit(number: u64) -> u64 {
    number >> 40 & 1
}

fn ends_or_holds(seed: u64, events: Vec<u64>) {
    let mut case = Case::new(seed);
    for event in events {
        case.event(event);
    }
    case.come_to_rest();
    case.check_rest();
}

// Two, for they run at the same time.
proptest! {
    #![proptest_config(Config { cases: 5_500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_migration_ends_or_holds(seed in any::<u64>(), events in prop::collection::vec(any::<u64>(), 0..14)) {
        ends_or_holds(seed, events);
    }
}

proptest! {
    #![proptest_config(Config { cases: 4_500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_long_migration_ends_or_holds(seed in any::<u64>(), events in prop::collection::vec(any::<u64>(), 14..30)) {
        ends_or_holds(seed, events);
    }
}

/// What the cases of the property come by: otherwise it would say nothing.
#[test]
fn the_cases_reach_all_states_and_reasons() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 1..500_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut case = Case::new(dice.roll(u64::MAX));
        for _ in 0..25 {
            case.event(dice.roll(u64::MAX));
            if case.world.migration().is_some() {
                seen.insert(format!("{:?}", case.world.state()));
                seen.extend(["Stalled", "Progressing"].map(|kind| case.world.reason(kind)));
            }
        }
        let deletes = case.world.written.iter().filter(|write| matches!(write.op, Op::Delete { .. })).count();
        seen.insert(format!("deletes: {}", deletes > 0));
    }
    let wanted = [
        "Pending",
        "InitialInProgress",
        "InitialCompleted",
        "CutoverInProgress",
        "CutoverCompleted",
        "Failed",
        "Paused",
        "Aborted",
        "Deleted",
        "StageFailed",
        "TimedOut",
        "NameConflict",
        "KindMissing",
        "ExpressionError",
        "InvalidConfiguration",
        "OriginGone",
        "Waiting",
        "Copying",
        "StageRunning",
        "Switching",
        "Completed",
        "ComputeUnreachable",
        "deletes: true",
    ];
    let missing: Vec<_> = wanted.iter().filter(|word| !seen.contains(**word)).collect();
    assert!(missing.is_empty(), "never seen: {missing:?}");
}
