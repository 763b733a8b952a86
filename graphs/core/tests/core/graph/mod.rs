//! Compiling RGDs and rendering instances: what no vector holds.

use std::sync::{Arc, LazyLock};

use broker_api::{Gvk, graphs::ResourceGraphDefinitionSpec};
use graphs_core::graph::{Bounds, Found, Graph, GraphError, Kinds, ServedKind, compile};
use runtime_cel::graph::Evaluator;
use serde_json::{Value, json};

mod compiling;
mod properties;
mod rendering;
mod standing;

/// One for all: each has threads of its own.
static EVALUATOR: LazyLock<Evaluator> = LazyLock::new(graphs_core::limits::evaluator);

/// `ConfigMap`, `Secret`, the cluster-scoped `Zone`, `Free`, which takes anything, `CustomResourceDefinition`,
/// and `Odd`, whose schema says the same in several ways.
struct Served;

/// A text in as many `anyOf` of one within each other.
fn any_of(levels: usize) -> Value {
    (0..levels).fold(json!({"type": "string"}), |inner, _| json!({"anyOf": [inner]}))
}

impl Kinds for Served {
    fn find(&self, name: &Gvk) -> Found {
        let texts =
            |format: &str| json!({"type": "object", "additionalProperties": {"type": "string", "format": format}});
        let schema = match name.kind.as_str() {
            "ConfigMap" => json!({"type": "object", "properties": {"data": texts("")}}),
            "Secret" => json!({"type": "object", "properties": {"data": texts("byte")}}),
            "Zone" => json!({"type": "object", "properties": {"spec": {"type": "object"}}}),
            "Free" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "Odd" => json!({"type": "object", "properties": {
                "untyped": {"properties": {"k": {"type": "string"}}},
                "open": {"additionalProperties": {"type": "string"}},
                "referred": {"default": {}, "allOf": [{"type": "object", "properties": {"k": {"type": "string"}}}]},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                "ratio": {"type": "number"},
                "whole": {"type": "integer"},
                "more": {"type": "object", "properties": {"k": {"type": "string"}}, "additionalProperties": true},
                "loose": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "string"}},
                "port": {"x-kubernetes-int-or-string": true},
                "portal": {"type": "string", "format": "int-or-string"},
                "narrowed": {"properties": {"k": {"type": "string"}}, "allOf": [{"required": ["k"]}]},
                "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"n": {"type": "integer"}}},
                "nullable": {"type": "string", "nullable": true},
                "plain": {"type": "string"},
                "deep": any_of(17),
                "deeper": any_of(18),
            }}),
            "CustomResourceDefinition" => json!({"type": "object", "properties": {
                "spec": {"type": "object", "properties": {"group": {"type": "string"}}},
            }}),
            "Later" => return Found::Unknown,
            _ => return Found::NotServed,
        };
        let plural = format!("{}s", name.kind.to_lowercase());
        Found::Served(Arc::new(ServedKind { name: name.clone(), plural, namespaced: name.kind != "Zone", schema }))
    }
}

/// An RGD of the kind `App` with these resources.
fn rgd(resources: Value) -> Value {
    json!({
        "schema": {"apiVersion": "v1", "kind": "App", "spec": {
            "name": "string",
            "tags": "[]string",
            "count": "integer",
            "free": "object",
        }},
        "resources": resources,
    })
}

fn spec(rgd: Value) -> ResourceGraphDefinitionSpec {
    serde_json::from_value(rgd).unwrap()
}

fn graph(rgd: Value) -> Result<Arc<Graph>, GraphError> {
    compile("test", &spec(rgd), &Served, &EVALUATOR, Bounds::default())
}

/// Why it makes no graph.
fn refusal(rgd: Value) -> String {
    graph(rgd).map(drop).unwrap_err().to_string()
}

/// A resource that is a ConfigMap with this in its data.
fn config(id: &str, data: &str) -> Value {
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": id}, "data": {"k": data}});
    json!({"id": id, "template": template})
}

/// A ConfigMap that is there.
fn there(name: &str, data: Value) -> Arc<Value> {
    let metadata = json!({"name": name, "namespace": "ns"});
    Arc::new(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
}

fn instance(spec: Value) -> Value {
    json!({"apiVersion": "kro.run/v1", "kind": "App", "metadata": {"name": "app", "namespace": "ns", "uid": "u"}, "spec": spec})
}
