//! How long a person waits for `kubectl broker`: each command is a process of its own, with many clusters known. Those that
//! are not of the stage are idle.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::process::Command;

use super::{Bench, WARM, name, say};
use crate::extra::Extras;
use crate::latency::Latencies;
use crate::report::{Goal, ratio};
use crate::widget;

const PART: &str = "command line";
/// Clusters that are known beside the coordination cluster, and how many of them are of the stage.
const CLUSTERS: usize = 50;
const OWN: usize = 3;
/// What any command may take from its start to its end, in milliseconds.
const COLD: f64 = 300.0;
/// What a table over many objects may take, in seconds.
const TABLE: f64 = 3.0;
/// How often each is run.
const RUNS: usize = 10;
const TABLES: usize = 3;

/// `kubectl broker`, with all clusters.
pub(super) struct CommandLine {
    /// They answer as long as they are held.
    extras: Extras,
    program: PathBuf,
    flags: Vec<String>,
}

impl CommandLine {
    /// Measures how long commands take that have little to tell.
    pub(super) async fn cold(bench: &mut Bench) -> anyhow::Result<Self> {
        say(&format!("kubectl broker with {CLUSTERS} clusters"));
        let mut extras = Extras::rehearse(&bench.stage).await?;
        extras.grow(CLUSTERS - OWN).await?;
        let [hub, consumer, east, west] = bench.stage.kubeconfigs()?;
        let own = ["--kubeconfig", &hub, "--consumer-kubeconfig", &consumer];
        let own = own.into_iter().chain(["--provider-kubeconfig", &east, "--provider-kubeconfig", &west]);
        let flags = own.map(str::to_owned).chain(extras.flags_of_people()?).collect();
        let this = Self { extras, program: harness::binary("kubectl-broker")?, flags };
        let object = format!("{}/{}", widget::RESOURCE, name(WARM, 0));
        let why = ["why", &object, "--namespace", widget::NAMESPACE, "--broker-namespace", "default"];
        let trace = ["trace", &object, "--namespace", widget::NAMESPACE];
        let diff = ["diff", &object, "--namespace", widget::NAMESPACE];
        let wanted = std::env::temp_dir().join(format!("bench-{}.json", std::process::id()));
        fs::write(&wanted, widget::body("not-there"))?;
        let file = wanted.display().to_string();
        let simulate = ["simulate", "-f", &file, "--namespace", widget::NAMESPACE, "--in", "consumer"];
        let simulate = [&simulate[..], &["--broker-namespace", "default"]].concat();
        let doctor = ["doctor", "--broker-namespace", "default", "--watch-kind", widget::WATCH_KIND];
        let tables = [&["clusters"][..], &["acceptapis"], &["migrations"], &["objects", widget::RESOURCE], &["graphs"]];
        let asked = [&["rollouts"][..], &why, &trace, &diff, &simulate, &doctor];
        for args in tables.into_iter().chain(asked) {
            let mut took = Vec::new();
            for _ in 0..RUNS {
                took.push(this.run(args).await?.0);
            }
            let took = Latencies::new(took)?;
            let what = |which: &str| format!("`{}` with {CLUSTERS} clusters, {which}", args[0]);
            bench.report.judge(PART, what("half of the time"), took.percentile(50), "ms", Goal::AtMost(COLD));
            bench.report.note(PART, what("at the most"), took.percentile(100), "ms");
        }
        fs::remove_file(wanted)?;
        Ok(this)
    }

    /// Measures how long a table over all objects takes.
    pub(super) async fn table(self, bench: &mut Bench) -> anyhow::Result<()> {
        let objects = bench.objects;
        say(&format!("kubectl broker objects, with {objects} of them"));
        let mut took = Vec::new();
        for _ in 0..TABLES {
            let (one, told) = self.run(&["objects", widget::RESOURCE]).await?;
            let rows = told.lines().count() - 1;
            anyhow::ensure!(rows == objects, "a table of {rows} rows for {objects} objects");
            took.push(one);
        }
        let seconds = Latencies::new(took)?.percentile(50) * ratio(1, 1_000);
        let name = format!("`objects` over {objects} objects, half of the time");
        bench.report.judge(PART, name, seconds, "s", Goal::AtMost(TABLE));
        self.extras.judge(&mut bench.report, PART);
        Ok(())
    }

    /// Runs a command. How long it took, and what it said.
    async fn run(&self, args: &[&str]) -> anyhow::Result<(Duration, String)> {
        let mut command = Command::new(&self.program);
        let began = Instant::now();
        let output = command.args(args).args(&self.flags).output().await?;
        let took = began.elapsed();
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "kubectl broker {args:?} ended with {}: {said}", output.status);
        let told = String::from_utf8(output.stdout).context("what it says is no text")?;
        Ok((took, told))
    }
}
