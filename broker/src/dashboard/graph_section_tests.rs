//! Tests of [`super`], and of the page of one graph.

use std::sync::Arc;

use super::*;
use crate::dashboard::{graph, graphs::Graph, rollout::Failing, trace::Said};

/// What nobody should be able to bring into a page.
const HOSTILE: &str = "\"'><script>alert(1)</script>\u{202e}\u{0}\n\n<!--";

fn known<T>(seen: T) -> Sight<T> {
    Sight::Known { seen, doubt: None }
}

/// A graph of this name, of which `why` is told.
pub(crate) fn definition(name: &str, why: &str) -> Definition {
    Definition {
        name: name.into(),
        kind: format!("{name}.v1alpha1.kro.run"),
        state: if why.is_empty() { "Active".into() } else { "Inactive".into() },
        revision: Some(7),
        why: why.into(),
        conditions: vec![Said {
            kind: "Ready".into(),
            status: "False".into(),
            reason: name.into(),
            message: why.into(),
        }],
    }
}

/// A rollout of this name in its second wave, of which `why` is told.
pub(crate) fn rollout(name: &str, why: &str) -> Rollout {
    let failing = |number: usize| Failing {
        cluster: format!("spoke#{name}{number}"),
        revision: Some(7),
        reason: "KindMissing".into(),
        message: why.into(),
        since: "2026-01-01T00:00:00Z".into(),
    };
    let waves = (0..16)
        .map(|number| (format!("{name}{number}"), if number == 0 { WaveState::Done } else { WaveState::ToCome }));
    let mut waves: Vec<_> = waves.chain([(String::new(), WaveState::ToCome)]).collect();
    waves[1].1 = WaveState::Now;
    Rollout {
        name: name.into(),
        target: Some(7),
        word: "RollingOut".into(),
        paused: true,
        waves,
        clusters: Clusters { total: 14, updated: 9, updating: 1, failed: 4, unreachable: 1, conflicted: 1 },
        failing: (0..3).map(failing).collect(),
        why: why.into(),
        conditions: Vec::new(),
    }
}

/// So many of each.
pub(crate) fn list(name: &str, why: &str, count: usize) -> GraphList {
    let each = || (0..count).map(|number| format!("{name}{number:04}"));
    GraphList {
        definitions: known(Listed::new(each().map(|name| Arc::new(definition(&name, why))).collect())),
        rollouts: known(Listed::new(each().map(|name| Arc::new(rollout(&name, why))).collect())),
    }
}

fn judge(html: &str) {
    for forbidden in ["<script", "<img", " style=", "\u{202e}", "\0", "<!--"] {
        assert!(!html.contains(forbidden), "{forbidden}: {html}");
    }
    for tag in ["table", "div", "ul", "ol", "li", "p", "span", "a", "tr", "td", "th", "dl", "dd"] {
        let begun = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(begun, html.matches(&format!("</{tag}>")).count(), "{tag}: {html}");
    }
}

#[test]
fn it_shows_graphs_and_how_far_their_rollouts_are() {
    let html = section(&list("web", "", 2)).into_string();
    judge(&html);
    for shown in [
        "<p>2 of 2 are active.</p>",
        "<a href=\"graph?name=web0001\">web0001</a>",
        "web0001.v1alpha1.kro.run",
        "<span class=\"badge good\">Active</span>",
        "<td class=\"number\">7</td>",
        "<br><small>paused</small>",
        "<li>web00010 <span class=\"badge good\">Done</span></li>",
        "<li>web00011 <span class=\"badge busy\">Now</span></li>",
        "<li>web00012 <span class=\"badge plain\">To come</span></li>",
        "And 11 more waves.",
        "9 of 14 updated",
        "<small>4 failed</small>",
        "<small>1 unreachable</small>",
        "<li>spoke#web00010 <span class=\"badge bad\">KindMissing</span></li>",
        "And 2 more clusters.",
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(section(&list("web", "no such kind", 1)).into_string().contains("<td>no such kind</td>"));
}

#[test]
fn what_is_not_known_is_not_taken_for_nothing() {
    let shown = |definitions, rollouts| {
        let html = section(&GraphList { definitions, rollouts }).into_string();
        judge(&html);
        html
    };
    let html = section(&GraphList::default()).into_string();
    assert_eq!(html.matches("are not known now").count(), 2, "{html}");
    let html = shown(Sight::Troubled(HOSTILE.into()), Sight::Unserved);
    assert!(html.contains("has to list and watch resourcegraphdefinitions (kro.run)"), "{html}");
    assert!(html.contains("config/rbac/dashboard.yaml") && html.contains("does not serve ResourceGraphRollouts"));
    assert!(!html.contains("There are no"), "{html}");
    let html = shown(known(Listed::new(Vec::new())), known(Listed::new(Vec::new())));
    assert_eq!(html.matches("There are no ").count(), 2, "{html}");
    let doubt = Some("no connection".to_owned());
    let html = shown(Sight::Known { seen: Listed::new(vec![Arc::new(definition("web", ""))]), doubt }, Sight::Unserved);
    assert!(html.contains("as they were seen last: no connection") && html.contains("graph?name=web"), "{html}");
}

#[test]
fn hostile_names_and_messages_are_text() {
    judge(&section(&list(HOSTILE, HOSTILE, 3)).into_string());
    let graph = Graph {
        name: HOSTILE.into(),
        definition: known(Some(definition(HOSTILE, HOSTILE))),
        rollout: known(Some(rollout(HOSTILE, HOSTILE))),
    };
    judge(graph::fragment(&graph).html.as_str());
    let page = graph::page(&graph).into_string();
    assert_eq!(page.matches("<script").count(), 1, "the one of the frame");
    assert!(page.contains("data-events=\"events?graph=%22%27%3E%3Cscript"), "{page}");
}

#[test]
fn the_page_of_a_graph_has_all_of_it() {
    let graph = Graph {
        name: "web".into(),
        definition: known(Some(definition("web", "no such kind"))),
        rollout: known(Some(rollout("web", "kind missing"))),
    };
    let html = graph::fragment(&graph).html.as_str().to_owned();
    judge(&html);
    for shown in ["revision 7", "all others", "web15", "2026-01-01T00:00:00Z", "<td>kind missing</td>", "no such kind"]
    {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("more waves"));
    let absent = Graph { name: "web".into(), definition: Sight::default(), rollout: known(None) };
    let html = graph::fragment(&absent).html.as_str().to_owned();
    assert!(html.contains("are not known now") && html.contains("There is no ResourceGraphRollout"), "{html}");
}
