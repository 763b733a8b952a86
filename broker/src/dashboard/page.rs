//! The first page: a [`Summary`] as HTML, each part by itself. Knows no broker, and asks nobody.

use std::iter;

use broker_api::Role;
use broker_core::decision::State;

use super::{
    flow::MEASURES,
    fragment::Fragment,
    frame::{Frame, begin_table, end_table, heads, more, object_link, rows, section},
    graph_section,
    health::Health,
    html::Html,
    kind::kind_text,
    migration::MigrationRow,
    summary::{Clusters, Migrations, Objects, Summary},
    tone::Tone,
};
use crate::migrations::registry::word;

/// Bytes that rows of each table take at the most, beside the last one. With all else that is less than 200 KB.
const CLUSTER_BYTES: usize = 55_000;
const MIGRATION_BYTES: usize = 35_000;
const PROVIDER_BYTES: usize = 12_000;
const KIND_BYTES: usize = 15_000;
const NOTE_BYTES: usize = 6_000;

/// Characters of a name that are shown, and of a sentence. Objects' names are at most 253 long, and most far shorter.
const NAME: usize = 100;
const SENTENCE: usize = 200;

/// Stages of a Migration that are shown.
const STAGES: usize = 16;

/// The parts of the page, and their headings.
const TITLES: [(&str, &str); 6] = [
    ("overview", "Overview"),
    ("clusters", "Clusters"),
    ("objects", "Objects"),
    ("flow", "Flow"),
    ("migrations", "Migrations"),
    ("graphs", "Graphs"),
];

/// The parts of the page.
pub(super) fn fragments(summary: &Summary) -> Vec<Fragment> {
    TITLES
        .into_iter()
        .map(|(name, _)| {
            let html = match name {
                "overview" => overview(summary),
                "clusters" => clusters(&summary.clusters),
                "objects" => objects(&summary.objects),
                "flow" => flow(summary),
                "migrations" => migrations(&summary.migrations),
                _ => graph_section::section(&summary.graphs),
            };
            Fragment::new(name, html)
        })
        .collect()
}

/// The page of these parts.
pub(super) fn page(fragments: &[Fragment]) -> Html {
    let mut content = Html::default();
    content.raw("<h1>How it stands</h1>\n<nav aria-label=\"Parts of this page\"><ul>");
    for (name, title) in TITLES {
        content.raw("<li><a href=\"#about-").raw(name).raw("\">").raw(title).raw("</a></li>");
    }
    content.raw("</ul></nav>\n");
    for (name, title) in TITLES {
        for fragment in fragments.iter().filter(|fragment| fragment.name == name) {
            section(&mut content, title, fragment);
        }
    }
    Frame { title: "How it stands", search: "", events: Some("events") }.around(&content)
}

fn fact(html: &mut Html, name: &'static str, value: impl FnOnce(&mut Html)) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>");
    value(html);
    html.raw("</dd></div>");
}

fn overview(summary: &Summary) -> Html {
    let mut html = Html::default();
    html.raw("<dl class=\"facts\">");
    fact(&mut html, "This process", |html| {
        let (tone, word) = if summary.leads { (Tone::Good, "works") } else { (Tone::Plain, "stands by") };
        tone.badge(html, word);
    });
    let (all, ready) = summary.clusters.totals();
    fact(&mut html, "Clusters", |html| {
        html.text(ready).raw(" of ").text(all).raw(" ready");
    });
    let objects = &summary.objects;
    fact(&mut html, "Objects", |html| {
        html.text(objects.in_state(State::Served)).raw(" of ").text(objects.total()).raw(" served");
    });
    fact(&mut html, "Migrations", |html| {
        html.text(summary.migrations.under_way()).raw(" of ").text(summary.migrations.total()).raw(" under way");
    });
    let (used, limit) = summary.memory;
    fact(&mut html, "Memory for what is held", |html| {
        html.text(used >> 20).raw(" of ").text(limit >> 20).raw(" MiB");
    });
    html.raw("</dl>");
    if summary.notes.is_empty() {
        return html;
    }
    html.raw("<ul class=\"notes\">");
    let left = rows(&mut html, &summary.notes, NOTE_BYTES, |html, note| {
        html.raw("<li>").cut(note, SENTENCE).raw("</li>");
    });
    html.raw("</ul>");
    more(&mut html, left, "notes");
    html
}

fn clusters(clusters: &Clusters) -> Html {
    let mut html = Html::default();
    begin_table(&mut html, "Clusters by role");
    let health = [Health::Ready, Health::Connecting, Health::Unreachable, Health::Lagging, Health::Leaving];
    let columns: Vec<&str> = iter::once("Role").chain(health.map(Health::word)).collect();
    heads(&mut html, &columns);
    for role in [Role::Consumer, Role::Provider, Role::Coordination, Role::Compute] {
        html.raw("<tr><th scope=\"row\">").raw(role.as_str()).raw("</th>");
        for health in health {
            number(&mut html, clusters.counts.get(&(role, health)).copied().unwrap_or_default());
        }
        html.raw("</tr>");
    }
    end_table(&mut html);
    begin_table(&mut html, "Clusters, those that need a look first");
    heads(&mut html, &["Cluster", "Health", "Objects", "What is wrong"]);
    let left = rows(&mut html, &clusters.rows, CLUSTER_BYTES, |html, row| {
        html.raw("<tr><th scope=\"row\">").cut(row.name.name(), NAME).raw(" <small>").raw(row.name.role().as_str());
        html.raw("</small></th><td>");
        Tone::from(row.health).badge(html, row.health.word());
        html.raw("</td>");
        number(html, row.objects);
        html.raw("<td>").cut(&row.why, SENTENCE).raw("</td></tr>");
    });
    end_table(&mut html);
    more(&mut html, left + clusters.more, "clusters");
    html
}

fn number(html: &mut Html, number: usize) {
    html.raw("<td class=\"number\">").text(number).raw("</td>");
}

fn objects(objects: &Objects) -> Html {
    let mut html = Html::default();
    if objects.total() == 0 {
        html.raw("<p>There are none.</p>");
        return html;
    }
    let states: Vec<State> = objects.states().into_iter().collect();
    let columns: Vec<&str> =
        iter::once("Kind").chain(states.iter().copied().map(State::as_str)).chain(["All"]).collect();
    begin_table(&mut html, "Objects by kind and state");
    heads(&mut html, &columns);
    let kinds: Vec<_> = objects.kinds.iter().collect();
    let left = rows(&mut html, &kinds, KIND_BYTES, |html, (kind, counts)| {
        html.raw("<tr><th scope=\"row\">").cut(&kind_text(kind), NAME).raw("</th>");
        for state in &states {
            number(html, counts.get(state).copied().unwrap_or_default());
        }
        number(html, counts.values().sum());
        html.raw("</tr>");
    });
    html.raw("<tr class=\"sum\"><th scope=\"row\">All</th>");
    for state in &states {
        number(&mut html, objects.in_state(*state));
    }
    number(&mut html, objects.total());
    html.raw("</tr>");
    end_table(&mut html);
    more(&mut html, left, "kinds");
    begin_table(&mut html, "Objects by provider, those on their way there included");
    heads(&mut html, &["Provider", "Objects"]);
    let left = rows(&mut html, &objects.providers, PROVIDER_BYTES, |html, (provider, count)| {
        html.raw("<tr><th scope=\"row\">").cut(provider.name(), NAME).raw("</th>");
        number(html, *count);
        html.raw("</tr>");
    });
    end_table(&mut html);
    more(&mut html, left + objects.more, "providers");
    html
}

fn flow(summary: &Summary) -> Html {
    let mut html = Html::default();
    begin_table(&mut html, "Per second");
    heads(&mut html, &["What", "Over the last 10 s", "Each second of the last minute"]);
    for (name, measure) in MEASURES.into_iter().zip(&summary.flow) {
        html.raw("<tr><th scope=\"row\">").raw(name).raw("</th><td class=\"number\">");
        let (whole, tenth) = (measure.tenths / 10, measure.tenths % 10);
        if whole >= 10 {
            html.text(whole);
        } else {
            html.text(whole).raw(".").text(tenth);
        }
        html.raw("</td><td>");
        line(&mut html, &measure.seconds);
        html.raw("</td></tr>");
    }
    end_table(&mut html);
    let (waiting, running) = summary.queue;
    html.raw("<p>Now ").text(waiting).raw(" wait for their turn, and ").text(running).raw(" are worked on.</p>");
    html
}

/// A curve, and its highest point in words.
fn line(html: &mut Html, seconds: &[u64]) {
    let highest = seconds.iter().max().copied().unwrap_or_default();
    html.raw("<svg class=\"line\" viewBox=\"0 0 120 24\" role=\"img\" aria-label=\"At most ").text(highest);
    html.raw(" in a second\"><polyline points=\"");
    let first = 60_usize.saturating_sub(seconds.len());
    for (second, value) in seconds.iter().enumerate() {
        let up = (value * 20).checked_div(highest).unwrap_or_default();
        html.text(2 * (first + second) + 1).raw(",").text(22 - up).raw(" ");
    }
    html.raw("\"/></svg> <small>at most ").text(highest).raw("</small>");
}

fn migrations(migrations: &Migrations) -> Html {
    let mut html = Html::default();
    if migrations.total() == 0 {
        html.raw("<p>There are none.</p>");
        return html;
    }
    html.raw("<ul class=\"counts\">");
    for (state, count) in &migrations.counts {
        html.raw("<li>");
        Tone::from(*state).badge(&mut html, word(*state));
        html.raw(" ").text(count).raw("</li>");
    }
    html.raw("</ul>");
    begin_table(&mut html, "Migrations, those under way first");
    heads(&mut html, &["Migration", "Moves", "State", "Stages", "What is told"]);
    let left = rows(&mut html, &migrations.rows, MIGRATION_BYTES, |html, row| {
        html.raw("<tr>");
        migration(html, row);
        html.raw("</tr>");
    });
    end_table(&mut html);
    more(&mut html, left + migrations.more, "Migrations");
    html
}

fn migration(html: &mut Html, row: &MigrationRow) {
    html.raw("<th scope=\"row\">").cut(&row.key.to_string(), NAME).raw("<br><small class=\"age\">").text(row.age);
    html.raw(if row.by_person { ", a person's" } else { "" }).raw("</small></th><td>");
    match &row.origin {
        Some(origin) => {
            html.raw("<a href=\"");
            let cluster = origin.cluster.to_string();
            object_link(html, [&cluster, &kind_text(&origin.gvk), &origin.namespace, &origin.name]);
            html.raw("\">").cut(&row.kind, NAME).raw(" ").cut(&origin.name, NAME).raw("</a>");
        }
        None => {
            html.cut(&row.kind, NAME);
        }
    }
    html.raw("<br>").cut(row.from.name(), NAME).raw(" → ").cut(row.to.name(), NAME).raw("</td><td>");
    Tone::from(row.state).badge(html, word(row.state));
    html.raw("</td><td>");
    stages(html, row);
    html.raw("</td><td>").cut(&row.note, SENTENCE).raw("</td>");
}

/// The stages of a Migration, as a list.
pub(super) fn stages(html: &mut Html, row: &MigrationRow) {
    if row.stages.is_empty() {
        return;
    }
    html.raw("<ol class=\"stages\">");
    for (name, state) in row.stages.iter().take(STAGES) {
        html.raw("<li>").cut(name, 63).raw(" ");
        Tone::from(*state).badge(html, stage_word(*state));
        html.raw("</li>");
    }
    html.raw("</ol>");
    more(html, row.stages.len().saturating_sub(STAGES), "stages");
}

/// The word for where a stage stands.
pub(super) fn stage_word(state: broker_api::migration::StageState) -> &'static str {
    use broker_api::migration::StageState;
    match state {
        StageState::Pending => "Pending",
        StageState::Running => "Running",
        StageState::Succeeded => "Succeeded",
        StageState::Failed => "Failed",
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
