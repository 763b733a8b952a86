//! Tables over clusters: for people, and for programs.

use anyhow::Context as _;
use comfy_table::{ContentArrangement, Table as Drawn, presets};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    age,
    output::{Output, Printing},
    paint::harmless,
    programs::{json, yaml},
};

/// A column: of which field of its rows, whether only `-o wide` shows it, and whether it holds seconds.
#[derive(Debug)]
pub(crate) struct Column {
    name: &'static str,
    wide: bool,
    is_age: bool,
}

/// A column, of the field of its name: `MOVING TO` shows `movingTo`.
pub(crate) const fn column(name: &'static str) -> Column {
    Column { name, wide: false, is_age: false }
}

/// A column of `-o wide`.
pub(crate) const fn wide(name: &'static str) -> Column {
    Column { wide: true, ..column(name) }
}

/// The column of `ageSeconds`.
pub(crate) const AGE: Column = Column { name: "AGE", wide: false, is_age: true };

/// The same of `-o wide`.
pub(crate) const WIDE_AGE: Column = Column { wide: true, ..AGE };

impl Column {
    /// The field that it shows.
    pub(crate) fn field(&self) -> String {
        if self.is_age { "ageSeconds".to_owned() } else { key(self.name) }
    }

    fn shown(&self, value: &Value) -> String {
        match value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            Value::Number(seconds) if self.is_age => seconds.as_i64().map(age::told).unwrap_or_default(),
            other => other.to_string(),
        }
    }
}

/// What a row tells. Its columns are for people, its fields for programs.
pub(crate) trait Row: Serialize + JsonSchema {
    /// The columns.
    const COLUMNS: &'static [Column];
}

/// What programs get of a table.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Items<R> {
    /// The rows, as they were asked for.
    pub(crate) items: Vec<R>,
}

/// A row with what its columns show.
struct Drawing<R> {
    cells: Vec<Value>,
    row: R,
}

impl<R: Row> Drawing<R> {
    fn of(row: R) -> anyhow::Result<Self> {
        let mut fields: Map<String, Value> = match serde_json::to_value(&row).context("a row of the table")? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        let cells = R::COLUMNS.iter().map(|column| fields.remove(&column.field()).unwrap_or_default()).collect();
        Ok(Self { cells, row })
    }

    fn shown(&self, at: usize) -> String {
        R::COLUMNS[at].shown(&self.cells[at])
    }
}

fn position<R: Row>(name: &str) -> anyhow::Result<usize> {
    let found = R::COLUMNS.iter().position(|column| column.name.eq_ignore_ascii_case(name));
    let names = || R::COLUMNS.iter().map(|column| column.name.to_lowercase()).collect::<Vec<_>>().join(", ");
    found.with_context(|| format!("there is no column {name}: there are {}", names()))
}

/// Rows, as a person or a program wants them.
pub(crate) fn print<R: Row>(rows: Vec<R>, printing: &Printing) -> anyhow::Result<String> {
    let mut rows = rows.into_iter().map(Drawing::of).collect::<anyhow::Result<Vec<_>>>()?;
    for filter in &printing.filters {
        let (name, wanted) = filter.split_once('=').with_context(|| format!("--where {filter}: write COLUMN=TEXT"))?;
        let (at, wanted) = (position::<R>(name)?, wanted.to_lowercase());
        rows.retain(|row| row.shown(at).to_lowercase().contains(&wanted));
    }
    if let Some(name) = &printing.sort_by {
        let at = position::<R>(name)?;
        rows.sort_by(|left, right| match (left.cells[at].as_f64(), right.cells[at].as_f64()) {
            (Some(left), Some(right)) => left.total_cmp(&right),
            _ => left.shown(at).cmp(&right.shown(at)),
        });
    }
    let items = |rows: Vec<Drawing<R>>| Items { items: rows.into_iter().map(|row| row.row).collect() };
    match printing.output {
        Output::Text => Ok(draw(&rows, false)),
        Output::Wide => Ok(draw(&rows, true)),
        Output::Json => json(&items(rows)),
        Output::Yaml => yaml(&items(rows)),
    }
}

fn draw<R: Row>(rows: &[Drawing<R>], wide: bool) -> String {
    let mut table = Drawn::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let columns: Vec<usize> = (0..R::COLUMNS.len()).filter(|at| wide || !R::COLUMNS[*at].wide).collect();
    table.set_header(columns.iter().map(|at| R::COLUMNS[*at].name));
    for row in rows {
        table.add_row(columns.iter().map(|at| harmless(&row.shown(*at))));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    lines.concat()
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    struct Thing {
        name: &'static str,
        max_priority: i64,
        age_seconds: Option<i64>,
        why: Option<&'static str>,
    }

    impl Row for Thing {
        const COLUMNS: &'static [Column] = &[column("NAME"), column("MAX PRIORITY"), AGE, wide("WHY")];
    }

    fn print(printing: &Printing) -> anyhow::Result<String> {
        let b = Thing { name: "b", max_priority: 10, age_seconds: Some(7200), why: Some("x\u{1b}[2J") };
        let a = Thing { name: "a", max_priority: 9, age_seconds: Some(45), why: None };
        super::print(vec![b, a], printing)
    }

    #[test]
    fn rows_are_filtered_ordered_and_shown_as_asked() {
        let mut printing = Printing { output: Output::Text, sort_by: Some("max priority".into()), filters: Vec::new() };
        assert_eq!(
            print(&printing).unwrap(),
            "NAME  MAX PRIORITY  AGE\na     9             45s\nb     10            2h\n"
        );
        printing.output = Output::Wide;
        printing.filters = vec!["name=B".into(), "age=2H".into()];
        assert_eq!(print(&printing).unwrap(), "NAME  MAX PRIORITY  AGE  WHY\nb     10            2h   x\u{fffd}[2J\n");
        printing.output = Output::Json;
        let read: Value = serde_json::from_str(&print(&printing).unwrap()).unwrap();
        let row = json!({ "name": "b", "maxPriority": 10, "ageSeconds": 7200, "why": "x\u{1b}[2J" });
        assert_eq!(read, json!({ "items": [row] }));
        printing.sort_by = Some("size".into());
        assert!(print(&printing).unwrap_err().to_string().contains("name, max priority, age, why"));
    }

    #[test]
    fn the_youngest_comes_first_where_ages_order() {
        let printing = Printing { output: Output::Text, sort_by: Some("age".into()), filters: Vec::new() };
        let told = print(&printing).unwrap();
        assert!(told.find("\na ").unwrap() < told.find("\nb ").unwrap(), "{told}");
    }
}
