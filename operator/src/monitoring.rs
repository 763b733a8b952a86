//! What is in `config/monitoring`, and what docs/operations.md tells of metrics, names what the programs expose. Here, because
//! this is the only crate that knows all three.
#![allow(clippy::unwrap_used)]

mod exposed;
mod expression;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;
use serde_json::Value;

use self::{
    exposed::{Exposed, Names},
    expression::{Expression, Matcher, Selector, label_values, read},
};

const ALERTS: &str = "config/monitoring/alerts.yaml";
const TESTS: &str = "config/monitoring/alerts_test.yaml";
const DASHBOARD: &str = "config/monitoring/dashboard.json";
const PAGE: &str = "docs/operations.md";

/// Labels that targets have, and so all that is read from them.
const TARGET: [&str; 7] = ["container", "endpoint", "instance", "job", "namespace", "pod", "service"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    alert: String,
    expr: String,
    r#for: String,
    labels: BTreeMap<String, String>,
    annotations: Annotations,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Annotations {
    summary: String,
    description: String,
    runbook_url: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of the repository, by its path there.
fn file(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// All that is written as code, piece by piece.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The words that stand right behind each of these marks.
fn behind<'a>(mark: &'a str, text: &'a str) -> impl Iterator<Item = &'a str> {
    let word = |rest: &'a str| rest.split(|each: char| !each.is_ascii_alphanumeric() && each != '_').next();
    text.split(mark).skip(1).filter_map(word)
}

/// What a label is compared with, where that is one word or several, and no pattern or variable.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let is_plain = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word.chars().all(|each| each.is_ascii_alphanumeric() || "-.".contains(each))
    };
    value.split('|').filter(is_plain)
}

/// Whether a page of the repository, and the heading behind `#`, is there.
fn is_there(target: &str) -> bool {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let anchor = |line: &str| -> String {
        let line = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        line.chars().filter(|each| each.is_alphanumeric() || "-_".contains(*each)).collect()
    };
    let Ok(text) = fs::read_to_string(root().join(path)) else { return false };
    heading.is_empty() || text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)
}

/// What the page tells of a metric.
struct Told {
    labels: BTreeSet<String>,
    /// All that is written as code in its row.
    words: BTreeSet<String>,
}

/// The tables of metrics: names with their labels in the first cell.
fn told() -> BTreeMap<String, Told> {
    let page = file(PAGE);
    let (_, rest) = page.split_once("\n## Probes, logs and metrics\n").unwrap();
    let section = rest.split_once("\n## ").map_or(rest, |(section, _)| section);
    let mut told = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').collect();
        let words: BTreeSet<String> = code(cells[2]).map(str::to_owned).collect();
        for metric in code(cells[1]).filter(|piece| piece.contains('_')) {
            let (name, labels) = metric.split_once('{').unwrap_or((metric, ""));
            let labels = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty());
            let labels = labels.map(str::to_owned).collect();
            told.insert(name.to_owned(), Told { labels, words: words.clone() });
        }
    }
    told
}

struct Known {
    exposed: Exposed,
    told: BTreeMap<String, Told>,
}

impl Known {
    fn new() -> Self {
        Self { exposed: Exposed::all(), told: told() }
    }

    /// Labels that what an expression selects may have, and what is amiss with it.
    fn check(&self, expression: &Expression) -> (BTreeSet<String>, Vec<String>) {
        let mut all: BTreeSet<String> = TARGET.into_iter().chain(["le"]).map(str::to_owned).collect();
        let mut amiss = Vec::new();
        for Selector { metric: series, matchers } in &expression.selectors {
            let Some((metric, labels)) = self.exposed.metric(series) else {
                amiss.push(format!("no program exposes {series}"));
                continue;
            };
            all.extend(labels.iter().cloned());
            for Matcher { label, value } in matchers.iter().filter(|matcher| !TARGET.contains(&&*matcher.label)) {
                if !labels.contains(label) {
                    amiss.push(format!("{metric} has no label {label}"));
                }
                let is_told = |word: &str| self.told.get(metric).is_some_and(|told| told.words.contains(word));
                let unknown = words(value).filter(|word| !is_told(word));
                amiss.extend(unknown.map(|word| format!("{PAGE} does not tell of {metric} with {label} {word}")));
            }
        }
        let unknown = expression.grouped.iter().chain(&expression.joined).filter(|label| !all.contains(*label));
        amiss.extend(unknown.map(|label| format!("nothing here has the label {label}")));
        (all, amiss)
    }

    fn check_rule(&self, rule: &Rule) -> Vec<String> {
        let Annotations { summary, description, runbook_url } = &rule.annotations;
        let expression = match read(&rule.expr) {
            Ok(expression) => expression,
            Err(why) => return vec![why],
        };
        let (labels, mut amiss) = self.check(&expression);
        // What is grouped has no other labels any more.
        let left = if expression.grouped.is_empty() { &labels } else { &expression.grouped };
        let used = [summary, description].into_iter().flat_map(|text| behind("$labels.", text));
        amiss.extend(used.filter(|label| !left.contains(*label)).map(|label| format!("$labels.{label} is empty")));
        let severity = rule.labels.get("severity").map_or("", String::as_str);
        if !["critical", "warning", "info"].contains(&severity) || rule.labels.len() > 1 {
            amiss.push(format!("severity is {severity:?}"));
        }
        let amount = rule.r#for.strip_suffix(['m', 'h']).and_then(|amount| amount.parse::<u32>().ok());
        if amount.is_none_or(|amount| amount == 0) {
            amiss.push(format!("for {:?}", rule.r#for));
        }
        if summary.len() < 20 || description.len() < 40 {
            amiss.push("it does not say what to do".into());
        }
        if !runbook_url.starts_with("docs/") || !is_there(runbook_url) {
            amiss.push(format!("{runbook_url} leads nowhere"));
        }
        amiss
    }

    fn check_panel(&self, panel: &Value, variables: &BTreeSet<&str>) -> Vec<String> {
        let mut amiss = Vec::new();
        let targets = panel["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        if targets.is_empty() || panel["datasource"]["uid"] != "${datasource}" {
            amiss.push("asks nobody, or not the data source that was chosen".into());
        }
        for target in targets {
            let (expr, legend) = (target["expr"].as_str().unwrap(), target["legendFormat"].as_str().unwrap());
            let unknown = behind("$", expr).filter(|name| !name.starts_with("__") && !variables.contains(name));
            amiss.extend(unknown.map(|name| format!("there is no variable {name}")));
            match read(expr) {
                Err(why) => amiss.push(format!("{why}: {expr}")),
                Ok(expression) => {
                    let (labels, wrong) = self.check(&expression);
                    amiss.extend(wrong);
                    let shown = behind("{{", legend).filter(|label| !labels.contains(*label));
                    amiss.extend(shown.map(|label| format!("the legend shows {label}, which nothing has")));
                }
            }
        }
        amiss
    }
}

/// Where a panel is: left, top, width and height.
fn place(panel: &Value) -> [u64; 4] {
    ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap())
}

#[test]
fn the_page_tells_of_every_metric_and_of_no_other() {
    let Known { exposed, told } = Known::new();
    let told: Names = told.into_iter().map(|(name, told)| (name, told.labels)).collect();
    assert_eq!(told, exposed.metrics);
}

#[test]
fn alerts_name_what_is_exposed_and_say_what_to_do() {
    let known = Known::new();
    let rules: Rules = serde_saphyr::from_str(&file(ALERTS)).unwrap();
    let (mut names, mut amiss) = (BTreeSet::new(), Vec::new());
    for group in &rules.groups {
        assert!(names.insert(&group.name) && !group.rules.is_empty(), "{}", group.name);
        for rule in &group.rules {
            assert!(names.insert(&rule.alert), "{} twice", rule.alert);
            amiss.extend(known.check_rule(rule).into_iter().map(|why| format!("{}: {why}", rule.alert)));
        }
    }
    assert!(amiss.is_empty(), "{amiss:#?}");
}

#[test]
fn the_dashboard_shows_what_is_exposed() {
    let known = Known::new();
    let dashboard: Value = serde_json::from_str(&file(DASHBOARD)).unwrap();
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let variables: BTreeSet<&str> = list.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    let mut amiss = Vec::new();
    for variable in list.iter().filter(|variable| variable["type"] == "query") {
        let query = variable["query"]["query"].as_str().unwrap();
        assert_eq!(variable["definition"], query);
        let (selector, label) = label_values(query).unwrap();
        let (labels, wrong) = known.check(&selector);
        amiss.extend(wrong);
        if !labels.contains(label) {
            amiss.push(format!("{query}: there is no such label"));
        }
    }
    let panels = dashboard["panels"].as_array().unwrap();
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is there already");
        let [left, top, width, height] = place(panel);
        let (columns, lines) = (left..left + width, top..top + height);
        let mut cells = columns.flat_map(|column| lines.clone().map(move |line| (column, line)));
        assert!(left + width <= 24 && cells.all(|cell| taken.insert(cell)), "{title}: no room");
        if panel["type"] != "row" {
            let wrong = known.check_panel(panel, &variables);
            amiss.extend(wrong.into_iter().map(|why| format!("{title}: {why}")));
        }
    }
    assert!(amiss.is_empty(), "{amiss:#?}");
    assert!(panels.len() > 30, "{} panels only: are they looked for in the right way?", panels.len());
}

#[test]
fn what_nobody_exposes_is_noticed() {
    let known = Known::new();
    let amiss = |text: &str| known.check(&read(text).unwrap()).1.len();
    assert_eq!(amiss(r#"sum by (state) (resource_broker_objects{state="Blocked", pod="p"})"#), 0);
    assert_eq!(amiss("rate(resource_broker_write_errors[5m])"), 1, "a counter without _total");
    assert_eq!(amiss("resource_broker_create_to_copy_seconds"), 1, "a histogram itself");
    assert_eq!(amiss(r#"resource_broker_objects{kind="Secret"}"#), 2, "a label that it has not, and its value");
    assert_eq!(amiss(r#"resource_broker_objects{state=~"Served|Lost"}"#), 1, "a state that there is not");
    assert_eq!(amiss("sum by (cluster) (resource_broker_objects)"), 1, "a group of nothing");
    assert!(is_there("docs/operations.md#monitoring") && !is_there("docs/operations.md#nothing"));
}

#[test]
fn every_alert_is_seen_to_fire() {
    let rules: Rules = serde_saphyr::from_str(&file(ALERTS)).unwrap();
    let alerts: BTreeSet<&str> =
        rules.groups.iter().flat_map(|group| &group.rules).map(|rule| rule.alert.as_str()).collect();
    let tests = file(TESTS);
    let fired: BTreeSet<&str> = behind("alertname=\"", &tests).collect();
    assert_eq!(fired, alerts, "{TESTS}");
}

/// Asks Prometheus' own judge about a file: that of `test/prometheus/fetch.sh`, which `make test` calls first, or one in PATH.
/// `make check` can do without.
fn promtool(what: [&str; 2], path: &str) {
    let fetched = root().join("test/prometheus/bin/promtool");
    let program = if fetched.is_file() { fetched } else { "promtool".into() };
    let output = match Command::new(&program).args(what).arg(root().join(path)).output() {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: there is no promtool (make prometheus)");
            return;
        }
        Err(error) => panic!("{}: {error}", program.display()),
    };
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn prometheus_takes_the_alerts() {
    promtool(["check", "rules"], ALERTS);
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    promtool(["test", "rules"], TESTS);
}
