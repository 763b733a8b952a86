//! `Suite`: one program with tests, and how it ended.

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How many tests a program runs at a time, unless somebody says another: the variable of Rust's own test harness.
const THREADS: &str = "RUST_TEST_THREADS";

/// Exit code of a program that says that this machine cannot run it.
const CANNOT: i32 = 77;

/// A program to run.
#[derive(Debug)]
pub(crate) struct Suite {
    /// For people: the package and the target.
    pub(crate) name: String,
    program: PathBuf,
    /// Where it runs: `cargo test` runs tests in their package's folder.
    folder: Option<PathBuf>,
}

/// How a suite ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed,
    /// With what it said.
    Failed(String),
    /// This machine cannot run it, for this reason.
    NotRun(String),
}

/// A suite that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) name: String,
    pub(crate) outcome: Outcome,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) took: Duration,
}

impl Suite {
    /// A test program of a package.
    pub(crate) fn tests(name: &str, program: PathBuf, folder: PathBuf) -> Self {
        Self { name: name.to_owned(), program, folder: Some(folder) }
    }

    /// Another program that counts as one test.
    pub(crate) fn program(name: &str, program: &str) -> Self {
        Self { name: name.to_owned(), program: program.into(), folder: None }
    }

    /// Runs it to its end; what it says goes to a file in `logs`.
    pub(crate) fn run(&self, logs: &Path) -> Ended {
        let began = Instant::now();
        let log = logs.join(format!("{}.log", self.name.replace([' ', '/'], "-")));
        let status = self.execute(&log);
        let took = began.elapsed();
        let said = fs::read(&log).map(|said| String::from_utf8_lossy(&said).into_owned()).unwrap_or_default();
        let (mut passed, mut failed) = count(&said);
        let outcome = match status {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(status) if self.folder.is_none() && status.code() == Some(CANNOT) => {
                Outcome::NotRun(said.lines().last().unwrap_or_default().to_owned())
            }
            Ok(status) => Outcome::Failed(format!("{said}{status}\n")),
            Err(error) => Outcome::Failed(format!("{}: {error}\n", self.program.display())),
        };
        match outcome {
            Outcome::Passed if self.folder.is_none() => passed += 1,
            // One that crashed has not counted itself.
            Outcome::Failed(_) => failed = failed.max(1),
            Outcome::Passed | Outcome::NotRun(_) => {}
        }
        Ended { name: self.name.clone(), outcome, passed, failed, took }
    }

    fn execute(&self, log: &Path) -> io::Result<ExitStatus> {
        let output = File::create(log)?;
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        if let Some(folder) = &self.folder {
            command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
        }
        if env::var_os(THREADS).is_none() {
            // Most tests wait for something most of the time.
            let processors = thread::available_parallelism().map_or(1, usize::from);
            command.env(THREADS, (2 * processors).to_string());
        }
        command.status()
    }
}

/// Tests that passed and that failed, by the harness's own summary.
fn count(said: &str) -> (u64, u64) {
    let summaries = said.lines().filter_map(|line| line.strip_prefix("test result: "));
    let number = |summary: &str, what: &str| {
        let before = summary.split(what).next().unwrap_or_default();
        before.rsplit(' ').find(|word| !word.is_empty()).and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    summaries.fold((0, 0), |(passed, failed), summary| {
        (passed + number(summary, " passed"), failed + number(summary, " failed"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn tests_are_counted_by_the_harness() {
        let said = "running 5 tests\ntest a ... ok\n\ntest result: FAILED. 62 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count(said), (62, 3));
        assert_eq!(count("nothing\n"), (0, 0));
    }

    #[test]
    fn it_ends_as_its_program_does() {
        let logs = std::env::temp_dir().join(format!("suites-{}", std::process::id()));
        fs::create_dir_all(&logs).unwrap();
        let passed = Suite::program("yes", "true").run(&logs);
        assert!(matches!(passed.outcome, Outcome::Passed) && (passed.passed, passed.failed) == (1, 0));
        let failed = Suite::program("no", "false").run(&logs);
        assert!(matches!(failed.outcome, Outcome::Failed(_)) && (failed.passed, failed.failed) == (0, 1));
        let missing = Suite::program("gone", "/no/such/program").run(&logs);
        assert!(matches!(missing.outcome, Outcome::Failed(why) if why.contains("/no/such/program")));
        let cannot = logs.join("cannot");
        fs::write(&cannot, "#!/bin/sh\necho building\necho no cgroups >&2\nexit 77\n").unwrap();
        fs::set_permissions(&cannot, fs::Permissions::from_mode(0o755)).unwrap();
        let cannot = Suite::program("cannot", &cannot.display().to_string()).run(&logs);
        assert!(matches!(cannot.outcome, Outcome::NotRun(why) if why == "no cgroups"));
        assert_eq!((cannot.passed, cannot.failed), (0, 0));
        fs::remove_dir_all(&logs).unwrap();
    }
}
