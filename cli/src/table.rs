//! Tables over clusters: for people, and for programs.

use anyhow::Context as _;
use comfy_table::{ContentArrangement, Table as Drawn, presets};
use serde_json::{Map, Value};

use crate::{
    arguments::{Output, Printing},
    paint::harmless,
};

/// A column's name, and whether only `-o wide` shows it.
pub(crate) struct Column {
    name: &'static str,
    wide: bool,
}

/// A column.
pub(crate) const fn column(name: &'static str) -> Column {
    Column { name, wide: false }
}

/// A column of `-o wide`.
pub(crate) const fn wide(name: &'static str) -> Column {
    Column { name, wide: true }
}

/// Rows of values under columns.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl Table {
    /// Without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new() }
    }

    /// One more row, a value for each column.
    pub(crate) fn row(&mut self, values: impl IntoIterator<Item = Value>) {
        self.rows.push(values.into_iter().collect());
    }

    fn position(&self, name: &str) -> anyhow::Result<usize> {
        let found = self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        let names = || self.columns.iter().map(|column| column.name.to_lowercase()).collect::<Vec<_>>().join(", ");
        found.with_context(|| format!("there is no column {name}: there are {}", names()))
    }

    /// As a person or a program wants it.
    pub(crate) fn print(mut self, printing: &Printing) -> anyhow::Result<String> {
        for filter in &printing.filters {
            let (name, wanted) =
                filter.split_once('=').with_context(|| format!("--where {filter}: write COLUMN=TEXT"))?;
            let (at, wanted) = (self.position(name)?, wanted.to_lowercase());
            self.rows.retain(|row| shown(&row[at]).to_lowercase().contains(&wanted));
        }
        if let Some(name) = &printing.sort_by {
            let at = self.position(name)?;
            self.rows.sort_by(|left, right| match (left[at].as_f64(), right[at].as_f64()) {
                (Some(left), Some(right)) => left.total_cmp(&right),
                _ => shown(&left[at]).cmp(&shown(&right[at])),
            });
        }
        Ok(match printing.output {
            Output::Text => self.draw(false),
            Output::Wide => self.draw(true),
            Output::Json => format!("{:#}\n", self.objects()),
            Output::Yaml => yaml(&self.objects())?,
        })
    }

    fn draw(&self, wide: bool) -> String {
        let mut table = Drawn::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let shows = |at: usize| wide || !self.columns[at].wide;
        let columns: Vec<usize> = (0..self.columns.len()).filter(|at| shows(*at)).collect();
        table.set_header(columns.iter().map(|at| self.columns[*at].name));
        for row in &self.rows {
            table.add_row(columns.iter().map(|at| harmless(&shown(&row[*at]))));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        lines.concat()
    }

    /// `{"items": [{"name": …}]}`, with the columns' names as keys.
    fn objects(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let fields = self.columns.iter().zip(row).map(|(column, value)| (key(column.name), value.clone()));
            Value::Object(fields.collect::<Map<_, _>>())
        };
        serde_json::json!({ "items": self.rows.iter().map(object).collect::<Vec<_>>() })
    }
}

/// `MAX PRIORITY` → `maxPriority`.
fn key(name: &str) -> String {
    let mut words = name.split([' ', '-']).map(str::to_lowercase);
    let mut key = words.next().unwrap_or_default();
    for word in words {
        let mut letters = word.chars();
        key.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        key.push_str(letters.as_str());
    }
    key
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// YAML for programs.
pub(crate) fn yaml(value: &impl serde::Serialize) -> anyhow::Result<String> {
    serde_saphyr::to_string(value).context("YAML")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn print(printing: &Printing) -> anyhow::Result<String> {
        let mut table = Table::new([column("NAME"), column("MAX PRIORITY"), wide("WHY")]);
        table.row([json!("b"), json!(10), json!("x\u{1b}[2J")]);
        table.row([json!("a"), json!(9), Value::Null]);
        table.print(printing)
    }

    #[test]
    fn rows_are_filtered_ordered_and_shown_as_asked() {
        let mut printing = Printing { output: Output::Text, sort_by: Some("max priority".into()), filters: Vec::new() };
        assert_eq!(print(&printing).unwrap(), "NAME  MAX PRIORITY\na     9\nb     10\n");
        printing.output = Output::Wide;
        printing.filters = vec!["name=B".into()];
        assert_eq!(print(&printing).unwrap(), "NAME  MAX PRIORITY  WHY\nb     10            x\u{fffd}[2J\n");
        printing.output = Output::Json;
        let read: Value = serde_json::from_str(&print(&printing).unwrap()).unwrap();
        assert_eq!(read, json!({ "items": [{ "name": "b", "maxPriority": 10, "why": "x\u{1b}[2J" }] }));
        printing.sort_by = Some("size".into());
        assert!(print(&printing).unwrap_err().to_string().contains("name, max priority, why"));
    }
}
