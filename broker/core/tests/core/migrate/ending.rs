//! After the end: cleanup, finalizer and time to live.

use broker_api::{
    MigrationState::{CutoverCompleted, Failed},
    keys,
    migration::millis_of,
};
use broker_core::movement::{Movement, Phase};
use runtime_effect::reach::Reach;
use serde_json::{Value, json};

use crate::migrate::world::{Applied, List, START, TTL, World, job, job_stage, underway};

fn running() -> World {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.settle();
    world
}

fn over() -> Movement {
    Movement::Over("Ended", "it has ended".into())
}

#[test]
fn the_finalizer_waits_for_a_compute_cluster_that_does_not_answer() {
    let mut world = running();
    world.reach = Reach::Unreachable("refused".into());
    world.edit("abort", json!(true));
    world.delete();
    world.settle();
    world.movement = over();
    world.settle();
    assert_eq!((world.state(), world.made().len()), (Failed, 1));
    let mut healed = world.clone();
    healed.reach = Reach::Ready;
    healed.listed = false;
    healed.settle();
    assert!(healed.migration().is_some(), "what is not listed is not gone");
    let mut coming = healed.clone();
    coming.list.set(List::Next);
    coming.settle();
    assert!(coming.migration().is_some(), "it came too late to be looked through");
    coming.settle();
    assert!(coming.migration().is_none() && coming.objects.is_empty(), "it was looked for again when it was listed");
    healed.listed = true;
    healed.settle();
    assert!(healed.migration().is_none() && healed.objects.is_empty());
    // Gone for good: a person says so.
    world.annotate(keys::FORCE_DELETE, "true");
    world.settle();
    assert!(world.migration().is_none());
}

#[test]
fn where_nothing_was_made_the_compute_cluster_is_not_asked() {
    let mut world = World::new(json!([job_stage("a", "a")]));
    world.reach = Reach::Unreachable("refused".into());
    world.movement = underway(Phase::Copying);
    world.settle();
    world.delete();
    world.movement = over();
    world.settle();
    assert!(world.migration().is_none());
}

#[test]
fn an_object_that_does_not_go_holds_the_finalizer_until_a_person_releases_it() {
    let mut world = running();
    let at = world.at(job(), "a");
    world.objects.corrupt(&at, |object| object["metadata"]["finalizers"] = json!(["stuck"]));
    world.delete();
    world.settle();
    world.movement = over();
    assert!(world.settle().writes.is_empty(), "it is deleted once, not again and again");
    assert!(world.migration().is_some());
    world.annotate(keys::FORCE_DELETE, "true");
    world.settle();
    assert!(world.migration().is_none());
}

#[test]
fn it_is_kept_for_a_while_and_then_removed() {
    let mut world = World::with(Applied::None);
    world.settle();
    world.movement = underway(Phase::Switched);
    world.settle();
    world.movement = over();
    let decided = world.settle();
    assert_eq!((world.state(), decided.again.unwrap().as_millis()), (CutoverCompleted, u128::from(TTL)));
    assert!(decided.watches.is_empty() && decided.interests.is_empty());
    world.now += TTL - 1;
    world.memory = broker_core::memory::Memory::default();
    assert_eq!(world.settle().again.unwrap().as_millis(), 1);
    let mut unknown = world.clone();
    unknown.movement = Movement::Unknown;
    assert_eq!(unknown.settle().again.unwrap().as_millis(), 60_000, "nobody tells of the origin of one that has ended");
    // A clock that is set back removes nothing.
    world.now -= 3_600_000;
    world.settle();
    assert!(world.migration().is_some());
    world.now += 3_600_001;
    world.settle();
    assert!(world.migration().is_none());
}

#[test]
fn what_has_had_its_time_is_removed_once_and_not_before_what_it_made() {
    let mut world = running();
    let at = world.at(job(), "a");
    let mut made = world.objects[&at].clone();
    made["metadata"]["finalizers"] = json!(["stuck"]);
    world.edit("abort", json!(true));
    world.settle();
    world.movement = over();
    world.settle();
    world.corrupt(|migration| migration["metadata"]["finalizers"] = json!(["theirs/one"]));
    // What a dead process has sent arrives now.
    world.put(&at, made);
    world.now += TTL;
    world.settle();
    assert_eq!(world.migration().unwrap()["metadata"].get("deletionTimestamp"), None);
    world.objects.remove(&at);
    world.delete();
    assert!(world.decide().writes.is_empty(), "it is on its way out, and somebody else's finalizer holds it");
}

#[test]
fn what_a_dead_process_sent_for_it_goes_though_it_arrives_after_the_end() {
    let mut world = running();
    let at = world.at(job(), "a");
    let made = world.objects[&at].clone();
    world.edit("abort", json!(true));
    world.settle();
    world.movement = over();
    let decided = world.settle();
    assert!(world.objects.is_empty() && decided.watches.contains(&job()), "{decided:?}");

    world.now += 10 * 60_000 - 1;
    world.put(&at, made.clone());
    let decided = world.settle();
    assert!(world.objects.is_empty(), "{:?}", world.objects);
    assert!(decided.watches.contains(&job()));
    assert_eq!(decided.again.map(|again| again.as_millis()), Some(1));

    world.now += 1;
    assert!(world.settle().watches.is_empty(), "nothing is looked for any more");
}

#[test]
fn what_has_ended_is_not_written_again_whatever_is_edited() {
    let mut world = running();
    world.edit("abort", json!(true));
    world.settle();
    world.movement = over();
    world.settle();
    let written = world.written.len();
    for (field, value) in
        [("abort", json!(false)), ("retry", json!(9)), ("paused", json!(true)), ("force", json!(true))]
    {
        world.edit(field, value);
        world.settle();
    }
    assert_eq!((world.state(), world.written.len()), (Failed, written));
}

#[test]
fn the_finalizer_stays_while_the_origin_has_not_taken_note() {
    let mut world = running();
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!(world.state(), Failed);
    let finalizers = |world: &World| world.migration().unwrap()["metadata"]["finalizers"].clone();
    assert_eq!(finalizers(&world), json!([keys::FINALIZER]), "its copy at the new provider is not gone yet");
    world.movement = over();
    world.settle();
    assert_eq!(finalizers(&world), Value::Null);
}

#[test]
fn a_finalizer_taken_away_while_it_runs_comes_back() {
    let mut world = running();
    world.corrupt(|migration| migration["metadata"]["finalizers"] = json!(["other"]));
    world.settle();
    assert_eq!(world.migration().unwrap()["metadata"]["finalizers"], json!(["other", keys::FINALIZER]));
}

#[test]
fn a_migration_that_cannot_be_read_is_told_and_left_alone() {
    let mut world = running();
    world.corrupt(|migration| migration["spec"]["retry"] = json!("twice"));
    let decided = world.decide();
    assert!(decided.writes.is_empty());
    assert!(decided.notes[0].warning && decided.notes[0].message.contains("cannot be read"));
}

#[test]
fn an_end_is_never_dated_before_its_move_began() {
    let mut world = running();
    // The move began by a clock that was ahead.
    world.now = START - 3_600_000;
    world.edit("abort", json!(true));
    world.settle();
    assert_eq!(world.state(), Failed);
    let conditions = world.status().conditions;
    let ended = conditions.iter().map(|condition| millis_of(&condition.last_transition_time)).max();
    assert!(ended.unwrap() + 1000 > START, "else the origin takes it for one of before");
}
