//! `Trial`: whether the worlds notice that something is broken.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde::Deserialize;

use crate::mutation::Mutation;

/// So many seeds are told where nothing is broken.
const UNBROKEN: u64 = 12;

/// Whose worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Worlds {
    Broker,
    Graphs,
}

/// One kind of worlds to look in.
struct Stage {
    /// For people.
    name: &'static str,
    test: &'static str,
    /// The first seed, and how many; none where stories have names.
    first: u64,
    seeds: u64,
}

/// From here on seeds tell stories in which more may happen, and policies have to be heeded.
const LATER: u64 = 13_000_000;

impl Worlds {
    /// Where to look, one after the other.
    fn stages(self) -> &'static [Stage] {
        match self {
            Self::Broker => &[
                Stage { name: "seed", test: "worlds_that_go_wrong_get_to_the_same_end", first: 1, seeds: 400 },
                Stage { name: "scenario", test: "a_broker_that_crashes_after_any_write", first: 0, seeds: 0 },
                Stage { name: "moment", test: "a_provider_that_is_lost_at_any_moment", first: 0, seeds: 0 },
                Stage { name: "seed", test: "worlds_that_go_wrong_get_to_the_same_end", first: LATER, seeds: 1000 },
            ],
            Self::Graphs => &[
                Stage {
                    name: "scenario",
                    test: "worlds_that_go_wrong_nowhere_end_as_each_scenario",
                    first: 0,
                    seeds: 0,
                },
                Stage { name: "seed", test: "worlds_that_go_wrong_as_their_seeds_say", first: 1, seeds: 200 },
                Stage { name: "crash", test: "worlds_that_go_wrong_because_a_process_ends", first: 1, seeds: 1 },
                Stage { name: "seed", test: "worlds_that_go_wrong_as_their_seeds_say", first: LATER, seeds: 500 },
            ],
        }
    }
}

/// What became of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// It was noticed: in which worlds, and how.
    Caught { at: String, why: String },
    /// It was not.
    Survived(String),
}

impl Found {
    pub(crate) fn not_tried(error: &anyhow::Error) -> Self {
        Self::Survived(format!("it could not be tried: {error:#}"))
    }
}

/// How a run ended.
enum Ended {
    Passed,
    Failed {
        seed: Option<u64>,
        why: String,
    },
    /// Not within its time.
    Late,
}

/// See the module.
pub(crate) struct Trial<'a> {
    pub(crate) program: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) patience: Duration,
}

impl Trial<'_> {
    /// Why worlds go wrong where nothing is broken, if they do.
    pub(crate) fn unbroken(&self, worlds: Worlds) -> anyhow::Result<Option<String>> {
        for stage in worlds.stages() {
            let few = Stage { seeds: stage.seeds.min(UNBROKEN), ..*stage };
            if let Ended::Failed { why, .. } = self.run("none", &few)? {
                return Ok(Some(format!("{}: {why}", stage.test)));
            }
        }
        Ok(None)
    }

    pub(crate) fn of(&self, mutation: &Mutation) -> anyhow::Result<Found> {
        let mut tried = Vec::new();
        for stage in mutation.worlds().stages() {
            match self.due_to(mutation, stage)? {
                Ended::Failed { seed, why } => {
                    let at = match seed {
                        Some(seed) => format!("{} {seed}", stage.name),
                        None => stage.name.to_owned(),
                    };
                    return Ok(Found::Caught { at, why });
                }
                Ended::Passed => tried.push(stage.test.to_owned()),
                Ended::Late => tried.push(format!("{} (as far as it got)", stage.test)),
            }
        }
        Ok(Found::Survived(tried.join(", ")))
    }

    /// What comes of it in the first worlds in which what is broken beside it does not do the same alone.
    fn due_to(&self, mutation: &Mutation, stage: &Stage) -> anyhow::Result<Ended> {
        let Some(beside) = mutation.beside() else { return self.run(&mutation.numbers(), stage) };
        let mut rest = Stage { ..*stage };
        loop {
            let ended = self.run(&mutation.numbers(), &rest)?;
            let Ended::Failed { seed, .. } = ended else { return Ok(ended) };
            // Stories with a name have no seeds: all of them are told.
            let same = seed.map_or(Stage { ..*stage }, |first| Stage { first, seeds: 1, ..*stage });
            if let Ended::Passed = self.run(&beside, &same)? {
                return Ok(ended);
            }
            let end = stage.first + stage.seeds;
            match seed.map(|seed| seed + 1) {
                Some(first) if first < end => rest = Stage { first, seeds: end - first, ..rest },
                _ => return Ok(Ended::Passed),
            }
        }
    }

    fn run(&self, mutant: &str, stage: &Stage) -> anyhow::Result<Ended> {
        let mut command = Command::new(self.program);
        command.args(["--nocapture", "--test-threads", "1", stage.test]).current_dir(self.folder);
        command.envs([("MUTANT", mutant), ("THREADS", "1"), ("SCENARIOS", "all"), ("CARGO_MANIFEST_DIR", ".")]);
        if stage.seeds > 0 {
            command.envs([("SEEDS", stage.seeds.to_string()), ("FIRST", stage.first.to_string())]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.with_context(|| self.program.display().to_string())?;
        let ended = listen(&mut child, self.patience, stage.first);
        // It has said what there is to say, and goes on with other worlds.
        let _ = child.kill();
        child.wait()?;
        Ok(ended)
    }
}

/// What a program says, until it says what goes wrong.
/// `first`: the seed of its first world.
fn listen(child: &mut Child, patience: Duration, first: u64) -> Ended {
    let (tell, told) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
    }
    let (shout, shouted) = mpsc::channel();
    if let Some(mut errors) = child.stderr.take() {
        thread::spawn(move || {
            let mut text = Vec::new();
            let _ = errors.read_to_end(&mut text);
            let _ = shout.send(String::from_utf8_lossy(&text).into_owned());
        });
    }
    let until = Instant::now() + patience;
    let mut passed = false;
    loop {
        match told.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some((seed, why)) = failure(&line, first) {
                    return Ended::Failed { seed: Some(seed), why };
                }
                passed |= line.starts_with("test result: ok. 1 passed");
            }
            Err(mpsc::RecvTimeoutError::Timeout) => return Ended::Late,
            Err(mpsc::RecvTimeoutError::Disconnected) if passed => return Ended::Passed,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let said = shouted.recv_timeout(Duration::from_secs(10)).unwrap_or_default();
                return Ended::Failed { seed: None, why: last_words(&said) };
            }
        }
    }
}

/// A line that says that a world goes wrong: which, and why. `first`: the seed of the first.
fn failure(line: &str, first: u64) -> Option<(u64, String)> {
    // The first is told behind the test's name, whose line has not ended yet.
    let told = line.strip_prefix("no. ").or_else(|| Some(line.split_once(" ... no. ")?.1));
    let (number, said) = told?.split_once(": ")?;
    // A world that is not the only one of its seed says which it is of, and how it was told.
    let of_seed = || {
        let (seed, why) = said.split_once(", seed ")?.1.split_once(": ")?;
        Some((seed.parse().ok()?, why.to_owned()))
    };
    Some(of_seed().unwrap_or((number.parse::<u64>().ok()? + first - 1, said.to_owned())))
}

/// What a program said last that panicked.
fn last_words(said: &str) -> String {
    let line = said.lines().rev().find(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("note: ") && !line.starts_with("error: test failed")
    });
    line.unwrap_or("it ended without a word").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_is_told_by_a_line() {
        assert_eq!(failure("no. 17: two copies: and so on", 4), Some((20, "two copies: and so on".to_owned())));
        assert_eq!(failure("test worlds_x ... no. 17: two copies", 4), Some((20, "two copies".to_owned())));
        let line = "no. 6: life, crash 2, seed 3: it is not quiet";
        assert_eq!(failure(line, 1), Some((3, "it is not quiet".to_owned())));
        assert_eq!(failure("12 worlds, 0 went wrong: []", 1), None);
    }

    #[test]
    fn the_last_words_of_a_panic_are_its_reason() {
        assert_eq!(last_words("thread panicked\nseed 1: gone\nnote: run with `RUST_BACKTRACE=1`\n\n"), "seed 1: gone");
        assert_eq!(last_words(""), "it ended without a word");
    }
}
