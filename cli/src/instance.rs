//! `Instance`: an instance of a graph, as the compiler and the renderer that serve it see it, on what is there now.

mod node;
mod served;

use graphs_core::{
    graph::Graph,
    limits,
    node::Node,
    render::{Observed, Pass},
};
use runtime_cel::graph::Evaluator;
use schemars::JsonSchema;
use serde::Serialize;

use self::node::Reading;
pub(crate) use self::{
    node::{Child, Live, There},
    served::{Served, crd_of},
};
use crate::{clusters::Clusters, paint::harmless, sought::Found};

/// An instance, with what its graph wants and what is there of it.
pub(crate) struct Instance {
    /// What serves it.
    pub(crate) served: Served,
    /// The graph's nodes, each behind those it uses.
    pub(crate) nodes: Vec<Live>,
}

/// One pass over an instance and what is there of it.
fn pass(graph: &Graph, found: &Found, there: &Observed, evaluator: &Evaluator) -> Vec<Node> {
    Pass::over(graph, &found.object, there, evaluator).nodes
}

impl Instance {
    /// Reads what there is of each node as soon as it is known how that is called.
    pub(crate) async fn read(clusters: &Clusters, found: &Found) -> anyhow::Result<Self> {
        anyhow::ensure!(
            found.object["metadata"]["deletionTimestamp"].is_null(),
            "it is being deleted: its children go"
        );
        let evaluator = limits::evaluator();
        let served = Served::of(clusters, found, &evaluator).await?;
        let graph = &served.graph;
        let (mut there, mut nodes) = (Observed::new(), Vec::<Option<Reading>>::new());
        nodes.resize_with(graph.resources.len(), || None);
        let mut passed = pass(graph, found, &there, &evaluator);
        // Each pass lets one more be read at least, or is the last.
        for _ in &graph.resources {
            let mut is_more = false;
            for (at, (resource, node)) in graph.resources.iter().zip(&passed).enumerate() {
                if nodes[at].is_some() {
                    continue;
                }
                let Some(live) = Live::read(found, resource, node).await else { continue };
                is_more = true;
                if let Some(objects) = live.observed() {
                    there.insert(resource.id.clone(), objects);
                }
                nodes[at] = Some(live);
            }
            if !is_more {
                break;
            }
            passed = pass(graph, found, &there, &evaluator);
        }
        let all = graph.resources.iter().zip(passed).zip(nodes);
        let nodes = all.map(|((resource, node), live)| Live::of(resource, node, live)).collect();
        Ok(Self { served, nodes })
    }

    /// What is told of its nodes.
    pub(crate) fn children(&self) -> Vec<Child> {
        Child::all(&self.nodes)
    }
}

/// What is told of an instance's nodes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Told {
    /// What serves it, such as `ResourceGraphDefinition web, revision 3`.
    served_by: Option<String>,
    /// Its nodes, each behind those it uses.
    nodes: Vec<Child>,
    /// Why they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_known: Option<String>,
}

impl Told {
    /// Of an instance.
    pub(crate) async fn of(clusters: &Clusters, found: &Found) -> Self {
        match Instance::read(clusters, found).await {
            Ok(instance) => {
                Self { served_by: Some(instance.served.called()), nodes: instance.children(), not_known: None }
            }
            Err(why) => Self { served_by: None, nodes: Vec::new(), not_known: Some(format!("{why:#}")) },
        }
    }

    /// For people: a line for each node.
    pub(crate) fn draw(&self) -> String {
        let mut out = String::new();
        if let Some(served_by) = &self.served_by {
            out.push_str(&format!("\nNodes, by {}:\n", harmless(served_by)));
        }
        let width = self.nodes.iter().map(|node| node.id.len()).max().unwrap_or_default();
        out.extend(self.nodes.iter().map(|node| node.draw(width)));
        if let Some(why) = &self.not_known {
            out.push_str(&format!("\nnot known: how its nodes stand: {}\n", harmless(why)));
        }
        out
    }
}
