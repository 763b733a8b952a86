//! `Search`: objects by parts of their names.

use std::collections::BTreeSet;

use broker_api::ClusterName;
use broker_core::{decision::State, snapshot::OriginKey};

use super::{
    frame::{Frame, begin_table, end_table, heads, object_link, rows},
    html::Html,
    kind::kind_text,
    tone::Tone,
};
use crate::broker::Broker;

/// How many are shown.
const MOST: usize = 50;

/// Bytes that they take at the most, beside the last one.
const BYTES: usize = 100_000;

/// Characters of a name that are shown.
const NAME: usize = 253;

/// What is looked for: all of these words, each in the cluster, the namespace or the name.
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
    /// Some of them, in order.
    pub(super) first: Vec<Hit>,
    /// Whether there are more.
    pub(super) more: bool,
}

impl Search {
    /// What a person has typed.
    pub(super) fn new(text: &str) -> Self {
        // Whoever types a word a hundred times has every object looked at once for it.
        let words: BTreeSet<&str> = text.split_whitespace().collect();
        Self(words.into_iter().map(str::to_owned).collect())
    }

    /// Whether an object is among what is looked for.
    fn matches(&self, key: &OriginKey) -> bool {
        self.0.iter().all(|word| {
            let within = |text: &str| text.contains(word.as_str());
            let placed = word
                .split_once('/')
                .is_some_and(|(namespace, name)| key.namespace.ends_with(namespace) && key.name.starts_with(name));
            let cluster = word.strip_prefix("consumer#").unwrap_or(word);
            placed || within(&key.name) || within(&key.namespace) || key.cluster.name().contains(cluster)
        })
    }

    /// Looks for it. That takes as long as there are objects.
    pub(super) fn find(&self, broker: &Broker) -> Hits {
        if self.0.is_empty() {
            return Hits::default();
        }
        let (keys, more) = broker.records.some(MOST, |key| self.matches(key));
        let found = keys.into_iter().filter_map(|key| {
            // It may have gone meanwhile.
            let (state, provider) = broker.records.with(&key, |record| (record.state(), record.provider().cloned()))?;
            Some(Hit { key, state, provider })
        });
        Hits { first: found.collect(), more }
    }
}

/// The page with what was found of what was typed.
pub(super) fn page(typed: &str, hits: &Hits) -> Html {
    let mut content = Html::default();
    content.raw("<h1>Objects found</h1>\n");
    if hits.first.is_empty() {
        content.raw(if typed.trim().is_empty() {
            "<p>Type a part of a name, of a namespace or of a cluster’s name; of several words each has to fit.</p>"
        } else {
            "<p>There is none. Each word has to be a part of the name, of the namespace or of the cluster’s name.</p>"
        });
        return Frame { title: "Search", search: typed, events: None }.around(&content);
    }
    begin_table(&mut content, "Objects of consumers");
    heads(&mut content, &["Object", "Kind", "Cluster", "State", "Provider"]);
    let left = rows(&mut content, &hits.first, BYTES, |html, Hit { key, state, provider }| {
        let kind = kind_text(&key.gvk);
        html.raw("<tr><th scope=\"row\"><a href=\"");
        object_link(html, [&key.cluster.to_string(), &kind, &key.namespace, &key.name]);
        html.raw("\">").cut(&format!("{}/{}", key.namespace, key.name), NAME).raw("</a></th><td>").cut(&kind, NAME);
        html.raw("</td><td>").cut(key.cluster.name(), NAME).raw("</td><td>");
        Tone::from(*state).badge(html, state.as_str());
        html.raw("</td><td>").cut(provider.as_ref().map(ClusterName::name).unwrap_or_default(), NAME).raw("</td></tr>");
    });
    end_table(&mut content);
    if hits.more || left > 0 {
        content.raw("<p class=\"more\">There are more; another word makes them fewer.</p>");
    }
    Frame { title: "Search", search: typed, events: None }.around(&content)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use runtime_effect::kind::Kind;
    use runtime_fleet::object::ObjectKey;

    use super::*;

    fn key(cluster: &str, namespace: &str, name: &str) -> OriginKey {
        let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
        Broker::origin_key(&ClusterName::consumer(cluster), &Arc::new(kind), &ObjectKey::new(namespace, name))
    }

    #[test]
    fn every_word_has_to_fit() {
        let key = key("Homer-1", "team-a", "web-cert");
        for text in
            ["web", "team", "Homer", "consumer#Homer", "team-a/web", "m-a/web-cert", "web Homer team-a", " cert "]
        {
            assert!(Search::new(text).matches(&key), "{text}");
        }
        for text in ["bart", "web bart", "web/team-a", "team/web", "consumer#bart", "provider#Homer"] {
            assert!(!Search::new(text).matches(&key), "{text}");
        }
    }

    #[test]
    fn a_word_is_looked_for_once() {
        assert_eq!(Search::new(&"cert ".repeat(100)), Search::new("cert"));
    }

    #[tokio::test]
    async fn nothing_is_looked_for_without_a_word() {
        let (broker, _channels) = Broker::of_one_kind();
        assert_eq!(Search::new("  ").find(&broker), Hits::default());
        assert_eq!(Search::new("x").find(&broker), Hits::default());
    }

    #[test]
    fn what_was_found_leads_to_its_trace() {
        let hit = |name: &str| Hit {
            key: key("homer", "n", name),
            state: State::Served,
            provider: Some(ClusterName::provider("one")),
        };
        let hits = Hits { first: vec![hit("cert"), hit("<b>")], more: true };
        let page = page("\"><b>", &hits).into_string();
        assert!(page.contains(
            "<a href=\"object?cluster=consumer%23homer&amp;kind=K.v1.g&amp;namespace=n&amp;name=cert\">n/cert</a>"
        ));
        assert!(page.contains("name=%3Cb%3E\">n/&lt;b&gt;</a>") && !page.contains("<b>"));
        assert!(page.contains("There are more") && page.contains("value=\"&quot;&gt;&lt;b&gt;\""));
        let none = super::page("x", &Hits::default()).into_string();
        assert!(none.contains("There is none"));
    }
}
