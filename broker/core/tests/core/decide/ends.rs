//! The last step of a move: the old copy goes once all that the new one lists is in place, or never will be.

use broker_api::{ClusterName, MigrationState, keys};
use broker_core::{decision::Decision, memory::Subject, movement::Phase};
use runtime_effect::{memory::BURST, write::Op};
use serde_json::{Value, json};

use crate::decide::{
    migrated::migrating,
    moves::{phase, ready, rename},
    world::{At, DEEP, NAMESPACE, World, certificate, secret, web},
};

const NAME: &str = "web-new";

fn p2() -> ClusterName {
    ClusterName::provider("p2")
}

fn homer() -> ClusterName {
    ClusterName::consumer("homer")
}

fn at() -> At {
    (secret(), NAMESPACE.to_owned(), NAME.to_owned())
}

fn data(text: &str) -> Value {
    json!({"metadata": {}, "data": {"k": text}})
}

fn list(world: &mut World, name: &str) {
    let mut status = ready("new");
    status["relatedResources"] = json!({"tls": {"gvk": {"version": "v1", "kind": "Secret"}, "name": name}});
    world.provider_status("p2", &web(), status);
}

/// Metadata of what was brought for `web`.
fn ours(world: &World) -> Value {
    let uid = &world.origin(&web()).unwrap()["metadata"]["uid"];
    let owner = json!({"apiVersion": certificate().api_version(), "kind": "Certificate", "name": "web", "uid": uid});
    json!({"labels": {keys::MANAGED_BY: keys::MANAGER}, "ownerReferences": [owner]})
}

/// The consumer is served by p2, which lists a Secret; all stages are about to be done, and a person has set `force`: what
/// the new copy says of itself does not count.
fn forced() -> World {
    let mut world = migrating(MigrationState::CutoverInProgress);
    assert_eq!(phase(&world), "new");
    world.put_secret(&p2(), NAME, data("one"));
    list(&mut world, NAME);
    world.moves.migrations[0].1.force = true;
    world
}

/// What the move comes to in three passes after its last stage: whether the old copy is gone.
fn ends(spoil: impl FnOnce(&mut World)) -> bool {
    let mut world = forced();
    spoil(&mut world);
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    for _ in 0..3 {
        world.pass(&web());
    }
    world.copy("p1", &web()).is_none()
}

/// The Secret has been written, and the API server has said this of it.
fn refused(world: &mut World, reason: &'static str) {
    let decision = world.look(&web());
    let write = decision.writes().find(|write| write.subject == Subject::Related).unwrap().clone();
    let now = world.millis;
    let memory = world.memories.get_mut(&web()).unwrap();
    memory.writes.refused(write.subject, write.intent, reason, String::new(), now, 0);
}

#[test]
fn it_ends_once_all_is_in_place_and_where_nothing_is_listed() {
    assert!(ends(|_| {}));
    assert!(ends(|world| world.edit_copy("p2", &web(), |copy| copy["status"] = json!({}))));
}

#[test]
fn what_is_never_brought_is_not_waited_for() {
    let token = json!({"metadata": {}, "type": "kubernetes.io/service-account-token", "data": {}});
    assert!(ends(|world| world.put_secret(&p2(), NAME, token)), "refused");
    assert!(ends(|world| world.put_secret(&p2(), NAME, data(&"x".repeat(300_000)))), "too large");
    let misnamed = |world: &mut World| {
        world.put_secret(&p2(), "other", data("one"));
        list(world, "other");
    };
    assert!(ends(misnamed));
    assert!(ends(|world| world.put_secret(&homer(), NAME, data("precious"))), "somebody else's");
    assert!(ends(|world| refused(world, "RelatedConflict")), "somebody else's, which the cache does not hold");
    let unreadable = |world: &mut World| {
        world.pass(&web());
        world.consumer().edit(&at(), |secret| secret["metadata"]["annotations"] = json!({DEEP: "x"}));
        world.put_secret(&p2(), NAME, data("two"));
    };
    assert!(ends(unreadable));
}

#[test]
fn what_the_consumer_makes_something_else_of_is_as_good_as_it_gets() {
    let pruned = |world: &mut World| {
        let webhook: fn(&mut Value) = |secret| drop(secret.as_object_mut().unwrap().remove("data"));
        world.consumer().objects.kinds.get_mut(&secret()).unwrap().webhook = Some(webhook);
        world.pass(&web());
        assert_eq!(world.secret(&homer(), NAME).unwrap().get("data"), None);
    };
    assert!(ends(pruned));
}

#[test]
fn what_is_on_its_way_is_waited_for() {
    assert!(!ends(|world| world.provider("p2").delete(&at())), "it is not there yet");
    assert!(!ends(|world| world.oddities.targets_unknown = true));
    let going = |world: &mut World| {
        world.put_secret(&homer(), NAME, json!({"metadata": {"finalizers": ["theirs/one"]}}));
        world.consumer().delete(&at());
    };
    assert!(!ends(going), "that of an earlier object goes first");
    assert!(!ends(|world| refused(world, "Forbidden")), "somebody may permit it");
}

#[test]
fn a_new_copy_that_cannot_be_read_ends_nothing_not_even_by_force() {
    let unreadable = |copy: &mut Value| copy["metadata"]["annotations"][DEEP] = json!("x");
    assert!(!ends(|world| world.edit_copy("p2", &web(), unreadable)));
    let mut world = forced();
    world.edit_copy("p2", &web(), unreadable);
    rename(&mut world, "b.com");
    world.log.clear();
    world.settle_briefly(&web());
    assert!(!world.writes().iter().any(|write| write.contains("p2/")), "nor is it written over: {:?}", world.writes());
}

#[test]
fn what_the_old_copy_listed_stays_until_the_move_has_ended() {
    let mut world = forced();
    world.put_secret(&homer(), "web-old", json!({"metadata": ours(&world), "data": {}}));
    for _ in 0..3 {
        world.pass(&web());
    }
    assert!(world.secret(&homer(), NAME).is_some() && world.secret(&homer(), "web-old").is_some());
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    world.settle_served(&web());
    assert_eq!(world.copy("p1", &web()), None);
    assert!(world.secret(&homer(), "web-old").is_none(), "nobody lists it");
}

#[test]
fn names_are_those_that_the_new_provider_has_announced() {
    let announced = |world: &mut World| {
        world.accept("p2", &json!({"relatedNames": ["other"]}));
        world.put_secret(&p2(), "other", data("one"));
        list(world, "other");
        world.settle_briefly(&web());
        assert!(world.secret(&homer(), "other").is_some());
    };
    assert!(ends(announced));
}

#[test]
fn the_old_copy_goes_after_what_the_new_one_lists_has_come_and_not_beside_it() {
    let mut world = forced();
    let now = world.millis;
    world.moves.reach(MigrationState::CutoverCompleted, now);
    let deletes = |decision: &Decision| decision.writes().any(|write| matches!(write.op, Op::Delete { .. }));
    let first = world.pass(&web());
    assert_eq!(first.writes().map(|write| write.subject).collect::<Vec<_>>(), [Subject::Related]);
    assert!(!deletes(&first), "{:?}", first.steps);
    assert!(deletes(&world.pass(&web())));
}

#[test]
fn stages_behind_the_switch_wait_until_the_consumer_shows_it() {
    for (state, told) in
        [(MigrationState::InitialCompleted, Phase::Ready), (MigrationState::CutoverInProgress, Phase::Switched)]
    {
        let mut world = migrating(MigrationState::InitialInProgress);
        world.millis += 60_000;
        let now = world.millis;
        world.moves.reach(state, now);
        let memory = &mut world.memories.get_mut(&web()).unwrap().writes;
        (0..BURST).for_each(|_| memory.wrote(Subject::Status, [0; 8], None, now));
        let decision = world.look(&web());
        assert_eq!((decision.steps.len(), decision.moving.unwrap().phase), (0, told), "the status has to wait");
        assert_eq!(world.settle_briefly(&web()).moving.unwrap().phase, told);
        world.millis += 60_000;
        assert_eq!(world.settle_briefly(&web()).moving.unwrap().phase, Phase::Switched);
    }
}

/// A Migration hears of a decision before what it writes is through.
#[test]
fn a_status_that_is_on_its_way_is_not_shown_yet() {
    let mut world = migrating(MigrationState::InitialInProgress);
    world.millis += 60_000;
    let now = world.millis;
    world.moves.reach(MigrationState::InitialCompleted, now);
    let mut shown = Vec::new();
    for _ in 0..4 {
        let decision = world.pass(&web());
        let writes = decision.writes().any(|write| matches!(write.subject, Subject::Related | Subject::Status));
        shown.push((writes, decision.moving.unwrap().phase));
    }
    let (on_its_way, there) = ((true, Phase::Ready), (false, Phase::Switched));
    assert!(shown.starts_with(&[on_its_way]) && shown.ends_with(&[there]), "{shown:?}");
    assert!(shown.iter().all(|seen| *seen == on_its_way || *seen == there), "{shown:?}");
}

#[test]
fn a_move_that_is_held_up_for_long_gives_its_turn_back() {
    for (state, rests) in [(MigrationState::CutoverCompleted, true), (MigrationState::CutoverInProgress, false)] {
        let mut world = migrating(MigrationState::CutoverInProgress);
        world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
        let now = world.millis;
        world.moves.reach(state, now);
        assert!(!world.settle_briefly(&web()).rests, "it may be over in a moment");
        world.millis += 3_600_000;
        assert_eq!(world.look(&web()).rests, rests, "{state:?}");
    }
}
