//! Copies that should go and do not: whoever holds them is named, and holds up nobody else.

use broker_api::{ClusterName, condition};
use runtime_effect::{note::Note, view::View};

use super::{BRAKE_MILLIS, HELD_MILLIS, Pass};
use crate::{
    copy,
    snapshot::{Brake, Holder, Live},
};

/// How many finalizers are named, and how much of each: they are a provider's words.
const NAMED: (usize, usize) = (5, 100);

/// How it stands with copies of earlier objects of an origin's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Predecessors {
    /// There are none, or they do not go: nothing is placed where they are.
    Settled,
    /// There are some, which will be gone in a moment.
    Going,
    /// There is one of a newer object: what is known of the origin is old.
    Newer,
    /// There are some that may not go before a person has confirmed it: nothing is done for the origin.
    Braked,
}

impl<'a> Pass<'a> {
    /// Copies of an earlier object of this name go. They block their own provider for as long as they are there; for a
    /// moment, in which they may go, an object that has no provider yet waits for them. Those at a provider that does not
    /// answer go once it does: nothing new is placed there meanwhile.
    pub(super) fn predecessors(&mut self, origin: &'a View) -> Predecessors {
        let snapshot = self.snapshot;
        let mut found: Vec<(&'a Holder, &'a View)> = Vec::new();
        let (mut braked, mut asked) = (None, false);
        for holder in &snapshot.holders {
            let Some(copy) = holder.reachable_copy() else { continue };
            if !self.is_predecessor(origin, holder, copy) {
                continue;
            }
            found.push((holder, copy));
            if copy.deleting {
                continue;
            }
            match (snapshot.brake)(&holder.provider) {
                Brake::Free => {}
                Brake::Held => {
                    braked = Some(&holder.provider);
                    continue;
                }
                Brake::Unknown => {
                    asked = true;
                    continue;
                }
            }
            let place = snapshot.key.place();
            if snapshot.confirmed.as_ref().is_some_and(|said| said.object != place) {
                // First comes what follows from the answer to another question.
                continue;
            }
            match self.confirm(place) {
                // Our cache of the consumer may be older than the copy: then the copy is the newer object's.
                Some(live) if live.is_of(&origin.uid) => _ = self.delete_copy(&holder.provider, copy),
                Some(Live::Present { .. } | Live::Absent) => return Predecessors::Newer,
                Some(Live::Unknown) | None => {}
            }
        }
        if let Some(provider) = braked {
            let why = format!(
                "provider {} keeps the copy of an earlier object of this name: most objects of this cluster have vanished or were made anew at once, and nobody was seen to delete them; a person has to confirm there that their copies may go",
                provider.name()
            );
            self.blocked(origin, condition::ORIGINS_VANISHED, why);
            return Predecessors::Braked;
        }
        if asked {
            self.decision.again_in(BRAKE_MILLIS);
            return Predecessors::Going;
        }
        if found.is_empty() {
            return Predecessors::Settled;
        }
        if !self.outlasts() {
            return Predecessors::Going;
        }
        for (holder, copy) in found {
            let name = holder.provider.name();
            let who = held_by(copy).unwrap_or_else(|| format!("its API server{}", self.refused_removal(copy)));
            let why = format!("a copy of an earlier object of this name is there and does not go; it is held by {who}");
            let message = format!(
                "provider {name} keeps {}/{}, a copy of an earlier object of this name, which is held by {who}; nothing is placed there until it is gone",
                snapshot.key.namespace,
                copy::name(snapshot.key),
            );
            let note = Note::warning(condition::HELD_BY_PROVIDER, message);
            self.decision.notes.push(Note { also: Some(holder.provider.clone()), ..note });
            self.held.push((holder.provider.clone(), why));
        }
        Predecessors::Settled
    }

    /// Whether what is under the copy's name was made for an earlier object of this name.
    fn is_predecessor(&self, origin: &View, holder: &Holder, copy: &View) -> bool {
        self.signed_uid(holder, copy).is_some_and(|uid| *uid != *origin.uid)
    }

    /// Why nothing is placed at a provider where a copy of an earlier object does not go.
    pub(super) fn kept_by(&self, provider: &ClusterName) -> Option<&str> {
        self.held.iter().find(|(held, _)| held == provider).map(|(_, why)| why.as_str())
    }

    /// Whether a copy of an earlier object is at a provider, which may go in a moment.
    pub(super) fn is_being_left(&self, origin: &View, holder: &Holder) -> bool {
        let predecessor = holder.reachable_copy().is_some_and(|copy| self.is_predecessor(origin, holder, copy));
        predecessor && self.kept_by(&holder.provider).is_none()
    }

    /// Whether what is on its way out has been so for longer than a moment. Else it is looked at again then.
    pub(super) fn outlasts(&mut self) -> bool {
        let now = self.snapshot.now.millis;
        // A clock that was set back begins the wait anew.
        let since = self.snapshot.memory.held_since.filter(|since| *since <= now).unwrap_or(now);
        self.decision.held_since = Some(since);
        let left = HELD_MILLIS.saturating_sub(now - since);
        if left > 0 {
            self.decision.again_in(left);
        }
        left == 0 || self.at_once
    }
}

/// Who holds a copy that is on its way out, bounded: `finalizer a.example.org/x`. `None`: nobody but its API server.
pub(super) fn held_by(copy: &View) -> Option<String> {
    let (most, longest) = NAMED;
    let short = |finalizer: &str| finalizer.chars().take(longest).collect::<String>();
    let named: Vec<String> = copy.finalizers().take(most).map(short).collect();
    let word = match copy.finalizers().count() {
        0 => return None,
        1 => "finalizer ".to_owned(),
        count if count > most => format!("{count} finalizers, among them "),
        _ => "finalizers ".to_owned(),
    };
    Some(word + &named.join(", "))
}
