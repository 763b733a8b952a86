//! `Prometheus`: one process, with the alerts of `config/monitoring` in it, and what it answers.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};
use e2e::{DEADLINE, broker::http_get};
use harness::{Lab, Process, Program, free_address, wait_for};
use serde_json::{Value, json};

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// As it stands in an address.
fn encoded(text: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encode).collect()
}

fn program() -> PathBuf {
    file("test/prometheus/bin/prometheus")
}

/// Whether `test/prometheus/fetch.sh`, which `make test` calls first, could bring it.
pub(crate) fn is_there() -> bool {
    program().is_file()
}

/// See the module.
pub(crate) struct Prometheus {
    process: Process,
    address: String,
}

impl Prometheus {
    /// Starts one that reads these addresses, each by its job, all in one namespace; returns when it answers.
    pub(crate) async fn start(lab: &Lab, namespace: &str, targets: &[(&str, &str)]) -> Self {
        let program = program();
        let job = |(job, address): &(&str, &str)| {
            // As Prometheus' operator has it of a Service: a namespace, and the pod behind it.
            let labels = json!({"namespace": namespace, "pod": format!("{job}-0")});
            json!({"job_name": job, "static_configs": [{"targets": [address], "labels": labels}]})
        };
        let jobs: Vec<Value> = targets.iter().map(job).collect();
        let config = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [file("config/monitoring/alerts.yaml").canonicalize().unwrap()],
            "scrape_configs": jobs,
        });
        let directory = lab.directory().join("prometheus");
        fs::create_dir_all(&directory).unwrap();
        // JSON is YAML.
        let written = directory.join("prometheus.yaml");
        fs::write(&written, config.to_string()).unwrap();
        let address = free_address().unwrap();
        let program = Program::new("prometheus", program).args([
            format!("--config.file={}", written.display()),
            format!("--storage.tsdb.path={}", directory.join("data").display()),
            format!("--web.listen-address={address}"),
        ]);
        let mut prometheus = Self { process: lab.start_process(&program).unwrap(), address };
        prometheus.until_ready().await;
        prometheus
    }

    async fn until_ready(&mut self) {
        let address = self.address.clone();
        let ready = wait_for(DEADLINE, "Prometheus to be ready", async || {
            if let Some(status) = self.process.exit_status()? {
                return Ok(Err(anyhow::anyhow!("it ended: {status}")));
            }
            let (status, body) = http_get(&address, "/-/ready").await?;
            ensure!(status == 200, "{status} {body}");
            anyhow::Ok(Ok(()))
        });
        let ready = ready.await.and_then(|ended| ended);
        ready.unwrap_or_else(|error| panic!("{error:#}\n{}", self.process.log().unwrap_or_default()));
    }

    /// What it answers.
    ///
    /// # Errors
    /// It refuses, with its words.
    pub(crate) async fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> anyhow::Result<Value> {
        let query = parameters.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
        let query = query.collect::<Vec<_>>().join("&");
        let (status, body) = http_get(&self.address, &format!("/api/v1/{path}?{query}")).await?;
        let mut answer: Value = serde_json::from_str(&body).with_context(|| format!("{status} {body}"))?;
        ensure!(answer["status"] == "success", "{status} {}", answer["error"]);
        Ok(answer["data"].take())
    }

    /// The value of an expression now that yields one.
    async fn value(&self, expression: &str) -> anyhow::Result<f64> {
        let data = self.ask("query", &[("query", expression)]).await?;
        let value: Option<f64> = data["result"][0]["value"][1].as_str().and_then(|value| value.parse().ok());
        value.with_context(|| format!("{expression}: {data}"))
    }

    /// The alerts that are pending or fire.
    async fn alerts(&self) -> anyhow::Result<Vec<Value>> {
        let mut data = self.ask("alerts", &[]).await?;
        serde_json::from_value(data["alerts"].take()).context("alerts")
    }

    /// Waits until so many targets were read some times, all rules were evaluated without an error, and no alert is there.
    pub(crate) async fn until_calm(&self, targets: usize) {
        let text = fs::read_to_string(file("config/monitoring/alerts.yaml")).unwrap();
        let written: BTreeSet<&str> =
            text.lines().filter_map(|line| line.trim_start().strip_prefix("- alert: ")).collect();
        assert!(written.len() > 30, "{written:?}");
        let calm = wait_for(DEADLINE, "all rules to be evaluated, and no alert", async || {
            let rules = self.ask("rules", &[("type", "alert")]).await?;
            let rules: Vec<&Value> = rules["groups"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|group| group["rules"].as_array().into_iter().flatten())
                .collect();
            let loaded: BTreeSet<&str> = rules.iter().filter_map(|rule| rule["name"].as_str()).collect();
            ensure!(loaded == written, "{loaded:?}");
            for rule in rules {
                // Until it was evaluated it is `unknown`.
                ensure!(rule["health"] == "ok", "{} is {}: {}", rule["name"], rule["health"], rule["lastError"]);
            }
            let up = self.ask("query", &[("query", "up == 1")]).await?;
            ensure!(up["result"].as_array().is_some_and(|up| up.len() == targets), "{up}");
            // What is counted by the second needs more than one look.
            ensure!(self.value("min(count_over_time(up[1h]))").await? > 5.0, "too few looks");
            let alerts = self.alerts().await?;
            ensure!(alerts.is_empty(), "{alerts:?}");
            Ok(())
        });
        calm.await.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Waits until an alert with these labels is there; returns its summary.
    pub(crate) async fn until_alert(&self, name: &str, labels: &[(&str, &str)]) -> String {
        let what = format!("alert {name} with {labels:?}");
        let is_it = |alert: &&Value| {
            alert["labels"]["alertname"] == name && labels.iter().all(|(label, value)| alert["labels"][label] == *value)
        };
        let found = wait_for(DEADLINE, &what, async || {
            let alerts = self.alerts().await?;
            alerts.iter().find(is_it).cloned().with_context(|| format!("{alerts:?}"))
        });
        let alert = found.await.unwrap_or_else(|error| panic!("{error:#}\n{}", harness::last_words()));
        let told = alert["annotations"].to_string();
        assert!(!told.contains("<no value>") && !told.contains("error expanding"), "{told}");
        alert["annotations"]["summary"].as_str().unwrap().to_owned()
    }

    /// Waits until an alert is there no more.
    pub(crate) async fn until_over(&self, name: &str) {
        let what = format!("no alert {name}");
        let over = wait_for(DEADLINE, &what, async || {
            let alerts = self.alerts().await?;
            ensure!(alerts.iter().all(|alert| alert["labels"]["alertname"] != name), "{alerts:?}");
            Ok(())
        });
        over.await.unwrap_or_else(|error| panic!("{error:#}\n{}", harness::last_words()));
    }
}
