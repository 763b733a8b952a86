//! What the programs of labs said last, for tests that fail: their logs are gone once the lab is.

use std::{
    fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

/// Whoever has said nothing for longer has nothing to do with what has just failed.
const RECENT: Duration = Duration::from_mins(2);

/// Lines of each.
const LINES: usize = 40;

static LOGS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A program writes this log.
pub(crate) fn writes(log: PathBuf) {
    let mut logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner);
    if !logs.contains(&log) {
        logs.push(log);
    }
}

/// The last lines of the programs that this process has started in its labs, API servers left out.
pub fn last_words() -> String {
    let logs = LOGS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let is_recent = |log: &PathBuf| {
        let written = fs::metadata(log).and_then(|found| found.modified());
        written.is_ok_and(|written| SystemTime::now().duration_since(written).unwrap_or_default() < RECENT)
    };
    let told = logs.iter().filter(|log| is_recent(log)).map(|log| {
        let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        format!("last lines of {}:\n{}", log.display(), last.join("\n"))
    });
    told.collect::<Vec<_>>().join("\n\n")
}
