//! What must hold after every step, judged from the journal.

use std::collections::BTreeSet;

use broker_api::keys;
use sim::{Deed, Entry};

use crate::stage::{CERTIFICATE, PRIVATE, PROVIDERS};

/// The first step that must not have happened.
pub(crate) fn judge(entries: &[Entry]) -> Result<(), String> {
    let mut copies = BTreeSet::new();
    for entry in entries {
        let Deed::Change(change) = &entry.deed else { continue };
        if change.namespace == PRIVATE && !["platform", "controllers"].contains(&&*entry.by) {
            return Err(format!("this is none of its business: {entry}"));
        }
        let object = change.after.as_ref().or(change.before.as_ref());
        let is_copy = object.is_some_and(|object| object["metadata"]["annotations"][keys::ORIGIN].is_string());
        if change.resource == CERTIFICATE && is_copy && PROVIDERS.contains(&&*entry.server) {
            if change.after.is_some() {
                copies.insert(&*entry.server);
            } else {
                copies.remove(&*entry.server);
            }
            if copies.len() > 1 {
                return Err(format!("two copies, and nobody moves it: {entry}"));
            }
        }
    }
    Ok(())
}
