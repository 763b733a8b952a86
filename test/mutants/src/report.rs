//! `Report`: which mutations were noticed, by what, and in how many worlds.

use std::time::Duration;

use crate::{mutation::Mutation, trial::Found};

/// So much of a failure is told.
const TOLD: usize = 110;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Report<'a> {
    all: Vec<(&'a Mutation, Found, Duration)>,
}

fn line(mutation: &Mutation, found: &Found, took: Duration) -> String {
    let Mutation { number, breaks, against, .. } = mutation;
    let (at, why) = match found {
        Found::Caught { at, why } => (at.as_str(), why),
        Found::Survived(why) => ("SURVIVES", why),
    };
    let why: String = why.trim().chars().take(TOLD).collect();
    format!("{number:>3}  {at:<12} {:>4} s  {against:<9} {breaks:<62} {why}", took.as_secs())
}

impl<'a> Report<'a> {
    /// Takes one in, and tells of it.
    pub(crate) fn add(&mut self, mutation: &'a Mutation, found: Found, took: Duration) {
        println!("{}", line(mutation, &found, took));
        self.all.push((mutation, found, took));
    }

    /// The table. Returns whether all were noticed.
    pub(crate) fn tell(mut self) -> bool {
        self.all.sort_by_key(|(mutation, ..)| mutation.number);
        println!("\n no  noticed at    took  against   what is broken, and how the worlds notice it");
        for (mutation, found, took) in &self.all {
            println!("{}", line(mutation, found, *took));
        }
        let survivors: Vec<u32> = self
            .all
            .iter()
            .filter(|(_, found, _)| matches!(found, Found::Survived(_)))
            .map(|(mutation, ..)| mutation.number)
            .collect();
        println!("{} mutations, {} survive: {survivors:?}", self.all.len(), survivors.len());
        survivors.is_empty()
    }
}
