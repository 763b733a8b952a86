//! Tests of [`super`].

use std::sync::Arc;

use broker_api::{ClusterName, MigrationState, migration::StageState};
use runtime_effect::kind::Kind;
use runtime_fleet::object::ObjectKey;

use super::*;
use crate::{
    dashboard::{ICON, SCRIPT, STYLE, age::Age, flow::Measure, graph_section::tests::list, summary::ClusterRow},
    origins::{key::origin_key, records::spread::Spread},
};

/// What nobody should be able to bring into a page.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}\u{0}\n\n<!--";

fn kind(name: &str) -> Arc<Kind> {
    Arc::new(Kind { group: "g.io".into(), version: "v1".into(), kind: name.into() })
}

fn cluster(name: &str, health: Health, why: &str) -> ClusterRow {
    ClusterRow { health, name: ClusterName::consumer(name), why: why.into(), objects: 7 }
}

fn migration_of(name: &str, note: &str) -> MigrationRow {
    let place = ObjectKey::new("n", name);
    MigrationRow {
        key: place.clone(),
        kind: "K".into(),
        origin: Some(origin_key(&ClusterName::consumer(name), &kind("K"), &place)),
        from: ClusterName::provider(name),
        to: ClusterName::provider("two"),
        state: MigrationState::InitialInProgress,
        by_person: true,
        age: Age::of_millis(120_000),
        stages: vec![(name.into(), StageState::Succeeded), ("verify".into(), StageState::Pending)],
        note: note.into(),
    }
}

/// Where everybody is called `name`, and tells `why`. There are so many of each.
fn summary(name: &str, why: &str, count: usize) -> Summary {
    let numbered = |number: usize| format!("{name}{number:04}");
    let each = || (0..count).map(numbered);
    Summary {
        leads: true,
        notes: each().map(|name| format!("{name}: {why}")).collect(),
        memory: (3 << 20, 600 << 20),
        clusters: Clusters::new(each().map(|name| cluster(&name, Health::Unreachable, why)).collect()),
        objects: Objects::new(Spread {
            states: vec![(kind("K"), State::Served, 49_000), (kind("K"), State::Waiting, 1000)],
            consumers: vec![],
            providers: each().map(|name| (ClusterName::provider(name), 50)).collect(),
        }),
        flow: std::array::from_fn(|_| Measure { tenths: 123, seconds: vec![40; 60] }),
        queue: (3, 1),
        migrations: Migrations {
            counts: [(MigrationState::InitialInProgress, count)].into(),
            rows: each().take(50).map(|name| migration_of(&name, why)).collect(),
            more: count.saturating_sub(50),
        },
        graphs: list(name, why, count),
    }
}

fn rendered(summary: &Summary) -> String {
    page(&fragments(summary)).into_string()
}

/// What every page has to be like.
fn judge(page: &str) {
    assert_eq!(page.matches("<script").count(), 1, "the one of the frame");
    assert!(page.contains("<script src=\"script.js\" defer></script>"));
    for forbidden in ["<img", " style=", "<style", "javascript:", "\u{202e}", "\0", "<!--"] {
        let found = page.find(forbidden);
        assert_eq!(found.map(|at| &page[at.saturating_sub(50)..at]), None, "{forbidden}");
    }
    for tag in ["table", "section", "div", "svg", "ul", "ol", "span", "a", "tr", "td", "th", "main", "form"] {
        let begun = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(begun, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert_eq!(page.matches("<table>").count(), page.matches("<caption>").count(), "each says what it shows");
    assert_eq!((page.matches("<h1>").count(), page.matches("<main ").count()), (1, 1));
    assert!(page.contains("<html lang=\"en\">") && page.contains("<a class=\"skip\" href=\"#main\">"));
    assert!(page.contains("<label for=\"q\">"), "what is typed where");
}

#[test]
fn it_shows_how_it_stands() {
    let page = rendered(&summary("c", "connection refused", 3));
    judge(&page);
    for shown in [
        "0 of 3 ready",
        "49000 of 50000 served",
        "3 of 3 under way",
        "3 of 600 MiB",
        "c0001 <small>consumer</small>",
        "<span class=\"badge bad\">Unreachable</span>",
        "<td>connection refused</td>",
        "K.v1.g.io",
        "<td class=\"number\">12</td>",
        "At most 40 in a second",
        "n/c0002",
        "c0002 → two",
        "<li>verify <span class=\"badge plain\">Pending</span></li>",
        "object?cluster=consumer%23c0002&amp;kind=K.v1.g.io&amp;namespace=n&amp;name=c0002",
        "2 min, a person's",
        "graph?name=c0002",
        "Now 3 wait for their turn, and 1 are worked on.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let left_out = page.replace("And 11 more waves.", "").replace("And 2 more clusters.", "");
    assert!(!left_out.contains("And "), "all is shown but what is on the page of a graph");
}

#[test]
fn nothing_is_shown_where_there_is_nothing() {
    let page = rendered(&Summary::default());
    judge(&page);
    assert_eq!(page.matches("There are none.").count(), 2);
    assert_eq!(page.matches("are not known now").count(), 2, "nobody has said that there are no graphs");
    assert!(page.contains("stands by"));
}

#[test]
fn hostile_names_and_messages_are_text() {
    let page = rendered(&summary(HOSTILE, HOSTILE, 5));
    judge(&page);
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
}

#[test]
fn a_thousand_clusters_and_fifty_thousand_objects_are_a_small_page() {
    let assets: usize = [STYLE, SCRIPT, ICON].map(str::len).iter().sum();
    for (name, why) in [
        ("tenant-", "connection refused (os error 111), tried 17 times"),
        (&*"\u{e007f}".repeat(253), &*"\u{e007f}".repeat(2000)),
        (&*"\"".repeat(253), &*"\"".repeat(2000)),
    ] {
        let page = rendered(&summary(name, why, 1000));
        judge(&page);
        assert!(page.len() + assets < 200_000, "{} and {assets}", page.len());
        for left_out in ["clusters", "Migrations", "providers", "ResourceGraphDefinitions", "rollouts"] {
            assert!(page.contains(&format!(" more {left_out}.")), "{left_out}");
        }
    }
}

#[test]
fn what_has_not_changed_is_the_same() {
    let before = fragments(&summary("c", "x", 3));
    let after = fragments(&Summary { queue: (4, 1), ..summary("c", "x", 3) });
    let changed: Vec<&str> =
        before.iter().zip(&after).filter(|(a, b)| a != b).map(|(fragment, _)| fragment.name).collect();
    assert_eq!(changed, ["flow"]);
}
