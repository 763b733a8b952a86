//! `Report`: how all suites ended, and where the time went.

use std::{collections::BTreeMap, time::Duration};

use crate::suite::{Ended, Outcome};

/// Suites that take less are summed up in one line of the table.
const SHORT: Duration = Duration::from_secs(5);

/// Of a suite that failed, so many panics, so many lines of what each says, and so many of its last lines are told once more, each line
/// up to so many characters.
const PANICS: usize = 3;
const PANIC_LINES: usize = 4;
const LAST_LINES: usize = 8;
const LONGEST_LINE: usize = 500;

/// The suites that have ended.
#[derive(Debug, Default)]
pub(crate) struct Report {
    ended: Vec<Ended>,
}

fn line(ended: &Ended) -> String {
    let outcome = match &ended.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "FAILED",
        Outcome::NotRun(why) => &format!("not run: {why}"),
    };
    format!("{:>5} s  {:<32} {outcome} ({}, {} failed)", ended.took.as_secs(), ended.name, ended.passed, ended.failed)
}

/// What says most in what a suite said: how its first tests panicked, and its end. Of a run somebody may have kept no more than
/// its last lines.
fn why(said: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let end = lines.len().saturating_sub(LAST_LINES);
    let panics = (0..end).filter(|at| lines[*at].contains(" panicked at ")).take(PANICS);
    let panics = panics.flat_map(|at| {
        let said = lines[at + 1..end].iter().take(PANIC_LINES);
        let ends = |line: &&&str| !(line.starts_with("note: ") || line.contains(" panicked at "));
        std::iter::once(&lines[at]).chain(said.take_while(ends))
    });
    panics.chain(&lines[end..]).map(|line| line.chars().take(LONGEST_LINE).collect()).collect()
}

impl Report {
    /// Takes a suite in, and tells how it ended; all that it said where it failed.
    pub(crate) fn add(&mut self, ended: Ended) {
        if let Outcome::Failed(said) = &ended.outcome {
            println!("\n--- {}\n{said}--- {}", ended.name, ended.name);
        }
        println!("{}", line(&ended));
        self.ended.push(ended);
    }

    /// Whether no test failed.
    pub(crate) fn passed(&self) -> bool {
        !self.ended.iter().any(|ended| matches!(ended.outcome, Outcome::Failed(_)))
    }

    /// Seconds by suite.
    pub(crate) fn times(&self) -> BTreeMap<&str, u64> {
        self.ended.iter().map(|ended| (ended.name.as_str(), ended.took.as_secs())).collect()
    }

    /// The table, and the sum as the last line. All was `built` after that time, and has ended after `took`.
    pub(crate) fn tell(&self, built: Duration, took: Duration, lanes: usize) {
        let mut all: Vec<&Ended> = self.ended.iter().collect();
        all.sort_by_key(|ended| std::cmp::Reverse(ended.took));
        let (long, short): (Vec<&Ended>, Vec<&Ended>) = all.into_iter().partition(|ended| ended.took >= SHORT);
        println!("\nWhere the time went:");
        for ended in &long {
            println!("{}", line(ended));
        }
        let rest: Duration = short.iter().map(|ended| ended.took).sum();
        println!("{:>5} s  {} shorter ones", rest.as_secs(), short.len());
        let sum: Duration = self.ended.iter().map(|ended| ended.took).sum();
        println!("{:>5} s  in all, {lanes} at a time: {} s", sum.as_secs(), took.saturating_sub(built).as_secs());
        println!("{:>5} s  before them, until all was built", built.as_secs());
        println!("{:>5} s  from beginning to end", took.as_secs());
        for ended in &self.ended {
            if let Outcome::Failed(said) = &ended.outcome {
                println!("FAILED: {}", ended.name);
                for line in why(said) {
                    println!("    {line}");
                }
            }
        }
        let passed: u64 = self.ended.iter().map(|ended| ended.passed).sum();
        let failed: u64 = self.ended.iter().map(|ended| ended.failed).sum();
        println!("{passed} passed, {failed} failed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_by_its_panics_and_its_end() {
        let noise = (0..40).map(|number| number.to_string()).collect::<Vec<_>>().join("\n");
        let said = format!("thread 'a' panicked at a.rs:1:\nit is not\n  left: 1\nnote: run\n\n{noise}");
        let told = why(&said);
        assert_eq!(told[..4], ["thread 'a' panicked at a.rs:1:", "it is not", "  left: 1", "32"]);
        assert_eq!(told.last().map(String::as_str), Some("39"));
        assert_eq!(why("it ends\n\n"), ["it ends"]);
        assert_eq!(why(&"é".repeat(1000)), ["é".repeat(500)]);
    }
}
