//! Graphs that are compiled, and rendered from what the server has.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use graphs_core::{
    graph::{self, Graph, Role},
    instance::{Form, NodeView, Resource, target},
    render::{self, Pass},
};
use runtime_cel::schema::Schema;
use runtime_effect::{kind::Kind, seen::Seen};
use serde_json::{Map, Value};

use crate::{instance::world::World, rgd::EVALUATOR};

/// A compiled RGD, and what decisions are told of its resources.
#[derive(Debug)]
pub(crate) struct Rendering {
    graph: Arc<Graph>,
    resources: HashMap<String, Arc<Resource>>,
}

/// What came of rendering an instance.
#[derive(Default)]
pub(crate) struct Rendered {
    pub(crate) nodes: Vec<NodeView>,
    pub(crate) conflict: Option<String>,
    pub(crate) fields: Map<String, Value>,
    pub(crate) errors: Vec<String>,
}

impl Rendering {
    pub(crate) fn new(graph: Arc<Graph>) -> Self {
        let resources =
            graph.resources.iter().map(|resource| (resource.id.clone(), Arc::new(told(resource)))).collect();
        Self { graph, resources }
    }

    pub(crate) fn over(&self, world: &World) -> Rendered {
        let Some(instance) = world.server.objects.get(&world.at()) else { return Rendered::default() };
        let look = Look { world, resources: &self.resources, seen: RefCell::default() };
        let pass = Pass::over(&self.graph, instance, &look, &EVALUATOR);
        let mut seen = look.seen.take();
        let resources = self.graph.resources.iter().zip(pass.nodes);
        let nodes = resources.map(|(resource, node)| NodeView {
            resource: Arc::clone(&self.resources[&resource.id]),
            node,
            observed: seen.remove(&resource.id).unwrap_or_default(),
            trouble: None,
        });
        Rendered { nodes: nodes.collect(), conflict: pass.conflict, fields: pass.status, errors: pass.status_errors }
    }
}

fn told(resource: &graph::Resource) -> Resource {
    let name = &resource.kind.name;
    Resource {
        id: resource.id.clone(),
        kind: Kind { group: name.group.clone(), version: name.version.clone(), kind: name.kind.clone() },
        namespaced: resource.kind.namespaced,
        form: match resource.role {
            Role::One => Form::Single,
            Role::Collection => Form::Collection,
            Role::External => Form::Reference,
            Role::Selected => Form::Selection,
        },
        wave: u32::try_from(resource.wave).unwrap(),
        dependencies: resource.dependencies.clone(),
        schema: Some(Arc::new(Schema::compile(&resource.kind.schema))),
        omits_empty: true,
    }
}

/// What rendering sees, and what it saw.
struct Look<'a> {
    world: &'a World,
    resources: &'a HashMap<String, Arc<Resource>>,
    seen: RefCell<BTreeMap<String, Vec<Seen>>>,
}

impl Look<'_> {
    /// What is there at the places of what is wanted, but what belongs to others.
    fn named(&self, resource: &Resource, wanted: &[Value]) -> Vec<Arc<Value>> {
        let own = self.world.id();
        let see = |object: &Value| {
            let key = target(resource, object, self.world.namespace).unwrap();
            let foreign = self
                .world
                .server
                .part_of(&crate::instance::server::key(&resource.kind.kind, &key.namespace, &key.name))
                .is_some_and(|set| set != own);
            (self.world.see(&resource.kind.kind, &key.namespace, &key.name), foreign)
        };
        let all: Vec<(Seen, bool)> = wanted.iter().map(see).collect();
        let there = all.iter().filter(|(_, foreign)| !foreign);
        let there = there.filter_map(|(seen, _)| Some(Arc::clone(&seen.present()?.value))).collect();
        let all = all.into_iter().map(|(seen, _)| seen).collect();
        self.seen.borrow_mut().insert(resource.id.clone(), all);
        there
    }

    /// All objects that a selector matches; it has labels only.
    fn selected(&self, resource: &Resource, wanted: &Value) -> Option<Vec<Arc<Value>>> {
        if self.world.unknown.contains(resource.kind.kind.as_str()) {
            return None;
        }
        let labels = wanted["metadata"]["selector"]["matchLabels"].as_object().unwrap();
        let matching = self.world.server.objects.all().filter(|(key, stored)| {
            let held = &stored.value["metadata"]["labels"];
            key.0 == resource.kind && labels.iter().all(|(name, value)| held[name] == *value)
        });
        let views: Vec<Seen> = matching.map(|(key, _)| Seen::Present(self.world.server.view(key).unwrap())).collect();
        let there = views.iter().map(|seen| Arc::clone(&seen.present().unwrap().value)).collect();
        self.seen.borrow_mut().insert(resource.id.clone(), views);
        Some(there)
    }

    /// What was there before of a resource that cannot be rendered.
    fn before(&self, resource: &Resource) -> Vec<Arc<Value>> {
        let (own, id) = (self.world.id(), &resource.id);
        let server = &self.world.server;
        let members = server.objects.all().filter(|(key, stored)| {
            key.0 == resource.kind
                && server.part_of(key) == Some(&own)
                && stored.value["metadata"]["labels"][broker_api::graphs::keys::NODE_ID] == **id
        });
        members.map(|(_, stored)| Arc::clone(&stored.value)).collect()
    }
}

impl render::World for Look<'_> {
    fn there(&self, resource: &graph::Resource, wanted: Option<&[Value]>) -> Option<Vec<Arc<Value>>> {
        let resource = &self.resources[&resource.id];
        match (resource.form, wanted) {
            (Form::Selection, Some([wanted])) => self.selected(resource, wanted),
            (Form::Single | Form::Collection | Form::Reference, Some(wanted)) => Some(self.named(resource, wanted)),
            (Form::Single | Form::Collection, None) => Some(self.before(resource)),
            _ => None,
        }
    }
}
