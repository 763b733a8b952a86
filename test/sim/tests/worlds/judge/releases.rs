//! What is let go of only when nothing is left of it (I4): an object after its copies, a Migration after what its stages have made,
//! a namespace when nobody has anything in it. And nothing is made for an object that is not held.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker_api::keys;
use serde_json::{Value, json};
use sim::{AFTER_ALL, Entry};

use super::{Away, Seen, Step, annotation, assigned, done_to, is_foreign, is_leaving};
use crate::stage::{CERTIFICATE, HUB, MIGRATIONS};

/// Who can be reached again is found to be within this: whoever waited for an answer in silence has to give up first.
const FOUND: Duration = Duration::from_mins(1);

/// Server, resource, namespace and name.
type Place = [String; 4];

/// See the module.
#[derive(Default)]
pub(super) struct Releases {
    /// Of each copy that can be known of: uid of its origin, as it is said there.
    copies: BTreeMap<Place, String>,
    /// Of what stages have made: the Migration's id.
    made: BTreeMap<Place, String>,
    /// What is somebody else's.
    others: BTreeSet<Place>,
    /// Origins that a person has taken our finalizer off.
    let_go: BTreeSet<String>,
    /// Providers that were taken out of the configuration: what they hold may never be heard of again.
    left: BTreeSet<String>,
    /// What a provider holds that was given up for being away goes when it is back.
    away: Away,
    /// Since when each is that was: it takes a moment until that is known.
    back: BTreeMap<String, Duration>,
    /// What comes next was written long ago.
    strays: bool,
}

fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|all| all.contains(&json!(keys::FINALIZER)))
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn place(step: &Step<'_>) -> Place {
    [step.server(), &step.change.resource, &step.change.namespace, &step.change.name].map(str::to_owned)
}

impl Releases {
    /// What is told beside changes.
    pub(super) fn hear(&mut self, entry: &Entry, what: &str) {
        self.strays |= what.starts_with(AFTER_ALL);
        self.left.extend(done_to("Leave", what).map(str::to_owned));
        if self.away.has(&entry.server) {
            self.back.insert(entry.server.clone(), entry.at);
        }
        self.away.hear(&entry.server, what);
    }

    /// What the broker does.
    pub(super) fn check(&self, step: &Step<'_>, seen: &Seen) -> Result<(), String> {
        let change = step.change;
        let released = step.before().filter(|before| is_held(before) && !step.after().is_some_and(is_held));
        match (&*change.resource, released) {
            (CERTIFICATE, Some(origin)) if step.is_about_origin() => self.check_origin(origin, step.entry.at),
            (CERTIFICATE, None) if step.is_about_copy() && step.before().is_none() => self.check_copy(step, seen),
            (MIGRATIONS, Some(migration)) if step.server() == HUB => {
                let id = migration["status"]["id"].as_str().unwrap_or_default();
                let left = self.made.iter().find(|(_, of)| *of == id);
                left.map_or(Ok(()), |(place, _)| {
                    Err(format!("its Migration goes, and {} is left", place[1..].join(" ")))
                })
            }
            ("namespaces", _) if step.after().is_none_or(is_leaving) => {
                let others =
                    self.others.iter().find(|[at, _, within, _]| *at == step.server() && *within == change.name);
                others.map_or(Ok(()), |[_, what, _, name]| Err(format!("somebody has {what} {name} in it")))
            }
            _ => Ok(()),
        }
    }

    fn check_origin(&self, origin: &Value, now: Duration) -> Result<(), String> {
        let is_away = |provider: &String| {
            self.away.has(provider) || self.back.get(provider).is_some_and(|since| now < *since + FOUND)
        };
        let given_up = |provider: &String| is_away(provider) && !assigned(origin).contains(provider);
        let known = |place: &Place| !self.left.contains(&place[0]) && !given_up(&place[0]);
        let left = self.copies.iter().find(|(place, of)| *of == uid(origin) && known(place));
        match left.filter(|_| annotation(origin, keys::FORCE_DELETE) != "true") {
            Some((place, _)) => Err(format!("its object goes, and the copy at {} is left", place[0])),
            None => Ok(()),
        }
    }

    fn check_copy(&self, step: &Step<'_>, seen: &Seen) -> Result<(), String> {
        let origin = step.after().and_then(|copy| seen.origin_of(copy));
        let loose = origin.filter(|origin| !self.strays && !is_held(origin) && !self.let_go.contains(uid(origin)));
        loose.map_or(Ok(()), |_| Err("a copy is made of what nothing holds".to_owned()))
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        let strays = std::mem::take(&mut self.strays);
        let place = place(step);
        let Some(after) = step.after() else {
            self.copies.remove(&place);
            self.made.remove(&place);
            self.others.remove(&place);
            return;
        };
        if is_foreign(after) {
            self.others.insert(place.clone());
        }
        if let Some(id) = after["metadata"]["labels"][keys::MIGRATION_ID].as_str()
            && !strays
        {
            self.made.insert(place.clone(), id.to_owned());
        }
        if step.is_about_copy() {
            match annotation(after, keys::CONSUMER_UID) {
                // Nobody can tell any more whose it is.
                "" => _ = self.copies.remove(&place),
                uid if !strays => _ = self.copies.insert(place, uid.to_owned()),
                _ => {}
            }
        } else if step.is_about_origin() && !step.is_brokers() && step.before().is_some_and(is_held) && !is_held(after)
        {
            self.let_go.insert(uid(after).to_owned());
        }
    }
}
