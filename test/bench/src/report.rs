//! What was measured, against the goals: a table for people, a file for programs.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use crate::usage::CpuTime;

/// Share of the machine that others may take until the numbers are called noisy.
const NOISE: f64 = 0.05;

/// What a number should be.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            // Counts and means of counts; the tolerance is below one request in 100,000 objects.
            Self::Exactly(bound) => (value - bound).abs() < 1e-5,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(bound) => format!("≤ {bound}"),
            Self::AtLeast(bound) => format!("≥ {bound}"),
            Self::Exactly(bound) => format!("= {bound}"),
        }
    }
}

/// One number.
#[derive(Clone, Debug, Serialize)]
struct Row {
    part: &'static str,
    name: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Goal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
}

/// Everything that was measured.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Whether the numbers were small.
    pub(crate) quick: bool,
    cores: usize,
    rows: Vec<Row>,
    /// By part: what the broker asked for, per object.
    requests: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// What makes the numbers less sure.
    remarks: Vec<String>,
}

impl Report {
    /// An empty one.
    pub(crate) fn new(quick: bool) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        Self { quick, cores, ..Self::default() }
    }

    /// A number without a goal.
    pub(crate) fn note(&mut self, part: &'static str, name: impl Into<String>, value: f64, unit: &'static str) {
        self.rows.push(Row { part, name: name.into(), value, unit, goal: None, met: None });
    }

    /// A number with its goal.
    pub(crate) fn judge(
        &mut self,
        part: &'static str,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        goal: Goal,
    ) {
        let met = Some(goal.is_met(value));
        self.rows.push(Row { part, name: name.into(), value, unit, goal: Some(goal), met });
    }

    /// What the broker asked for in a part, divided by the number of objects.
    pub(crate) fn requests(&mut self, part: &'static str, counts: BTreeMap<String, usize>, objects: usize) {
        let per_object = counts.into_iter().map(|(what, count)| (what, ratio(count, objects))).collect();
        self.requests.insert(part, per_object);
    }

    /// Says so when programs outside of the bench took much of the machine since `began`.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn noise(&mut self, used: &CpuTime, began: Instant, part: &str) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let share = used.others() / (began.elapsed().as_secs_f64() * 1_000.0 * cores);
        if share > NOISE {
            let percent = share * 100.0;
            self.remark(format!("noisy: other programs took {percent:.0} % of the machine during {part}"));
        }
    }

    /// Something that the reader should know.
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// How many goals were missed.
    pub(crate) fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.met == Some(false)).count()
    }

    /// Writes it as JSON.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Display for Report {
    /// The tables, and the remarks.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut measured = table(&["", "measure", "measured", "", "goal", ""]);
        let mut last = "";
        for row in &self.rows {
            let verdict = match row.met {
                Some(true) => "ok",
                Some(false) => "MISS",
                None => "",
            };
            let part = if row.part == last { "" } else { row.part };
            last = row.part;
            let goal = row.goal.map_or(String::new(), Goal::text);
            measured.add_row([part, &row.name, &number(row.value), row.unit, &goal, verdict]);
        }
        align_right(&mut measured, 2);
        writeln!(out, "{measured}")?;
        if !self.requests.is_empty() {
            let mut asked = table(&["", "requests of the program", "per object"]);
            for (part, counts) in &self.requests {
                for (position, (what, count)) in counts.iter().enumerate() {
                    asked.add_row([if position == 0 { part } else { "" }, what, &format!("{count:.3}")]);
                }
            }
            align_right(&mut asked, 2);
            writeln!(out, "\n{asked}")?;
        }
        for remark in &self.remarks {
            writeln!(out, "note: {remark}")?;
        }
        Ok(())
    }
}

/// `count` per object.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn ratio(count: usize, objects: usize) -> f64 {
    count as f64 / objects as f64
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_BORDERS_ONLY).set_header(header);
    table
}

fn align_right(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_cell_alignment(CellAlignment::Right);
    }
}

/// Three digits that matter, and no decimals on whole numbers.
fn number(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_judged() {
        let mut report = Report::new(true);
        report.judge("a", "x", 10.0, "ms", Goal::AtMost(10.0));
        report.judge("a", "y", 0.69, "", Goal::AtLeast(0.7));
        report.judge("a", "z", 1.001, "", Goal::Exactly(1.0));
        report.note("a", "w", 5.0, "s");
        assert_eq!(report.missed(), 2);
        let text = report.to_string();
        assert_eq!(text.matches("MISS").count(), 2, "{text}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([number(3.0), number(0.694), number(1234.56)], ["3", "0.69", "1235"]);
    }
}
