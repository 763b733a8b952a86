//! Two writers over one field: noticed, told, slowed down, never a hot loop.

use broker_api::{ClusterName, condition, keys};
use serde_json::{Value, json};

use crate::decide::world::{World, web};

/// What somebody does after every write of ours.
type Reaction = fn(&mut World);

/// How a fight of ten minutes went: somebody undoes all that we write, and we always look at once.
struct Fight {
    writes: Vec<String>,
    /// Whether an Event told of it.
    told: bool,
}

fn fight(world: &mut World, undo: Reaction) -> Fight {
    let end = world.millis + 600_000;
    let mut told = false;
    world.log.clear();
    while world.millis < end {
        undo(world);
        let decision = world.pass(&web());
        told |= decision.notes.iter().any(|note| note.reason == condition::FIGHTING && note.warning);
        if decision.steps.is_empty() {
            world.millis += decision.again.map_or(600_000, |again| u64::try_from(again.as_millis()).unwrap());
        }
        assert!(world.log.len() < 500, "a hot loop");
    }
    Fight { writes: world.writes(), told }
}

/// Asserts that a fight is neither hot nor given up nor kept secret.
#[track_caller]
fn assert_slow(fight: &Fight, most: usize) {
    assert!((4..=most).contains(&fight.writes.len()), "{:#?}", fight.writes);
    assert!(fight.told, "nobody is told");
}

#[test]
fn a_spec_that_is_changed_back() {
    let mut world = World::served();
    let undo: Reaction = |world| world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    let fight = fight(&mut world, undo);
    assert_slow(&fight, 20);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/Fighting"));
    let statuses = fight.writes.iter().filter(|write| write.starts_with("status")).count();
    assert!(statuses <= 2, "the condition does not flap: {statuses} status writes");
}

#[test]
fn when_the_fight_is_over_the_condition_says_so() {
    let mut world = World::served();
    fight(&mut world, |world| {
        world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    });
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/Placed"));
    assert_eq!(world.look(&web()).notes, []);
}

#[test]
fn a_new_spec_goes_out_at_once_during_a_fight() {
    let mut world = World::served();
    fight(&mut world, |world| {
        world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    });
    world.edit_copy("p1", &web(), |copy| copy["spec"]["fqdn"] = json!("theirs"));
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("new"));
    world.pass(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "new");
}

#[test]
fn a_copy_that_is_deleted_again_and_again() {
    let mut world = World::served();
    let undo: Reaction = |world| world.provider("p1").delete(&World::copy_at(&web()));
    assert_slow(&fight(&mut world, undo), 40);
}

#[test]
fn marks_that_are_stripped_again_and_again() {
    // Before there is a copy, and after.
    for placed in [true, false] {
        let mut world = if placed { World::served() } else { World::with_origin() };
        let undo: Reaction = |world| {
            world.edit(&web(), |origin| {
                origin["metadata"]["annotations"] = json!({});
                origin["metadata"]["finalizers"] = json!([]);
            });
        };
        assert_slow(&fight(&mut world, undo), 20);
    }
}

#[test]
fn a_status_that_is_wiped_again_and_again() {
    for wipe in [
        (|world| world.edit(&web(), |origin| origin["status"] = json!({}))) as Reaction,
        |world| world.edit(&web(), |origin| origin["status"]["phase"] = json!("theirs")),
        |world| world.edit(&web(), |origin| origin["status"]["conditions"] = json!([])),
    ] {
        let mut world = World::served();
        assert_slow(&fight(&mut world, wipe), 20);
    }
}

#[test]
fn related_copies_that_are_changed_back_one_or_many() {
    for names in [&["web-one"][..], &["web-one", "web-two", "web-three"]] {
        let mut world = World::served();
        let mut entries = json!({});
        for name in names {
            let value = json!({"metadata": {}, "data": {"k": "ours"}});
            world.put_secret(&ClusterName::provider("p1"), name, value);
            entries[*name] = json!({"gvk": {"version": "v1", "kind": "Secret"}, "name": name});
        }
        world.provider_status("p1", &web(), json!({"phase": "Up", "relatedResources": entries}));
        world.settle(&web());
        let undo: Reaction = |world| {
            let homer = ClusterName::consumer("homer");
            for name in ["web-one", "web-two", "web-three"] {
                let Some(mut held) = world.secret(&homer, name).cloned() else { continue };
                held["data"] = json!({"k": "theirs"});
                world.put_secret(&homer, name, held);
            }
        };
        assert_slow(&fight(&mut world, undo), 20 * names.len());
    }
}

#[test]
fn a_webhook_that_always_changes_what_we_write_is_written_to_once() {
    let mut world = World::served();
    let rule = world.provider("p1").objects.kinds.get_mut(&crate::decide::world::certificate()).unwrap();
    rule.webhook = Some(|copy| copy["spec"]["fqdn"] = json!("always.corp"));
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    world.log.clear();
    world.settle(&web());
    assert_eq!(world.log.len(), 1);
    for _ in 0..5 {
        world.assert_holds_still(&web());
        world.millis += 100_000;
    }
}

#[test]
fn a_provider_that_flaps_between_two_states_is_followed() {
    let mut world = World::served();
    for round in 0..20 {
        let status: Value = json!({"phase": if round % 2 == 0 { "Up" } else { "Down" }});
        world.provider_status("p1", &web(), status.clone());
        world.millis += 1_000;
        world.pass(&web());
        assert_eq!(world.origin(&web()).unwrap()["status"]["phase"], status["phase"], "round {round}");
    }
}

#[test]
fn strangers_marks_on_the_copy_are_no_fight() {
    let mut world = World::served();
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["annotations"]["theirs"] = json!("1"));
    world.assert_steady(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["metadata"]["annotations"][keys::CONSUMER_NAME], "web");
}

#[test]
fn one_edit_is_no_fight() {
    let mut world = World::served();
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    let decision = world.look(&web());
    assert_eq!((decision.steps.len(), decision.notes), (1, Vec::new()));
}
