//! The consumer's status: the copy's, translated, with the broker's own conditions.
//!
//! The status of a consumer object belongs to the broker as a whole. Conditions of the copy pass through; of the
//! broker's own types, ours stand.

use std::collections::HashMap;

use broker_api::condition;
use runtime_cel::schema::Schema;
use runtime_effect::{merge, now::Now, report, view::View};
use serde_json::{Value, json};

use crate::{related, snapshot::OriginKey};

/// A condition that the broker itself sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// `Brokered` or `Accepted`.
    pub kind: &'static str,
    /// True or False.
    pub status: bool,
    /// CamelCase word.
    pub reason: &'static str,
    /// Words for people.
    pub message: String,
}

impl Own {
    /// `Brokered=True`.
    pub fn placed(provider: &str) -> Self {
        Self {
            kind: condition::BROKERED,
            status: true,
            reason: condition::PLACED,
            message: format!("served by provider {provider}"),
        }
    }

    /// `Brokered=False`.
    pub fn not_brokered(reason: &'static str, message: impl Into<String>) -> Self {
        Self { kind: condition::BROKERED, status: false, reason, message: message.into() }
    }
}

/// Most conditions of a copy, or of the consumer's own making, that the consumer's status keeps beside ours. No
/// kind has as many; a list without an end would be written, and compared, at every change.
pub const MOST_CONDITIONS: usize = 128;

/// Types of conditions that are ours alone.
const OWN: [&str; 3] = [condition::BROKERED, condition::ACCEPTED, condition::MOVING];

/// What a status write is computed from.
pub struct Inputs<'a> {
    /// The origin.
    pub key: &'a OriginKey,
    /// The origin as it is.
    pub origin: &'a View,
    /// The copy whose status is shown, if there is one.
    pub copy: Option<&'a View>,
    /// Whether the copy holds the origin's present spec.
    pub in_sync: bool,
    /// The broker's conditions.
    pub own: &'a [Own],
    /// Types of the broker's of which nothing can be said now: what the consumer shows of them stays.
    pub unsaid: &'a [&'static str],
    /// What the consumer's API server can hold.
    pub schema: &'a Schema,
    /// The moment.
    pub now: &'a Now,
}

/// A status to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Patch {
    /// JSON merge patch with its precondition.
    pub patch: Value,
    /// The status that it leads to.
    pub desired: Value,
    /// Digest of that status, without the moments at which our conditions turned: writing it again is a repeat.
    pub intent: [u8; 8],
    /// Whether it does no more than add the news that all is well.
    pub only_good_news: bool,
}

/// The status that the consumer should show, pruned and defaulted as its API server would.
pub fn desired(inputs: &Inputs<'_>) -> Value {
    let Inputs { key, origin, copy, in_sync, own, unsaid, schema, now } = inputs;
    let held = origin.value.get("status");
    // A copy without any status says nothing yet: what the consumer shows stays.
    let shown = copy.and_then(View::status);
    let mut status = match shown {
        Some(status) => status.clone(),
        None => held.cloned().unwrap_or_else(|| json!({})),
    };
    curtail(&mut status);
    let before = Held::of(held);
    if shown.is_some() {
        related::translate(&key.cluster, &key.namespace, &mut status);
    }
    if let Some(copy) = copy.filter(|_| shown.is_some()) {
        let generations = Generations { copy: copy.generation(), origin: origin.generation(), in_sync: *in_sync };
        generations.translate(&mut status, held, &before);
    }
    let wanted = schema.status_has("conditions");
    let known = status.get("conditions").is_some() || held.is_some_and(|held| held.get("conditions").is_some());
    if wanted.unwrap_or(known) {
        set_own(&mut status, &before, own, origin.generation(), now);
        let unsaid = unsaid.iter().filter(|kind| own.iter().all(|own| own.kind != **kind));
        unsaid.for_each(|kind| keep(&mut status, &before, kind));
    }
    schema.stored_status(status)
}

/// How many conditions there are of which only [`MOST_CONDITIONS`] are shown, if that is so.
pub fn curtailed(origin: &View, copy: Option<&View>) -> Option<usize> {
    let shown = copy.and_then(View::status).or_else(|| origin.value.get("status"))?;
    let count = shown.get("conditions")?.as_array()?.iter().filter(|entry| !is_own(entry)).count();
    (count > MOST_CONDITIONS).then_some(count)
}

/// Keeps the first conditions that are not ours.
fn curtail(status: &mut Value) {
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    let mut kept = 0;
    conditions.retain(|entry| {
        kept += usize::from(!is_own(entry));
        kept <= MOST_CONDITIONS
    });
}

/// The write that makes the consumer show it; `None` when it does.
pub fn patch(inputs: &Inputs<'_>) -> Option<Patch> {
    let desired = desired(inputs);
    let nothing = json!({});
    let held = inputs.origin.value.get("status").unwrap_or(&nothing);
    let patch = report::patch(inputs.origin.version(), Some(held), &desired)?;
    let good_news = inputs.copy.and_then(View::status).is_none() && inputs.own.iter().all(|own| own.status);
    // What the consumer's API server fills in by itself comes along with any write.
    let news = || merge::diff(&inputs.schema.stored_status(held.clone()), &desired);
    let only_conditions =
        |news: Value| news.as_object().is_some_and(|fields| fields.keys().all(|name| name == "conditions"));
    let only_good_news = good_news && news().is_none_or(only_conditions);
    let intent = intent(&desired);
    Some(Patch { patch, desired, intent, only_good_news })
}

/// Not [`report`]'s: when conditions of others turned is part of what they say.
fn intent(desired: &Value) -> [u8; 8] {
    let mut timeless = desired.clone();
    for entry in timeless.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        if let (true, Some(fields)) = (is_own(entry), entry.as_object_mut()) {
            fields.remove("lastTransitionTime");
        }
    }
    merge::digest(&timeless)
}

fn is_own(entry: &Value) -> bool {
    entry["type"].as_str().is_some_and(|kind| OWN.contains(&kind))
}

/// A copy counts its generations for itself. What is current there must look current here, and what is not must not.
struct Generations {
    copy: i64,
    origin: i64,
    in_sync: bool,
}

impl Generations {
    fn of(&self, observed: i64, held: Option<i64>) -> i64 {
        if self.in_sync && observed >= self.copy {
            return self.origin;
        }
        // Any older generation says "not current"; the one that is already there saves a write.
        held.filter(|held| *held < self.origin).unwrap_or_else(|| (self.origin - 1).max(0))
    }

    fn translate(&self, status: &mut Value, held: Option<&Value>, before: &Held<'_>) {
        const FIELD: &str = "observedGeneration";
        if let Some(observed) = status.get(FIELD).and_then(Value::as_i64) {
            status[FIELD] = json!(self.of(observed, held.and_then(|held| held.get(FIELD)?.as_i64())));
        }
        let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
        for entry in conditions {
            if let Some(observed) = entry.get(FIELD).and_then(Value::as_i64) {
                let same = entry["type"].as_str().and_then(|kind| before.condition(kind));
                entry[FIELD] = json!(self.of(observed, same.and_then(|same| same.get(FIELD)?.as_i64())));
            }
        }
    }
}

/// The conditions that the consumer shows now, by type: of several of one type the first. A tenant may make the list
/// as long as an object can be, so nobody searches it.
struct Held<'a>(HashMap<&'a str, (usize, &'a Value)>);

impl<'a> Held<'a> {
    fn of(status: Option<&'a Value>) -> Self {
        let conditions = status.and_then(|status| status.get("conditions")?.as_array());
        let mut by_type = HashMap::new();
        for (place, entry) in conditions.into_iter().flatten().enumerate() {
            if let Some(kind) = entry["type"].as_str() {
                by_type.entry(kind).or_insert((place, entry));
            }
        }
        Self(by_type)
    }

    fn condition(&self, kind: &str) -> Option<&'a Value> {
        self.0.get(kind).map(|(_, entry)| *entry)
    }

    /// Where a condition of this type stands; those that are new come last.
    fn place(&self, entry: &Value) -> usize {
        entry["type"].as_str().and_then(|kind| self.0.get(kind)).map_or(usize::MAX, |(place, _)| *place)
    }
}

/// What the consumer shows of a type stays.
fn keep(status: &mut Value, before: &Held<'_>, kind: &str) {
    let Some(held) = before.condition(kind) else { return };
    let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
    conditions.push(held.clone());
    conditions.sort_by_key(|entry| before.place(entry));
}

fn set_own(status: &mut Value, before: &Held<'_>, own: &[Own], generation: i64, now: &Now) {
    if !status.is_object() {
        *status = json!({});
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    conditions.retain(|entry| !is_own(entry));
    for Own { kind, status, reason, message } in own {
        let status = if *status { "True" } else { "False" };
        let same = before.condition(kind).filter(|before| before["status"].as_str() == Some(status));
        // The time of the last transition, not of the last look.
        let since = same.and_then(|same| same["lastTransitionTime"].as_str()).unwrap_or(&now.text);
        let mut condition = json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        });
        // Good news holds whatever the generation: telling it again for each would be a write per edit.
        if status == "False" {
            condition["observedGeneration"] = json!(generation);
        }
        conditions.push(condition);
    }
    // The API server of a map-typed list may keep any order; ours is by what is there already.
    conditions.sort_by_key(|entry| before.place(entry));
}
