//! Who holds copies of what, and who was away meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use broker_api::keys;

use super::{Step, annotation, goes_away};

/// See the module.
#[derive(Default)]
pub(super) struct Held {
    /// Uid of the origin, by provider and name.
    copies: BTreeMap<(String, String), String>,
    /// Servers that could not be reached, or were taken out: what is said there may not be heard.
    away: BTreeSet<String>,
}

impl Held {
    /// A provider goes, or cannot be reached.
    pub(super) fn hear(&mut self, server: &str, what: &str) {
        self.away.extend(goes_away(server, what).map(str::to_owned));
    }

    pub(super) fn was_away(&self, server: &str) -> bool {
        self.away.contains(server)
    }

    pub(super) fn has(&self, provider: &str, uid: &str) -> bool {
        self.copies.iter().any(|((of, _), held)| of == provider && held == uid)
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        if !step.is_about_copy() {
            return;
        }
        let place = (step.server().to_owned(), step.change.name.clone());
        match step.after().map(|copy| annotation(copy, keys::CONSUMER_UID)) {
            None => _ = self.copies.remove(&place),
            // Somebody has taken the marks off.
            Some("") => {}
            Some(uid) => _ = self.copies.insert(place, uid.to_owned()),
        }
    }
}
