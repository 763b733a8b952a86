//! `Failures`: why discovery fails.

use std::sync::{Mutex, PoisonError};

use kube::core::GroupVersionKind;

use crate::hashed::HashMap;

/// Longest reason, in characters: an API server chose its words.
const REASON: usize = 200;

/// Why discovery fails, by kind.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<GroupVersionKind, String>>);

impl Failures {
    /// Discovery of a kind has failed, or not.
    pub(crate) fn note(&self, gvk: &GroupVersionKind, error: Option<&dyn std::fmt::Display>) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            Some(error) => {
                let text = error.to_string();
                let why = text.chars().map(|char| if char.is_control() { ' ' } else { char });
                held.insert(gvk.clone(), why.take(REASON).collect());
            }
            None => {
                held.remove(gvk);
            }
        }
    }

    pub(crate) fn of(&self, gvk: &GroupVersionKind) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(gvk).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded_and_forgotten() {
        let (failures, gvk) = (Failures::default(), GroupVersionKind::gvk("g", "v1", "K"));
        failures.note(&gvk, Some(&format!("{}\n{}", "a".repeat(100), "b".repeat(1000))));
        let why = failures.of(&gvk).unwrap();
        assert!(why.len() == REASON && !why.contains('\n'), "{why}");
        failures.note(&gvk, None);
        assert_eq!(failures.of(&gvk), None);
    }
}
