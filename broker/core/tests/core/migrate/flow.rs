//! A migration from its beginning to its end, when nothing goes wrong.

use broker_api::{
    MigrationState::{self, CutoverCompleted, CutoverInProgress, Failed, InitialCompleted, InitialInProgress, Pending},
    keys,
    migration::StageState,
};
use broker_core::movement::{Movement, Phase};
use runtime_effect::write::Op;
use serde_json::json;

use crate::migrate::world::{Applied, FROM, TO, World, job, job_stage, underway, with};

fn succeed(world: &mut World, key: &str) {
    let at = world.at(job(), key);
    world.report(&at, json!({"succeeded": 1}));
    world.settle();
}

#[test]
fn stages_run_in_order_around_the_switch() {
    let mut world = World::new(json!([
        job_stage("export", "export"),
        with(job_stage("import", "import-it"), json!({"progress": true})),
        job_stage("clean", "clean")
    ]));
    world.settle();
    assert_eq!((world.state(), world.decide().state), (InitialInProgress, InitialInProgress));
    assert_eq!(world.status().stage.as_deref(), Some("export"));
    assert_eq!(world.made_keys(), ["export"]);
    let made = &world.objects[&world.at(job(), "export")];
    assert_eq!(made["spec"], json!({"from": "alpha.example"}));
    assert_eq!(
        made["metadata"]["labels"],
        json!({keys::MIGRATION_ID: world.id(), keys::MIGRATION_STAGE: "export", keys::MANAGED_BY: keys::MANAGER})
    );
    succeed(&mut world, "export");
    assert_eq!(world.status().stage.as_deref(), Some("import"));
    assert_eq!(world.made_keys(), ["import-it"], "the first stage's objects are cleaned up");
    succeed(&mut world, "import-it");
    assert_eq!(world.state(), InitialCompleted);
    assert_eq!(world.status().stage.as_deref(), Some("clean"), "the cursor is on the next stage");
    assert_eq!(world.status().stages.len(), 2, "which has not begun");
    assert!(world.made().is_empty());
    world.movement = underway(Phase::Switched);
    world.settle();
    assert_eq!(world.state(), CutoverInProgress);
    assert_eq!(world.made_keys(), ["clean"]);
    succeed(&mut world, "clean");
    assert_eq!(world.state(), CutoverCompleted);
    assert!(world.made().is_empty());
    assert_eq!(world.condition("Succeeded").unwrap().0, "True");
    assert!(world.status().stages.iter().all(|stage| stage.state == StageState::Succeeded && stage.finished.is_some()));
    assert!(world.migration().unwrap()["metadata"]["finalizers"][0].is_string(), "the old copy goes first");
    world.movement = Movement::Over("Completed", "it has moved".into());
    world.settle();
    assert!(world.migration().unwrap()["metadata"].get("finalizers").is_none());
}

#[test]
fn one_status_write_per_change_of_state_or_stage() {
    let mut world = World::new(json!([job_stage("a", "a"), job_stage("b", "b")]));
    world.settle();
    succeed(&mut world, "a");
    succeed(&mut world, "b");
    world.movement = underway(Phase::Switched);
    world.settle();
    let status = world.written.iter().filter(|write| matches!(write.op, Op::MergeStatus(_))).count();
    // Pending; a runs; b runs; InitialCompleted; CutoverCompleted.
    assert_eq!(status, 5);
    let creates = world.written.iter().filter(|write| matches!(write.op, Op::Create(_))).count();
    let deletes = world.written.iter().filter(|write| matches!(write.op, Op::Delete { .. })).count();
    assert_eq!((creates, deletes), (2, 2));
}

fn states(mut world: World) -> Vec<MigrationState> {
    let mut states = vec![world.state()];
    for _ in 0..40 {
        let at = world.objects.places().cloned().collect::<Vec<_>>();
        for at in &at {
            world.report(at, json!({"succeeded": 1}));
        }
        if world.state() == InitialCompleted {
            world.movement = underway(Phase::Switched);
        }
        world.pass();
        if states.last() != Some(&world.state()) {
            states.push(world.state());
        }
    }
    states
}

#[test]
fn progress_on_none_one_or_all() {
    let all_initial =
        [MigrationState::Unknown, Pending, InitialInProgress, InitialCompleted, CutoverCompleted].to_vec();
    let with_cutover =
        [MigrationState::Unknown, Pending, InitialInProgress, InitialCompleted, CutoverInProgress, CutoverCompleted]
            .to_vec();
    let progress = |stage| with(stage, json!({"progress": true}));
    let (a, b) = (job_stage("a", "a"), job_stage("b", "b"));
    assert_eq!(states(World::new(json!([a, b]))), all_initial, "none");
    assert_eq!(states(World::new(json!([a, progress(b.clone())]))), all_initial, "the last");
    assert_eq!(states(World::new(json!([progress(a.clone()), b]))), with_cutover, "the first");
    assert_eq!(states(World::new(json!([progress(a), progress(b)]))), with_cutover, "all: the first counts");
}

#[test]
fn stages_of_conditions_only_or_of_templates_only() {
    let mut world = World::new(json!([
        {"name": "wait", "successConditions": ["to.spec.fqdn == 'ready.example'"]},
        with(job_stage("make", "make"), json!({"successConditions": null, "failureConditions": null})),
    ]));
    world.settle();
    assert_eq!(world.status().stage.as_deref(), Some("wait"));
    assert!(world.made().is_empty());
    world.to.as_mut().unwrap()["spec"]["fqdn"] = json!("ready.example");
    world.settle();
    assert_eq!(world.state(), InitialCompleted, "what only makes objects has succeeded when they are there");
    assert!(world.written.iter().any(|write| write.name.ends_with("-make")));
}

#[test]
fn without_a_configuration_or_stages_there_is_only_the_switch() {
    for applied in [Applied::None, World::new(json!([])).applied] {
        let mut world = World::with(applied);
        world.settle();
        assert_eq!(world.state(), InitialCompleted);
        world.movement = underway(Phase::Switched);
        world.settle();
        assert_eq!(world.state(), CutoverCompleted);
    }
}

#[test]
fn it_waits_for_the_move_and_says_what_for() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.movement = Movement::Unknown;
    world.settle();
    assert_eq!(world.state(), Pending);
    world.movement = Movement::Waits("50 others move".into());
    world.settle();
    assert_eq!((world.state(), world.message("Progressing").as_str()), (Pending, "50 others move"));
    world.movement = underway(Phase::Copying);
    world.settle();
    assert_eq!(world.reason("Progressing"), "Copying");
    world.movement = underway(Phase::Ready);
    world.applied = Applied::Unknown;
    world.settle();
    assert_eq!(world.state(), Pending, "unknown configurations are not none");
    world.applied = Applied::Invalid("certs: spec.stages[0]: column 3".into());
    world.settle();
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (Pending, "InvalidConfiguration"));
    assert!(world.message("Stalled").contains("column 3"));
    world.applied = World::new(json!([job_stage("a", "a")])).applied;
    world.settle();
    assert_eq!((world.state(), world.condition("Stalled")), (InitialInProgress, None));
}

#[test]
fn the_finalizer_and_what_it_is_about_come_before_all_else() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    let origin = world.origin.take();
    assert!(world.settle().writes.is_empty(), "whose it is is not known");
    assert_eq!(world.state(), MigrationState::Unknown);
    world.origin = origin;
    let decided = world.pass();
    assert_eq!(decided.writes.len(), 1);
    let metadata = &world.migration().unwrap()["metadata"];
    assert_eq!(metadata["finalizers"], json!([keys::FINALIZER]));
    assert_eq!(
        metadata["annotations"],
        json!({
            keys::CONSUMER_CLUSTER: "homer", keys::CONSUMER_NAMESPACE: "team",
            keys::CONSUMER_NAME: "cert", keys::CONSUMER_UID: "uid-origin",
            keys::ORIGIN: metadata["annotations"][keys::ORIGIN],
        })
    );
}

#[test]
fn a_refused_move_fails_at_once_and_leaves_nothing() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.movement = Movement::Refused("NotAccepted", "beta does not accept it".into());
    world.settle();
    assert_eq!((world.state(), world.reason("Stalled").as_str()), (Failed, "NotAccepted"));
    assert_eq!(world.written.len(), 1);
    assert!(world.notes.iter().any(|note| note.reason == "Refused" && note.warning));
}

#[test]
fn the_configuration_in_force_is_the_one_recorded() {
    let mut world = World::new(json!([job_stage("a", "a"), job_stage("b", "b")]));
    world.settle();
    assert_eq!(world.status().configuration_generation, Some(1));
    world.applied = World::new(json!([job_stage("other", "other")])).applied;
    world.settle();
    succeed(&mut world, "a");
    assert_eq!(world.made_keys(), ["b"]);
    world.applied = Applied::None;
    succeed(&mut world, "b");
    assert_eq!(world.state(), InitialCompleted);
}

#[test]
fn both_sides_related_objects_are_there_before_the_stage_runs() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.relate(FROM, "tls", "b2xk");
    world.relate(TO, "tls", "bmV3");
    world.settle();
    assert_eq!(world.made_keys(), ["a", "from-tls", "to-tls"]);
    let created: Vec<_> = world.written.iter().filter(|write| matches!(write.op, Op::Create(_))).collect();
    assert!(created.last().unwrap().name.ends_with("-a"), "the stage's objects come last");
    let copy = world.objects.all().find(|((_, _, name), _)| name.ends_with("-from-tls")).unwrap().1.value.clone();
    assert_eq!((&copy["data"]["key"], &copy["type"]), (&json!("b2xk"), &json!("Opaque")));
    assert_eq!(copy["metadata"]["labels"], json!({keys::MIGRATION_ID: world.id(), keys::MANAGED_BY: keys::MANAGER}));
    assert!(copy["metadata"].get("ownerReferences").is_none());
    // A rotated Secret arrives.
    world.relate(FROM, "tls", "b2xkZXI=");
    let decided = world.settle();
    let copy = &world.objects.all().find(|((_, _, name), _)| name.ends_with("-from-tls")).unwrap().1.value;
    assert_eq!(copy["data"]["key"], "b2xkZXI=");
    assert_eq!(decided.interests.len(), 2);
    assert!(decided.watches.contains(&job()));
    succeed(&mut world, "a");
    assert_eq!(world.made_keys(), ["from-tls", "to-tls"], "they stay for the next stage");
    world.movement = underway(Phase::Switched);
    world.settle();
    assert!(world.made().is_empty(), "and go at the end");
}

#[test]
fn token_secrets_and_other_kinds_never_come_along() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.relate(FROM, "token", "eA==");
    let at = crate::migrate::world::related(FROM, "token");
    world.sources.get_mut(&at).unwrap()["type"] = json!("kubernetes.io/service-account-token");
    world.from.as_mut().unwrap()["status"]["relatedResources"]["rbac"] =
        json!({"gvk": {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "Role"}, "name": "r"});
    world.settle();
    assert_eq!(world.made_keys(), ["a"]);
    let refused = world.notes.iter().filter(|note| note.reason == "RelatedRefused");
    assert!(refused.clone().any(|note| note.message.contains("service-account-token")));
    assert!(refused.clone().any(|note| note.message.contains("Role")));
}
