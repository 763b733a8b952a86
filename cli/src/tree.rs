//! `Node`: a tree of objects over clusters, and how it is drawn.

use k8s_openapi::jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    age,
    cluster::Cluster,
    object,
    paint::{Paint, harmless},
    standing::Standing,
};

/// One object of the tree, or a place where one should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    /// What it is to the node above: `origin`, `assignment`, `copy`, `related`, `migration`, `stage object`, `child`;
    /// `node`: one of a graph's that has no object; `stage`, `revision`, `rollout`, `served by`.
    pub(crate) relation: String,
    /// Of a child of a graph's instance: the id of its node in the graph.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id_in_graph: Option<String>,
    /// Its cluster, such as `consumer#homer`.
    pub(crate) cluster: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace; empty where it has none.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Whether it is there; absent: unknown, and `message` says why, or it is no object, as an assignment and a stage are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exists: Option<bool>,
    /// How it does, in a few words.
    pub(crate) standing: String,
    /// Whether nothing is wrong with it; absent: it says nothing of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) good: Option<bool>,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// Its `metadata.generation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) generation: Option<i64>,
    /// Seconds since it was made; of an assignment: since it was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) age_seconds: Option<i64>,
    /// What belongs to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) children: Vec<Node>,
}

impl Node {
    /// A place where something may be.
    pub(crate) fn place(relation: &str, cluster: &Cluster, kind: &str, namespace: &str, name: &str) -> Self {
        let of = |text: &str| text.to_owned();
        Self {
            relation: of(relation),
            cluster: cluster.name.to_string(),
            kind: of(kind),
            namespace: of(namespace),
            name: of(name),
            ..Self::default()
        }
    }

    /// The same with what was read there.
    #[must_use]
    pub(crate) fn with(mut self, read: Result<Option<&Value>, impl ToString>) -> Self {
        match read {
            Err(why) => {
                self.standing = "unknown".into();
                self.message = Some(why.to_string());
            }
            Ok(None) => {
                self.exists = Some(false);
                self.standing = "not there".into();
                self.good = Some(false);
            }
            Ok(Some(object)) => {
                let Standing { summary, good, message, .. } = Standing::of(object);
                self.exists = Some(true);
                (self.standing, self.good, self.message) = (summary, good, message);
                self.generation = object["metadata"]["generation"].as_i64();
                let made = object["metadata"]["creationTimestamp"].as_str();
                self.age_seconds = made.and_then(|made| age::seconds(made, Timestamp::now()));
            }
        }
        self
    }

    /// The same without what changes as time passes.
    #[must_use]
    pub(crate) fn ageless(&self) -> Self {
        let children = self.children.iter().map(Self::ageless).collect();
        Self { age_seconds: None, children, ..self.clone() }
    }

    /// The tree, a line for each node and one more for each message.
    pub(crate) fn draw(&self, paint: Paint) -> String {
        let mut out = String::new();
        self.draw_below(paint, "", "", &mut out);
        out
    }

    fn draw_below(&self, paint: Paint, first: &str, rest: &str, out: &mut String) {
        let name = object::path(&self.namespace, &self.name);
        // A server may call its kinds and objects what it likes.
        let (cluster, what) = (paint.faint(&self.cluster), harmless(&format!("{} {name}", self.kind)));
        let mut line = format!("{first}{cluster} {what}");
        if let Some(node) = &self.id_in_graph {
            line = format!("{first}{} {cluster} {what}", harmless(node));
        } else if !self.relation.is_empty() && self.relation != "copy" && self.relation != "child" {
            line = format!("{first}{} {cluster} {what}", paint.faint(&self.relation));
        }
        if !self.standing.is_empty() {
            line = format!("{line}  {}", paint.standing(&harmless(&self.standing), self.good));
        }
        if let Some(generation) = self.generation {
            line = format!("{line}  generation {generation}");
        }
        if let Some(seconds) = self.age_seconds {
            line = format!("{line}  {}", age::told(seconds));
        }
        out.push_str(line.trim_end());
        out.push('\n');
        let more = if self.children.is_empty() { "   " } else { "│  " };
        for message in self.message.iter().flat_map(|message| message.lines()) {
            out.push_str(&format!("{rest}{more}{}\n", paint.faint(&harmless(message))));
        }
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.draw_below(paint, &format!("{rest}{branch}"), &format!("{rest}{below}"), out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_drawn_with_what_is_wrong_below_each_node() {
        let node = |relation: &str, name: &str, children| Node {
            relation: relation.into(),
            cluster: "consumer#homer".into(),
            kind: "Certificate".into(),
            namespace: "team".into(),
            name: name.into(),
            standing: "Ready".into(),
            children,
            ..Node::default()
        };
        let mut copy = node("copy", "b", vec![node("related", "c", Vec::new())]);
        copy.message = Some("it waits".into());
        let tree = node("", "a", vec![copy, node("migration", "m", Vec::new())]);
        assert_eq!(
            tree.draw(Paint::plain()),
            "consumer#homer Certificate team/a  Ready\n\
             ├─ consumer#homer Certificate team/b  Ready\n\
             │  │  it waits\n\
             │  └─ related consumer#homer Certificate team/c  Ready\n\
             └─ migration consumer#homer Certificate team/m  Ready\n"
        );
    }
}
