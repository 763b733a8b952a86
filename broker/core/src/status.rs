//! The consumer's status: the copy's, translated, with the broker's own conditions.
//!
//! The status of a consumer object belongs to the broker as a whole. Conditions of the copy pass through; of the
//! broker's own types, ours stand.

use broker_api::condition;
use serde_json::{Value, json};

use crate::{
    merge, related,
    schema::Schema,
    snapshot::{Now, OriginKey, View},
};

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
    let Inputs { key, origin, copy, in_sync, own, schema, now } = inputs;
    let held = origin.value.get("status");
    // A copy without any status says nothing yet: what the consumer shows stays.
    let shown = copy.and_then(View::status);
    let mut status = match shown {
        Some(status) => status.clone(),
        None => held.cloned().unwrap_or_else(|| json!({})),
    };
    if shown.is_some() {
        related::translate(&key.cluster, &key.namespace, &mut status);
    }
    if let Some(copy) = copy.filter(|_| shown.is_some()) {
        let generations = Generations { copy: copy.generation(), origin: origin.generation(), in_sync: *in_sync };
        generations.translate(&mut status, held);
    }
    let wanted = schema.status_has("conditions");
    let known = status.get("conditions").is_some() || held.is_some_and(|held| held.get("conditions").is_some());
    if wanted.unwrap_or(known) {
        set_own(&mut status, held, own, origin.generation(), now);
    }
    schema.stored_status(&status)
}

/// The write that makes the consumer show it; `None` when it does.
pub fn patch(inputs: &Inputs<'_>) -> Option<Patch> {
    let desired = desired(inputs);
    let nothing = json!({});
    let held = inputs.origin.value.get("status").unwrap_or(&nothing);
    let diff = merge::diff(held, &desired)?;
    let good_news = inputs.copy.and_then(View::status).is_none() && inputs.own.iter().all(|own| own.status);
    // What the consumer's API server fills in by itself comes along with any write.
    let news = merge::diff(&inputs.schema.stored_status(held), &desired);
    let only_conditions =
        |news: &Value| news.as_object().is_some_and(|fields| fields.keys().all(|name| name == "conditions"));
    let only_good_news = good_news && news.as_ref().is_none_or(only_conditions);
    let patch = json!({
        "metadata": {"resourceVersion": inputs.origin.resource_version.to_string(), "uid": &*inputs.origin.uid},
        "status": diff,
    });
    let intent = intent(&desired);
    Some(Patch { patch, desired, intent, only_good_news })
}

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

    fn translate(&self, status: &mut Value, held: Option<&Value>) {
        const FIELD: &str = "observedGeneration";
        if let Some(observed) = status.get(FIELD).and_then(Value::as_i64) {
            status[FIELD] = json!(self.of(observed, held.and_then(|held| held.get(FIELD)?.as_i64())));
        }
        let Some(conditions) = status.get_mut("conditions").and_then(Value::as_array_mut) else { return };
        for entry in conditions {
            if let Some(observed) = entry.get(FIELD).and_then(Value::as_i64) {
                let same = held_condition(held, entry["type"].as_str().unwrap_or_default());
                entry[FIELD] = json!(self.of(observed, same.and_then(|same| same.get(FIELD)?.as_i64())));
            }
        }
    }
}

fn held_condition<'a>(held: Option<&'a Value>, kind: &str) -> Option<&'a Value> {
    held?.get("conditions")?.as_array()?.iter().find(|entry| entry["type"].as_str() == Some(kind))
}

fn set_own(status: &mut Value, held: Option<&Value>, own: &[Own], generation: i64, now: &Now) {
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
        let before = held_condition(held, kind).filter(|before| before["status"].as_str() == Some(status));
        // The time of the last transition, not of the last look.
        let since = before.and_then(|before| before["lastTransitionTime"].as_str()).unwrap_or(&now.text);
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
    if let Some(before) = held.and_then(|held| held.get("conditions")?.as_array()) {
        let place = |entry: &Value| before.iter().position(|b| b["type"] == entry["type"]).unwrap_or(usize::MAX);
        conditions.sort_by_key(place);
    }
}
