use std::{collections::BTreeMap, sync::Arc};

use graphs_core::{
    graph::{Graph, Role},
    node::{Node, Ready, Wanted},
    render::{Observed, Pass},
};
use serde_json::{Value, json};

use super::{
    each,
    graph::{EVALUATOR, compiled},
    is_better, numbers_alike, read, text,
};

fn observed(entry: &Value) -> Observed {
    let all = entry["observed"].as_object().into_iter().flatten();
    let objects = |list: &Value| list.as_array().unwrap().iter().cloned().map(Arc::new).collect();
    all.map(|(id, list)| (id.clone(), objects(list))).collect::<BTreeMap<_, _>>()
}

/// What was found of a node, in the words of the vectors.
fn recorded(node: &Node, role: Role) -> Value {
    let kind = match &node.wanted {
        Wanted::Skipped => return json!({"ignored": true}),
        Wanted::Waiting(_) => "pending",
        Wanted::Failed(_) | Wanted::Unset(_) => "error",
        Wanted::Objects(objects) => {
            let mut objects = objects.clone();
            for (index, object) in objects.iter_mut().enumerate().filter(|_| role == Role::Collection) {
                object["metadata"]["labels"]["kro.run/collection-index"] = json!(index.to_string());
            }
            return match node.ready {
                Ready::Yes => json!({"desired": objects, "ready": true}),
                Ready::No(_) => json!({"desired": objects, "ready_error": "not ready"}),
                Ready::Failed(_) => json!({"desired": objects, "ready_error": "error"}),
            };
        }
    };
    json!({ "error": kind })
}

/// A recorded node: texts of errors are kro's.
fn without_texts(node: &Value) -> Value {
    let mut node = node.clone();
    let fields = node.as_object_mut().unwrap();
    fields.remove("id");
    for key in ["error", "include_error", "ready_error"] {
        if let Some(error) = fields.remove(key) {
            fields.insert(key.replace("include_", ""), error["kind"].clone());
        }
    }
    node
}

fn agree(entry: &Value) -> Result<(), String> {
    let graph = compiled(entry)?;
    let observed = observed(entry);
    let pass = Pass::over(&graph, &entry["instance"], &observed, &EVALUATOR);
    if is_better(entry) {
        return better(text(entry, "better_note"), &pass);
    }
    same_nodes(entry, &graph, &pass)?;
    let status = Value::Object(pass.status.clone());
    match (&entry["status"], pass.status_errors.is_empty()) {
        (wanted, true) if numbers_alike(&status, wanted) => Ok(()),
        (wanted, _) => Err(format!("status is {status}, not {wanted}: {:?}", pass.status_errors)),
    }
}

fn same_nodes(entry: &Value, graph: &Graph, pass: &Pass<'_>) -> Result<(), String> {
    let wanted = entry["nodes"].as_array().unwrap();
    if wanted.len() != pass.nodes.len() {
        return Err(format!("there are {} nodes", pass.nodes.len()));
    }
    for ((wanted, node), resource) in wanted.iter().zip(&pass.nodes).zip(&graph.resources) {
        let found = recorded(node, resource.role);
        if wanted["id"] != resource.id.as_str() || !numbers_alike(&found, &without_texts(wanted)) {
            return Err(format!("{} is {found} ({node:?}), not {wanted}", resource.id));
        }
    }
    Ok(())
}

fn better(note: &str, pass: &Pass<'_>) -> Result<(), String> {
    let first = pass.nodes.first().map(|node| &node.wanted);
    let wrong = || Err(format!("{note}: {:?} {:?}", pass.nodes, pass.status));
    match (note, first) {
        (note, Some(Wanted::Failed(why) | Wanted::Unset(why))) if note.starts_with("kind \"error\"") => {
            match note.split("names ").nth(1) {
                Some(named) if !why.contains(named) => wrong(),
                _ => Ok(()),
            }
        }
        ("the field is left out", Some(Wanted::Objects(objects))) if objects[0]["data"] == json!({}) => Ok(()),
        ("only that field is left out", _) if pass.status_errors.len() == 1 && !pass.status.is_empty() => Ok(()),
        ("any key works", Some(Wanted::Objects(_))) => Ok(()),
        _ => wrong(),
    }
}

#[test]
fn instances_are_rendered_as_recorded() {
    each("render.json", agree);
}

#[test]
fn the_comparison_can_fail() {
    let entries = read("render.json");
    let good = entries.iter().find(|entry| entry["nodes"][0]["desired"][0]["data"]["k"].is_string()).unwrap();
    assert!(agree(good).is_ok());
    let changed = |pointer: &str, to: Value| {
        let mut other = good.clone();
        *other.pointer_mut(pointer).unwrap() = to;
        agree(&other)
    };
    assert!(changed("/nodes/0/desired/0/data/k", json!("other")).is_err());
    assert!(changed("/nodes/0/id", json!("other")).is_err());
    assert!(changed("/status", json!({"x": 1})).is_err());
}
