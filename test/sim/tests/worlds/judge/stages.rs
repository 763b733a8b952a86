//! A move waits for the stages of its Migration: those before the switch, and those before the old copy goes (I11).

use std::{collections::BTreeMap, time::Duration};

use broker_api::keys;
use serde_json::Value;
use sim::Entry;

use super::{HEARD, Seen, Step, annotation, held::Held, is_leaving};
use crate::stage::{CERTIFICATE, HUB, MIGRATIONS};

const CONFIGURATIONS: &str = "migrationconfigurations.broker.platform-mesh.io";

/// What people say to a Migration is heeded within this, where nothing goes wrong.
const OBEYED: Duration = Duration::from_secs(1);

/// A Migration.
struct Move {
    /// Of the origin.
    uid: String,
    from: String,
    to: String,
    state: String,
    /// It was made when everybody had heard that moves have stages.
    configured: bool,
    /// Since when a person wants it to go no further.
    paused: Option<Duration>,
    /// Since when a person has given it up.
    aborted: Option<Duration>,
}

impl Move {
    /// Whether a person has said long ago that this does not happen.
    fn defies(&self, now: &Value, at: Duration) -> Option<&'static str> {
        let state = now["status"]["state"].as_str().unwrap_or_default();
        if state == self.state || state == "Failed" || is_leaving(now) {
            return None;
        }
        let is_long_ago = |since: Option<Duration>| since.is_some_and(|since| at > since + OBEYED);
        if is_long_ago(self.paused) {
            return Some("a Migration goes on that is paused");
        }
        let is_before = ["", "Pending", "InitialInProgress"].contains(&&*self.state);
        (is_before && is_long_ago(self.aborted)).then_some("a Migration goes on that was given up")
    }
}

/// All Migrations.
#[derive(Default)]
pub(super) struct Stages {
    moves: BTreeMap<String, Move>,
    /// Since when moves have stages, where somebody says so.
    configured: Option<Duration>,
    /// What says so is not served.
    hidden: bool,
}

impl Stages {
    /// What is told beside changes.
    pub(super) fn hear(&mut self, entry: &Entry, what: &str) {
        if what == "Hide" || what == "Show" {
            self.hidden = what == "Hide";
            self.configured = self.configured.map(|_| entry.at);
        }
    }

    /// What the broker does.
    pub(super) fn check(&self, step: &Step<'_>, seen: &Seen, held: &Held) -> Result<(), String> {
        if step.change.resource != CERTIFICATE {
            return Ok(());
        }
        if step.is_about_copy() { self.check_deletion(step, seen, held) } else { self.check_switch(step, held) }
    }

    fn check_switch(&self, step: &Step<'_>, held: &Held) -> Result<(), String> {
        let (Some(before), Some(after)) = (step.before(), step.after()) else { return Ok(()) };
        let Some(now) = shown(after).filter(|now| shown(before) != Some(now)) else { return Ok(()) };
        let uid = after["metadata"]["uid"].as_str().unwrap_or_default();
        let early = self.moves.values().any(|one| {
            let is_before_switch = matches!(&*one.state, "" | "Pending" | "InitialInProgress");
            let is_held = held.has(&one.from, uid) && !held.was_away(&one.from);
            // One that a person asks for waits beside one between the same providers that goes on.
            let is_beside = |other: &Move| {
                let is_done = matches!(&*other.state, "InitialCompleted" | "CutoverInProgress");
                is_done && (&other.uid, &other.from, &other.to) == (&one.uid, &one.from, &one.to)
            };
            one.uid == uid && one.to == now && is_before_switch && is_held && !self.moves.values().any(is_beside)
        });
        if early { Err("the consumer is switched before the stages before it have ended".to_owned()) } else { Ok(()) }
    }

    fn check_deletion(&self, step: &Step<'_>, seen: &Seen, held: &Held) -> Result<(), String> {
        let Some(before) = step.before().filter(|before| !is_leaving(before)) else { return Ok(()) };
        let goes = step.after().is_none_or(is_leaving);
        let lives = seen.origin_of(before).is_some_and(|origin| !is_leaving(origin));
        let uid = annotation(before, keys::CONSUMER_UID);
        let early = self.moves.values().any(|one| {
            let is_behind_switch = matches!(&*one.state, "InitialCompleted" | "CutoverInProgress");
            one.uid == uid && one.from == step.server() && is_behind_switch && !held.was_away(&one.from)
        });
        if early && goes && lives {
            return Err("the old copy goes before the stages behind the switch have ended".to_owned());
        }
        Ok(())
    }

    /// Stages behind the switch begin once the consumer is switched, and none is left out.
    pub(super) fn check_order(&self, step: &Step<'_>, seen: &Seen, held: &Held) -> Result<(), String> {
        let is_migration = step.server() == HUB && step.change.resource == MIGRATIONS;
        let Some(now) = step.after().filter(|_| is_migration).map(read) else { return Ok(()) };
        let was = self.moves.get(&step.change.name);
        let defies = was.zip(step.after()).and_then(|(was, now)| was.defies(now, step.entry.at));
        if let Some(defies) = defies.filter(|_| !held.was_away(HUB)) {
            return Err(defies.to_owned());
        }
        let is_past = ["InitialCompleted", "CutoverInProgress", "CutoverCompleted"].contains(&&*now.state);
        let unstaged = was.is_some_and(|was| was.configured && matches!(&*was.state, "" | "Pending"));
        if unstaged && is_past && !self.hidden && self.configured.is_some() && !held.was_away(HUB) {
            return Err("it moves without its stages".to_owned());
        }
        let begins = now.state == "CutoverInProgress" && was.is_none_or(|was| was.state != now.state);
        let origin = seen.with_uid(&now.uid).filter(|origin| begins && !is_leaving(origin));
        // One that lets nobody write its status holds nobody up.
        let is_writable = step.after().is_some_and(|now| !held.was_away(annotation(now, keys::CONSUMER_CLUSTER)));
        let is_early = origin.is_some_and(|origin| shown(origin) != Some(&*now.to)) && !held.was_away(&now.from);
        if is_early && is_writable { Err("stages behind the switch begin before it".to_owned()) } else { Ok(()) }
    }

    /// Takes a step in.
    pub(super) fn take(&mut self, step: &Step<'_>) {
        if step.server() != HUB {
            return;
        }
        if step.change.resource == CONFIGURATIONS && step.before().is_some() != step.after().is_some() {
            self.configured = step.after().map(|_| step.entry.at);
        }
        if step.change.resource != MIGRATIONS {
            return;
        }
        let name = &step.change.name;
        let Some(after) = step.after() else {
            self.moves.remove(name);
            return;
        };
        let known = self.configured.is_some_and(|since| step.entry.at > since + HEARD) && !self.hidden;
        let before = self.moves.get(name);
        let configured = before.map_or(known, |made| made.configured);
        let since = |word: &str, before: Option<Duration>| {
            (after["spec"][word] == true).then(|| before.unwrap_or(step.entry.at))
        };
        let paused = since("paused", before.and_then(|before| before.paused));
        let aborted = since("abort", before.and_then(|before| before.aborted));
        self.moves.insert(name.clone(), Move { configured, paused, aborted, ..read(after) });
    }
}

fn read(migration: &Value) -> Move {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Move {
        uid: annotation(migration, keys::CONSUMER_UID).to_owned(),
        from: text(&migration["spec"]["from"]["clusterName"]),
        to: text(&migration["spec"]["to"]["clusterName"]),
        state: text(&migration["status"]["state"]),
        configured: false,
        paused: None,
        aborted: None,
    }
}

/// Who serves it, as the consumer sees it.
fn shown(origin: &Value) -> Option<&str> {
    let conditions = origin["status"]["conditions"].as_array()?;
    let brokered = conditions.iter().find(|condition| condition["type"] == "Brokered")?;
    brokered["message"].as_str()?.strip_prefix("served by provider ")
}
