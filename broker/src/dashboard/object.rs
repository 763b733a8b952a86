//! The page of one object: its [`Trace`] as a picture, and in words.

use broker_core::{
    decision::State,
    movement::{Moving, Phase},
};

use super::{
    fragment::Fragment,
    frame::{Frame, begin_table, end_table, heads, more},
    html::Html,
    kind::kind_text,
    page::stages,
    picture::{part_words, picture, presence_words},
    tone::Tone,
    trace::Trace,
};
use crate::migrations::registry::word;

/// Characters of a name that are shown, and of a sentence.
const NAME: usize = 253;
const SENTENCE: usize = 1000;

/// The name of the one fragment.
const TRACE: &str = "trace";

/// The part of the page that is sent again.
pub(super) fn fragment(trace: &Trace) -> Fragment {
    let mut html = Html::default();
    html.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Picture\">").put(&picture(trace));
    html.raw("</div><h2>In words</h2>");
    facts(&mut html, trace);
    conditions(&mut html, trace);
    copies(&mut html, trace);
    related(&mut html, trace);
    migrations(&mut html, trace);
    Fragment::new(TRACE, html)
}

/// The page of that part. `events` is where it is sent again.
pub(super) fn page(trace: &Trace, events: &str) -> Html {
    let mut content = Html::default();
    let name = format!("{}/{}", trace.key.namespace, trace.key.name);
    content
        .raw("<h1>")
        .cut(&trace.key.gvk.kind, NAME)
        .raw(" ")
        .cut(&name, 2 * NAME)
        .raw("</h1>\n<div id=\"")
        .raw(TRACE);
    content.raw("\">").put(&fragment(trace).html).raw("</div>");
    Frame { title: &name, search: "", events: Some(events) }.around(&content)
}

/// The page about what is not there.
pub(super) fn missing() -> Html {
    let mut content = Html::default();
    content.raw(
        "<h1>No such object</h1>\n<p>The broker knows none of this name, or does not broker its kind. \
         It may have gone a moment ago.</p>",
    );
    Frame { title: "No such object", search: "", events: None }.around(&content)
}

fn fact(html: &mut Html, name: &'static str, value: &str) {
    html.raw("<div><dt>").raw(name).raw("</dt><dd>").cut(value, SENTENCE).raw("</dd></div>");
}

fn facts(html: &mut Html, trace: &Trace) {
    html.raw("<dl class=\"facts\">");
    fact(html, "Cluster", trace.key.cluster.name());
    fact(html, "Kind", &kind_text(&trace.key.gvk));
    fact(html, "In its cluster it", presence_words(trace.origin));
    fact(html, "State", trace.state.map_or("nothing is remembered", State::as_str));
    if let Some(provider) = &trace.provider {
        fact(html, "Assigned to", provider.name());
    }
    if let Some(accept) = &trace.counts_at {
        fact(html, "Counts for AcceptAPI", accept);
    }
    fact(html, "Name of its copy", &trace.copy.to_string());
    if let Some(Moving { from, to, phase, waits_for, .. }) = &trace.moving {
        fact(html, "Moves", &format!("{} → {}", from.name(), to.name()));
        let phase = match phase {
            Phase::Copying => "the new copy is being made",
            Phase::Ready => "the new copy is ready",
            Phase::Switched => "its consumer sees the new copy",
        };
        fact(html, "How far", phase);
        if !waits_for.is_empty() {
            fact(html, "Waits for", waits_for);
        }
    }
    html.raw("</dl>");
}

fn conditions(html: &mut Html, trace: &Trace) {
    if trace.conditions.is_empty() {
        return;
    }
    begin_table(html, "What its conditions say");
    heads(html, &["Condition", "Status", "Reason", "Message"]);
    for said in &trace.conditions {
        html.raw("<tr><th scope=\"row\">").cut(&said.kind, NAME).raw("</th><td>").cut(&said.status, NAME);
        html.raw("</td><td>").cut(&said.reason, NAME).raw("</td><td>").cut(&said.message, SENTENCE).raw("</td></tr>");
    }
    end_table(html);
}

fn copies(html: &mut Html, trace: &Trace) {
    if trace.copies.is_empty() {
        html.raw("<p>It has no copy.</p>");
        return;
    }
    begin_table(html, "What is under its copy’s name");
    heads(html, &["Provider", "Health", "The provider", "The copy", "Why it is not ready"]);
    for copy in &trace.copies {
        html.raw("<tr><th scope=\"row\">").cut(copy.provider.name(), NAME).raw("</th><td>");
        match copy.health {
            Some(health) => Tone::from(health).badge(html, health.word()),
            None => Tone::Bad.badge(html, "Not configured"),
        }
        html.raw("</td><td>").raw(part_words(copy.part)).raw("</td><td>").raw(presence_words(copy.presence));
        html.raw("</td><td>").cut(copy.unready.as_deref().unwrap_or_default(), SENTENCE).raw("</td></tr>");
    }
    end_table(html);
    more(html, trace.more_copies, "providers");
}

fn related(html: &mut Html, trace: &Trace) {
    if trace.related.is_empty() {
        return;
    }
    html.raw("<h3>Brought to its consumer</h3><ul>");
    for name in &trace.related {
        html.raw("<li>").cut(name, NAME).raw("</li>");
    }
    html.raw("</ul>");
    more(html, trace.more_related, "objects");
}

fn migrations(html: &mut Html, trace: &Trace) {
    if trace.migrations.is_empty() {
        return;
    }
    begin_table(html, "Its Migrations, the latest first");
    heads(html, &["Migration", "From", "To", "State", "Stages", "What is told"]);
    for row in &trace.migrations {
        html.raw("<tr><th scope=\"row\">").cut(&row.key.to_string(), NAME).raw("</th><td>").cut(row.from.name(), NAME);
        html.raw("</td><td>").cut(row.to.name(), NAME).raw("</td><td>");
        Tone::from(row.state).badge(html, word(row.state));
        html.raw("</td><td>");
        stages(html, row);
        html.raw("</td><td>").cut(&row.note, SENTENCE).raw("</td></tr>");
    }
    end_table(html);
}
