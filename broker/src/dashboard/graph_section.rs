//! The part of the first page about graphs: a [`GraphList`] as HTML. Knows no broker, and asks nobody.

use broker_api::graphs::WaveState;

use super::{
    definition::Definition,
    frame::{begin_table, end_table, heads, more, rows},
    graphs::GraphList,
    html::Html,
    kept::{Listed, Shown, ShownKind},
    query::Encoded,
    rollout::{Clusters, Rollout},
    sight::Sight,
    tone::Tone,
};

/// Bytes that rows of each table take at the most, beside the last one.
const DEFINITION_BYTES: usize = 12_000;
const ROLLOUT_BYTES: usize = 12_000;

/// Characters of a name that are shown, of a wave's, and of a sentence.
const NAME: usize = 100;
const WAVE: usize = 40;
const SENTENCE: usize = 200;

/// Waves of a rollout that a list shows.
const WAVES: usize = 6;

/// The part of the page.
pub(super) fn section(graphs: &GraphList) -> Html {
    let mut html = Html::default();
    if let Some(definitions) = known(&mut html, &graphs.definitions, Definition::KIND) {
        definition_table(&mut html, definitions);
    }
    if let Some(rollouts) = known(&mut html, &graphs.rollouts, Rollout::KIND) {
        rollout_table(&mut html, rollouts);
    }
    html
}

/// Says why nothing can be shown of a kind, or why there may be news of it. What there is to show, if that is known.
pub(super) fn known<'a, T>(html: &mut Html, sight: &'a Sight<T>, kind: ShownKind) -> Option<&'a T> {
    match sight {
        Sight::Waiting(what) => {
            html.raw("<p>").raw(kind.plural).raw(" are not known now: ").raw(what).raw(".</p>");
        }
        Sight::Troubled(why) => {
            html.raw("<p>").raw(kind.plural).raw(" are not known: ").cut(why, 2 * SENTENCE);
            html.raw("</p><p class=\"more\">To show them the broker has to list and watch ").raw(kind.resource);
            html.raw(" in the coordination cluster, as <code>config/rbac/dashboard.yaml</code> has it.</p>");
        }
        Sight::Unserved => {
            html.raw("<p>The coordination cluster does not serve ").raw(kind.plural).raw(".</p>");
        }
        Sight::Known { seen, doubt } => {
            if let Some(why) = doubt {
                html.raw("<p>").raw(kind.plural).raw(" are shown as they were seen last: ").cut(why, 2 * SENTENCE);
                html.raw("</p>");
            }
            return Some(seen);
        }
    }
    None
}

/// Where the page of a graph is.
pub(super) fn link(html: &mut Html, name: &str) {
    html.raw("<a href=\"graph?name=").text(Encoded(name)).raw("\">").cut(name, NAME).raw("</a>");
}

fn number(html: &mut Html, number: Option<i64>) {
    html.raw("<td class=\"number\">");
    if let Some(number) = number {
        html.text(number);
    }
    html.raw("</td>");
}

fn definition_table(html: &mut Html, definitions: &Listed<Definition>) {
    if definitions.total == 0 {
        html.raw("<p>There are no ResourceGraphDefinitions.</p>");
        return;
    }
    html.raw("<p>").text(definitions.good).raw(" of ").text(definitions.total).raw(" are active.</p>");
    begin_table(html, "ResourceGraphDefinitions, those that are not active first");
    heads(html, &["Name", "Kind", "State", "Revision", "What is told"]);
    let left = rows(html, &definitions.rows, DEFINITION_BYTES, |html, row| {
        html.raw("<tr><th scope=\"row\">");
        link(html, &row.name);
        html.raw("</th><td>").cut(&row.kind, NAME).raw("</td><td>");
        row.tone().badge(html, state(row));
        html.raw("</td>");
        number(html, row.revision);
        html.raw("<td>").cut(&row.why, SENTENCE).raw("</td></tr>");
    });
    end_table(html);
    more(html, left + (definitions.total - definitions.rows.len()), "ResourceGraphDefinitions");
}

/// The word for how it stands with one.
pub(super) fn state(definition: &Definition) -> &str {
    if definition.state.is_empty() { "Not told" } else { &definition.state }
}

fn rollout_table(html: &mut Html, rollouts: &Listed<Rollout>) {
    if rollouts.total == 0 {
        html.raw("<p>There are no ResourceGraphRollouts: each revision gets to all clusters at once.</p>");
        return;
    }
    begin_table(html, "Their rollouts, those that need a look first");
    heads(html, &["Name", "Target", "State", "Waves", "Clusters", "Failing", "What is told"]);
    let left = rows(html, &rollouts.rows, ROLLOUT_BYTES, |html, row| {
        html.raw("<tr><th scope=\"row\">");
        link(html, &row.name);
        html.raw("</th>");
        number(html, row.target);
        html.raw("<td>");
        row.tone().badge(html, &row.word);
        html.raw(if row.paused { "<br><small>paused</small>" } else { "" }).raw("</td><td>");
        waves(html, row, WAVES);
        html.raw("</td><td>");
        clusters(html, row.clusters);
        html.raw("</td><td>");
        failing(html, row);
        html.raw("</td><td>").cut(&row.why, SENTENCE).raw("</td></tr>");
    });
    end_table(html);
    more(html, left + (rollouts.total - rollouts.rows.len()), "rollouts");
}

/// Waves of a rollout as a list: so many, the one whose turn it is among them.
pub(super) fn waves(html: &mut Html, rollout: &Rollout, most: usize) {
    let all = &rollout.waves;
    let now = all.iter().position(|(_, wave)| *wave == WaveState::Now).unwrap_or_default();
    let first = now.saturating_sub(1).min(all.len().saturating_sub(most));
    html.raw("<ol class=\"stages\" start=\"").text(first + 1).raw("\">");
    for (name, wave) in all.iter().skip(first).take(most) {
        html.raw("<li>");
        match (name.as_str(), all.len()) {
            ("", 1) => html.raw("all clusters"),
            ("", _) => html.raw("all others"),
            (name, _) => html.cut(name, WAVE),
        };
        html.raw(" ");
        Tone::from(*wave).badge(html, wave.word());
        html.raw("</li>");
    }
    html.raw("</ol>");
    more(html, all.len().saturating_sub(most), "waves");
}

/// How many clusters stand how.
pub(super) fn clusters(html: &mut Html, clusters: Clusters) {
    let Clusters { total, updated, updating, failed, unreachable, conflicted } = clusters;
    html.text(updated).raw(" of ").text(total).raw(" updated");
    for (count, what) in [
        (updating, " under way"),
        (failed, " failed"),
        (conflicted, " of these in conflict"),
        (unreachable, " unreachable"),
    ] {
        if count > 0 {
            html.raw("<br><small>").text(count).raw(what).raw("</small>");
        }
    }
}

fn failing(html: &mut Html, rollout: &Rollout) {
    if rollout.failing.is_empty() {
        return;
    }
    html.raw("<ul class=\"counts\">");
    for failing in &rollout.failing {
        html.raw("<li>").cut(&failing.cluster, NAME).raw(" ");
        Tone::Bad.badge(html, &failing.reason);
        html.raw("</li>");
    }
    html.raw("</ul>");
    more(html, rollout.lacking() - rollout.failing.len(), "clusters");
}

#[cfg(test)]
#[path = "graph_section_tests.rs"]
pub(super) mod tests;
