//! The end: nothing fails any more, all has to become right, and then nothing may be written.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use anyhow::{Context as _, bail, ensure};
use e2e::{Tally, tally::Requests};
use harness::wait_for;
use tokio::time::{Instant, sleep};

use crate::{
    stage::Stage,
    timeline::Timeline,
    verdict::{Acknowledged, Mismatch, mismatches},
};

/// Lines of a file that are told of one object.
const LINES: usize = 25;
/// What changed nothing is not told.
const REFUSED: &str = "create refused";
/// A pause between two looks at everything.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits until all is right; the first that is not is explained where that does not come to be.
pub(crate) async fn until_right(stage: &Stage, acknowledged: &Acknowledged, patience: Duration) -> anyhow::Result<()> {
    let end = Instant::now() + patience;
    loop {
        let wrong = mismatches(stage, acknowledged).await?;
        let Some(first) = wrong.first() else { return Ok(()) };
        if Instant::now() > end {
            let others: Vec<&str> = wrong.iter().skip(1).map(|one| &*one.about).collect();
            bail!("after {patience:?} of quiet {}\n{} others: {others:?}", explain(stage, first), others.len());
        }
        sleep(PAUSE).await;
    }
}

/// What is wrong, what people did to that object, and what programs said of it.
fn explain(stage: &Stage, wrong: &Mismatch) -> String {
    let mut text = format!("{}\n", wrong.what);
    let (namespace, name) = wrong.about.split_once('/').unwrap_or(("", &wrong.about));
    for file in ["edits.log", "broker-1.log", "broker-2.log", "graphs.log"] {
        let read = fs::read(stage.lab.directory().join(file)).unwrap_or_default();
        let read = String::from_utf8_lossy(&read).into_owned();
        // Others are named so, too, in another cluster: they are told apart by who reads this.
        let is_about =
            |line: &&str| line.contains(name) && line.contains(&format!("{namespace}/")) && !line.contains(REFUSED);
        let lines: Vec<&str> = read.lines().filter(is_about).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        let _ = writeln!(text, "the last lines of {file} on {}:\n{}", wrong.about, last.join("\n"));
    }
    text
}

/// What our programs wrote, but for the renewal of leases.
async fn writes(tally: &Tally<'_>) -> Requests {
    let requests = tally.requests().await;
    requests.only(|request| request.event.is_write() && request.event.resource != "leases")
}

/// Waits until our programs have written nothing for so long.
pub(crate) async fn until_still(stage: &Stage, still: Duration, patience: Duration) -> anyhow::Result<()> {
    wait_for(patience + still, &format!("no write for {still:?}"), async || {
        let tally = Tally::begin(stage.places()).await;
        // The span is what is asked about.
        sleep(still).await;
        let writes = writes(&tally).await;
        if writes.0.is_empty() { Ok(()) } else { Err(format!("{writes}")) }
    })
    .await
}

/// What our programs say of themselves when they are wrong, whatever fails around them.
const OUTCRIES: [&str; 2] = ["panicked", "decisions in a row wanted writes"];

/// Panics of our programs, and keys that did not come to rest.
pub(crate) fn outcries(stage: &Stage) -> anyhow::Result<()> {
    for runner in stage.programs() {
        let log = fs::read(stage.lab.directory().join(format!("{}.log", runner.name())))?;
        let log = String::from_utf8_lossy(&log).into_owned();
        let said = log.lines().find(|line| OUTCRIES.iter().any(|outcry| line.contains(outcry)));
        ensure!(said.is_none(), "{} went wrong: {}", runner.name(), said.unwrap_or_default());
    }
    Ok(())
}

/// How large our programs are.
pub(crate) async fn tell_memory(stage: &Stage, timeline: &Timeline) {
    for runner in stage.programs() {
        if let Some(mib) = runner.memory().await {
            timeline.tell(&format!("{} has {mib} MiB", runner.name()));
        }
    }
}

/// Keeps what the lab would take with it: logs, edits, and what API servers were asked for.
pub(crate) fn keep_logs(lab: &Path, logs: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(logs).with_context(|| format!("cannot make {}", logs.display()))?;
    for entry in fs::read_dir(lab)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let audit = path.join("audit.log");
        if path.extension().is_some_and(|extension| extension == "log") {
            fs::copy(&path, logs.join(name))?;
        } else if audit.is_file() {
            fs::copy(audit, logs.join(format!("{name}-audit.log")))?;
        }
    }
    Ok(())
}
