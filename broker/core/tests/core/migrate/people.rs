//! What a person can do with kubectl: pause, resume, abort, delete; at every state.

use broker_api::{
    MigrationState::{
        self, CutoverCompleted, CutoverInProgress, Failed, InitialCompleted, InitialInProgress, Pending, Unknown,
    },
    migration::millis_of,
};
use broker_core::movement::{Movement, Phase};
use runtime_effect::write::Op;
use serde_json::json;

use crate::migrate::world::{FROM, START, World, job, job_stage, underway, with};

const STATES: [MigrationState; 5] = [Unknown, Pending, InitialInProgress, InitialCompleted, CutoverInProgress];

/// A migration of two stages that has come to this state.
fn at(state: MigrationState) -> World {
    let a = with(job_stage("a", "a"), json!({"progress": true, "timeoutSeconds": 60}));
    let mut world = World::new(json!([a, job_stage("b", "b")]));
    world.relate(FROM, "tls", "b2xk");
    let step = |world: &mut World| match state {
        Unknown => {}
        Pending => {
            world.movement = underway(Phase::Copying);
            world.settle();
        }
        _ => {
            world.settle();
            if state != InitialInProgress {
                let job = world.at(job(), "a");
                world.report(&job, json!({"succeeded": 1}));
                world.settle();
            }
            if state == CutoverInProgress {
                world.movement = underway(Phase::Switched);
                world.settle();
            }
        }
    };
    step(&mut world);
    assert_eq!(world.state(), state);
    world
}

fn finish(world: &mut World) {
    for _ in 0..10 {
        world.movement = match world.state() {
            InitialCompleted | CutoverInProgress => underway(Phase::Switched),
            CutoverCompleted | Failed => Movement::Over("Ended", "it has ended".into()),
            _ => underway(Phase::Ready),
        };
        let jobs: Vec<_> = world.objects.places().filter(|at| at.0 == job()).cloned().collect();
        for at in &jobs {
            world.report(at, json!({"succeeded": 1}));
        }
        world.settle();
        if world.migration().is_none() {
            return;
        }
    }
}

#[test]
fn pause_holds_every_state_and_resume_goes_on() {
    for state in STATES {
        let mut world = at(state);
        let objects = world.objects.len();
        world.edit("paused", json!(true));
        finish(&mut world);
        assert_eq!((world.state(), world.reason("Progressing").as_str()), (state, "Paused"));
        assert_eq!(world.objects.len(), objects);
        let written = world.written.len();
        world.settle();
        assert_eq!(world.written.len(), written, "{state:?}: said once");
        world.edit("paused", json!(false));
        finish(&mut world);
        assert_eq!(world.state(), CutoverCompleted, "{state:?}");
        assert!(world.objects.is_empty());
    }
}

#[test]
fn a_pause_costs_no_time() {
    let mut world = at(InitialInProgress);
    world.now += 30_000;
    world.edit("paused", json!(true));
    world.settle();
    world.now += 600_000;
    world.settle();
    assert_eq!(world.state(), InitialInProgress, "no timeout counts while it is paused");
    world.edit("paused", json!(false));
    world.settle();
    let started = world.status().stages[0].started.as_ref().map(millis_of);
    assert_eq!((world.state(), started), (InitialInProgress, Some(START + 600_000)));
    world.now += 29_000;
    world.settle();
    assert_eq!(world.state(), InitialInProgress);
    world.now += 1000;
    world.settle();
    assert_eq!(world.state(), Failed);
}

#[test]
fn cleanup_goes_on_while_paused() {
    let mut world = at(InitialInProgress);
    let job = world.at(job(), "a");
    world.report(&job, json!({"succeeded": 1}));
    world.pass();
    assert_eq!((world.state(), world.made_keys()), (InitialCompleted, vec!["a".to_owned(), "from-tls".to_owned()]));
    world.edit("paused", json!(true));
    world.settle();
    assert_eq!(world.made_keys(), ["from-tls"]);
}

#[test]
fn abort_undoes_before_the_switch_and_is_too_late_after() {
    for state in STATES {
        for paused in [false, true] {
            let mut world = at(state);
            world.edit("paused", json!(paused));
            world.settle();
            world.edit("abort", json!(true));
            world.settle();
            if matches!(world.state(), Failed) {
                assert!(matches!(state, Unknown | Pending | InitialInProgress), "{state:?}");
                assert_eq!(world.reason("Succeeded"), "Aborted");
            } else {
                assert!(world.message("Progressing").contains("spec.abort has no effect"), "{state:?}");
                world.edit("paused", json!(false));
                finish(&mut world);
                assert_eq!(world.state(), CutoverCompleted, "{state:?}");
            }
            assert!(world.objects.is_empty());
        }
    }
}

#[test]
fn a_held_stage_can_be_aborted_before_the_switch_only() {
    let hold = |stage| with(stage, json!({"onFailure": "Hold"}));
    let mut world = World::new(json!([hold(job_stage("a", "a"))]));
    world.settle();
    let at = world.at(job(), "a");
    world.report(&at, json!({"failed": 1}));
    world.settle();
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!((world.state(), world.reason("Succeeded").as_str()), (Failed, "Aborted"));

    let mut world = self::at(CutoverInProgress);
    let b = world.at(job(), "b");
    world.report(&b, json!({"failed": 1}));
    world.settle();
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (CutoverInProgress, "StageFailed"));
    assert!(world.message("Progressing").ends_with("the move can only go forward"));
    assert_eq!(world.message("Progressing").matches("spec.abort has no effect").count(), 1);
}

#[test]
fn deleted_it_ends_with_nothing_left() {
    for state in STATES {
        for paused in [false, true] {
            let mut world = at(state);
            world.edit("paused", json!(paused));
            world.settle();
            world.delete();
            world.settle();
            if world.migration().is_some() {
                let undone = state != CutoverInProgress;
                assert_eq!(world.state(), if undone { Failed } else { CutoverCompleted }, "{state:?}");
                assert_eq!(world.reason("Succeeded"), if undone { "Deleted" } else { "Completed" });
                assert!(world.message("Succeeded").contains("skipped: b") != undone);
                assert!(world.objects.is_empty());
                // It stays until the origin has taken note: it would take the move for one that has not begun.
                world.movement = Movement::Over("Ended", "it is where it should be".into());
                world.settle();
            }
            assert!(world.migration().is_none() && world.objects.is_empty(), "{state:?}");
        }
    }
}

#[test]
fn deleted_at_the_switch_it_goes_the_way_that_the_origin_went() {
    let mut world = at(InitialCompleted);
    world.movement = Movement::Unknown;
    world.delete();
    world.settle();
    assert_eq!(world.state(), InitialCompleted, "nobody knows yet");
    let mut switched = world.clone();
    switched.movement = underway(Phase::Switched);
    switched.settle();
    assert_eq!(switched.state(), CutoverCompleted);
    world.movement = underway(Phase::Ready);
    world.settle();
    assert_eq!(world.state(), Failed);
    let mut released = at(InitialCompleted);
    released.movement = Movement::Unknown;
    released.annotate(broker_api::keys::FORCE_DELETE, "true");
    released.delete();
    released.settle();
    assert!(released.migration().is_none() && released.objects.is_empty(), "a person knows that nobody will say");
    // Without an origin nobody will ever know.
    let mut world = at(InitialCompleted);
    world.movement = Movement::Unknown;
    world.origin = None;
    world.delete();
    world.settle();
    assert!(world.migration().is_none() && world.objects.is_empty());
}

#[test]
fn the_consumer_object_disappears_at_every_state() {
    for state in STATES {
        let mut world = at(state);
        world.movement = Movement::Over("OriginGone", "it was deleted".into());
        world.settle();
        assert_eq!((world.state(), world.reason("Succeeded").as_str()), (Failed, "OriginGone"), "{state:?}");
        assert!(world.objects.is_empty());
        let finalizers = world.migration().unwrap()["metadata"].get("finalizers").cloned();
        assert!(finalizers.is_none_or(|finalizers| finalizers == json!([])));
    }
}

#[test]
fn a_movement_that_is_not_known_ends_nothing() {
    for state in STATES {
        let mut world = at(state);
        world.movement = Movement::Unknown;
        let jobs: Vec<_> = world.objects.places().filter(|at| at.0 == job()).cloned().collect();
        world.settle();
        assert_eq!(jobs, world.objects.places().filter(|at| at.0 == job()).cloned().collect::<Vec<_>>());
        assert!(!matches!(world.state(), Failed | CutoverCompleted), "{state:?}");
    }
}

#[test]
fn force_at_every_state_goes_on_to_the_end() {
    for state in STATES {
        let mut world = at(state);
        world.edit("force", json!(true));
        finish(&mut world);
        assert_eq!(world.state(), CutoverCompleted, "{state:?}");
        assert!(world.objects.is_empty());
    }
}

#[test]
fn killed_between_any_two_writes_it_goes_on_where_it_was() {
    let run = |crashes: bool| {
        let mut world = at(Unknown);
        for _ in 0..60 {
            if let InitialCompleted | CutoverInProgress = world.state() {
                world.movement = underway(Phase::Switched);
            }
            let jobs: Vec<_> = world.objects.places().filter(|at| at.0 == job()).cloned().collect();
            for at in &jobs {
                world.report(at, json!({"succeeded": 1}));
            }
            if crashes {
                world.pass_at_most(1);
                world.memory = broker_core::memory::Memory::default();
            } else {
                world.pass();
            }
        }
        let writes = |world: &World, delete: bool| {
            let deletes = |write: &&broker_core::decision::Write| matches!(write.op, Op::Delete { .. }) == delete;
            world.written.iter().filter(deletes).count()
        };
        assert_eq!(world.state(), CutoverCompleted);
        (world.status(), writes(&world, true), writes(&world, false))
    };
    assert_eq!(run(false), run(true));
}
