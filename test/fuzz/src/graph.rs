//! RGDs and their instances: `{"rgd": {…}, "instance": {…}}`. A graph that compiles has structural schemas and an order; what
//! it renders are objects of its kinds, the same again.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
};

use broker_api::{Gvk, graphs::ResourceGraphDefinitionSpec};
use graphs_core::{
    graph::{self, Bounds, Found, Graph, GraphError, Kinds, Resource, Role, ServedKind},
    node::Wanted,
    render::{Observed, Pass},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    patience::{GRAPHS, says},
    structural,
};

/// Turns until all is there that will be.
const TURNS: usize = 3;

#[derive(Deserialize)]
struct Input {
    rgd: ResourceGraphDefinitionSpec,
    #[serde(default)]
    instance: Value,
}

struct Served(BTreeMap<Gvk, Arc<ServedKind>>);

/// Those of the recorded graphs.
static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let recorded = include_str!("../../../graphs/core/tests/vectors/graph-kinds.json");
    let recorded: Vec<Value> = serde_json::from_str(recorded).unwrap_or_default();
    assert!(!recorded.is_empty());
    let kinds = recorded.into_iter().map(|mut entry| {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
        let name = Gvk { group: group.to_owned(), version: version.to_owned(), kind };
        let plural = format!("{}s", name.kind.to_lowercase());
        let kind = ServedKind {
            name: name.clone(),
            plural,
            namespaced: entry["cluster"] == false,
            schema: entry["schema"].take(),
        };
        (name, Arc::new(kind))
    });
    Served(kinds.collect())
});

impl Kinds for Served {
    fn find(&self, name: &Gvk) -> Found {
        self.0.get(name).map_or(Found::NotServed, |kind| Found::Served(Arc::clone(kind)))
    }
}

fn compile(spec: &ResourceGraphDefinitionSpec) -> Result<Arc<Graph>, GraphError> {
    graph::compile("fuzz", spec, &*SERVED, &GRAPHS, Bounds::default())
}

/// Whether it is told that the interpreter panicked, or took too long.
fn gave_up(told: &str, data: &str) -> bool {
    ["panicked", "processor time"].iter().any(|words| says(told, words, data))
}

pub(crate) fn run(data: &[u8]) {
    let Ok(Input { rgd, instance }) = serde_json::from_slice(data) else { return };
    // Without the escapes behind which words can hide.
    let data = serde_json::from_slice(data).map(|data: Value| data.to_string()).unwrap_or_default();
    let printed = serde_json::to_value(&rgd).unwrap_or_default();
    assert_eq!(serde_json::from_value(printed).ok().as_ref(), Some(&rgd), "it is read otherwise");
    let graph = match compile(&rgd) {
        Ok(graph) => graph,
        Err(error) => {
            let told = error.to_string();
            return assert!(!gave_up(&told, &data), "{told}");
        }
    };
    check(&graph, rgd.resources.len());
    let mut there = Observed::new();
    for _ in 0..TURNS {
        let pass = pass(&graph, &instance, &there, &data);
        let rendered = graph.resources.iter().zip(&pass.nodes).filter_map(|(resource, node)| match &node.wanted {
            Wanted::Objects(objects) => Some((resource.id.clone(), objects.iter().cloned().map(Arc::new).collect())),
            _ => None,
        });
        there = rendered.collect();
    }
}

/// What holds of every graph.
fn check(graph: &Graph, resources: usize) {
    assert_eq!(graph.resources.len(), resources);
    for schema in [&graph.spec_schema, &graph.status_schema] {
        assert_eq!(structural::flaw(schema), None);
    }
    let mut before: BTreeMap<&str, usize> = BTreeMap::new();
    for resource in &graph.resources {
        for used in &resource.dependencies {
            let wave = before.get(used.as_str());
            assert!(wave.is_some_and(|wave| *wave < resource.wave), "{} goes before {used}", resource.id);
        }
        assert!(before.insert(&resource.id, resource.wave).is_none(), "{} is there twice", resource.id);
    }
}

/// A pass, and what holds of it.
fn pass<'a>(graph: &'a Graph, instance: &Value, there: &Observed, data: &str) -> Pass<'a> {
    let built_in = [json!({"type": "Ready", "status": "True", "reason": "Ready", "message": ""})];
    let mut pass = Pass::over(graph, instance, there, &GRAPHS);
    let mut again = Pass::over(graph, instance, there, &GRAPHS);
    assert_eq!(pass.nodes, again.nodes, "other objects the second time");
    assert_eq!((&pass.status, &pass.conflict), (&again.status, &again.conflict));
    assert_eq!(pass.conditions(&built_in), again.conditions(&built_in));
    let mut seen = BTreeSet::new();
    for (resource, node) in graph.resources.iter().zip(&pass.nodes) {
        match &node.wanted {
            Wanted::Objects(objects) => objects.iter().for_each(|object| wanted(resource, object, &mut seen)),
            Wanted::Failed(why) => assert!(!gave_up(why, data), "{why}"),
            Wanted::Skipped | Wanted::Waiting(_) | Wanted::Unset(_) => {}
        }
    }
    pass
}

/// Group, kind, namespace and name.
type Identity = [String; 4];

/// What holds of every object that is wanted.
fn wanted(resource: &Resource, object: &Value, seen: &mut BTreeSet<Identity>) {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let Gvk { group, version, kind } = &resource.kind.name;
    let version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
    assert_eq!((text("/apiVersion"), text("/kind")), (&*version, &**kind), "{}", resource.id);
    if resource.role == Role::Selected {
        return;
    }
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    assert!(!name.is_empty(), "{object} has no name");
    assert!(namespace.is_empty() || resource.kind.namespaced, "{object} is in a namespace");
    if !resource.role.is_external() {
        let identity = [group, kind, namespace, name].map(str::to_owned);
        assert!(seen.insert(identity), "{object} is wanted twice");
    }
}
