//! `Children`: what an instance of a graph would have, as far as values are known: each child is taken to be there as soon as
//! it could be made, with nothing but what its template says.

use std::sync::Arc;

use broker_api::graphs::keys;
use graphs_core::{
    graph::{Graph, Resource, Role},
    node::{Node, Ready, Wanted},
    render::{Observed, Pass},
};
use runtime_cel::graph::Evaluator;
use runtime_engine::clock::now;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    defaults::fill,
    outlook::Outlook,
    shape::{Flaw, flaws},
};
use crate::{
    object,
    paint::{Paint, harmless},
    programs::yaml,
};

/// Stands for the uid that an instance would have.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// A node of the graph, as it would be for an instance.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Child {
    /// Its id.
    id: String,
    /// Its kind.
    kind: String,
    /// How it would stand.
    standing: Standing,
    /// Why it is not made, or cannot be.
    why: Option<String>,
    /// Why those that use it wait for it.
    not_ready: Option<String>,
    /// Its objects, as they would be made or looked for.
    pub(crate) objects: Vec<Value>,
    /// What would become of each of them; empty where they are not brokered.
    pub(crate) placement: Vec<Outlook>,
}

/// How a node would stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
enum Standing {
    /// Its objects would be made.
    Made,
    /// Its objects would be looked for.
    Read,
    /// It is not included.
    Skipped,
    /// It waits for values that only a cluster has.
    Waits,
    /// A value that it needs is not set.
    Unset,
    /// It cannot be made.
    Fails,
}

/// What an instance would have.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Children {
    /// The graph's nodes, each behind those it uses.
    pub(crate) nodes: Vec<Child>,
    /// What its status would say at first.
    status: Map<String, Value>,
    /// What is wrong with all of it.
    wrong: Vec<String>,
    /// What an API server would refuse of the instance, or drop.
    #[serde(skip)]
    pub(crate) flaws: Vec<Flaw>,
}

/// What would be there: all objects that could be made.
fn made(graph: &Graph, nodes: &[Node]) -> Observed {
    let mut there = Observed::new();
    for (resource, node) in graph.resources.iter().zip(nodes).filter(|(resource, _)| !resource.role.is_external()) {
        let Wanted::Objects(objects) = &node.wanted else { continue };
        let mut objects = objects.clone();
        for (index, object) in objects.iter_mut().enumerate().filter(|_| resource.role == Role::Collection) {
            label(object, keys::COLLECTION_INDEX, &index.to_string());
        }
        there.insert(resource.id.clone(), objects.into_iter().map(Arc::new).collect());
    }
    there
}

/// Sets a label, where an object can have one.
fn label(object: &mut Value, name: &str, value: &str) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let labels = metadata.map(|metadata| metadata.entry("labels").or_insert_with(|| json!({})));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.insert(name.to_owned(), json!(value));
    }
}

impl Children {
    /// Of an instance.
    pub(crate) fn of(graph: &Graph, instance: &Value, evaluator: &Evaluator) -> Self {
        let schema = json!({ "type": "object", "properties": { "spec": graph.spec_schema } });
        let mut instance = instance.clone();
        let flaws = flaws(&schema, &instance);
        fill(&schema, &mut instance);
        // What an API server gives each object.
        instance["metadata"]["uid"] = json!(UID);
        instance["metadata"]["generation"] = json!(1);
        instance["metadata"]["creationTimestamp"] = json!(now().text);
        if graph.is_cluster_scoped()
            && let Some(metadata) = instance["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
        let mut there = Observed::new();
        let mut pass = Pass::over(graph, &instance, &there, evaluator);
        // Each pass makes one more at least, or is the last.
        for _ in &graph.resources {
            let next = made(graph, &pass.nodes);
            if next == there {
                break;
            }
            there = next;
            pass = Pass::over(graph, &instance, &there, evaluator);
        }
        let wrong = pass.conflict.iter().chain(&pass.status_errors).cloned().collect();
        let nodes = graph.resources.iter().zip(&pass.nodes).map(|(resource, node)| Child::of(resource, node)).collect();
        Self { nodes, status: pass.status, wrong, flaws }
    }

    /// Whether nothing is wrong: what waits may come.
    pub(crate) fn is_sound(&self) -> bool {
        let fails = |child: &Child| matches!(child.standing, Standing::Unset | Standing::Fails);
        self.wrong.is_empty() && self.flaws.is_empty() && !self.nodes.iter().any(fails)
    }

    /// For people; `whole`: with all objects.
    pub(crate) fn draw(&self, paint: Paint, whole: bool) -> anyhow::Result<String> {
        let width = self.nodes.iter().map(|child| child.id.len()).max().unwrap_or_default();
        let mut out = String::new();
        for child in &self.nodes {
            child.draw(paint, width, whole, &mut out)?;
        }
        if !self.status.is_empty() {
            out.push_str(&format!("\nIts status would say: {}\n", harmless(&json!(self.status).to_string())));
        }
        for wrong in &self.wrong {
            out.push_str(&format!("\nwrong: {}\n", harmless(wrong)));
        }
        Ok(out)
    }
}

impl Child {
    fn of(resource: &Resource, Node { wanted, ready }: &Node) -> Self {
        let (standing, why, objects) = match wanted {
            Wanted::Skipped => (Standing::Skipped, None, Vec::new()),
            Wanted::Waiting(why) => (Standing::Waits, Some(why.clone()), Vec::new()),
            Wanted::Unset(why) => (Standing::Unset, Some(why.clone()), Vec::new()),
            Wanted::Failed(why) => (Standing::Fails, Some(why.clone()), Vec::new()),
            Wanted::Objects(objects) if resource.role.is_external() => (Standing::Read, None, objects.clone()),
            Wanted::Objects(objects) => (Standing::Made, None, objects.clone()),
        };
        let not_ready = match ready {
            Ready::No(why) | Ready::Failed(why) if why.as_str() != why_of(wanted) => Some(why.clone()),
            _ => None,
        };
        let (id, kind) = (resource.id.clone(), resource.kind.name.kind.clone());
        Self { id, kind, standing, why, not_ready, objects, placement: Vec::new() }
    }

    /// Whether its objects would be made.
    pub(crate) fn is_made(&self) -> bool {
        self.standing == Standing::Made
    }

    fn draw(&self, paint: Paint, width: usize, whole: bool, out: &mut String) -> anyhow::Result<()> {
        let Self { id, kind, standing, why, not_ready, objects, placement } = self;
        let mut begin = format!("  {id:<width$}");
        let mut line = |text: &str| {
            out.push_str(&format!("{begin}  {text}\n"));
            begin = format!("  {:width$}", "");
        };
        let why = harmless(why.as_deref().unwrap_or_default());
        match standing {
            Standing::Made | Standing::Read if objects.is_empty() => line("none: its lists are empty"),
            Standing::Made | Standing::Read => {}
            Standing::Skipped => line(&paint.faint(&format!("{kind} is not included"))),
            Standing::Waits => line(&format!("{kind} waits: {why}")),
            Standing::Unset | Standing::Fails => line(&format!("{kind} cannot be made: {why}")),
        }
        for (index, object) in objects.iter().enumerate() {
            let reads = if *standing == Standing::Read { "reads " } else { "" };
            line(&format!("{reads}{kind} {}", called(object)));
            if let Some(outlook) = placement.get(index) {
                let takers = outlook.takers();
                let taken = if outlook.is_taken() {
                    format!("goes to provider {takers}")
                } else {
                    "no provider takes it".to_owned()
                };
                line(&format!("  {taken}"));
            }
            if whole {
                for text in yaml(object)?.lines() {
                    line(&format!("  {}", harmless(text)));
                }
            }
        }
        match (standing, not_ready) {
            (Standing::Read, Some(_)) => line("  what is there is not known here"),
            (_, Some(why)) => line(&format!("  those that use it wait: {}", harmless(why))),
            (_, None) => {}
        }
        Ok(())
    }
}

fn why_of(wanted: &Wanted) -> &str {
    match wanted {
        Wanted::Waiting(why) | Wanted::Unset(why) | Wanted::Failed(why) => why,
        Wanted::Skipped | Wanted::Objects(_) => "",
    }
}

/// `default/shop`; a selector, where there is no name.
fn called(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |name: &str| harmless(metadata[name].as_str().unwrap_or_default());
    let name = if metadata["name"].is_null() { harmless(&metadata["selector"].to_string()) } else { text("name") };
    let namespace = text("namespace");
    object::path(&namespace, &name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::simulate::{definition, object};

    const WEB: &str = include_str!("../../../examples/graphs/consumer/webapplication.yaml");
    const SHOP: &str = include_str!("../../../examples/graphs/consumer/shop.yaml");
    const SITE: &str = include_str!("../../../examples/graphs/consumer/securesite.yaml");
    const BAKERY: &str = include_str!("../../../examples/graphs/consumer/bakery.yaml");

    fn children(definition: &str, instance: &str) -> Children {
        let graph = definition::tests::check(definition).unwrap();
        let instance = object::tests::of(instance, None).unwrap().value;
        Children::of(&graph, &instance, &graphs_core::limits::evaluator())
    }

    fn child<'a>(children: &'a Children, id: &str) -> &'a Child {
        children.nodes.iter().find(|child| child.id == id).unwrap()
    }

    #[test]
    fn children_are_made_as_far_as_values_are_known() {
        let shop = children(WEB, SHOP);
        assert!(shop.is_sound(), "{shop:?}");
        let names = |id: &str| -> Vec<String> { child(&shop, id).objects.iter().map(called).collect() };
        assert_eq!(names("settings"), ["default/shop-settings"]);
        assert_eq!(names("pages"), ["default/shop-page-bread", "default/shop-page-cake"]);
        assert_eq!(names("deployment"), ["default/shop"]);
        // What is not set has its default.
        let deployment = &child(&shop, "deployment").objects[0];
        assert_eq!((&deployment["spec"]["replicas"], child(&shop, "ingress").standing), (&json!(2), Standing::Skipped));
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1.29");
        // It needs a value that only a cluster has.
        let service = child(&shop, "service");
        assert_eq!(service.standing, Standing::Waits);
        assert!(service.why.as_ref().unwrap().contains("\"deployment\" is not ready"), "{service:?}");
        assert!(child(&shop, "deployment").not_ready.as_ref().unwrap().contains("status"), "{shop:?}");
        assert_eq!(shop.status["pages"], json!(["shop-page-bread", "shop-page-cake"]));
    }

    #[test]
    fn what_an_instance_lacks_or_has_too_much_is_told() {
        let lacking = children(WEB, &SHOP.replace("  greeting: Good morning\n", "  greting: Good morning\n"));
        assert!(!lacking.is_sound());
        assert_eq!(child(&lacking, "settings").standing, Standing::Unset);
        let flaws: Vec<&str> = lacking.flaws.iter().map(|(_, what)| what.as_str()).collect();
        assert!(flaws.contains(&"greeting is missing") && flaws.len() == 2, "{flaws:?}");
    }

    #[test]
    fn a_label_is_set_where_there_can_be_one() {
        let labelled = |mut object: Value| {
            label(&mut object, "a", "1");
            object
        };
        assert_eq!(labelled(json!({ "metadata": {} })), json!({ "metadata": { "labels": { "a": "1" } } }));
        for none in [json!({}), json!({ "metadata": "x" }), json!({ "metadata": { "labels": "x" } })] {
            assert_eq!(labelled(none.clone()), none);
        }
    }

    #[test]
    fn what_is_read_is_not_known() {
        let bakery = children(SITE, BAKERY);
        assert!(bakery.is_sound());
        let told = bakery.draw(Paint::plain(), false).unwrap();
        assert!(told.starts_with("  certificate  Certificate default/bakery\n"), "{told}");
        assert!(told.contains("  secret       Secret waits: "), "{told}");
        let named = SITE.replace("${certificate.status.relatedResources.tls.name}", "tls");
        let told = children(&named, BAKERY).draw(Paint::plain(), false).unwrap();
        assert!(told.contains("reads Secret default/tls\n"), "{told}");
        assert!(told.contains("what is there is not known here\n"), "{told}");
        let whole = bakery.draw(Paint::plain(), true).unwrap();
        assert!(whole.contains("fqdn: bakery.internal.corp\n"), "{whole}");
    }
}
