//! The dashboard, as Grafana asks Prometheus for what is in it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::ensure;
use e2e::DEADLINE;
use harness::wait_for;
use serde_json::Value;

use crate::prometheus::Prometheus;

const DASHBOARD: &str = include_str!("../../../../config/monitoring/dashboard.json");

/// What is there only once something has happened that does not happen here.
const SELDOM: [&str; 4] = [
    "resource_broker_deletions_held",
    "resource_broker_migration_stage_seconds_bucket",
    "resource_broker_write_errors_total",
    "resource_graphs_write_errors_total",
];

/// How far back Grafana looks here, in seconds.
const RANGE: u64 = 300;

/// What Grafana puts in for `$name`.
struct Variable {
    name: String,
    value: String,
}

fn filled_in(text: &str, variables: &[Variable]) -> String {
    let filled = variables
        .iter()
        .fold(text.to_owned(), |text, Variable { name, value }| text.replace(&format!("${name}"), value));
    assert!(!filled.contains('$'), "{filled}");
    filled
}

/// Waits until every variable has something to choose from and every panel something to show, but for what is seldom.
pub(crate) async fn is_filled(prometheus: &Prometheus) {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    // What Grafana makes of targets that are read each second would be 5s.
    let mut variables = vec![Variable { name: "__rate_interval".into(), value: "30s".into() }];
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if variable["type"] == "query" {
            let query = filled_in(variable["query"]["query"].as_str().unwrap(), &variables);
            let value = format!("({})", choices(prometheus, &query).await.join("|"));
            variables.push(Variable { name: variable["name"].as_str().unwrap().to_owned(), value });
        }
    }
    let mut asked = 0;
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            shows(prometheus, &panel["title"], &filled_in(target["expr"].as_str().unwrap(), &variables)).await;
            asked += 1;
        }
    }
    assert!(asked > 50, "{asked} only: are they looked for in the right way?");
}

/// The values of a variable: `label_values(series, label)`.
async fn choices(prometheus: &Prometheus, query: &str) -> Vec<String> {
    let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')).unwrap();
    let (series, label) = inner.rsplit_once(", ").unwrap();
    let found = wait_for(DEADLINE, query, async || {
        let values = prometheus.ask(&format!("label/{label}/values"), &[("match[]", series)]).await?;
        let values: Vec<String> = serde_json::from_value(values)?;
        ensure!(!values.is_empty(), "no value");
        Ok(values)
    });
    found.await.unwrap_or_else(|error| panic!("{error:#}"))
}

async fn shows(prometheus: &Prometheus, title: &Value, expression: &str) {
    let is_seldom = SELDOM.iter().any(|metric| expression.contains(metric));
    let what = format!("panel {title} to show {expression}");
    let found = wait_for(DEADLINE, &what, async || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let (start, end) = ((now - RANGE).to_string(), now.to_string());
        let range = [("query", expression), ("start", start.as_str()), ("end", end.as_str()), ("step", "5")];
        let data = prometheus.ask("query_range", &range).await?;
        let is_empty = data["result"].as_array().is_none_or(Vec::is_empty);
        ensure!(is_seldom || !is_empty, "no data");
        Ok(())
    });
    found.await.unwrap_or_else(|error| panic!("{error:#}"));
}
