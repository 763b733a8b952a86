//! An instance that is being deleted: from its metadata alone, without RGD, graph or expressions.

use std::slice;

use broker_api::graphs::{condition, keys};
use runtime_effect::{note::Note, view::View};
use serde_json::{Map, Value};

use super::{
    Pass, Written,
    condition::{Said, UNKNOWN},
    decision::State,
    manage::marks,
    prune::{Members, Round},
    subject::Subject,
    walk::listed,
};
use crate::applyset::Inventory;

const DELETING: &str = "deleting resources";

impl<'a> Pass<'a> {
    pub(super) fn leave(&mut self, instance: &'a View) {
        if !instance.has_finalizer(keys::FINALIZER) {
            return self.state(State::Gone);
        }
        self.state(State::Deleting);
        let inventory = Inventory::read(&self.set.id, &marks(instance, "labels"), &marks(instance, "annotations"));
        let inventory = match inventory {
            Ok(inventory) => inventory,
            Err(error) => return self.blocked(instance, &error.to_string()),
        };
        match self.members(&inventory) {
            Members::Unknown(Some(why)) => self.blocked(instance, &why),
            // It will soon be known.
            Members::Unknown(None) => {}
            Members::Known(members) if members.is_empty() => self.let_go(instance),
            Members::Known(members) => {
                let round = self.remove(instance, members);
                if self.decision.writes.is_empty() {
                    self.wait(instance, &round);
                }
            }
        }
    }

    fn wait(&mut self, instance: &'a View, round: &Round) {
        if let Some(why) = listed(round.refused.iter().map(String::as_str)) {
            return self.blocked(instance, &why);
        }
        let message = listed(round.held.iter().map(String::as_str))
            .map_or_else(|| DELETING.to_owned(), |held| format!("{DELETING}: waiting for {held}"));
        self.say(instance, message);
    }

    fn blocked(&mut self, instance: &'a View, why: &str) {
        let message = format!("deletion blocked: {why}");
        self.decision.notes.push(Note::warning("DeletionBlocked", message.clone()));
        self.say(instance, message);
    }

    fn say(&mut self, instance: &'a View, message: String) {
        let said = Said { status: UNKNOWN, reason: condition::UNDER_DELETION, message };
        self.show_over(instance, &[None, None, Some(said)], Some(condition::INSTANCE_DELETING));
    }

    /// Nothing is left of it: its finalizer leaves, if it is still as it was seen.
    fn let_go(&mut self, instance: &'a View) {
        let others = instance.finalizers().filter(|held| *held != keys::FINALIZER);
        let metadata = Map::from_iter([("finalizers".to_owned(), others.collect::<Value>())]);
        let written = self.patch(instance, &metadata, Subject::Leave);
        if let Written::Refused(why) = written {
            let why = listed(slice::from_ref(&why).iter().map(String::as_str)).unwrap_or_default();
            self.blocked(instance, &format!("finalizer {} cannot be removed: {why}", keys::FINALIZER));
        }
    }
}
