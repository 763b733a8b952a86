//! `Scenario`: what people do, one scene after the other, and what is to be there after each.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::Value;

use super::{
    act::Act,
    judge::Place,
    stage::{HUB, RIVAL, SPOKES},
};

/// What must be there after a scene. Without a value: no such object.
#[derive(Clone)]
pub(crate) struct Expected {
    /// Server, resource, namespace, name.
    pub(crate) place: [&'static str; 4],
    pub(crate) pointer: &'static str,
    pub(crate) value: Option<Value>,
}

/// What is done at a time. All comes to rest before the next one.
#[derive(Clone, Default)]
pub(crate) struct Scene {
    pub(crate) acts: Vec<Act>,
    pub(crate) expected: Vec<Expected>,
}

impl Scene {
    pub(crate) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self { acts: acts.into_iter().collect(), expected: Vec::new() }
    }

    /// The servers that are found again.
    pub(crate) fn finds(&self) -> BTreeSet<&'static str> {
        self.acts.iter().filter_map(Act::finds).collect()
    }

    /// Whether somebody deletes what is there, and an instance beside it.
    pub(crate) fn ends(&self, place: &Place) -> bool {
        self.acts.iter().any(|act| act.deletes(place)) && self.acts.iter().any(|act| act.ends_one_of(&place[0]))
    }

    /// Whether an RGD changes while somebody asks for instances.
    pub(crate) fn defines_beside_instances(&self) -> bool {
        self.acts.iter().any(Act::defines) && self.acts.iter().any(Act::asks)
    }

    /// In the end this is in the hub.
    pub(crate) fn then(self, resource: &'static str, name: &'static str, pointer: &'static str, value: Value) -> Self {
        self.then_at(HUB, resource, name, pointer, value)
    }

    pub(crate) fn then_at(
        mut self,
        server: &'static str,
        resource: &'static str,
        name: &'static str,
        pointer: &'static str,
        value: Value,
    ) -> Self {
        let place = [server, resource, space(resource), name];
        self.expected.push(Expected { place, pointer, value: Some(value) });
        self
    }

    /// In the end there is no such object in the hub.
    pub(crate) fn without(self, resource: &'static str, name: &'static str) -> Self {
        self.without_at(HUB, resource, name)
    }

    pub(crate) fn without_at(mut self, server: &'static str, resource: &'static str, name: &'static str) -> Self {
        let place = [server, resource, space(resource), name];
        self.expected.push(Expected { place, pointer: "", value: None });
        self
    }
}

/// Where objects of a resource are, in stories.
fn space(resource: &str) -> &'static str {
    let cluster_wide =
        ["resourcegraphdefinitions.", "graphrevisions.", "resourcegraphrollouts.", "customresourcedefinitions."];
    match resource {
        "secrets" | "configmaps" => "shop",
        _ if cluster_wide.iter().any(|name| resource.starts_with(name)) => "",
        _ => "shop",
    }
}

/// What an act is called.
fn part(scene: usize, at: usize) -> String {
    format!("act{scene}.{at}")
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// Arguments of the controller.
    pub(crate) args: Vec<&'static str>,
    /// One for each process: its hub.
    pub(crate) processes: Vec<&'static str>,
    pub(crate) scenes: Arc<[Scene]>,
    /// Which numbers revisions get is a matter of when what is no more was collected.
    pub(crate) renumbers: bool,
}

impl Scenario {
    pub(crate) fn new(name: &str, args: &[&'static str], scenes: Vec<Scene>) -> Self {
        Self {
            name: name.to_owned(),
            args: args.to_vec(),
            processes: vec![HUB],
            scenes: scenes.into(),
            renumbers: false,
        }
    }

    pub(crate) fn renumbering(self) -> Self {
        Self { renumbers: true, ..self }
    }

    /// The same with a process for each of two hubs.
    pub(crate) fn with_rival(self) -> Self {
        Self { processes: vec![HUB, RIVAL], ..self }
    }

    /// All hubs.
    pub(crate) fn hubs(&self) -> &'static [&'static str] {
        if self.processes.contains(&RIVAL) { &[HUB, RIVAL] } else { &[HUB] }
    }

    /// All spokes. Where nobody is told that there are any, one scenario shows that nothing is done to them (D1).
    pub(crate) fn spokes(&self) -> &'static [&'static str] {
        if self.args.contains(&"--enable-multicluster") || self.name == "life" { &SPOKES } else { &[] }
    }

    /// Whether its hub cannot be reached at any time.
    pub(crate) fn loses_hub(&self) -> bool {
        self.scenes.iter().flat_map(|scene| &scene.acts).any(|act| act.loses(HUB))
    }

    /// What can be left out of it, each by its name: of one that says what must be there in the end, nothing.
    pub(crate) fn parts(&self) -> Vec<String> {
        if self.scenes.iter().any(|scene| !scene.expected.is_empty()) {
            return Vec::new();
        }
        let acts = self.scenes.iter().enumerate().flat_map(|(scene, told)| {
            let acts = told.acts.iter().enumerate().filter(|(_, act)| !act.is_nothing());
            acts.map(move |(at, _)| part(scene, at))
        });
        acts.collect()
    }

    /// Without some of its [`parts`](Self::parts); the others keep their names.
    pub(crate) fn leaving_out(mut self, parts: &BTreeSet<String>) -> Self {
        let mut scenes = self.scenes.to_vec();
        for (scene, told) in scenes.iter_mut().enumerate() {
            let acts = told.acts.iter_mut().enumerate();
            acts.filter(|(at, _)| parts.contains(&part(scene, *at))).for_each(|(_, act)| *act = Act::nothing());
        }
        self.scenes = scenes.into();
        self
    }

    /// The same with two processes, of which one leads.
    pub(crate) fn by_two(mut self) -> Self {
        self.name.push_str(", by two");
        self.args.push("--leader-elect");
        self.processes.push(HUB);
        self
    }
}
