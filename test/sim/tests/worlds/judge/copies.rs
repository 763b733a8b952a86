//! One copy serves an object, two while it moves (I1), and one that is ready goes only when the next one is (I11).

use std::collections::{BTreeMap, BTreeSet};

use broker_api::keys;
use serde_json::Value;
use sim::{AFTER_ALL, Entry};

use super::{Seen, Step, annotation, goes_away, is_leaving, policy};

/// One copy.
struct Copy {
    /// Of its origin.
    uid: String,
    /// It was once.
    ready: bool,
    leaves: bool,
    /// Its provider was away since: what it holds counts no more until it is seen again.
    left_behind: bool,
}

/// All copies, by provider and name.
#[derive(Default)]
pub(super) struct Copies {
    all: BTreeMap<(String, String), Copy>,
    /// Origins of which somebody has written what only the broker may.
    forged: BTreeSet<String>,
    /// Origins that were called back, and the providers they were on their way to: what is there goes once the one that serves is
    /// seen.
    called_back: BTreeSet<(String, String)>,
    /// Providers that have gone, or cannot be reached: whoever has not heard of it yet may still write there.
    away: BTreeSet<String>,
    /// Providers that may be left when they are silent for a while, as they may be in any weather.
    impatient: BTreeSet<String>,
    /// What comes next was written long ago, by whoever may not even be there any more.
    strays: bool,
}

impl Copies {
    /// A provider goes, or cannot be reached.
    pub(super) fn hear(&mut self, entry: &Entry, what: &str) {
        self.strays |= what.starts_with(AFTER_ALL);
        if let Some((provider, "Impatient")) = policy(what) {
            self.impatient.insert(provider.to_owned());
            self.leave_behind(provider);
        }
        if what == "can be reached" {
            self.away.remove(&*entry.server);
        }
        if let Some(away) = goes_away(&entry.server, what) {
            self.away.insert(away.to_owned());
            self.leave_behind(away);
        }
    }

    fn leave_behind(&mut self, at: &str) {
        for (_, copy) in self.all.iter_mut().filter(|((provider, _), _)| provider == at) {
            copy.left_behind = true;
        }
    }

    /// A copy that is ready is not deleted before another is, unless its origin goes.
    pub(super) fn check_deletion(&self, step: &Step<'_>, seen: &Seen) -> Result<(), String> {
        let Some(before) = step.change.before.as_deref().filter(|_| step.is_about_copy()) else { return Ok(()) };
        let ends = step.change.after.as_deref().is_none_or(is_leaving) && !is_leaving(before);
        let Some(origin) = seen.origin_of(before).filter(|origin| !is_leaving(origin)) else { return Ok(()) };
        let key = (step.server().to_owned(), step.change.name.clone());
        let Some(copy) = self.all.get(&key).filter(|copy| copy.ready && !copy.left_behind) else { return Ok(()) };
        if !ends || before["status"]["status"] != "Available" {
            return Ok(());
        }
        let another = |((provider, _), other): (&(String, String), &Copy)| {
            other.uid == copy.uid && *provider != key.0 && (other.ready || other.left_behind)
        };
        if self.all.iter().any(another) || annotation(origin, keys::FORCE_DELETE) == "true" {
            return Ok(());
        }
        Err("a copy that is ready goes, and no other is".to_owned())
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>, seen: &Seen) -> Result<(), String> {
        self.forged.extend(step.forges().map(str::to_owned));
        let strays = std::mem::take(&mut self.strays);
        if !step.is_about_copy() {
            self.redirect(step);
            return Ok(());
        }
        let key = (step.server().to_owned(), step.change.name.clone());
        let Some(after) = &step.change.after else {
            self.all.remove(&key);
            return Ok(());
        };
        let uid = annotation(after, keys::CONSUMER_UID).to_owned();
        let is_new = step.change.before.is_none();
        let held = self.all.entry(key).or_insert_with(|| Copy {
            uid: uid.clone(),
            ready: false,
            leaves: false,
            left_behind: strays || [&self.away, &self.impatient].iter().any(|left| left.contains(step.server())),
        });
        if !uid.is_empty() && held.uid != uid {
            *held = Copy { uid: uid.clone(), ready: false, leaves: false, left_behind: held.left_behind };
        }
        held.leaves |= is_leaving(after);
        held.ready |= after["status"]["status"] == "Available";
        if is_new { self.check_number(&uid, after, seen) } else { Ok(()) }
    }

    /// The broker sends an object somewhere, or calls it back.
    fn redirect(&mut self, step: &Step<'_>) {
        let (true, Some(before), Some(after)) = (step.is_brokers(), step.before(), step.after()) else { return };
        let ways = |origin| [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER].map(|key| annotation(origin, key));
        let ([serves, to], now) = (ways(before), ways(after));
        let uid = after["metadata"]["uid"].as_str().unwrap_or_default();
        self.called_back.retain(|(of, provider)| of != uid || !now.contains(&provider.as_str()));
        if !to.is_empty() && now == [serves, ""] {
            self.called_back.insert((uid.to_owned(), to.to_owned()));
        }
    }

    fn check_number(&self, uid: &str, made: &Value, seen: &Seen) -> Result<(), String> {
        let called_back = |provider: &str| self.called_back.contains(&(uid.to_owned(), provider.to_owned()));
        let serves = |((provider, _), copy): &(&(String, String), &Copy)| {
            copy.uid == uid && !copy.left_behind && !copy.leaves && !called_back(provider)
        };
        let served = self.all.iter().filter(serves).count();
        let moves = seen
            .origin_of(made)
            .is_none_or(|origin| !annotation(origin, keys::NEW_PROVIDER_CLUSTER).is_empty() || is_leaving(origin));
        match served {
            0 | 1 => Ok(()),
            2 if moves || self.forged.contains(uid) => Ok(()),
            2 => Err("two copies, and nobody moves it".to_owned()),
            more => Err(format!("{more} copies")),
        }
    }
}
