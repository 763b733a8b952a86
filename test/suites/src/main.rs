//! Runs all tests of the workspace, several suites at a time, and says where the time went.
//!
//!     suites [--lanes N] [--since SECONDS] [--also NAME=PROGRAM]... [-- WHAT CARGO TEST TAKES]
//!
//! Most suites wait for API servers most of the time, so that one after the other leaves processors idle. Those that took
//! longest the last time begin first. What is handed on to `cargo test` (`--test flow`, `-- --nocapture`) is run as it
//! would run it. `--since`, in seconds of the Unix epoch, says when whoever calls it began: what was done until all was
//! built is in the table too. The last line counts the tests; the exit code is 1 where any failed.
//!
//! It knows nothing of what is tested.

mod plan;
mod report;
mod suite;

use std::{
    collections::VecDeque,
    env,
    path::PathBuf,
    process::{Command, ExitCode},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, SystemTime},
};

use anyhow::{Context as _, ensure};

use crate::{report::Report, suite::Suite};

#[derive(Debug, Default)]
struct Options {
    lanes: Option<usize>,
    since: Option<SystemTime>,
    also: Vec<Suite>,
    rest: Vec<String>,
}

fn options() -> anyhow::Result<Options> {
    let mut options = Options::default();
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--lanes" => {
                let lanes = arguments.next().and_then(|number| number.parse().ok()).filter(|lanes| *lanes > 0);
                options.lanes = Some(lanes.context("--lanes takes a number from 1")?);
            }
            "--since" => {
                let since = arguments.next().and_then(|number| number.parse().ok()).map(Duration::from_secs);
                let since = since.and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
                options.since = Some(since.context("--since takes seconds of the Unix epoch")?);
            }
            "--also" => {
                let also = arguments.next().context("--also takes NAME=PROGRAM")?;
                let (name, program) = also.split_once('=').context("--also takes NAME=PROGRAM")?;
                options.also.push(Suite::program(name, program));
            }
            "--" => {
                options.rest = arguments.collect();
                break;
            }
            other => anyhow::bail!("{other}: not an option; what cargo test takes comes after --"),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    match options().and_then(run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("suites: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> anyhow::Result<bool> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    if !options.rest.is_empty() {
        let mut test = Command::new(cargo);
        test.args(["test", "--locked", "--workspace", "--no-fail-fast"]).args(options.rest);
        return Ok(test.status().context("cargo test")?.success());
    }
    let began = options.since.unwrap_or_else(SystemTime::now);
    let target = PathBuf::from(env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned()));
    let folder = target.join("suites");
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let mut suites = plan::suites(&cargo)?;
    ensure!(!suites.is_empty(), "no test was built");
    suites.extend(options.also);
    let times = folder.join("times.json");
    let last = plan::times(&times);
    plan::longest_first(&mut suites, &last);

    // A clock that was set back in between has nothing to say.
    let built = began.elapsed().unwrap_or_default();
    // Two more than there are processors: most wait for something half of the time. With one more a tenth of it was idle.
    let lanes = options.lanes.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from) + 2);
    let waiting = Mutex::new(VecDeque::from(suites));
    let report = Mutex::new(Report::default());
    thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(suite) = next() {
                    let ended = suite.run(&folder);
                    report.lock().unwrap_or_else(PoisonError::into_inner).add(ended);
                }
            });
        }
    });
    let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    plan::keep_times(&times, &report)?;
    report.tell(built, began.elapsed().unwrap_or_default(), lanes);
    Ok(report.passed())
}
