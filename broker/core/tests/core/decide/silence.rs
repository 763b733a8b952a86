//! A verdict for want of time is no verdict: what is placed stays and is served, what is new goes to somebody else or
//! waits, and is told why.

use broker_core::decision::State;
use serde_json::{Value, json};

use crate::decide::{
    moves::{assigned, next, phase, ready},
    world::{World, web},
};

/// The expression of p1; p2 takes whatever nobody else does.
fn world(fqdn: &str) -> World {
    let mut world = World::new(&["p1", "p2"]);
    world.accept("p1", &json!({"expression": "self.spec.fqdn == 'a.corp'", "priority": 9}));
    world.accept("p2", &json!({}));
    world.create(&web(), json!({"fqdn": fqdn}));
    world
}

#[test]
fn what_is_placed_stays_and_its_status_flows() {
    let mut world = world("a.corp");
    world.settle_served(&web());
    world.log.clear();
    world.run_out_of_time();
    for strike in 0..5 {
        let decision = world.look(&web());
        assert_eq!((decision.state, decision.steps.as_slice()), (State::Unknown, [].as_slice()), "{strike}");
        let again = u64::try_from(decision.again.unwrap().as_millis()).unwrap();
        assert_eq!(again, if strike < 3 { 2000 } else { 60_000 }, "{strike}: one that rests is not asked all the time");
    }
    world.provider_status("p1", &web(), ready("later"));
    world.settle_briefly(&web());
    assert_eq!((assigned(&world), next(&world), phase(&world)), (json!("p1"), Value::Null, json!("later")));
    // Nor does a new spec go to who may not accept it.
    world.edit(&web(), |origin| origin["spec"]["note"] = json!("new"));
    world.edit(&web(), |origin| origin["spec"]["fqdn"] = json!("b.corp"));
    world.settle_briefly(&web());
    assert_eq!(world.copy("p1", &web()).unwrap()["spec"]["fqdn"], "a.corp");
    assert_eq!(world.condition(&web(), "Accepted"), None);

    // With time again it is said, and done.
    world.accept("p1", &json!({"expression": "self.spec.fqdn == 'a.corp'", "priority": 9}));
    world.have_time();
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");
}

#[test]
fn what_is_new_goes_to_another_candidate() {
    let mut world = world("a.corp");
    world.run_out_of_time();
    world.settle_served(&web());
    assert_eq!(assigned(&world), "p2");
}

#[test]
fn what_is_new_and_has_no_other_candidate_waits_and_is_told_why() {
    let mut world = world("a.corp");
    world.accept_no_more("p2");
    world.run_out_of_time();
    for _ in 0..3 {
        let decision = world.look(&web());
        assert_eq!((decision.state, decision.steps.len()), (State::Unknown, 0), "in a moment it may be said");
    }
    world.settle_briefly(&web());
    let told = world.condition(&web(), "Brokered").unwrap();
    assert!(told.starts_with("False/NoProvider") && told.contains("ran out of time 3 times"), "{told}");
    let decision = world.look(&web());
    assert_eq!((decision.state, decision.steps.len()), (State::Waiting, 0));
    assert_eq!(decision.again.unwrap().as_secs(), 60);
}

#[test]
fn what_a_provider_lists_arrives_although_it_cannot_be_asked() {
    let mut world = world("a.corp");
    world.settle_served(&web());
    world.run_out_of_time();
    let p1 = broker_api::ClusterName::provider("p1");
    world.put_secret(&p1, "web-tls", json!({"metadata": {}, "data": {"k": "one"}}));
    let mut status = ready("later");
    status["relatedResources"] = json!({"tls": {"gvk": {"version": "v1", "kind": "Secret"}, "name": "web-tls"}});
    world.provider_status("p1", &web(), status);
    world.settle_briefly(&web());
    assert!(world.secret(&broker_api::ClusterName::consumer("homer"), "web-tls").is_some());
}
