//! `Report`: how all suites ended, and where the time went.

use std::{collections::BTreeMap, time::Duration};

use crate::suite::{Ended, Outcome};

/// Suites that take less are summed up in one line of the table.
const SHORT: Duration = Duration::from_secs(5);

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
        for ended in self.ended.iter().filter(|ended| matches!(ended.outcome, Outcome::Failed(_))) {
            println!("FAILED: {}", ended.name);
        }
        let passed: u64 = self.ended.iter().map(|ended| ended.passed).sum();
        let failed: u64 = self.ended.iter().map(|ended| ended.failed).sum();
        println!("{passed} passed, {failed} failed");
    }
}
