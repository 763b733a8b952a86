//! The page of one graph: what it is, and how it gets to clusters.

use super::{
    definition::Definition,
    fragment::Fragment,
    frame::{Frame, begin_table, end_table, heads, more},
    graph_section::{clusters, known, state, waves},
    graphs::Graph,
    html::Html,
    kept::Shown,
    query::Encoded,
    rollout::{Failing, Rollout},
    trace::Said,
};

/// Characters of a name that are shown, and of a sentence.
const NAME: usize = 253;
const SENTENCE: usize = 1000;

/// The name of the one fragment.
const GRAPH: &str = "graph";

/// The part of the page that is sent again.
pub(super) fn fragment(graph: &Graph) -> Fragment {
    let mut html = Html::default();
    match known(&mut html, &graph.definition, Definition::KIND) {
        Some(Some(shown)) => definition(&mut html, shown),
        Some(None) => _ = html.raw("<p>There is no ResourceGraphDefinition of this name.</p>"),
        None => {}
    }
    html.raw("<h2>How it gets to clusters</h2>");
    match known(&mut html, &graph.rollout, Rollout::KIND) {
        Some(Some(shown)) => rollout(&mut html, shown),
        Some(None) => {
            html.raw(
                "<p>There is no ResourceGraphRollout of this name: each revision gets to all clusters at once.</p>",
            );
        }
        None => {}
    }
    Fragment::new(GRAPH, html)
}

/// The page of that part.
pub(super) fn page(graph: &Graph) -> Html {
    let mut content = Html::default();
    content.raw("<h1>Graph ").cut(&graph.name, NAME).raw("</h1>\n<div id=\"").raw(GRAPH).raw("\">");
    content.put(&fragment(graph).html).raw("</div>");
    let events = format!("events?graph={}", Encoded(&graph.name));
    Frame { title: &graph.name, search: "", events: Some(&events) }.around(&content)
}

/// The page about what is not there.
pub(super) fn missing() -> Html {
    let mut content = Html::default();
    content.raw(
        "<h1>No such graph</h1>\n<p>The coordination cluster has no ResourceGraphDefinition of this name. It may have gone a \
         moment ago.</p>",
    );
    Frame { title: "No such graph", search: "", events: None }.around(&content)
}

fn fact(html: &mut Html, name: &'static str, value: impl FnOnce(&mut Html)) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>");
    value(html);
    html.raw("</dd></div>");
}

fn definition(html: &mut Html, shown: &Definition) {
    html.raw("<dl class=\"facts\">");
    fact(html, "State", |html| shown.tone().badge(html, state(shown)));
    fact(html, "Kind", |html| _ = html.cut(&shown.kind, NAME));
    if let Some(revision) = shown.revision {
        fact(html, "Newest revision", |html| _ = html.text(revision));
    }
    html.raw("</dl>");
    told(html, &shown.why, &shown.conditions);
}

fn rollout(html: &mut Html, shown: &Rollout) {
    html.raw("<dl class=\"facts\">");
    fact(html, "State", |html| shown.tone().badge(html, &shown.word));
    if let Some(target) = shown.target {
        fact(html, "Target", |html| _ = html.raw("revision ").text(target));
    }
    fact(html, "Paused by a person", |html| _ = html.raw(if shown.paused { "yes" } else { "no" }));
    fact(html, "Clusters", |html| clusters(html, shown.clusters));
    html.raw("</dl><h3>Waves</h3>");
    waves(html, shown, shown.waves.len());
    failing(html, &shown.failing, shown.lacking());
    told(html, &shown.why, &shown.conditions);
}

fn failing(html: &mut Html, failing: &[Failing], all: usize) {
    if failing.is_empty() {
        return;
    }
    begin_table(html, "Clusters that fail, or cannot be reached");
    heads(html, &["Cluster", "Revision", "Reason", "Since", "Message"]);
    for one in failing {
        html.raw("<tr><th scope=\"row\">").cut(&one.cluster, NAME).raw("</th><td class=\"number\">");
        if let Some(revision) = one.revision {
            html.text(revision);
        }
        html.raw("</td><td>").cut(&one.reason, NAME).raw("</td><td>").cut(&one.since, NAME);
        html.raw("</td><td>").cut(&one.message, SENTENCE).raw("</td></tr>");
    }
    end_table(html);
    more(html, all - failing.len(), "clusters");
}

/// What is said of it: by its conditions, where there are any.
fn told(html: &mut Html, why: &str, conditions: &[Said]) {
    if conditions.is_empty() {
        if !why.is_empty() {
            html.raw("<p>").cut(why, SENTENCE).raw("</p>");
        }
        return;
    }
    begin_table(html, "What its conditions say");
    heads(html, &["Condition", "Status", "Reason", "Message"]);
    for said in conditions {
        html.raw("<tr><th scope=\"row\">").cut(&said.kind, NAME).raw("</th><td>").cut(&said.status, NAME);
        html.raw("</td><td>").cut(&said.reason, NAME).raw("</td><td>").cut(&said.message, SENTENCE).raw("</td></tr>");
    }
    end_table(html);
}
