//! `Scenario`: what people do, one scene after the other, and what is to be there after each.

use serde_json::Value;

use super::{act::Act, stage::HUB};

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

/// See the module.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    /// Arguments of the controller.
    pub(crate) args: Vec<&'static str>,
    /// How many processes there are.
    pub(crate) processes: u64,
    pub(crate) scenes: Vec<Scene>,
    /// Which numbers revisions get is a matter of when what is no more was collected.
    pub(crate) renumbers: bool,
}

impl Scenario {
    pub(crate) fn new(name: &str, args: &[&'static str], scenes: Vec<Scene>) -> Self {
        Self { name: name.to_owned(), args: args.to_vec(), processes: 1, scenes, renumbers: false }
    }

    pub(crate) fn renumbering(self) -> Self {
        Self { renumbers: true, ..self }
    }

    /// The same with two processes, of which one leads.
    pub(crate) fn by_two(mut self) -> Self {
        self.args.push("--leader-elect");
        self.processes = 2;
        self
    }
}
