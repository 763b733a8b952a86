//! CONTRACT, "Placement", and what happens when nobody accepts, or not any more.

use broker_api::{ClusterName, condition};
use broker_core::decision::State;
use runtime_effect::reach::Reach;
use serde_json::json;

use crate::decide::world::{World, key, web};

fn provider_of(world: &World) -> Option<String> {
    let annotations = &world.origin(&web())?["metadata"]["annotations"];
    annotations[broker_api::keys::PROVIDER_CLUSTER].as_str().map(str::to_owned)
}

/// Where `web` goes with these AcceptAPIs.
fn placed(acceptances: &[(&str, serde_json::Value)], prepare: impl FnOnce(&mut World)) -> Option<String> {
    let providers: Vec<&str> = acceptances.iter().map(|(provider, _)| *provider).collect();
    let mut world = World::new(&providers);
    for (provider, spec) in acceptances {
        world.accept(provider, spec);
    }
    world.create(&web(), json!({"fqdn": "a.corp", "size": 4}));
    prepare(&mut world);
    world.settle(&web());
    provider_of(&world)
}

#[test]
fn the_highest_priority_wins() {
    let acceptances = [("p1", json!({})), ("p2", json!({"priority": 5})), ("p3", json!({"priority": -1}))];
    assert_eq!(placed(&acceptances, |_| {}).as_deref(), Some("p2"));
}

#[test]
fn cordoned_full_unreachable_or_not_known_providers_get_nothing_new() {
    let best = |spec: serde_json::Value| {
        let mut spec = spec;
        spec["priority"] = json!(9);
        [("p1", json!({})), ("p2", spec)]
    };
    assert_eq!(placed(&best(json!({})), |_| {}).as_deref(), Some("p2"), "else the rest shows nothing");
    assert_eq!(placed(&best(json!({"cordoned": true})), |_| {}).as_deref(), Some("p1"));
    assert_eq!(placed(&best(json!({"capacity": 0})), |_| {}).as_deref(), Some("p1"));
    assert_eq!(
        placed(&best(json!({"filters": [{"key": "size", "boundary": {"max": 3}}]})), |_| {}).as_deref(),
        Some("p1")
    );
    assert_eq!(placed(&best(json!({"expression": "self.spec.size < 3"})), |_| {}).as_deref(), Some("p1"));
    for reach in [Reach::Unreachable("down".into()), Reach::Lost("blip".into())] {
        let cut = |world: &mut World| world.provider("p2").reach = reach;
        assert_eq!(placed(&best(json!({})), cut).as_deref(), Some("p1"));
    }
    let unlisted = |world: &mut World| world.provider("p2").listed = false;
    assert_eq!(placed(&best(json!({})), unlisted).as_deref(), Some("p1"), "its objects cannot be listed");
}

#[test]
fn capacity_counts_what_is_held() {
    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({"capacity": 2}));
    for name in ["a", "b", "c"] {
        world.create(&key("homer", name), json!({}));
        world.settle(&key("homer", name));
    }
    assert!(world.copy("p1", &key("homer", "b")).is_some());
    assert!(world.copy("p1", &key("homer", "c")).is_none());
    assert!(world.condition(&key("homer", "c"), "Brokered").unwrap().contains("is full (capacity 2)"));
    world.delete(&key("homer", "a"));
    world.settle_all();
    assert!(world.copy("p1", &key("homer", "c")).is_some(), "room again");
}

#[test]
fn an_object_stays_while_its_provider_accepts_it() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({"priority": 100}));
    world.accept("p1", &json!({"cordoned": true, "capacity": 0}));
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(8));
    world.settle(&web());
    assert_eq!(provider_of(&world).as_deref(), Some("p1"));
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["size"], 8);
    assert!(world.copy("p2", &web()).is_none());
}

#[test]
fn nobody_accepts_and_every_acceptapi_says_why() {
    let mut world = World::new(&["p1", "p2"]);
    world.accept_as("p1", "corp", &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    world.accept_as("p2", "small", &json!({"filters": [{"key": "size", "boundary": {"max": 3}}]}));
    world.create(&web(), json!({"fqdn": "a.org", "size": 4}));
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::Waiting);
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.starts_with("False/NoProvider: no provider accepts the object: p1/default/corp: fqdn"), "{words}");
    assert!(words.contains("p2/default/small: size"), "{words}");
    assert!(decision.notes.iter().any(|note| note.warning && note.message.contains("p2/default/small")));
    world.accept("p2", &json!({}));
    world.settle(&web());
    assert_eq!(provider_of(&world).as_deref(), Some("p2"), "placed as soon as somebody accepts");
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("True/"));
}

#[test]
fn many_refusals_make_a_bounded_message() {
    let mut world = World::new(&["p1"]);
    for index in 0..300 {
        world.accept_as(
            "p1",
            &format!("a{index}"),
            &json!({"filters": [{"key": "fqdn", "valueIn": ["ü".repeat(200)]}]}),
        );
    }
    world.create(&web(), json!({"fqdn": "x"}));
    world.settle(&web());
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.len() < 5000 && words.contains("more"), "{}", words.len());
}

#[test]
fn so_many_refusals_are_spelled_out_and_the_others_are_counted() {
    for (count, told) in [(8, None), (9, Some("; and 1 more")), (11, Some("; and 3 more"))] {
        let mut world = World::new(&["p1"]);
        for index in 0..count {
            world.accept_as("p1", &format!("a{index}"), &json!({"filters": [{"key": "fqdn", "valueIn": ["y"]}]}));
        }
        world.create(&web(), json!({"fqdn": "x"}));
        world.settle(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert_eq!(words.matches("p1/default/a").count(), 8, "{words}");
        assert!(told.map_or(!words.contains("more"), |told| words.ends_with(told)), "{words}");
    }
}

#[test]
fn a_message_that_just_fits_is_not_cut() {
    let told = |length: usize| {
        let mut world = World::new(&["p1"]);
        world.accept_as("p1", &"x".repeat(length), &json!({"filters": [{"key": "fqdn", "valueIn": ["y"]}]}));
        world.create(&web(), json!({"fqdn": "x"}));
        world.settle(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        words.strip_prefix("False/NoProvider: ").unwrap().to_owned()
    };
    let room = 4096 - told(1).len() + 1;
    let (whole, cut) = (told(room), told(room + 1));
    assert_eq!((whole.len(), whole.ends_with('…'), cut.ends_with('…')), (4096, false, true));
}

#[test]
fn a_message_that_is_too_long_is_cut_between_two_characters() {
    for odd in ["", "x"] {
        let mut world = World::new(&["p1"]);
        for index in 0..8 {
            let name = format!("{odd}{}{index}", "ü".repeat(500));
            world.accept_as("p1", &name, &json!({"filters": [{"key": "fqdn", "valueIn": ["y"]}]}));
        }
        world.create(&web(), json!({"fqdn": "x"}));
        world.settle(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        let message = words.strip_prefix("False/NoProvider: ").unwrap().strip_suffix('…').unwrap();
        assert!((4095..=4096).contains(&message.len()), "{}", message.len());
    }
}

#[test]
fn a_provider_whose_acceptapis_are_not_known_is_named_with_the_reason() {
    for (reach, told) in [
        (Reach::Unreachable("no route".into()), "False/ProviderUnreachable"),
        (Reach::Ready, "False/NoProvider: no provider accepts the object: provider p1: its AcceptAPIs are not known"),
    ] {
        let mut world = World::new(&["p1"]);
        world.provider("p1").acceptances_known = false;
        world.provider("p1").reach = reach;
        world.create(&web(), json!({}));
        world.settle(&web());
        let words = world.condition(&web(), "Brokered").unwrap();
        assert!(words.starts_with(told), "{words}");
    }
}

/// What it has is served on; what cannot be asked for, or is somebody else's, is not shown.
#[test]
fn while_it_cannot_be_said_whether_it_is_accepted_its_own_copy_alone_is_shown() {
    for (known, ours) in [(true, true), (false, true), (true, false)] {
        let mut world = World::served();
        world.accept("p1", &json!({"expression": "self.spec.fqdn != ''"}));
        world.settle(&web());
        if !ours {
            world.provider("p1").objects.remove(&World::copy_at(&web()));
            world.provider("p1").put(&World::copy_at(&web()), json!({"metadata": {}, "spec": {}}));
        }
        world.provider_status("p1", &web(), json!({"phase": "News"}));
        world.run_out_of_time();
        world.provider("p1").acceptances_known = known;
        world.pass(&web());
        let shown = world.origin(&web()).unwrap()["status"]["phase"] == "News";
        assert_eq!(shown, known && ours, "known: {known}, ours: {ours}");
    }
}

/// Its AcceptAPI may have gone with its kind: nobody would tell.
#[test]
fn a_provider_that_serves_no_acceptapis_keeps_what_it_has_and_gets_nothing_new() {
    let mut world = World::served();
    world.provider("p1").acceptances_served = false;
    world.edit(&web(), |origin| origin["spec"]["size"] = json!(7));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["size"], 7);

    let mut world = World::new(&["p1"]);
    world.accept("p1", &json!({}));
    world.provider("p1").acceptances_served = false;
    world.create(&web(), json!({}));
    assert_eq!(world.settle(&web()).state, State::Waiting);
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.contains("p1/default/all: takes nothing new: its AcceptAPIs cannot be read"), "{words}");
    world.provider("p1").acceptances_served = true;
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn no_acceptapi_at_all_is_told() {
    let mut world = World::new(&["p1"]);
    world.create(&web(), json!({}));
    assert_eq!(world.settle(&web()).state, State::Waiting);
    assert!(world.condition(&web(), "Brokered").unwrap().starts_with("False/NoProvider: no provider has an AcceptAPI"));
}

#[test]
fn a_candidate_that_cannot_be_reached_is_named() {
    let mut world = World::with_origin();
    world.provider("p1").reach = Reach::Unreachable("no route".into());
    world.settle(&web());
    let words = world.condition(&web(), "Brokered").unwrap();
    assert!(words.starts_with("False/ProviderUnreachable") && words.contains("no route"), "{words}");
}

#[test]
fn not_accepted_any_more_stays_its_status_flows_and_the_new_spec_is_held_back() {
    let mut world = World::served();
    let generation = world.copy("p1", &web()).unwrap()["metadata"]["generation"].clone();
    world.provider_status("p1", &web(), json!({"phase": "Up", "observedGeneration": generation}));
    world.settle(&web());
    world.accept("p1", &json!({"filters": [{"key": "fqdn", "suffix": ".corp"}]}));
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("a.org"));
    let decision = world.settle(&web());
    assert_eq!(decision.state, State::NotAccepted);
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert!(world.condition(&web(), condition::ACCEPTED).unwrap().starts_with("False/NotAccepted"));
    assert!(world.condition(&web(), condition::BROKERED).unwrap().starts_with("True/"));
    world.provider_status("p1", &web(), json!({"phase": "Busy", "observedGeneration": generation}));
    world.settle(&web());
    let origin = world.origin(&web()).unwrap();
    assert_eq!(origin["status"]["phase"], "Busy");
    assert!(
        origin["status"]["observedGeneration"].as_i64() < origin["metadata"]["generation"].as_i64(),
        "the new spec has not been seen by anybody"
    );
    world.assert_steady(&web());
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "b.corp");
    assert_eq!(world.condition(&web(), condition::ACCEPTED), None);
    world.assert_steady(&web());
}

#[test]
fn an_acceptapi_that_goes_does_not_make_an_unchanged_spec_look_outdated() {
    let mut world = World::served();
    let generation = world.copy("p1", &web()).unwrap()["metadata"]["generation"].clone();
    world.provider_status("p1", &web(), json!({"observedGeneration": generation}));
    world.settle(&web());
    world.accept_no_more("p1");
    world.settle(&web());
    let origin = world.origin(&web()).unwrap();
    assert_eq!(origin["status"]["observedGeneration"], origin["metadata"]["generation"]);
}

#[test]
fn a_copy_that_goes_while_nobody_accepts_is_not_made_again() {
    let mut world = World::served();
    world.accept_no_more("p1");
    world.provider("p1").delete(&World::copy_at(&web()));
    assert_eq!(world.settle(&web()).state, State::NotAccepted);
    assert!(world.copy("p1", &web()).is_none());
    assert!(world.condition(&web(), condition::BROKERED).unwrap().starts_with("False/NotAccepted"));
    world.accept("p1", &json!({}));
    world.settle(&web());
    assert!(world.copy("p1", &web()).is_some());
}

#[test]
fn a_provider_that_is_not_engaged_any_more_is_told_and_nothing_moves() {
    let mut world = World::served();
    world.engage(ClusterName::provider("p2"));
    world.accept("p2", &json!({}));
    let gone = world.servers.remove(&ClusterName::provider("p1")).unwrap();
    assert_eq!(world.settle(&web()).state, State::Blocked);
    assert!(world.condition(&web(), condition::BROKERED).unwrap().contains("p1 is not engaged"));
    assert!(world.copy("p2", &web()).is_none());
    world.assert_steady(&web());
    world.servers.insert(ClusterName::provider("p1"), gone);
    assert_eq!(world.settle(&web()).state, State::Served);
}

#[test]
fn a_provider_deletes_its_copy_and_it_is_made_again() {
    let mut world = World::served();
    let at = World::copy_at(&web());
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!(["theirs/one"]));
    world.provider("p1").delete(&at);
    world.settle(&web());
    assert!(world.copy("p1", &web()).unwrap()["metadata"].get("deletionTimestamp").is_some(), "it takes its time");
    world.edit_copy("p1", &web(), |copy| copy["metadata"]["finalizers"] = json!([]));
    world.settle(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    world.provider_status("p1", &web(), json!({"phase": "Again"}));
    world.settle(&web());
    world.assert_steady(&web());
}
