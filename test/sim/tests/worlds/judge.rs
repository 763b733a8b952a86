//! What must hold after every step, judged from the journal.

mod copies;
mod held;
mod loyalty;
mod releases;
mod secrets;
mod stages;
mod statuses;
mod strangers;
mod wishes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use broker_api::keys;
use serde_json::Value;
use sim::{Change, Deed, Entry, UNGUARDED, UNLED};

use self::{
    copies::Copies,
    held::Held,
    loyalty::Loyalty,
    releases::Releases,
    secrets::check_secret,
    stages::Stages,
    statuses::check_status,
    strangers::{Neighbours, check_stranger},
    wishes::Wishes,
};
use crate::stage::{CERTIFICATE, FOREIGN, PRIVATE, PROVIDERS, SHOP};

/// It takes no longer to hear of something.
const HEARD: Duration = Duration::from_secs(5);

/// The first step that must not have happened; `is_calm`: nothing goes wrong but what people and clusters do.
pub(crate) fn judge(entries: &[Entry], is_calm: bool) -> Result<(), String> {
    let mut seen = Seen::default();
    let mut copies = Copies::default();
    let (mut held, mut stages, mut wishes) = (Held::default(), Stages::default(), Wishes::default());
    let (mut releases, mut neighbours) = (Releases::default(), Neighbours::default());
    let mut loyalty = Loyalty::default();
    for entry in entries {
        let change = match &entry.deed {
            Deed::Change(change) => change,
            Deed::Told(what) if [UNGUARDED, UNLED].iter().any(|never| what.starts_with(never)) => {
                return Err(entry.to_string());
            }
            Deed::Told(what) => {
                copies.hear(entry, what);
                loyalty.hear(entry, what);
                releases.hear(entry, what);
                stages.hear(entry, what);
                wishes.hear(entry, what);
                held.hear(&entry.server, what);
                continue;
            }
        };
        let step = Step { entry, change };
        let wrong = |why: String| format!("{why}: {entry}");
        if step.is_brokers() {
            check_stranger(&step).map_err(wrong)?;
            check_secret(&step).map_err(wrong)?;
            check_status(&step).map_err(wrong)?;
            copies.check_deletion(&step, &seen).map_err(wrong)?;
            stages.check(&step, &seen, &held).map_err(wrong)?;
            releases.check(&step, &seen).map_err(wrong)?;
            loyalty.check(&step).map_err(wrong)?;
            if is_calm {
                neighbours.check(&step).map_err(wrong)?;
                stages.check_order(&step, &seen, &held).map_err(wrong)?;
                wishes.check(&step, &held).map_err(wrong)?;
            }
        }
        stages.take(&step);
        wishes.take(&step);
        releases.take(&step);
        neighbours.take(&step);
        loyalty.take(&step);
        held.take(&step);
        seen.take(&step);
        copies.take(&step, &seen).map_err(wrong)?;
    }
    Ok(())
}

/// A change, and who made it.
struct Step<'a> {
    entry: &'a Entry,
    change: &'a Change,
}

impl Step<'_> {
    fn is_brokers(&self) -> bool {
        self.entry.by.starts_with("resource-broker")
    }

    fn server(&self) -> &str {
        &self.entry.server
    }

    fn before(&self) -> Option<&Value> {
        self.change.before.as_deref()
    }

    fn after(&self) -> Option<&Value> {
        self.change.after.as_deref()
    }

    /// Whether it is about a Certificate that a consumer has asked for.
    fn is_about_origin(&self) -> bool {
        self.change.resource == CERTIFICATE && self.change.namespace == SHOP && !PROVIDERS.contains(&self.server())
    }

    /// The origin's uid, where somebody else writes what only the broker may.
    fn forges(&self) -> Option<&str> {
        let by_person = !self.is_brokers() && self.entry.by != "controllers";
        let (before, after) = (self.before()?, self.after().filter(|_| by_person && self.is_about_origin())?);
        let marks = [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER, keys::ASSIGNMENT];
        let differs = marks.iter().any(|mark| annotation(before, mark) != annotation(after, mark));
        before["metadata"]["uid"].as_str().filter(|_| differs)
    }

    /// Whether it is about a copy of somebody's Certificate in a provider, not one that somebody pretends to be one.
    fn is_about_copy(&self) -> bool {
        self.change.resource == CERTIFICATE
            && PROVIDERS.contains(&self.server())
            && self.change.namespace != PRIVATE
            && !self.change.name.starts_with("forged")
            && ![self.before(), self.after()].into_iter().flatten().any(is_foreign)
    }
}

/// Whether it is of somebody whom the broker does not know.
fn is_foreign(object: &Value) -> bool {
    object["metadata"]["labels"][FOREIGN].is_string()
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key].as_str().unwrap_or_default()
}

/// Whom somebody has done this to, where that is what is told.
fn done_to<'a>(act: &str, what: &'a str) -> Option<&'a str> {
    what.strip_prefix(act)?.strip_prefix("(\"")?.strip_suffix("\")")
}

/// The provider whose AcceptAPI says something else from now on, and what, where that is what is told.
fn policy(what: &str) -> Option<(&str, &str)> {
    what.strip_prefix("Policy(\"")?.strip_suffix(')')?.split_once("\", ")
}

/// Who serves an object, and who is to, by its annotations.
fn assigned(object: &Value) -> [String; 2] {
    [keys::PROVIDER_CLUSTER, keys::NEW_PROVIDER_CLUSTER].map(|key| annotation(object, key).to_owned())
}

/// Servers that cannot be reached.
#[derive(Default)]
struct Away(BTreeSet<String>);

impl Away {
    fn hear(&mut self, server: &str, what: &str) {
        if what == "can be reached" {
            self.0.remove(server);
        } else if what.starts_with("cannot be reached") {
            self.0.insert(server.to_owned());
        }
    }

    fn has(&self, server: &str) -> bool {
        self.0.contains(server)
    }
}

/// The server that from now on is not heard of: it is taken out, or cannot be reached.
fn goes_away<'a>(server: &'a str, what: &'a str) -> Option<&'a str> {
    done_to("Leave", what).or_else(|| what.starts_with("cannot be reached").then_some(server))
}

fn is_leaving(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The Certificates of all consumers, as they are after each step.
#[derive(Default)]
struct Seen(BTreeMap<(String, String), Arc<Value>>);

impl Seen {
    fn take(&mut self, step: &Step<'_>) {
        let Change { name, after, .. } = step.change;
        if step.is_about_origin() {
            let key = (step.server().to_owned(), name.clone());
            match after {
                Some(after) => self.0.insert(key, Arc::clone(after)),
                None => self.0.remove(&key),
            };
        }
    }

    fn of(&self, tenant: &str, name: &str) -> Option<&Value> {
        self.0.get(&(tenant.to_owned(), name.to_owned())).map(|origin| &**origin)
    }

    /// The one of this uid, where it is there.
    fn with_uid(&self, uid: &str) -> Option<&Value> {
        self.0.values().map(|origin| &**origin).find(|origin| origin["metadata"]["uid"] == uid)
    }

    /// The origin that a copy names, where it is still the same.
    fn origin_of(&self, copy: &Value) -> Option<&Value> {
        let origin = self.of(annotation(copy, keys::CONSUMER_CLUSTER), annotation(copy, keys::CONSUMER_NAME))?;
        (origin["metadata"]["uid"] == annotation(copy, keys::CONSUMER_UID)).then_some(origin)
    }
}
