//! `Search`: objects by parts of their names, and graphs by theirs and by the kinds that they serve.

use std::{collections::BTreeSet, sync::Arc};

use broker_api::ClusterName;
use broker_core::{decision::State, snapshot::OriginKey};

use super::{
    definition::Definition,
    frame::{Frame, begin_table, end_table, heads, object_link, rows},
    graph_section::{known, link, state},
    graphs::Graphs,
    html::Html,
    kept::Shown as _,
    kind::kind_text,
    sight::Sight,
    tone::Tone,
};
use crate::broker::Broker;

/// How many of each sort are shown.
const MOST: usize = 50;

/// Bytes that they take at the most, beside the last one of each sort.
const BYTES: usize = 100_000;
const GRAPH_BYTES: usize = 40_000;

/// Characters of a name that are shown.
const NAME: usize = 253;

/// What is looked for: all of these words, each in the cluster, the namespace or the name; of a graph in its name or its kind.
/// They are in lower case, as Kubernetes' names are: people need not write them so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Search(Vec<String>);

/// An object that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// Which object.
    pub(super) key: OriginKey,
    /// How it stands.
    pub(super) state: State,
    /// Who serves it.
    pub(super) provider: Option<ClusterName>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hits {
    /// Some of the objects, in order.
    pub(super) first: Vec<Hit>,
    /// Whether there are more.
    pub(super) more: bool,
    /// Some of the graphs, in order, and whether there are more, as far as anybody can tell.
    pub(super) graphs: Sight<(Vec<Arc<Definition>>, bool)>,
}

impl Search {
    /// What a person has typed.
    pub(super) fn new(text: &str) -> Self {
        // Whoever types a word a hundred times has every object looked at once for it.
        let words: BTreeSet<String> = text.split_whitespace().map(str::to_lowercase).collect();
        Self(words.into_iter().collect())
    }

    /// Whether an object is among what is looked for.
    fn matches(&self, key: &OriginKey) -> bool {
        self.0.iter().all(|word| {
            let within = |text: &str| text.contains(word.as_str());
            let placed = word
                .split_once('/')
                .is_some_and(|(namespace, name)| key.namespace.ends_with(namespace) && key.name.starts_with(name));
            let cluster = word.strip_prefix("consumer#").unwrap_or(word);
            // A cluster is named by whoever has its kubeconfig, in any case.
            let in_cluster = || key.cluster.name().to_lowercase().contains(cluster);
            placed || within(&key.name) || within(&key.namespace) || in_cluster()
        })
    }

    /// Whether a graph is among what is looked for: people need not write its kind as it is written.
    fn is_about(&self, graph: &Definition) -> bool {
        let kind = graph.kind.to_lowercase();
        let own = kind.split('.').next().unwrap_or_default();
        self.0.iter().all(|word| {
            // Version and group are those of many: whoever wants them begins with the kind.
            graph.name.contains(word) || own.contains(word) || kind.starts_with(word)
        })
    }

    /// Looks for it. That takes as long as there are objects.
    pub(super) fn find(&self, broker: &Broker, graphs: &Graphs) -> Hits {
        if self.0.is_empty() {
            return Hits::default();
        }
        let (keys, more) = broker.origins.records.some(MOST, |key| self.matches(key));
        let found = keys.into_iter().filter_map(|key| {
            // It may have gone meanwhile.
            let (state, provider) =
                broker.origins.records.with(&key, |record| (record.state(), record.provider().cloned()))?;
            Some(Hit { key, state, provider })
        });
        let graphs = graphs.some(broker, MOST, |graph| self.is_about(graph));
        Hits { first: found.collect(), more, graphs }
    }
}

/// The page with what was found of what was typed.
pub(super) fn page(typed: &str, hits: &Hits) -> Html {
    let mut content = Html::default();
    content.raw("<h1>Found</h1>\n");
    if typed.trim().is_empty() {
        content.raw(
            "<p>Type a part of a name, of a namespace or of a cluster’s name; of several words each has to fit. A graph is found \
             by its name, and by the kind that it serves.</p>",
        );
    } else {
        found(&mut content, hits);
    }
    Frame { title: "Search", search: typed, events: None }.around(&content)
}

fn found(html: &mut Html, hits: &Hits) {
    // Where nobody serves the kind there is no graph, and nothing to say of that.
    let graphs = match &hits.graphs {
        Sight::Unserved => None,
        graphs => known(html, graphs, Definition::KIND),
    };
    let graphs = graphs.filter(|(first, _)| !first.is_empty());
    if hits.first.is_empty() && graphs.is_none() {
        html.raw(
            "<p>There is none. Each word has to be a part of the name, of the namespace or of the cluster’s name; of a graph, of \
             its name or its kind.</p>",
        );
    }
    if !hits.first.is_empty() {
        objects(html, &hits.first, hits.more);
    }
    if let Some((first, more)) = graphs {
        graph_table(html, first, *more);
    }
}

fn objects(html: &mut Html, hits: &[Hit], more: bool) {
    begin_table(html, "Objects of consumers");
    heads(html, &["Object", "Kind", "Cluster", "State", "Provider"]);
    let left = rows(html, hits, BYTES, |html, Hit { key, state, provider }| {
        let kind = kind_text(&key.gvk);
        html.raw("<tr><th scope=\"row\"><a href=\"");
        object_link(html, [&key.cluster.to_string(), &kind, &key.namespace, &key.name]);
        html.raw("\">").cut(&format!("{}/{}", key.namespace, key.name), NAME).raw("</a></th><td>").cut(&kind, NAME);
        html.raw("</td><td>").cut(key.cluster.name(), NAME).raw("</td><td>");
        Tone::from(*state).badge(html, state.as_str());
        html.raw("</td><td>").cut(provider.as_ref().map(ClusterName::name).unwrap_or_default(), NAME).raw("</td></tr>");
    });
    end_table(html);
    fewer(html, more || left > 0);
}

fn graph_table(html: &mut Html, graphs: &[Arc<Definition>], more: bool) {
    begin_table(html, "Graphs");
    heads(html, &["Graph", "Kind", "State"]);
    let left = rows(html, graphs, GRAPH_BYTES, |html, graph| {
        html.raw("<tr><th scope=\"row\">");
        link(html, &graph.name);
        html.raw("</th><td>").cut(&graph.kind, NAME).raw("</td><td>");
        graph.tone().badge(html, state(graph));
        html.raw("</td></tr>");
    });
    end_table(html);
    fewer(html, more || left > 0);
}

fn fewer(html: &mut Html, more: bool) {
    if more {
        html.raw("<p class=\"more\">There are more; another word makes them fewer.</p>");
    }
}

#[cfg(test)]
mod tests {
    use runtime_effect::kind::Kind;
    use runtime_fleet::object::ObjectKey;

    use super::*;
    use crate::origins::key::origin_key;

    fn key(cluster: &str, namespace: &str, name: &str) -> OriginKey {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        origin_key(&ClusterName::consumer(cluster), &Arc::new(kind), &ObjectKey::new(namespace, name))
    }

    #[test]
    fn every_word_has_to_fit() {
        let key = key("Homer-1", "team-a", "web-cert");
        for text in [
            "web",
            "team",
            "Homer",
            "homer",
            "WEB",
            "consumer#Homer",
            "Consumer#homer",
            "team-a/web",
            "Team-A/Web",
            "m-a/web-cert",
            "web Homer team-a",
            " cert ",
        ] {
            assert!(Search::new(text).matches(&key), "{text}");
        }
        for text in ["bart", "web bart", "web/team-a", "team/web", "consumer#bart", "provider#Homer"] {
            assert!(!Search::new(text).matches(&key), "{text}");
        }
    }

    #[test]
    fn a_word_is_looked_for_once() {
        assert_eq!(Search::new(&"cert Cert ".repeat(100)), Search::new("cert"));
    }

    fn graph(name: &str, kind: &str) -> Definition {
        Definition { name: name.into(), kind: kind.into(), state: "Active".into(), ..Definition::default() }
    }

    #[test]
    fn a_graph_is_found_by_its_name_and_by_its_kind() {
        let graph = graph("web-apps", "ShopFront.v1alpha1.kro.run");
        for text in ["web", "apps", "ShopFront", "front", "shopfront.v1alpha1.kro.run", "web front"] {
            assert!(Search::new(text).is_about(&graph), "{text}");
        }
        for text in ["bart", "web bart", "kro", "v1alpha1", "n/web", "consumer#web"] {
            assert!(!Search::new(text).is_about(&graph), "{text}");
        }
        assert!(!Search::new("front").is_about(&Definition { kind: String::new(), ..graph }), "nobody knows its kind");
    }

    #[tokio::test]
    async fn nothing_is_looked_for_without_a_word() {
        let (broker, _channels) = Broker::of_one_kind();
        let graphs = Graphs::watch(&broker);
        assert_eq!(Search::new("  ").find(&broker, &graphs), Hits::default());
        let Hits { first, more, graphs } = Search::new("x").find(&broker, &graphs);
        assert!(first.is_empty() && !more && matches!(graphs, Sight::Waiting(_)), "{graphs:?}");
    }

    #[test]
    fn what_was_found_leads_to_its_trace() {
        let hit = |name: &str| Hit {
            key: key("homer", "n", name),
            state: State::Served,
            provider: Some(ClusterName::provider("one")),
        };
        let hits = Hits { first: vec![hit("cert"), hit("<b>")], more: true, graphs: Sight::Unserved };
        let page = page("\"><b>", &hits).into_string();
        assert!(page.contains(
            "<a href=\"object?cluster=consumer%23homer&amp;kind=K.v1.g&amp;namespace=n&amp;name=cert\">n/cert</a>"
        ));
        assert!(page.contains("name=%3Cb%3E\">n/&lt;b&gt;</a>") && !page.contains("<b>"));
        assert!(page.contains("There are more") && page.contains("value=\"&quot;&gt;&lt;b&gt;\""));
        assert!(
            !page.contains("ResourceGraphDefinitions"),
            "where the kind is not served there is nothing to say of it"
        );
    }

    #[test]
    fn a_graph_that_was_found_leads_to_its_page() {
        let found = |first: Vec<Definition>, more| Hits {
            graphs: Sight::Known { seen: (first.into_iter().map(Arc::new).collect(), more), doubt: None },
            ..Hits::default()
        };
        let both = found(vec![graph("web", "WebApp.v1alpha1.kro.run"), graph("<b>", "\"<i>")], true);
        let page = page("web", &both).into_string();
        assert!(page.contains("<a href=\"graph?name=web\">web</a></th><td>WebApp.v1alpha1.kro.run</td>"), "{page}");
        assert!(page.contains("<span class=\"badge good\">Active</span>") && page.contains("There are more"), "{page}");
        assert!(
            page.contains("graph?name=%3Cb%3E\">&lt;b&gt;") && !page.contains("<b>") && !page.contains("<i>"),
            "{page}"
        );
        assert!(!page.contains("There is none") && !page.contains("Objects of consumers"), "{page}");
        let none = super::page("x", &found(vec![], false)).into_string();
        assert!(none.contains("There is none") && !none.contains("<table>"), "{none}");
    }

    #[test]
    fn what_nobody_knows_of_graphs_is_not_taken_for_none() {
        let page = |typed, graphs| page(typed, &Hits { graphs, ..Hits::default() }).into_string();
        assert!(page("x", Sight::default()).contains("ResourceGraphDefinitions are not known now"));
        assert!(
            page("x", Sight::Troubled("forbidden".into()))
                .contains("ResourceGraphDefinitions are not known: forbidden")
        );
        assert!(!page("", Sight::default()).contains("are not known"), "nothing was looked for");
    }

    #[test]
    fn what_is_found_is_a_small_page() {
        let long = "\u{e007f}".repeat(253);
        let of = |number: usize| Hit {
            key: key(&format!("{long}{number}"), &long, &long),
            state: State::NotAccepted,
            provider: Some(ClusterName::provider(long.as_str())),
        };
        let graphs = (0..MOST).map(|_| Arc::new(graph(&long, &long))).collect();
        let graphs = Sight::Known { seen: (graphs, true), doubt: Some(long.clone()) };
        let page = page(&long, &Hits { first: (0..MOST).map(of).collect(), more: true, graphs }).into_string();
        assert!(page.len() < 200_000, "{}", page.len());
    }
}
