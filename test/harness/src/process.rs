//! Programs that a lab runs, and the signals that tests send them.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::reaper::Reaper;
use crate::wait_for;

/// How long a process may take to freeze: what a thread does in the kernel comes to its end first.
pub(crate) const FREEZING: Duration = Duration::from_secs(10);

/// What to run: a name (of its log), a path, arguments and environment. Started with [`crate::Lab::start_process`],
/// as often as wanted.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
}

impl Program {
    /// The program at `path`, called `name` in the lab: its output goes to `<name>.log` in the lab's directory.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self { name: name.into(), path: path.into(), args: Vec::new(), env: Vec::new() }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable on top of the environment of this process (of which only `KUBECONFIG` is withheld).
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// The name in the lab.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts it as a member of the lab's group, with its output appended to `<name>.log` in `directory`.
    pub(crate) fn start(&self, directory: &Path, reaper: &Reaper) -> anyhow::Result<Process> {
        let log = directory.join(format!("{}.log", self.name));
        let output = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("cannot write {}", log.display()))?;
        let log_start = output.metadata()?.len();
        let mut command = Command::new(&self.path);
        command
            .args(&self.args)
            // A person's own clusters are not the lab's.
            .env_remove("KUBECONFIG")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        reaper.adopt(&mut command);
        let child = command.spawn().with_context(|| format!("cannot start {} ({})", self.name, self.path.display()))?;
        Ok(Process { name: self.name.clone(), child, log, log_start })
    }
}

/// A running program of a lab. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    /// Where this run's output begins in the log, in bytes.
    log_start: u64,
}

impl Process {
    /// The name given to the [`Program`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What this run has written to stdout and stderr so far.
    pub fn log(&self) -> anyhow::Result<String> {
        let mut file = File::open(&self.log).with_context(|| format!("cannot read the log {}", self.log.display()))?;
        file.seek(SeekFrom::Start(self.log_start))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The file that holds the output of all runs of this name.
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The exit status, if it has ended.
    pub fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.child.try_wait().with_context(|| format!("cannot ask for the state of {}", self.name))
    }

    /// Whether it has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.exit_status(), Ok(None))
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When it still runs after `deadline`; the message ends with its last lines.
    pub async fn exited(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        let what = format!("{} to exit", self.name);
        let waited = wait_for(deadline, &what, async || {
            self.exit_status().and_then(|status| status.with_context(|| format!("process {} runs", self.child.id())))
        })
        .await;
        waited.with_context(|| self.last_lines())
    }

    /// Sends SIGTERM and waits until it has ended.
    ///
    /// # Errors
    /// When it still runs after `deadline`.
    pub async fn terminate(&mut self, deadline: Duration) -> anyhow::Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.exited(deadline).await
    }

    /// Sends SIGTERM, to one that is frozen, too, and waits until it has ended; after `patience` it is killed.
    pub(crate) fn end(mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        for signal in [Signal::TERM, Signal::CONT] {
            // Who is gone already cannot be told.
            let _gone = self.signal(signal);
        }
        while self.is_running() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Sends SIGKILL and waits until it is gone.
    pub fn kill(&mut self) {
        // Both fail only when it is gone already. A stopped process is killed too.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }

    /// Freezes it (SIGSTOP), and returns once it is: its connections stay open and nothing answers.
    ///
    /// # Errors
    /// When it has ended, or has not stopped after ten seconds.
    pub async fn pause(&mut self) -> anyhow::Result<()> {
        self.begin_to_freeze()?;
        let what = format!("{} to freeze", self.name);
        wait_for(FREEZING, &what, async || self.is_frozen()).await
    }

    /// Sends SIGSTOP, of which its threads may hear a moment later.
    pub(crate) fn begin_to_freeze(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Whether all of its threads have stopped: the kernel tells of a stop when the last one has.
    ///
    /// # Errors
    /// Where one has not, or nobody can tell.
    pub(crate) fn is_frozen(&self) -> anyhow::Result<()> {
        // Only looked at: as long as it is frozen, whoever asks is told.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let told = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
        let told = told.with_context(|| format!("cannot ask whether {} has stopped", self.name))?;
        anyhow::ensure!(told.is_some_and(|status| status.stopped()), "a thread of {} runs", self.name);
        Ok(())
    }

    /// Lets a frozen process go on (SIGCONT).
    pub fn resume(&mut self) -> anyhow::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Takes `&mut self` because only a child that was not waited for still owns its id.
    fn signal(&mut self, signal: Signal) -> anyhow::Result<()> {
        if let Some(status) = self.exit_status()? {
            anyhow::bail!("{} has ended ({status})\n{}", self.name, self.last_lines());
        }
        kill_process(Pid::from_child(&self.child), signal).with_context(|| format!("cannot signal {}", self.name))
    }

    /// The end of the log, for messages: the file is gone once the lab is.
    pub(crate) fn last_lines(&self) -> String {
        let log = self.log().unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(15)..];
        format!("last lines of {}:\n{}", self.name, tail.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
