//! Rendering: what a graph makes of one instance and of what is there of it.
//!
//! One pass, from the first resource to the last; the same input gives the same output, whatever the clock says. Each
//! expression is evaluated once, but those of `forEach` for each object.

mod authored;
mod collection;
mod include;
mod object;
mod observed;
mod readiness;
mod status;
mod values;

use std::collections::BTreeMap;

use runtime_cel::graph::Evaluator;
use serde_json::{Map, Value};

pub use self::{
    authored::{Authored, Made},
    observed::{Observed, World},
    values::Want,
};
use self::{include::Include, observed::Found, values::Values};
use crate::{
    graph::{Graph, Resource, Role},
    node::{Node, Ready, Wanted},
};

/// What one pass over an instance found.
#[derive(Debug)]
pub struct Pass<'a> {
    /// What it found of each resource of the graph, in its order.
    pub nodes: Vec<Node>,
    /// Two resources are the same object: nothing is to be applied. For people.
    pub conflict: Option<String>,
    /// The fields of the instance's status, without `state` and `conditions`.
    pub status: Map<String, Value>,
    /// Fields that are left out of the status because they fail; for people.
    pub status_errors: Vec<String>,
    graph: &'a Graph,
    values: Values<'a>,
}

/// What is known of a resource that others use.
struct Standing {
    include: Include,
    ready: Ready,
}

impl<'a> Pass<'a> {
    /// Goes over an instance.
    ///
    /// Evaluation blocks as [`Evaluator::evaluate`] does, within the graph's bounds of steps.
    pub fn over(graph: &'a Graph, instance: &Value, world: &dyn World, evaluator: &'a Evaluator) -> Self {
        let mut renderer = Renderer {
            graph,
            namespace: text_at(instance, "namespace").to_owned(),
            values: Values::new(graph, instance, evaluator),
            standings: BTreeMap::new(),
            bytes: 0,
        };
        let nodes = graph.resources.iter().map(|resource| renderer.node(resource, world)).collect();
        let values = renderer.values;
        let (status, status_errors) = (Map::new(), Vec::new());
        let mut pass = Self { nodes, conflict: None, status, status_errors, graph, values };
        pass.refuse_conflicts();
        (pass.status, pass.status_errors) = status::of(&graph.status, &mut pass.values);
        pass
    }

    /// The conditions that the author makes, in the order of the RGD; `built_in` are ours, as this pass leaves them.
    pub fn conditions(&mut self, built_in: &[Value]) -> Vec<Authored> {
        authored::all(self.graph, &mut self.values, built_in)
    }

    /// What it lacked, until now.
    pub fn want(&self) -> Want {
        self.values.want
    }

    /// Two resources that are one object would undo each other's work for ever.
    fn refuse_conflicts(&mut self) {
        let mut owners: BTreeMap<_, usize> = BTreeMap::new();
        let mut conflict = None;
        for (at, (node, resource)) in self.nodes.iter().zip(&self.graph.resources).enumerate() {
            let Wanted::Objects(objects) = &node.wanted else { continue };
            for object in objects.iter().filter(|_| !resource.role.is_external()) {
                let name = &resource.kind.name;
                let key = (&name.group, &name.kind, text_at(object, "namespace"), text_at(object, "name"));
                match owners.insert(key, at) {
                    Some(other) if other != at && conflict.is_none() => conflict = Some((other, at)),
                    _ => {}
                }
            }
        }
        let Some((one, other)) = conflict else { return };
        let id = |at: usize| self.graph.resources.get(at).map_or("", |resource| resource.id.as_str());
        let (first, second) = (id(one), id(other));
        let text = format!(
            "found resources with conflicts: resourceID: {first} conflicts with resourceID: {second}; give them other names"
        );
        for at in [one, other] {
            if let Some(node) = self.nodes.get_mut(at) {
                *node = Node { wanted: Wanted::Failed(text.clone()), ready: Ready::No(text.clone()) };
            }
        }
        self.conflict = Some(text);
    }
}

/// Why a node is not rendered.
pub(crate) enum Stopped {
    Waiting(String),
    Unset(String),
    Failed(String),
}

struct Renderer<'a> {
    graph: &'a Graph,
    /// The namespace of the instance; empty for one without.
    namespace: String,
    values: Values<'a>,
    standings: BTreeMap<&'a str, Standing>,
    /// Bytes of JSON rendered so far.
    bytes: usize,
}

impl<'a> Renderer<'a> {
    fn node(&mut self, resource: &'a Resource, world: &dyn World) -> Node {
        let include = self.include(resource);
        let rendered = match &include {
            Include::Yes => self.rendered(resource),
            Include::No => {
                self.standings.insert(&resource.id, Standing { include, ready: Ready::Yes });
                return Node { wanted: Wanted::Skipped, ready: Ready::Yes };
            }
            Include::Waiting(why) => Err(Stopped::Waiting(why.clone())),
            Include::Unset(why) => Err(Stopped::Unset(why.clone())),
            Include::Failed(why) => Err(Stopped::Failed(why.clone())),
        };
        let node = match rendered {
            Ok(objects) => {
                let found = Found::of(resource, &objects, world.there(resource, Some(&objects)));
                let ready = self.readiness(resource, &objects, &found);
                self.values.see(resource, found.value(resource, objects.len()));
                Node { wanted: Wanted::Objects(objects), ready }
            }
            Err(stopped) => {
                // What is there still counts for the status: it would flicker with every wait.
                self.values.see(resource, observed::before(resource, world.there(resource, None)));
                match stopped {
                    Stopped::Waiting(why) => Node { ready: Ready::No(why.clone()), wanted: Wanted::Waiting(why) },
                    Stopped::Unset(why) => Node { ready: Ready::No(why.clone()), wanted: Wanted::Unset(why) },
                    Stopped::Failed(why) => Node { ready: Ready::No(why.clone()), wanted: Wanted::Failed(why) },
                }
            }
        };
        self.standings.insert(&resource.id, Standing { include, ready: node.ready.clone() });
        node
    }

    /// The objects, in the order of expansion.
    fn rendered(&mut self, resource: &'a Resource) -> Result<Vec<Value>, Stopped> {
        self.await_ready(resource.dependencies.iter())?;
        match resource.role {
            Role::Collection => self.expanded(resource),
            Role::One | Role::External | Role::Selected => Ok(vec![self.object(resource, &[])?]),
        }
    }

    /// Waits for those that are not ready.
    fn await_ready<'i>(&self, ids: impl Iterator<Item = &'i String>) -> Result<(), Stopped> {
        for id in ids {
            let why = match self.standings.get(id.as_str()).map(|standing| &standing.ready) {
                Some(Ready::Yes) => continue,
                Some(Ready::No(why) | Ready::Failed(why)) => why.as_str(),
                None => "not known",
            };
            return Err(Stopped::Waiting(format!(
                "waiting for unresolved resource: {id:?} is not ready: {}",
                told(why)
            )));
        }
        Ok(())
    }
}

/// The beginning of a reason: they are put into each other along chains of resources.
fn told(why: &str) -> String {
    const TOLD: usize = 400;
    why.chars().take(TOLD).collect()
}

/// A text of an object's metadata; empty where there is none.
pub(crate) fn text_at<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}
