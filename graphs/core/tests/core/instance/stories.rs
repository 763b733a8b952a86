//! What holds of every story of compiled graphs: compiling, rendering and deciding together.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::graphs::keys;
use graphs_core::{
    instance::{Form, target},
    node::Wanted,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    instance::{
        rendered::Rendering,
        server::{Key, key},
        world::World,
    },
    rgd::{Choices, compiled, instance_spec, write},
};

#[derive(Debug, Clone)]
enum Event {
    /// A field of the instance's spec.
    Spec(&'static str, Value),
    /// The RGD is another one.
    Graph(usize),
    /// Somebody changes what we have applied.
    Drift(usize),
    Delete(usize),
    /// Somebody's finalizer.
    Hold(usize),
    Unready(usize),
    /// Controllers of Deployments do their work.
    Work,
    /// What is only read.
    External(&'static str, Option<&'static str>),
    Unknown(Option<&'static str>),
    /// Dies after so many writes.
    Crash(usize),
    Restart,
    Turn,
}

fn event() -> impl Strategy<Value = Event> {
    let fields = vec![
        ("on", json!(true)),
        ("on", json!(false)),
        ("count", json!(1)),
        ("count", json!(3)),
        ("text", json!("v")),
        ("text", json!("w")),
        ("tags", json!([])),
        ("tags", json!(["q", "s", "t"])),
        ("labels", json!({"a": "b"})),
        ("labels", json!({})),
        ("divisor", json!(0)),
        ("divisor", json!(2)),
        ("waits", json!("r0")),
        ("waits", json!("r1")),
        ("waits", json!("")),
    ];
    let kinds = vec![None, Some("ConfigMap"), Some("Deployment"), Some("Secret")];
    let name = prop::sample::select(vec!["ext-a", "ext-b", "ext-c"]);
    let values = prop::sample::select(vec![Some("x"), Some("y"), None]);
    prop_oneof![
        4 => prop::sample::select(fields).prop_map(|(field, value)| Event::Spec(field, value)),
        1 => (0_usize..2).prop_map(Event::Graph),
        1 => (0_usize..8).prop_map(Event::Drift),
        2 => (0_usize..8).prop_map(Event::Delete),
        1 => (0_usize..8).prop_map(Event::Hold),
        1 => (0_usize..8).prop_map(Event::Unready),
        2 => Just(Event::Work),
        1 => (name, values).prop_map(|(name, value)| Event::External(name, value)),
        1 => prop::sample::select(kinds).prop_map(Event::Unknown),
        2 => (0_usize..8).prop_map(Event::Crash),
        1 => Just(Event::Restart),
        4 => Just(Event::Turn),
    ]
}

fn rendering() -> impl Strategy<Value = Arc<Rendering>> {
    let rgd = prop::collection::vec(any::<u8>(), 0..70).prop_map(|choices| write(&mut Choices::new(choices)));
    rgd.prop_map(|rgd| Arc::new(Rendering::new(compiled(&rgd).unwrap())))
}

fn external(name: &str) -> Key {
    key("ConfigMap", "default", name)
}

struct Story {
    world: World,
    graphs: [Arc<Rendering>; 2],
}

impl Story {
    fn new(graphs: &[Arc<Rendering>; 2]) -> Self {
        let mut world = World::new(vec![]);
        world.rendering = Some(Arc::clone(&graphs[0]));
        world.spec(instance_spec());
        for (name, labels) in [("theirs", json!({keys::APPLYSET_PART_OF: "other"})), ("nobodys", json!({}))] {
            let object = json!({"metadata": {"name": name, "namespace": "default", "labels": labels}});
            world.server.put(external(name), object);
        }
        Self { world, graphs: graphs.clone() }
    }

    fn children(&self) -> Vec<Key> {
        let (server, own) = (&self.world.server, self.world.id());
        server.objects.places().filter(|key| server.part_of(key) == Some(&own)).cloned().collect()
    }

    fn external(&mut self, name: &str, value: Option<&str>) {
        let labels = json!({"ext": if name == "ext-c" { "no" } else { "yes" }});
        let object = |value| json!({"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {"value": value}});
        match value {
            Some(value) => self.world.server.put(external(name), object(value)),
            None => drop(self.world.server.objects.remove(&external(name))),
        }
    }

    /// Every Deployment is told to be ready. Returns whether one was not.
    fn work(&mut self) -> bool {
        let mut news = false;
        for at in self.children().into_iter().filter(|at| at.0.kind == "Deployment") {
            let held = &self.world.server.objects[&at];
            let status = json!({"ready": true, "url": held["spec"]["host"]});
            if held["status"] != status {
                self.world.server.edit(&at, |object| object["status"] = status);
                news = true;
            }
        }
        news
    }

    /// Nobody holds anything any more.
    fn release(&mut self) {
        for at in self.children() {
            let free = |object: &mut Value| drop(object["metadata"].as_object_mut().unwrap().remove("finalizers"));
            self.world.server.edit(&at, free);
        }
    }

    fn happen(&mut self, event: &Event) {
        let nth = |index: usize| self.children().get(index).cloned();
        match event {
            Event::Spec(field, value) => {
                let mut spec = self.world.instance()["spec"].clone();
                spec[*field] = value.clone();
                self.world.spec(spec);
            }
            Event::Graph(which) => self.world.rendering = Some(Arc::clone(&self.graphs[*which])),
            Event::Drift(index) => {
                if let Some(at) = nth(*index) {
                    self.world.server.edit(&at, |object| match at.0.kind.as_str() {
                        "ConfigMap" => object["data"]["value"] = json!("drift"),
                        "Deployment" => object["spec"]["host"] = json!("drift"),
                        _ => object["metadata"]["labels"]["mine"] = json!("drift"),
                    });
                }
            }
            Event::Delete(index) => {
                if let Some(at) = nth(*index) {
                    self.world.server.delete(&at);
                }
            }
            Event::Hold(index) => {
                if let Some(at) = nth(*index) {
                    self.world.server.edit(&at, |object| {
                        if object["metadata"]["deletionTimestamp"].is_null() {
                            object["metadata"]["finalizers"] = json!(["them/hold"]);
                        }
                    });
                }
            }
            Event::Unready(index) => {
                if let Some(at) = nth(*index).filter(|at| at.0.kind == "Deployment") {
                    self.world.server.edit(&at, |object| object["status"]["ready"] = json!(false));
                }
            }
            Event::Work => drop(self.work()),
            Event::External(name, value) => self.external(name, *value),
            Event::Unknown(kind) => self.world.unknown = kind.iter().copied().collect(),
            Event::Crash(writes) => self.world.lives = *writes,
            Event::Restart => self.world.restart(),
            Event::Turn => drop(self.world.turn()),
        }
    }

    /// Everybody is well again, and the controller has the time it needs.
    fn calm(&mut self) {
        self.world.unknown.clear();
        self.world.lives = usize::MAX;
        for _ in 0..40 {
            self.release();
            self.world.millis += 400_000;
            self.world.settle();
            if !self.work() {
                return;
            }
        }
        panic!("never calm: {:?}", self.world.server.log)
    }

    /// The instance is one that can be made as a whole.
    fn whole(&mut self) {
        self.happen(&Event::Spec("waits", json!("")));
        self.happen(&Event::Spec("divisor", json!(1)));
        for name in ["ext-a", "ext-b"] {
            if !self.world.server.objects.contains(&external(name)) {
                self.external(name, Some("z"));
            }
        }
    }

    /// All that is wanted is there as it was rendered, and nothing else of the set.
    fn check(&self) {
        let mut wanted = BTreeSet::new();
        for view in self.world.rendered().nodes {
            let resource = &view.resource;
            match &view.node.wanted {
                Wanted::Objects(objects) if !matches!(resource.form, Form::Reference | Form::Selection) => {
                    for object in objects {
                        let place = target(resource, object, "default").unwrap();
                        let at = key(&resource.kind.kind, &place.namespace, &place.name);
                        assert!(holds(&self.world.server.objects[&at], object), "{at:?} is not {object}");
                        wanted.insert(at);
                    }
                }
                Wanted::Objects(_) | Wanted::Skipped => {}
                other => panic!("{}: {other:?}", resource.id),
            }
        }
        assert_eq!(self.children().into_iter().collect::<BTreeSet<_>>(), wanted);
    }
}

/// Whether an object has all fields of another.
fn holds(held: &Value, wanted: &Value) -> bool {
    match wanted {
        // The server stores it otherwise.
        Value::Object(wanted) => wanted.iter().all(|(name, value)| name == "stringData" || holds(&held[name], value)),
        wanted => held == wanted,
    }
}

/// A new story that begins where another ends, without its children.
fn fresh(story: &Story) -> Story {
    let mut fresh = Story::new(&story.graphs);
    fresh.world.rendering.clone_from(&story.world.rendering);
    fresh.world.spec(story.world.instance()["spec"].clone());
    for name in ["ext-a", "ext-b", "ext-c"] {
        if let Some(object) = story.world.server.objects.get(&external(name)) {
            fresh.world.server.put(external(name), object.clone());
        }
    }
    fresh
}

/// Stories are long: fewer of them, unless the environment says how many.
fn cases() -> ProptestConfig {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 96;
    }
    config
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_end_is_what_is_wanted_whatever_the_way(
        graphs in [rendering(), rendering()],
        events in prop::collection::vec(event(), 0..16),
    ) {
        let mut story = Story::new(&graphs);
        for event in &events {
            story.happen(event);
        }
        story.whole();
        story.calm();
        story.check();
        let mut fresh = fresh(&story);
        fresh.calm();
        prop_assert_eq!(story.world.server.timeless(), fresh.world.server.timeless());
    }

    #[test]
    fn nothing_is_written_once_all_is_said(
        graphs in [rendering(), rendering()],
        events in prop::collection::vec(event(), 0..16),
    ) {
        let mut story = Story::new(&graphs);
        for event in &events {
            story.happen(event);
        }
        story.world.lives = usize::MAX;
        story.world.millis += 400_000;
        story.world.settle();
        prop_assert_eq!(story.world.writes(), Vec::<String>::new());
        story.world.restart();
        prop_assert_eq!(story.world.writes(), Vec::<String>::new());
    }

    #[test]
    fn a_deleted_instance_takes_its_children_along_and_nothing_else(
        graphs in [rendering(), rendering()],
        events in prop::collection::vec(event(), 0..12),
        crash in 0_usize..8,
    ) {
        let mut story = Story::new(&graphs);
        for event in &events {
            story.happen(event);
        }
        let at = story.world.at();
        story.world.lives = usize::MAX;
        story.world.turn();
        story.world.server.delete(&at);
        story.world.lives = crash;
        if story.world.server.objects.contains(&at) {
            story.world.turn();
        }
        story.calm();
        // What somebody held has gone, and the rest may follow.
        story.calm();
        let left: Vec<&str> = story.world.names().into_iter().filter(|name| !name.starts_with("ext-")).collect();
        prop_assert_eq!(left, ["nobodys", "theirs"]);
        prop_assert!(!story.world.server.objects.contains(&at));
    }
}
