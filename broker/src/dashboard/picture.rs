//! A [`Trace`] as a picture: boxes and arrows from the consumer's object to its copies, back to what was brought from there, and
//! its Migrations below. What a box has no room for is in its title, and in the words beside the picture.

use broker_api::{ClusterName, migration::StageState};
use broker_core::decision::State;

use super::{
    health::Health,
    html::Html,
    kind::kind_text,
    migration::MigrationRow,
    page::stage_word,
    tone::Tone,
    trace::{Part, Presence, Trace},
};
use crate::migrations::registry::word;

/// Where the three columns begin, and how wide and high a box is.
const COLUMNS: [usize; 3] = [10, 345, 680];
const WIDTH: usize = 260;
const HEIGHT: usize = 92;
const GAP: usize = 20;

/// Related objects that are named in their box.
const NAMED: usize = 3;

/// Stages that are drawn, and how wide each is.
const STAGES: usize = 5;
const STAGE: usize = 176;

/// Characters that a box has room for, more or less: letters are of any width, and what goes beyond the box is not seen.
const LETTERS: usize = 36;

/// One box.
struct Node {
    column: usize,
    row: usize,
    tone: Tone,
    what: &'static str,
    lines: [String; 3],
}

fn top(row: usize) -> usize {
    10 + row * (HEIGHT + GAP)
}

fn middle(row: usize) -> usize {
    top(row) + HEIGHT / 2
}

/// A line of text at a place.
fn text(html: &mut Html, (x, y): (usize, usize), class: &'static str, words: &str, most: usize) {
    html.raw("<text class=\"").raw(class).raw("\" x=\"").text(x).raw("\" y=\"").text(y).raw("\">").cut(words, most);
    html.raw("</text>");
}

fn rectangle(html: &mut Html, (x, y): (usize, usize), (width, height): (usize, usize)) {
    html.raw("<rect x=\"")
        .text(x)
        .raw("\" y=\"")
        .text(y)
        .raw("\" width=\"")
        .text(width)
        .raw("\" height=\"")
        .text(height);
    html.raw("\" rx=\"8\"/>");
}

/// Begins texts that have places of their own within so much room: nothing of them is drawn outside of it.
fn begin_room(html: &mut Html, (x, y): (usize, usize), (width, height): (usize, usize)) {
    html.raw("<svg x=\"")
        .text(x)
        .raw("\" y=\"")
        .text(y)
        .raw("\" width=\"")
        .text(width)
        .raw("\" height=\"")
        .text(height);
    html.raw("\">");
}

impl Node {
    fn draw(&self, html: &mut Html) {
        let (x, y) = (COLUMNS[self.column], top(self.row));
        html.raw("<g class=\"box ").raw(self.tone.class()).raw("\"><title>").raw(self.what);
        for line in self.lines.iter().filter(|line| !line.is_empty()) {
            html.raw(" – ").cut(line, 400);
        }
        html.raw("</title>");
        rectangle(html, (x, y), (WIDTH, HEIGHT));
        begin_room(html, (x, y), (WIDTH - 4, HEIGHT));
        text(html, (12, 22), "what", self.what, LETTERS);
        for (number, line) in self.lines.iter().enumerate() {
            let class = if number == 0 { "name" } else { "note" };
            text(html, (12, 43 + 18 * number), class, line, LETTERS);
        }
        html.raw("</svg></g>");
    }
}

/// A path with a head at its end, which is at a place, and to the right of what is before it.
fn arrow(html: &mut Html, path: impl Fn(&mut Html), (x, y): (usize, usize)) {
    html.raw("<path class=\"arrow\" d=\"");
    path(html);
    html.raw("\"/><path class=\"head\" d=\"M").text(x).raw(" ").text(y).raw("l-9 -5v10z\"/>");
}

/// What is known of an object, in words.
pub(super) fn presence_words(presence: Presence) -> &'static str {
    match presence {
        Presence::There => "is there",
        Presence::Deleting => "is being deleted",
        Presence::Absent => "is not there",
        Presence::Unknown => "nobody can tell",
    }
}

/// What a provider is to the object, in words.
pub(super) fn part_words(part: Part) -> &'static str {
    match part {
        Part::Serves => "serves it",
        Part::Leaves => "serves it until the new copy does",
        Part::TakesOver => "takes over",
        Part::Holds => "holds a copy besides",
        Part::Foreign => "holds something that is not its copy",
    }
}

fn origin(trace: &Trace) -> Node {
    let tone = match trace.origin {
        Presence::There => Tone::Good,
        Presence::Deleting => Tone::Busy,
        Presence::Absent | Presence::Unknown => Tone::Plain,
    };
    let place = format!("{}/{}", trace.key.namespace, trace.key.name);
    let at = format!("{} at {}", trace.key.gvk.kind, trace.key.cluster.name());
    Node {
        column: 0, row: 0, tone, what: "Consumer’s object", lines: [place, at, presence_words(trace.origin).into()]
    }
}

fn assignment(trace: &Trace) -> Node {
    let (tone, state) =
        trace.state.map_or((Tone::Plain, "nothing is remembered"), |state| (state.into(), state.as_str()));
    let state = match &trace.moving {
        Some(moving) if trace.state == Some(State::Moving) => format!("{state} to {}", moving.to.name()),
        _ => state.to_owned(),
    };
    let provider = trace.provider.as_ref().map_or("no provider", ClusterName::name);
    let by = trace.counts_at.as_ref().map(|accept| format!("AcceptAPI {accept}")).unwrap_or_default();
    Node { column: 1, row: 0, tone, what: "Assignment", lines: [provider.into(), state, by] }
}

fn copies(trace: &Trace) -> Vec<Node> {
    let copies = trace.copies.iter().enumerate().map(|(row, copy)| {
        let (tone, note) = match (copy.health, copy.presence, copy.part) {
            (_, _, Part::Foreign) => (Tone::Bad, "not made from this object".to_owned()),
            (Some(Health::Ready) | None, Presence::There, _) => match &copy.unready {
                Some(why) => (Tone::Busy, why.clone()),
                None => (Tone::Good, "is ready".to_owned()),
            },
            (Some(Health::Ready) | None, presence, _) => (Tone::Busy, presence_words(presence).to_owned()),
            (Some(health), ..) => (Tone::from(health), health.word().to_owned()),
        };
        Node {
            column: 2,
            row,
            tone,
            what: "Copy",
            lines: [copy.provider.name().to_owned(), part_words(copy.part).to_owned(), note],
        }
    });
    copies.collect()
}

fn related(trace: &Trace) -> Node {
    let mut lines: Vec<String> = trace.related.iter().take(NAMED).cloned().collect();
    let all = trace.related.len() + trace.more_related;
    if all > NAMED {
        lines.truncate(NAMED - 1);
        let more = all - lines.len();
        lines.push(format!("and {more} more"));
    }
    lines.resize(NAMED, String::new());
    let [first, second, third] = [0, 1, 2].map(|at| lines[at].clone());
    Node { column: 0, row: 1, tone: Tone::Good, what: "Brought back", lines: [first, second, third] }
}

/// One Migration, over the whole width.
fn migration(html: &mut Html, row: usize, migration: &MigrationRow) {
    let (x, y) = (COLUMNS[0], top(row));
    let tone = Tone::from(migration.state);
    html.raw("<g class=\"box ").raw(tone.class()).raw("\"><title>Migration ").cut(&migration.key.to_string(), 400);
    html.raw(" – ").cut(&migration.note, 400).raw("</title>");
    let width = COLUMNS[2] + WIDTH - COLUMNS[0];
    rectangle(html, (x, y), (width, HEIGHT));
    begin_room(html, (x, y), (width - 4, HEIGHT));
    text(html, (12, 22), "what", "Migration", LETTERS);
    text(html, (90, 22), "name", &migration.key.to_string(), 90);
    let first = first_stage(migration);
    let shown = migration.stages.iter().skip(first).take(STAGES);
    let all = migration.stages.len();
    let part = if all > STAGES {
        format!(", stages {} to {} of {all}", first + 1, first + shown.len())
    } else {
        String::new()
    };
    let way = format!("{}{part}: {} → {}", word(migration.state), migration.from.name(), migration.to.name());
    text(html, (12, 43), "note", &way, 120);
    html.raw("</svg></g>");
    for (number, (name, state)) in shown.enumerate() {
        let (left, upper) = (x + 12 + number * (STAGE + 5), y + 54);
        html.raw("<g class=\"box ").raw(Tone::from(*state).class()).raw("\"><title>Stage ").cut(name, 100).raw(": ");
        html.raw(stage_word(*state)).raw("</title>");
        rectangle(html, (left, upper), (STAGE, 28));
        begin_room(html, (left, upper), (STAGE - 2, 28));
        text(html, (8, 18), "note", &format!("{}: {}", shortened(name), stage_word(*state)), 24);
        html.raw("</svg></g>");
    }
}

/// The first stage that is drawn, where there is no room for all: the one before that which is not done yet.
fn first_stage(migration: &MigrationRow) -> usize {
    let is_open = |(_, state): &(String, StageState)| *state != StageState::Succeeded;
    let open = migration.stages.iter().position(is_open).unwrap_or(migration.stages.len());
    open.saturating_sub(1).min(migration.stages.len().saturating_sub(STAGES))
}

/// So much of a stage's name that there is room for its state.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 12 { name.to_owned() } else { name.chars().take(11).chain(['…']).collect() }
}

/// The picture.
pub(super) fn picture(trace: &Trace) -> Html {
    let copies = copies(trace);
    let brought = (!trace.related.is_empty()).then(|| related(trace));
    // Below the boxes of all columns.
    let below = copies.len().max(1 + usize::from(brought.is_some()));
    let height = top(below + trace.migrations.len());
    let mut html = Html::default();
    html.raw("<svg class=\"picture\" viewBox=\"0 0 ").text(COLUMNS[2] + WIDTH + 10).raw(" ").text(height);
    html.raw("\" role=\"img\" aria-labelledby=\"picture-title\"><title id=\"picture-title\">Trace of ");
    html.cut(&kind_text(&trace.key.gvk), 100).raw(" ").cut(&format!("{}/{}", trace.key.namespace, trace.key.name), 300);
    html.raw("</title>");
    let (left, right) = (COLUMNS[1] - 4, COLUMNS[2] - 4);
    let line = |html: &mut Html| {
        html.raw("M").text(COLUMNS[0] + WIDTH).raw(" ").text(middle(0)).raw("H").text(left - 4);
    };
    arrow(&mut html, line, (left, middle(0)));
    for copy in &copies {
        let line = |html: &mut Html| {
            html.raw("M").text(COLUMNS[1] + WIDTH).raw(" ").text(middle(0)).raw("H").text(COLUMNS[1] + WIDTH + 36);
            html.raw("V").text(middle(copy.row)).raw("H").text(right - 4);
        };
        arrow(&mut html, line, (right, middle(copy.row)));
    }
    if brought.is_some() && !copies.is_empty() {
        // From the first copy, between the columns, to the left; lower than the arrow to the second copy.
        let (from, to) = (top(0) + HEIGHT - 14, top(1) + HEIGHT - 14);
        let end = COLUMNS[0] + WIDTH + 4;
        html.raw("<path class=\"arrow\" d=\"M").text(COLUMNS[2]).raw(" ").text(from).raw("H").text(COLUMNS[2] - 20);
        html.raw("V").text(to).raw("H").text(end + 4);
        html.raw("\"/><path class=\"head\" d=\"M").text(end).raw(" ").text(to).raw("l9 -5v10z\"/>");
    }
    for node in [origin(trace), assignment(trace)].iter().chain(&brought).chain(&copies) {
        node.draw(&mut html);
    }
    for (number, row) in trace.migrations.iter().enumerate() {
        migration(&mut html, below + number, row);
    }
    html.raw("</svg>");
    html
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
