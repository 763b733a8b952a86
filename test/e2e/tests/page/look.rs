//! `Look`: one look at the page with `test/e2e/page/look.mjs`, and what it takes on this machine.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use e2e::DEADLINE;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    task::JoinHandle,
    time::timeout,
};

/// The longest that a look takes: many facts are waited for in it, each for [`DEADLINE`] at the most.
const LONGEST: Duration = Duration::from_mins(10);

/// Exit code of what says that this machine cannot run it.
const CANNOT: i32 = 77;

/// Where the scripts are.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("page")
}

/// Where what was seen goes: `target/page`.
pub(crate) fn artifacts() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("page")
}

/// Where what drives Chromium is.
fn driver() -> PathBuf {
    artifacts().join("driver")
}

/// Brings what it takes. `Err`: this machine cannot run it, and why.
pub(crate) async fn install() -> Result<(), String> {
    let install = scripts().join("install.sh");
    let output = Command::new(&install).arg(driver()).stdin(Stdio::null()).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Ok(()),
        Some(CANNOT) => Err(said.lines().last().unwrap_or_default().to_owned()),
        _ => panic!("{}: {}\n{said}", install.display(), output.status),
    }
}

/// See the module. Dropping it ends it, and its Chromium.
pub(crate) struct Look {
    way: &'static str,
    process: Child,
    /// It ends when this does.
    _stdin: ChildStdin,
    words: Lines<BufReader<ChildStdout>>,
    findings: JoinHandle<String>,
}

impl Look {
    /// Begins to look at the page at `url` in this way.
    pub(crate) fn begin(way: &'static str, url: &str, mut arguments: Value) -> Self {
        arguments["url"] = json!(url);
        arguments["deadline"] = json!(u64::try_from(DEADLINE.as_millis()).unwrap());
        let mut process = Command::new("node")
            .arg(scripts().join("look.mjs"))
            .arg(way)
            .arg(arguments.to_string())
            .env("PAGE_MODULES", driver())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut stderr = process.stderr.take().unwrap();
        let findings = tokio::spawn(async move {
            let mut said = Vec::new();
            let _ = stderr.read_to_end(&mut said).await;
            String::from_utf8_lossy(&said).into_owned()
        });
        Self { way, process, _stdin: stdin, words: BufReader::new(stdout).lines(), findings }
    }

    /// Waits until it says this word, and nothing else before.
    pub(crate) async fn hears(&mut self, word: &str) {
        let heard = timeout(LONGEST, self.words.next_line()).await;
        if !matches!(&heard, Ok(Ok(Some(heard))) if heard == word) {
            let found = self.found().await;
            panic!("{}: {word} was to be heard, and not {heard:?}\n{found}", self.way);
        }
    }

    /// Waits for its end. There must be no finding.
    pub(crate) async fn found_nothing(mut self) {
        let ended = timeout(LONGEST, self.process.wait()).await;
        if !matches!(&ended, Ok(Ok(status)) if status.success()) {
            let found = self.found().await;
            panic!("{}: {ended:?}\n{found}", self.way);
        }
    }

    /// All that it has found when it is ended now.
    async fn found(&mut self) -> String {
        // It may have ended by itself.
        let _ = self.process.kill().await;
        (&mut self.findings).await.unwrap_or_default()
    }
}
