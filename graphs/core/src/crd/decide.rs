//! What is to be done about an RGD's CRD.

use std::collections::BTreeSet;

use broker_api::graphs::keys;
use serde_json::{Map, Value};

use super::{Owner, Report, compare, digest_of, ownership, ownership::text_at, same};

/// What is to be done about a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There is none: make it.
    Create,
    /// It is as it is to be.
    Keep,
    /// It differs: apply the one that is wanted. What changes in its schema is for people.
    Update(Report),
    /// It must not be touched; why is the message of condition KindReady.
    Refuse(String),
}

/// What is to be done about the CRD of this RGD, given the one that is there. `allow_breaking` is whether the RGD has
/// annotation [`keys::ALLOW_BREAKING_CHANGES`] with [`keys::TRUE`].
pub fn decide(existing: Option<&Value>, desired: &Value, owner: Owner<'_>, allow_breaking: bool) -> Verdict {
    let Some(existing) = existing else { return Verdict::Create };
    let name = text_at(desired, "/metadata/name");
    if let Some(why) = ownership(existing, owner).refusal(name) {
        return Verdict::Refuse(why);
    }
    change(existing, desired, allow_breaking)
}

/// The same of a CRD that is known to be this RGD's.
pub fn change(existing: &Value, desired: &Value, allow_breaking: bool) -> Verdict {
    let name = text_at(desired, "/metadata/name");
    if is_as_desired(existing, desired) {
        return Verdict::Keep;
    }
    match compare(existing, desired) {
        // Somebody edited what was applied: it is put right, whatever that takes away again.
        Ok(report) if is_applied(existing, desired) => Verdict::Update(report),
        Err(error) => Verdict::Refuse(format!("failed to update CRD {name}: {error}")),
        Ok(report) if report.is_breaking() && !allow_breaking => {
            Verdict::Refuse(format!("cannot update CRD {name}: breaking changes detected: {}", report.summary()))
        }
        Ok(report) => Verdict::Update(report),
    }
}

fn is_applied(existing: &Value, desired: &Value) -> bool {
    digest_of(existing).is_some_and(|digest| digest_of(desired) == Some(digest))
}

/// Whether all that we own of a CRD is as it is to be. Labels and annotations of others, and which version of the controller
/// wrote it, make no difference.
fn is_as_desired(existing: &Value, desired: &Value) -> bool {
    let marks = |pointer: &str| {
        let found = existing.pointer(pointer);
        let wanted = desired.pointer(pointer).and_then(Value::as_object);
        let is_there = |key: &str, value: &Value| found.and_then(|found| found.get(key)) == Some(value);
        wanted.into_iter().flatten().all(|(key, value)| key == keys::VERSION || is_there(key, value))
    };
    marks("/metadata/labels") && marks("/metadata/annotations") && same_spec(existing, desired)
}

fn same_spec(existing: &Value, desired: &Value) -> bool {
    let specs = [existing, desired].map(|crd| crd.get("spec").and_then(Value::as_object));
    let keys: BTreeSet<&String> = specs.into_iter().flatten().flat_map(Map::keys).collect();
    // API servers write preserveUnknownFields on some, and its only allowed value is false.
    keys.into_iter().filter(|key| *key != "preserveUnknownFields").all(|key| {
        let [found, wanted] = specs.map(|spec| spec.and_then(|spec| spec.get(key)).unwrap_or(&Value::Null));
        same(found, wanted)
    })
}
