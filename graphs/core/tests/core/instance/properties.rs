//! What holds of every story.

use broker_api::graphs::keys;
use proptest::prelude::*;
use serde_json::json;

use crate::instance::{
    server::{Key, Server, key},
    toy::{Toy, one},
    world::World,
};

#[derive(Debug, Clone)]
enum Event {
    Count(u64),
    Skip(Option<&'static str>),
    Value(&'static str, &'static str),
    Rename(bool),
    Fail(bool),
    Wait(bool),
    Drift(usize),
    Delete(usize),
    Unready(usize, bool),
    Unknown(bool),
    Crash(usize),
    Restart,
    Turn,
}

fn event() -> impl Strategy<Value = Event> {
    let id = prop::sample::select(vec!["a", "b", "c", "d"]);
    prop_oneof![
        (0_u64..4).prop_map(Event::Count),
        prop::option::of(id.clone()).prop_map(Event::Skip),
        (id, prop::sample::select(vec!["x", "y"])).prop_map(|(id, value)| Event::Value(id, value)),
        any::<bool>().prop_map(Event::Rename),
        any::<bool>().prop_map(Event::Fail),
        any::<bool>().prop_map(Event::Wait),
        (0_usize..6).prop_map(Event::Drift),
        (0_usize..6).prop_map(Event::Delete),
        ((0_usize..6), any::<bool>()).prop_map(|(index, unready)| Event::Unready(index, unready)),
        any::<bool>().prop_map(Event::Unknown),
        (0_usize..6).prop_map(Event::Crash),
        Just(Event::Restart),
        Just(Event::Turn),
    ]
}

fn graph() -> Vec<Toy> {
    vec![one("a", &[], 1), one("b", &["a"], 2).collection(), one("c", &["b"], 3), one("d", &[], 3).of("Deployment")]
}

fn world() -> World {
    let mut world = World::new(graph());
    for (name, labels) in [("theirs", json!({keys::APPLYSET_PART_OF: "other"})), ("nobodys", json!({}))] {
        let object = json!({"metadata": {"name": name, "namespace": "default", "labels": labels}});
        world.server.put(key("ConfigMap", "default", name), object);
    }
    world
}

impl World {
    fn nth(&self, index: usize) -> Option<Key> {
        let own = self.id();
        self.server.objects.places().filter(|key| self.server.part_of(key) == Some(&own)).nth(index).cloned()
    }

    fn happen(&mut self, event: &Event) {
        let mut spec = self.instance()["spec"].clone();
        match event {
            Event::Count(count) => spec["counts"]["b"] = json!(count),
            Event::Skip(id) => spec["skip"] = json!(id.iter().collect::<Vec<_>>()),
            Event::Value(id, value) => spec["values"][id] = json!(value),
            Event::Rename(new) => spec["names"] = if *new { json!({"a": "renamed"}) } else { json!({}) },
            Event::Fail(fails) => spec["fail"] = if *fails { json!({"d": "error"}) } else { json!({}) },
            Event::Wait(waits) => spec["wait"] = if *waits { json!({"c": "pending"}) } else { json!({}) },
            Event::Drift(index) => {
                if let Some(at) = self.nth(*index) {
                    self.server.edit(&at, |object| object["data"]["value"] = json!("drift"));
                }
            }
            Event::Delete(index) => {
                if let Some(at) = self.nth(*index) {
                    self.server.delete(&at);
                }
            }
            Event::Unready(index, unready) => {
                if let Some(at) = self.nth(*index) {
                    self.server
                        .edit(&at, |object| object["status"]["ready"] = json!(if *unready { "no" } else { "yes" }));
                }
            }
            Event::Unknown(unknown) => {
                self.unknown = if *unknown { ["Deployment"].into() } else { [].into() };
            }
            Event::Crash(writes) => self.lives = *writes,
            Event::Restart => self.restart(),
            Event::Turn => drop(self.turn()),
        }
        self.spec(spec);
    }

    /// Everybody is well again, and the controller has the time it needs.
    fn calm(&mut self) {
        self.unknown.clear();
        self.lives = usize::MAX;
        let says = |server: &Server, at: &Key| at.0.kind != "Web" && !server.objects[at]["status"].is_null();
        let all: Vec<Key> = self.server.objects.places().filter(|at| says(&self.server, at)).cloned().collect();
        for at in all {
            self.server.edit(&at, |object| drop(object.as_object_mut().unwrap().remove("status")));
        }
        self.millis += 400_000;
        self.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_end_depends_on_what_is_wanted_and_not_on_the_way(events in prop::collection::vec(event(), 0..14)) {
        let mut story = world();
        for event in &events {
            story.happen(event);
        }
        // Of what was wanted once and cannot be told now, only a spec that is whole says whether it goes.
        story.happen(&Event::Fail(false));
        story.happen(&Event::Wait(false));
        story.calm();
        let mut fresh = world();
        fresh.spec(story.instance()["spec"].clone());
        fresh.calm();
        prop_assert_eq!(story.server.timeless(), fresh.server.timeless());
        prop_assert_eq!(story.state(), "ACTIVE");
    }

    #[test]
    fn a_second_turn_writes_nothing(events in prop::collection::vec(event(), 0..14)) {
        let mut story = world();
        for event in &events {
            story.happen(event);
        }
        story.lives = usize::MAX;
        story.settle();
        prop_assert!(story.writes().is_empty());
        story.restart();
        prop_assert_eq!(story.writes(), Vec::<String>::new());
    }

    #[test]
    fn deletion_leaves_what_is_others_and_nothing_else(events in prop::collection::vec(event(), 0..10), crash in 0_usize..8) {
        let mut story = world();
        for event in &events {
            story.happen(event);
        }
        story.turn();
        let at = story.at();
        story.server.delete(&at);
        story.lives = crash;
        story.unserved = true;
        if story.server.objects.contains(&at) {
            story.turn();
        }
        story.calm();
        prop_assert_eq!(story.names(), ["nobodys", "theirs"]);
        prop_assert!(!story.server.objects.contains(&at));
    }
}
