//! Clocks that jump, between one process and the next: nothing is redirected, and nothing waits for ever.

use runtime_effect::now::Now;
use serde_json::json;

use crate::decide::{
    moves::{begin, corp, next, rename},
    world::{World, web},
};

const HOUR: i64 = 3_600_000;

/// `web` is on its way from p1 to p2, which does not get ready; p3 would take it, too.
fn under_way() -> World {
    let mut world = corp();
    rename(&mut world, "a.com");
    begin(&mut world);
    world.engage(broker_api::ClusterName::provider("p3"));
    world.accept("p3", &json!({}));
    assert_eq!(next(&world), "p2");
    world
}

fn restart_with_clock(world: &mut World, jump: i64) {
    world.millis = world.millis.saturating_add_signed(jump);
    world.restart();
}

#[test]
fn a_move_in_flight_is_not_redirected_by_an_hour_that_did_not_pass() {
    for jump in [HOUR, -HOUR] {
        let mut world = under_way();
        let epoch = world.signed("p2", &web()).unwrap().epoch;
        restart_with_clock(&mut world, jump);
        world.pass(&web());
        assert_eq!(next(&world), "p2", "{jump}");
        world.millis += 599_000;
        world.pass(&web());
        assert_eq!(next(&world), "p2", "{jump}: the wait begins anew with the process");
        world.millis += 2_000;
        for _ in 0..4 {
            world.pass(&web());
        }
        assert_eq!(next(&world), "p3", "{jump}: and ends");
        assert!(world.signed("p3", &web()).unwrap().epoch > epoch, "{jump}: epochs grow all the same");
    }
}

#[test]
fn a_stamp_of_an_earlier_process_counts_from_the_start_of_this_one() {
    let now = Now { millis: 10_000, started: 4_000, text: String::new() };
    assert_eq!(now.since(9_000), 1_000);
    assert_eq!(now.since(4_000), 6_000);
    assert_eq!(now.since(3_999), 6_000, "before the start");
    assert_eq!(now.since(0), 6_000);
    assert_eq!(now.since(10_000), 0);
    assert_eq!(now.since(10_001), 6_000, "from the future");
}
