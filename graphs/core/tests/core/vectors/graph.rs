use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use broker_api::{
    Gvk,
    graphs::{ResourceGraphDefinition, ResourceGraphDefinitionSpec},
};
use graphs_core::graph::{self, Bounds, Found, Graph, GraphError, Kinds, ServedKind};
use runtime_cel::graph::Evaluator;
use serde_json::{Map, Value, json};

use super::{each, equal, is_better, read, text};

/// Parts of the texts of errors that people look for.
const TOLD: [&str; 22] = [
    "is a reserved keyword in KRO",
    "is not a valid KRO resource id: must be lower camelCase",
    "found duplicate resource IDs",
    "is not a valid KRO kind name: must be UpperCamelCase",
    "schema not found",
    "schema not found for field nope",
    "graph contains a cycle: ",
    "self references are not allowed",
    "references unknown identifiers: [",
    "only standalone expressions are allowed",
    "all forEach dimensions must be used to produce a unique resource identity, missing: [",
    "must return a list, got \"",
    "must return bool or optional_type(bool), but returns \"",
    "status fields without expressions are not supported: [",
    "instance status field must refer to a resource or schema",
    "nested expressions are not allowed unless inside string literals",
    "type mismatch in resource \"a\" at path \"",
    "are reserved for internal use",
    "undefined field '",
    "found no matching overload for '_+_' applied to '",
    " type for path ",
    "is declared by more than one conditions entry",
];

/// One for all: each has threads of its own.
pub(super) static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(graphs_core::limits::evaluator);

/// The kinds of the recorded graphs.
pub(super) struct Served(BTreeMap<Gvk, Arc<ServedKind>>);

pub(super) static SERVED: LazyLock<Served> = LazyLock::new(|| {
    let kinds = read("graph-kinds.json").into_iter().map(|mut entry| {
        let version = text(&entry, "apiVersion").to_owned();
        let (group, version) = version.rsplit_once('/').unwrap_or(("", &version));
        let name = Gvk { group: group.to_owned(), version: version.to_owned(), kind: text(&entry, "kind").to_owned() };
        let kind = ServedKind {
            name: name.clone(),
            plural: format!("{}s", name.kind.to_lowercase()),
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

/// The graph that an entry's RGD makes.
pub(super) fn compiled(entry: &Value) -> Result<Arc<Graph>, String> {
    let rgd: ResourceGraphDefinition =
        serde_json::from_value(entry["rgd"].clone()).map_err(|error| error.to_string())?;
    compile(&rgd.spec).map_err(|error| error.to_string())
}

fn compile(spec: &ResourceGraphDefinitionSpec) -> Result<Arc<Graph>, GraphError> {
    graph::compile("t", spec, &*SERVED, &EVALUATOR, Bounds::default())
}

fn agree(entry: &Value) -> Result<(), String> {
    let made = compiled(entry);
    if is_better(entry) {
        return better(entry, made);
    }
    match (made, text(entry, "error")) {
        (Ok(graph), "") => same(entry, &graph, &graph.status_schema),
        (Err(error), "") => Err(format!("is refused: {error}")),
        (Ok(_), _) => Err("is accepted".to_owned()),
        (Err(error), recorded) => {
            let lacks = |part: &&&str| recorded.contains(**part) && !error.contains(**part);
            TOLD.iter().find(lacks).map_or(Ok(()), |part| Err(format!("{error:?} lacks {part:?}")))
        }
    }
}

fn same(entry: &Value, graph: &Graph, status: &Value) -> Result<(), String> {
    let order: Vec<&str> = graph.topological_order().collect();
    equal("order", &json!(order), &entry["topologicalOrder"])?;
    let of = |of: &dyn Fn(&graph::Resource) -> Option<Value>| -> Value {
        let all = graph.resources.iter().filter_map(|resource| Some((resource.id.clone(), of(resource)?)));
        Value::Object(all.collect::<Map<_, _>>())
    };
    equal("waves", &of(&|resource| Some(json!(resource.wave))), &entry["waves"])?;
    let uses = of(&|resource| (!resource.dependencies.is_empty()).then(|| json!(resource.dependencies)));
    equal("dependencies", &uses, &entry["dependencies"])?;
    equal("name", graph.crd_name().as_str(), text(entry, "crd_name"))?;
    let wanted =
        if entry["status_schema"].is_null() { json!({"type": "object"}) } else { entry["status_schema"].clone() };
    equal("status", status, &wanted)
}

fn better(entry: &Value, made: Result<Arc<Graph>, String>) -> Result<(), String> {
    match (text(entry, "better_note"), made) {
        ("a template without metadata.name is refused", Err(error)) if error.contains("metadata.name") => Ok(()),
        ("names are written unescaped", Ok(graph)) => {
            let ours = graph.status_schema.to_string().replace("\"namespace\":", "\"__namespace__\":");
            same(entry, &graph, &serde_json::from_str(&ours).unwrap())
        }
        (note, Ok(graph)) if note.starts_with("an object with preserve-unknown keeps") => {
            let ours = graph.status_schema.to_string().replace(",\"x-kubernetes-preserve-unknown-fields\":true", "");
            equal("kept open", &ours.contains("preserve-unknown"), &false)?;
            same(entry, &graph, &serde_json::from_str(&ours).unwrap())
        }
        (
            "a byte field takes a string or bytes"
            | "a field without type is accepted and read as dyn"
            | "each, per element",
            made,
        ) => made.map(drop),
        (note, made) => Err(format!("{note}: makes {:?}", made.map(|graph| graph.status_schema.clone()))),
    }
}

#[test]
fn graphs_are_as_recorded() {
    each("graph.json", agree);
}

#[test]
fn the_comparison_can_fail() {
    let entries = read("graph.json");
    let good = entries.iter().find(|entry| entry["topologicalOrder"][1].is_string()).unwrap();
    assert!(agree(good).is_ok());
    for key in ["topologicalOrder", "waves", "dependencies", "crd_name"] {
        let mut other = good.clone();
        other[key] = json!("other");
        assert!(agree(&other).is_err(), "{key}");
    }
    let mut refused = good.clone();
    refused["error"] = json!("schema not found");
    assert!(agree(&refused).is_err());
}
