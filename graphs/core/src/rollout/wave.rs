//! `Wave`: clusters that get a revision together.

use std::collections::BTreeMap;

use runtime_effect::selector::Selector;

use super::{
    member::Member,
    settings::{Amount, Settings},
};

/// Clusters that get a revision together.
pub(super) struct Wave<'a> {
    /// Empty for the last, of those that are in no other.
    pub(super) name: &'a str,
    /// `None` selects all.
    selector: Option<&'a Selector>,
    most: Amount,
    /// Milliseconds.
    pub(super) soak: u64,
    pub(super) members: Vec<&'a Member>,
}

impl<'a> Wave<'a> {
    /// All of a rollout, and the last.
    pub(super) fn all(settings: &'a Settings) -> Vec<Self> {
        let named = settings.waves.iter().map(|wave| Self {
            name: &wave.name,
            selector: Some(&wave.selector),
            most: wave.max_unavailable,
            soak: wave.soak,
            members: Vec::new(),
        });
        let last = Self { name: "", selector: None, most: Amount::Percent(100), soak: 0, members: Vec::new() };
        named.chain([last]).collect()
    }

    pub(super) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.is_none_or(|selector| selector.selects(labels))
    }

    /// How many of its clusters may be under way at a time; at least one, or it would never end.
    pub(super) fn room(&self) -> usize {
        self.most.of(self.members.len()).max(1)
    }
}
