//! What holds of every RGD.

use std::{collections::BTreeSet, sync::Arc};

use graphs_core::{
    graph::Graph,
    node::{Node, Wanted},
    render::{Observed, Pass},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::rgd::{Choices, EVALUATOR, compiled, instance_spec, write};

fn rgds() -> impl Strategy<Value = Value> {
    prop::collection::vec(any::<u8>(), 0..90).prop_map(|choices| write(&mut Choices::new(choices)))
}

/// The ids of resources that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|char: char| !char.is_ascii_alphanumeric());
    let ids = words.filter(|word| word.strip_prefix('r').is_some_and(|rest| rest.parse::<usize>().is_ok()));
    ids.map(str::to_owned).collect()
}

/// All texts, but not those that only the resource itself is seen by, nor its names.
fn expressions(resource: &Value) -> String {
    let mut resource = resource.clone();
    for field in ["readyWhen", "id"] {
        resource.as_object_mut().unwrap().remove(field);
    }
    let texts = resource.to_string();
    let inside = texts.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside);
    inside.collect::<Vec<_>>().join(" ")
}

fn instance() -> Value {
    json!({"apiVersion": "kro.run/v1", "kind": "Web", "metadata": {"name": "web", "namespace": "default", "uid": "u"},
        "spec": instance_spec()})
}

/// What an API server would hold after so many turns.
fn grown(graph: &Graph, turns: usize) -> Observed {
    let mut there = Observed::new();
    for _ in 0..turns {
        let pass = Pass::over(graph, &instance(), &there, &EVALUATOR);
        for (resource, node) in graph.resources.iter().zip(&pass.nodes) {
            let Wanted::Objects(objects) = &node.wanted else { continue };
            let object = |wanted: &Value| {
                let mut object = wanted.clone();
                if resource.role.is_external() {
                    object = json!({"metadata": {"name": "ext-a", "namespace": "default"}, "data": {"value": "x"}});
                } else if resource.kind.name.kind == "Deployment" {
                    object["status"] = json!({"ready": true, "url": wanted["spec"]["host"]});
                }
                Arc::new(object)
            };
            there.insert(resource.id.clone(), objects.iter().map(object).collect());
        }
    }
    there
}

fn nodes(graph: &Graph, instance: &Value, there: &Observed) -> Vec<(String, Node)> {
    let pass = Pass::over(graph, instance, there, &EVALUATOR);
    let ids = graph.topological_order().map(str::to_owned);
    let mut nodes: Vec<(String, Node)> = ids.zip(pass.nodes).collect();
    nodes.sort_by(|one, other| one.0.cmp(&other.0));
    nodes
}

/// The same with the fields of all objects put in from behind.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            Value::Object(fields.iter().rev().map(|(name, value)| (name.clone(), turned(value))).collect::<Map<_, _>>())
        }
        Value::Array(elements) => elements.iter().map(turned).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_resource_is_behind_all_that_its_expressions_name(rgd in rgds(), from_behind in any::<bool>()) {
        let mut rgd = rgd;
        if from_behind {
            rgd["resources"].as_array_mut().unwrap().reverse();
        }
        let graph = compiled(&rgd);
        prop_assert!(graph.is_ok(), "{}: {rgd:#}", graph.unwrap_err());
        let graph = graph.unwrap();
        let order: Vec<&str> = graph.topological_order().collect();
        prop_assert_eq!(order.len(), rgd["resources"].as_array().unwrap().len());
        for written in rgd["resources"].as_array().unwrap() {
            let id = written["id"].as_str().unwrap();
            let resource = graph.resource(id).unwrap();
            let names = named(&expressions(written));
            prop_assert_eq!(&resource.dependencies, &names.iter().cloned().collect::<Vec<_>>(), "{} of {:#}", id, rgd);
            let place = |id: &str| order.iter().position(|other| *other == id).unwrap();
            for name in &names {
                prop_assert!(place(name) < place(id), "{name} is behind {id}");
                prop_assert!(graph.resource(name).unwrap().wave < resource.wave, "{name} goes before {id}");
            }
            prop_assert!(resource.wave >= 1);
        }
    }

    #[test]
    fn what_is_rendered_depends_on_no_order(rgd in rgds(), turns in 0_usize..6) {
        let graph = compiled(&rgd).unwrap();
        let there = grown(&graph, turns);
        let rendered = nodes(&graph, &instance(), &there);
        prop_assert_eq!(&rendered, &nodes(&graph, &turned(&instance()), &there));
        let mut other = turned(&rgd);
        other["resources"].as_array_mut().unwrap().reverse();
        let other = compiled(&other).unwrap();
        let shuffled: Observed = there.iter().map(|(id, all)| (id.clone(), all.iter().rev().map(|one| Arc::new(turned(one))).collect())).collect();
        prop_assert_eq!(&rendered, &nodes(&other, &instance(), &shuffled));
        let status = |graph: &Graph, there: &Observed| Pass::over(graph, &instance(), there, &EVALUATOR).status;
        prop_assert_eq!(status(&graph, &there), status(&other, &shuffled));
        for resource in &graph.resources {
            prop_assert_eq!(resource.wave, other.resource(&resource.id).unwrap().wave);
        }
    }
}
