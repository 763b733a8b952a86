//! What the person sees: one line per step with the time since the start. ANSI only on a terminal.

use std::{
    io::{IsTerminal as _, Write as _, stdout},
    time::{Duration, Instant},
};

/// How often the clock of a running step moves.
const TICK: Duration = Duration::from_millis(100);

/// Columns that every terminal has.
const WIDTH: usize = 79;

/// Standard output.
pub struct Screen {
    start: Instant,
    terminal: bool,
}

impl Screen {
    /// The clock starts now.
    #[allow(clippy::new_without_default, reason = "a screen is begun, not a value")]
    pub fn new() -> Self {
        let terminal = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { start: Instant::now(), terminal }
    }

    /// Does the work of a step, and prints its line: while it runs (on a terminal) and when it is done or has failed.
    pub async fn step<T>(&self, what: &str, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let mut clock = tokio::time::interval(TICK);
        // On the heap: what starts API servers is a large future.
        let mut work = Box::pin(work);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = clock.tick(), if self.terminal => self.print(&self.running(what)),
            }
        };
        let clock = self.clock();
        self.print(&match (&done, self.terminal) {
            (Ok(_), true) => format!("\r\x1b[2K\x1b[32m{clock}\x1b[0m {what}\n"),
            (Ok(_), false) => format!("{clock} {what}\n"),
            (Err(_), true) => format!("\r\x1b[2K\x1b[31m{clock} FAILED: {what}\x1b[0m\n"),
            (Err(_), false) => format!("{clock} FAILED: {what}\n"),
        });
        done
    }

    /// The line of a step that runs. It is written over and over, which works only while it does not wrap.
    fn running(&self, what: &str) -> String {
        let line: String = format!("{} {what}", self.clock()).chars().take(WIDTH - 2).collect();
        format!("\r\x1b[2K\x1b[2m{line} …\x1b[0m")
    }

    /// A heading between steps.
    pub fn heading(&self, text: &str) {
        if self.terminal {
            self.print(&format!("\n\x1b[1m{text}\x1b[0m\n"));
        } else {
            self.print(&format!("\n{text}\n"));
        }
    }

    /// More about the step before.
    pub fn detail(&self, text: &str) {
        for line in text.lines() {
            self.print(&format!("          {line}\n"));
        }
    }

    /// A line of its own.
    pub fn say(&self, text: &str) {
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        self.print(&format!("{clear}{text}\n"));
    }

    fn clock(&self) -> String {
        format!("[{:5.1}s]", self.start.elapsed().as_secs_f64())
    }

    /// A screen that nobody reads any more (a closed pipe) is no reason to fail.
    #[allow(clippy::unused_self, reason = "what is printed goes through the one screen")]
    fn print(&self, text: &str) {
        let mut out = stdout().lock();
        let _closed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}
