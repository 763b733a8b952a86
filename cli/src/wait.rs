//! Waiting for what was asked for, with a line that says how far it is.

use std::{io::IsTerminal as _, time::Duration};

use clap::Args;
use tokio::time::{Instant, sleep};

use crate::{cluster::Trouble, paint::harmless};

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(500);

/// So long a request may fail, again and again, before nobody waits any more: what was asked for goes on meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether it is waited for.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Wait {
    /// Return at once, and let it go on
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Wait no longer than this many seconds; without it, until it is done
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u64>,
}

/// How far it is.
pub(crate) enum Progress {
    /// Done, with what is to be said.
    Done(String),
    /// It can come to no good end by itself, and why.
    Failed(String),
    /// Not yet.
    Under(String),
}

/// Says that nobody waits any more for what was asked for.
pub(crate) fn goes_on() {
    println!("it goes on by itself");
}

impl Wait {
    /// Looks until it is done. At Ctrl-C it goes on without us, and that is said.
    pub(crate) async fn until(self, look: impl AsyncFn() -> anyhow::Result<Progress>) -> anyhow::Result<()> {
        if self.no_wait {
            goes_on();
            return Ok(());
        }
        let end = self.timeout.map(|seconds| Instant::now() + Duration::from_secs(seconds));
        let mut line = Line::default();
        let mut failing: Option<Instant> = None;
        loop {
            let progress = tokio::select! {
                progress = look() => match progress {
                    Ok(progress) => {
                        failing = None;
                        progress
                    }
                    Err(error) if may_pass(&error) && failing.get_or_insert_with(Instant::now).elapsed() < PATIENCE => {
                        Progress::Under(format!("{error:#}"))
                    }
                    Err(error) => {
                        line.end();
                        return Err(error.context("how far it is cannot be told; it goes on by itself"));
                    }
                },
                _ = tokio::signal::ctrl_c() => {
                    line.leave();
                    return Ok(());
                }
            };
            match progress {
                Progress::Done(said) => {
                    line.end();
                    println!("{}", harmless(&said));
                    return Ok(());
                }
                Progress::Failed(why) => {
                    line.end();
                    anyhow::bail!("{why}");
                }
                Progress::Under(said) => {
                    if end.is_some_and(|end| Instant::now() >= end) {
                        line.end();
                        anyhow::bail!("not done within the time: {said}; it goes on by itself");
                    }
                    line.show(said);
                }
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                _ = tokio::signal::ctrl_c() => {
                    line.leave();
                    return Ok(());
                }
            }
        }
    }
}

/// Whether the same may be answered in a moment: no answer came, or none that could be read.
fn may_pass(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Trouble::Other(_)))
}

/// One line that is written over on a terminal; elsewhere a line for each change.
#[derive(Default)]
struct Line {
    shown: String,
}

impl Line {
    fn show(&mut self, said: String) {
        if said == self.shown {
            return;
        }
        let told = harmless(&said);
        if std::io::stderr().is_terminal() {
            // What is too long for the terminal's line is cut: of a second line nothing would be written over.
            eprint!("\r\x1b[K\x1b[?7l{told}\x1b[?7h");
        } else {
            eprintln!("{told}");
        }
        self.shown = said;
    }

    fn end(&mut self) {
        if !self.shown.is_empty() && std::io::stderr().is_terminal() {
            eprintln!();
        }
    }

    fn leave(&mut self) {
        self.end();
        goes_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_be_answered_in_a_moment_is_asked_again() {
        assert!(may_pass(&Trouble::Other("no answer in time".into()).into()));
        assert!(!may_pass(&Trouble::Forbidden("no right".into()).into()));
        assert!(!may_pass(&Trouble::NotServed("no such kind".into()).into()));
        assert!(!may_pass(&anyhow::anyhow!("there is no AcceptAPI")));
    }
}
