//! `Controller`: one process of `resource-graphs`.

use std::time::Duration;

use crate::{
    Place,
    broker::{http_get, until_ready},
};
use harness::{Lab, Process, Program, free_address};

/// The user of its kubeconfig, by which the audit log tells its requests from others.
pub const GRAPHS: &str = "graphs";

const EXIT: Duration = Duration::from_secs(20);

/// A process that was started. Dropping it kills it.
pub struct Controller {
    program: Program,
    args: Vec<String>,
    process: Process,
    health: String,
    metrics: String,
}

impl Controller {
    /// Starts one for `place` with further arguments, and returns when it is ready.
    pub async fn start(lab: &Lab, place: &Place, args: &[&str]) -> Self {
        Self::start_as(lab, place, args, |program| program).await
    }

    /// The same, of a program that is changed before.
    pub async fn start_as(lab: &Lab, place: &Place, args: &[&str], change: impl FnOnce(Program) -> Program) -> Self {
        let kubeconfig = lab.directory().join(format!("{}-graphs.kubeconfig", place.name()));
        place.cluster.write_kubeconfig(GRAPHS, &kubeconfig).unwrap();
        let (health, metrics) = (free_address().unwrap(), free_address().unwrap());
        let path = harness::binary("resource-graphs").unwrap_or_else(|error| panic!("{error:#}"));
        let program = Program::new(format!("{}-graphs", place.name()), path)
            .env("NO_COLOR", "1")
            .args(["--kubeconfig", &kubeconfig.display().to_string()])
            .args(["--health-probe-bind-address", &health])
            .args(["--metrics-bind-address", &metrics]);
        let program = change(program);
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let process = lab.start_process(&program.clone().args(args.iter().cloned())).unwrap();
        let mut controller = Self { program, args, process, health, metrics };
        controller.until_ready().await;
        controller
    }

    /// Waits until `/readyz` says 200.
    pub async fn until_ready(&mut self) {
        let ready = until_ready(&mut self.process, &self.health).await;
        ready.unwrap_or_else(|error| panic!("{error:#}\n{}", self.lines(&[])));
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGTERM; returns when it has ended, with its exit code.
    pub async fn terminate(&mut self) -> Option<i32> {
        self.process.terminate(EXIT).await.unwrap().code()
    }

    /// Starts the same again after [`Controller::kill`] or [`Controller::terminate`], and returns when it is ready.
    pub async fn start_again(&mut self, lab: &Lab) {
        self.spawn(lab);
        self.until_ready().await;
    }

    /// Ends it in order and starts it with these arguments instead.
    pub async fn with_args(&mut self, lab: &Lab, args: &[&str]) {
        self.terminate().await;
        self.spawn_with(lab, args);
        self.until_ready().await;
    }

    /// Starts it with these arguments, and returns at once.
    pub fn spawn_with(&mut self, lab: &Lab, args: &[&str]) {
        self.args = args.iter().map(ToString::to_string).collect();
        self.spawn(lab);
    }

    fn spawn(&mut self, lab: &Lab) {
        let program = self.program.clone().args(self.args.iter().cloned());
        self.process = lab.start_process(&program).unwrap();
    }

    /// Where it says how it is.
    pub fn health(&self) -> &str {
        &self.health
    }

    /// What it measures, as Prometheus reads it.
    pub async fn metrics(&self) -> String {
        http_get(&self.metrics, "/metrics").await.unwrap().1
    }

    /// The process, for signals.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// The last lines of its log that hold one of `words`; of all lines if there are none.
    pub fn lines(&self, words: &[&str]) -> String {
        let log = self.process.log().unwrap_or_default();
        let lines = log.lines().filter(|line| words.is_empty() || words.iter().any(|word| line.contains(word)));
        let lines: Vec<&str> = lines.collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }
}
