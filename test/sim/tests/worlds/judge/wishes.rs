//! What people and providers have said is heeded soon, where nothing goes wrong: a pause, and who takes nothing new (I7).

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use broker_api::keys;
use serde_json::Value;
use sim::Entry;

use super::{HEARD, Step, annotation, assigned, done_to, held::Held};
use crate::stage::{CERTIFICATE, HUB, PROVIDERS};

/// So long a provider may be out of the configuration before its objects go elsewhere (`--orphan-grace`).
const GRACE: Duration = Duration::from_mins(1);

/// What was said, and since when.
#[derive(Default)]
pub(super) struct Wishes {
    /// By uid.
    paused: BTreeMap<String, Duration>,
    /// By provider.
    closed: BTreeMap<String, Duration>,
    /// When each provider was taken out of the configuration that is.
    out: BTreeMap<String, Duration>,
    /// Origins of which somebody has written what only the broker may.
    forged: BTreeSet<String>,
}

fn is_long_ago(step: &Step<'_>, since: Option<&Duration>) -> bool {
    since.is_some_and(|since| step.entry.at > *since + HEARD)
}

impl Wishes {
    /// What is told beside changes.
    pub(super) fn hear(&mut self, entry: &Entry, what: &str) {
        if let Some(provider) = done_to("Leave", what) {
            self.out.entry(provider.to_owned()).or_insert(entry.at);
        }
        if let Some(provider) = done_to("Return", what) {
            self.out.remove(provider);
        }
    }

    /// What the broker does.
    pub(super) fn check(&self, step: &Step<'_>, held: &Held) -> Result<(), String> {
        if step.change.resource != CERTIFICATE || held.was_away(step.server()) {
            return Ok(());
        }
        self.check_pause(step, held)?;
        if PROVIDERS.contains(&step.server()) { Ok(()) } else { self.check_choice(step, held) }
    }

    fn check_pause(&self, step: &Step<'_>, held: &Held) -> Result<(), String> {
        let Some(object) = step.before().or(step.after()) else { return Ok(()) };
        let consumer = annotation(object, keys::CONSUMER_CLUSTER);
        let uid = match annotation(object, keys::CONSUMER_UID) {
            "" => object["metadata"]["uid"].as_str().unwrap_or_default(),
            uid => uid,
        };
        if !held.was_away(consumer) && is_long_ago(step, self.paused.get(uid)) {
            return Err("nothing is to be done about it, said a person".to_owned());
        }
        Ok(())
    }

    /// Whom it assigns an object to.
    fn check_choice(&self, step: &Step<'_>, held: &Held) -> Result<(), String> {
        let Some(after) = step.after() else { return Ok(()) };
        let ([was, went], [is, goes]) = (step.before().map(assigned).unwrap_or_default(), assigned(after));
        let chosen = if goes != went && !goes.is_empty() { goes } else { is };
        let uid = after["metadata"]["uid"].as_str().unwrap_or_default();
        let left = self.out.get(&was).filter(|left| step.entry.at < **left + GRACE && chosen != was && chosen != went);
        // Who takes nothing any more may have been heard to say so before he left.
        let said = self.closed.get(&was).filter(|said| left.is_some_and(|left| *said <= left));
        let is_heard = said.is_some() && !is_long_ago(step, left);
        // That he has left says the coordination cluster.
        let is_told = !held.was_away(HUB);
        if left.is_some() && is_told && !is_heard && !self.forged.contains(uid) {
            return Err(format!("{was} may be back in a moment"));
        }
        let is_new = chosen != was && chosen != went && !held.has(&chosen, uid);
        if is_new && !held.was_away(&chosen) && is_long_ago(step, self.closed.get(&chosen)) {
            return Err(format!("{chosen} has said that it takes nothing new"));
        }
        Ok(())
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        let (change, is_provider) = (step.change, PROVIDERS.contains(&step.server()));
        if change.resource == "acceptapis.broker.platform-mesh.io" && is_provider {
            if step.after().is_none_or(takes_nothing) {
                self.closed.entry(step.server().to_owned()).or_insert(step.entry.at);
            } else {
                self.closed.remove(step.server());
            }
        }
        self.forged.extend(step.forges().map(str::to_owned));
        if step.is_about_origin() {
            let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            match step.after() {
                Some(after) if annotation(after, keys::PAUSED) == "true" => {
                    self.paused.entry(uid(after)).or_insert(step.entry.at);
                }
                Some(object) => _ = self.paused.remove(&uid(object)),
                None => {}
            }
        }
    }
}

fn takes_nothing(acceptance: &Value) -> bool {
    let is_closed = acceptance["spec"]["filters"][0]["suffix"] == ".example.com";
    is_closed || acceptance["spec"]["cordoned"] == true || annotation(acceptance, keys::DRAIN) == "true"
}
