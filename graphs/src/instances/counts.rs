//! `Counts`: how many instances stand how, so that nobody has to look at each of them.

use std::sync::Mutex;

use graphs_core::instance::State;
use runtime_fleet::{hashed::HashMap, lock::lock};

/// How many instances stand how, without those of which nothing is known.
#[derive(Debug, Default)]
pub struct Counts(Mutex<HashMap<State, usize>>);

impl Counts {
    /// An instance that stood so stands in another way.
    pub fn change(&self, before: State, after: State) {
        if before == after {
            return;
        }
        let mut counts = lock(&self.0);
        if let Some(count) = counts.get_mut(&before) {
            *count = count.saturating_sub(1);
        }
        if after != State::Unknown {
            *counts.entry(after).or_default() += 1;
        }
    }

    /// How many stand how.
    pub fn all(&self) -> HashMap<State, usize> {
        let counts = lock(&self.0);
        counts.iter().filter(|(_, count)| **count > 0).map(|(state, count)| (*state, *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_counted() {
        let counts = Counts::default();
        counts.change(State::Unknown, State::Error);
        counts.change(State::Error, State::Error);
        counts.change(State::Unknown, State::Error);
        counts.change(State::Error, State::Active);
        assert_eq!(counts.all(), HashMap::from_iter([(State::Error, 1), (State::Active, 1)]));
        counts.change(State::Error, State::Unknown);
        counts.change(State::Active, State::Unknown);
        assert_eq!(counts.all(), HashMap::default());
    }
}
