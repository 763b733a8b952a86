//! Whatever happens in whatever order, and wherever a crash falls.

use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};

use crate::definition::world::*;

#[derive(Debug, Clone)]
enum Event {
    Edit(usize),
    /// One pass, of which so many writes go through.
    Step(usize),
    /// The same, and then a restart.
    Crash(usize),
    KindComesOrGoes,
    EditCrd,
    DeleteCrd,
    Lag(bool),
    Blind(Blind),
}

fn specs() -> Vec<Value> {
    vec![plain(), other(), wider(), invalid(), spec(&["name"], &[later("x")]), spec(&["name"], &[])]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..specs().len()).prop_map(Event::Edit),
        4 => (0..5_usize).prop_map(Event::Step),
        3 => (0..5_usize).prop_map(Event::Crash),
        1 => Just(Event::KindComesOrGoes),
        1 => Just(Event::EditCrd),
        1 => Just(Event::DeleteCrd),
        1 => any::<bool>().prop_map(Event::Lag),
        1 => any::<[bool; 3]>().prop_map(|[revisions, crd, outcome]| {
            Event::Blind(Blind { revisions, crd, outcome, ..Blind::default() })
        }),
    ]
}

fn happen(world: &mut World, event: &Event) {
    match event {
        Event::Edit(at) => world.edit(specs().swap_remove(*at)),
        Event::Step(most) => drop(world.step(*most)),
        Event::Crash(most) => {
            world.step(*most);
            world.restart();
        }
        Event::KindComesOrGoes => world.later = !world.later,
        Event::EditCrd if world.crd.is_some() => {
            world.change_crd(|crd| crd["spec"]["names"]["shortNames"] = json!(["mine"]));
        }
        Event::DeleteCrd => {
            world.crd = None;
            world.applied = None;
        }
        Event::EditCrd => {}
        Event::Lag(lagging) => world.lagging = *lagging,
        Event::Blind(blind) => world.blind = *blind,
    }
}

/// All that is told, without times and numbers.
fn outcome(world: &World) -> Value {
    let mut status = world.status().clone();
    for entry in status["conditions"].as_array_mut().unwrap() {
        for field in ["lastTransitionTime", "observedGeneration", "message"] {
            entry.as_object_mut().unwrap().remove(field);
        }
    }
    status["lastIssuedRevision"] = json!(null);
    let newest =
        world.served.map(|served| world.revisions[&format!("web-r{served:05}")]["spec"]["snapshot"]["spec"].clone());
    json!({"status": status, "crd": world.crd.as_ref().map(|crd| &crd["spec"]), "serves": newest})
}

fn ends_well(events: &[Event], last: usize) -> Result<(), TestCaseError> {
    let mut world = World::of(&plain());
    world.change_rgd(|rgd| rgd["metadata"]["annotations"]["kro.run/allow-breaking-changes"] = "true".into());
    world.max_revisions = 3;
    for event in events {
        happen(&mut world, event);
    }
    world.blind = Blind::default();
    world.lagging = false;
    world.later = true;
    world.edit(specs().swap_remove(last));
    world.run();
    prop_assert_eq!(world.decide().writes, vec![], "idempotent");
    let numbers: Vec<i64> = world.issued.iter().map(|(number, _)| *number).collect();
    prop_assert!(numbers.is_sorted_by(|one, other| one < other), "{:?}", numbers);
    prop_assert!(world.issued.windows(2).all(|two| two[0].1 != two[1].1), "one content twice in a row: {numbers:?}");
    prop_assert!(world.numbers().len() <= 4);
    let recorded = world.status()["lastIssuedRevision"].as_i64();
    prop_assert_eq!(recorded.filter(|last| *last > 0), numbers.last().copied());
    if specs()[last] == invalid() {
        prop_assert_eq!(world.served.is_some(), !world.revisions.is_empty());
        return Ok(());
    }
    let mut straight = World::of(&specs().swap_remove(last));
    straight.later = true;
    straight.run();
    prop_assert_eq!(outcome(&world), outcome(&straight));
    Ok(())
}

/// Every place at which one crash may fall between the writes of an edit.
#[test]
fn one_crash_anywhere_makes_no_difference() {
    for first in 0..12 {
        for most in 0..4 {
            let mut events: Vec<Event> = (0..first).map(|_| Event::Step(1)).collect();
            events.extend([Event::Edit(2), Event::Crash(most), Event::Step(1), Event::Crash(most)]);
            for last in 0..specs().len() {
                ends_well(&events, last).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_end_depends_on_neither_order_nor_crashes(events in vec(event(), 0..25), last in 0..6_usize) {
        ends_well(&events, last)?;
    }
}
