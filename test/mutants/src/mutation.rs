//! `Mutation`: one way to break the code, as `mutations.yaml` lists it.

use std::fs;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::{folder, trial::Worlds};

/// See the module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutation {
    /// One more than that of the one before it.
    pub(crate) number: u32,
    /// For people: what is broken.
    pub(crate) breaks: String,
    /// Which invariants, faults or attacks are about it; see `docs/reliability.md`.
    pub(crate) against: String,
    /// Where, below the workspace's folder.
    pub(crate) file: String,
    /// An expression as it stands there, once; a statement where it ends with `;` or `}`.
    pub(crate) is: String,
    /// What is done instead. Where it has the word `MUTANT` it takes that place as it is, and the word says whether it counts.
    pub(crate) becomes: String,
    /// Numbers of others that are broken at the same time: while they hold, nothing comes of this one. It is noticed where they
    /// alone are not.
    #[serde(default)]
    with: Vec<u32>,
    /// Whether anything comes of it where nothing else is broken. Those of which nothing does are there for others' `with`.
    #[serde(default = "yes")]
    alone: bool,
    /// Whose worlds are to notice it; else it follows from where it is.
    #[serde(default)]
    worlds: Option<Worlds>,
}

fn yes() -> bool {
    true
}

impl Mutation {
    /// Whether it is to be noticed.
    pub(crate) fn is_tried(&self) -> bool {
        self.alone
    }

    /// What is broken, as the worlds are told.
    pub(crate) fn numbers(&self) -> String {
        self.beside().map_or(self.number.to_string(), |beside| format!("{},{beside}", self.number))
    }

    /// What is broken beside it. `None`: nothing.
    pub(crate) fn beside(&self) -> Option<String> {
        let all: Vec<String> = self.with.iter().map(u32::to_string).collect();
        (!all.is_empty()).then(|| all.join(","))
    }

    pub(crate) fn worlds(&self) -> Worlds {
        let of_graphs = self.file.starts_with("graphs/");
        self.worlds.unwrap_or(if of_graphs { Worlds::Graphs } else { Worlds::Broker })
    }
}

/// All of them.
pub(crate) fn list() -> anyhow::Result<Vec<Mutation>> {
    let path = folder::mutations();
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mutations: Vec<Mutation> = serde_saphyr::from_str(&text).with_context(|| path.display().to_string())?;
    for (mutation, number) in mutations.iter().zip(1..) {
        ensure!(mutation.number == number, "no. {} is listed where {number} is to be", mutation.number);
        let is_another = |with: &u32| *with != number && (1..=mutations.len()).contains(&(*with as usize));
        ensure!(mutation.with.iter().all(is_another), "no. {number} is broken with one that is not in the list");
    }
    Ok(mutations)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::tree;

    #[test]
    fn the_list_fits_the_code() {
        let mutations = list().unwrap();
        let tried = mutations.iter().filter(|one| one.is_tried()).count();
        assert!(tried >= 60, "{tried}");
        tree::broken(&folder::workspace(), &mutations).unwrap();
    }
}
