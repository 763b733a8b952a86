//! Related resources: what a copy's status names, whether it may be brought to the consumer, and as what.

use std::collections::BTreeMap;

use broker_api::{ClusterName, keys};
use runtime_effect::{kind::Kind, view::View};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    copy, glob,
    naming::{foreign_prefix, strip_prefix},
    snapshot::OriginKey,
};

/// Most related resources of one copy.
pub(crate) const MOST: usize = 64;

#[derive(Deserialize)]
struct Entry {
    gvk: EntryKind,
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

#[derive(Deserialize)]
struct EntryKind {
    #[serde(default)]
    group: String,
    version: String,
    kind: String,
}

/// A related resource that may be brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Its kind.
    pub kind: Kind,
    /// Namespace in the provider: the copy's own.
    pub namespace: String,
    /// Name in the provider.
    pub name: String,
    /// Name in the consumer: without the prefix.
    pub target: String,
    /// Why it may not be made in the consumer, if its name is none that the provider may choose there. What is there
    /// already is kept up to date.
    pub misnamed: Option<String>,
}

/// What may be brought.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Kinds that the broker brings.
    pub kinds: &'a [Kind],
    /// The AcceptAPI's `relatedKinds`: narrows them; all of them when empty.
    pub narrowed: &'a [String],
    /// The AcceptAPI's `relatedNames`: names beside those that begin with the object's. `None`: any name.
    pub names: Option<&'a [String]>,
}

/// Beginnings of names that belong to Kubernetes in every namespace. No pattern opens them: workloads mount them
/// unasked (`kube-root-ca.crt`, the token Secrets of before Kubernetes 1.24).
const SYSTEM: [&str; 2] = ["kube-", "default-token"];

/// What a status says of related resources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// May be brought.
    pub allowed: Vec<Related>,
    /// May not, each with the reason.
    pub refused: Vec<String>,
}

/// Judges `status.relatedResources` of a copy in `namespace`.
pub fn listing(key: &OriginKey, status: &Value, namespace: &str, terms: Terms<'_>) -> Listing {
    let mut listing = Listing::default();
    let Some(entries) = status.get("relatedResources").and_then(Value::as_object) else { return listing };
    let mut targets: BTreeMap<(Kind, String), String> = BTreeMap::new();
    for (label, raw) in entries.iter().take(MOST) {
        let refusal = match judge(key, raw, namespace, terms) {
            Err(why) => Some(why),
            Ok(related) => {
                let target = (related.kind.clone(), related.target.clone());
                if let Some(other) = targets.insert(target, label.clone()) {
                    Some(format!("it would have the same name in the consumer as {other:?}"))
                } else {
                    listing.allowed.push(related);
                    None
                }
            }
        };
        if let Some(why) = refusal {
            listing.refused.push(format!("relatedResources[{label}] is refused: {why}"));
        }
    }
    if entries.len() > MOST {
        listing.refused.push(format!("only the first {MOST} of {} related resources are brought", entries.len()));
    }
    listing
}

/// Whether an entry of `relatedKinds` names a kind: `Secret`, `Secret.core`, `Certificate.cert-manager.io`.
fn is_named(entry: &str, kind: &Kind) -> bool {
    let (name, group) = entry.split_once('.').map_or((entry, None), |(name, group)| (name, Some(group)));
    let own = if kind.group.is_empty() { "core" } else { &kind.group };
    name == kind.kind && group.is_none_or(|group| group == own)
}

fn judge(key: &OriginKey, raw: &Value, namespace: &str, terms: Terms<'_>) -> Result<Related, String> {
    let entry = Entry::deserialize(raw).map_err(|error| format!("it is not {{gvk, name, namespace}}: {error}"))?;
    let EntryKind { group, version, kind } = entry.gvk;
    let group = if group == "core" { String::new() } else { group };
    let kind = Kind { group, version, kind };
    if !terms.kinds.contains(&kind) {
        return Err(format!(
            "kind {} ({}) is not among the related kinds that the broker brings",
            kind.kind,
            kind.api_version()
        ));
    }
    if !terms.narrowed.is_empty() && !terms.narrowed.iter().any(|entry| is_named(entry, &kind)) {
        return Err(format!("the AcceptAPI's relatedKinds do not list {}", kind.kind));
    }
    if entry.namespace.as_deref().is_some_and(|named| !named.is_empty() && named != namespace) {
        return Err("it is in another namespace than the copy".into());
    }
    if !is_name(&entry.name) {
        return Err("its name is not a valid object name".into());
    }
    if foreign_prefix(&key.cluster, &entry.name) {
        return Err("its name carries the prefix of another consumer".into());
    }
    let target = strip_prefix(&key.cluster, &entry.name).to_owned();
    let misnamed = terms.names.and_then(|names| misnamed(key, &target, names));
    Ok(Related { kind, namespace: namespace.to_owned(), name: entry.name, target, misnamed })
}

/// Why a provider may not choose a name in the consumer. It may where nobody else looks for something of that name: it
/// begins with the object's, or is among those that the AcceptAPI announces.
fn misnamed(key: &OriginKey, target: &str, names: &[String]) -> Option<String> {
    let follows = |stem: &str| {
        let rest = target.strip_prefix(stem);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    // A long name is cut in the copy's, and so in those that are made of it.
    if follows(&key.name) || follows(strip_prefix(&key.cluster, &copy::name(key))) {
        return None;
    }
    if SYSTEM.iter().any(|system| target.starts_with(system)) {
        return Some(format!(
            "the name {target} is Kubernetes' own in the consumer; choose one that begins with the copy's"
        ));
    }
    if names.iter().any(|pattern| glob::matches(pattern, target)) {
        return None;
    }
    Some(format!(
        "the name {target} does not begin with the object's, {}; name it after the copy (<copy>-…), or list the name in the AcceptAPI's relatedNames",
        key.name
    ))
}

/// Names go into request paths: only what can be a Kubernetes name (RFC 1123 subdomain) does.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
        && name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name.ends_with(|char: char| char.is_ascii_alphanumeric())
}

/// Why this object itself may not be brought, although its reference is in order.
pub fn refusal(kind: &Kind, source: &View, copy: &View) -> Option<String> {
    if kind.kind == "Secret" && kind.group.is_empty() {
        let secret_type = source.value["type"].as_str().unwrap_or_default();
        if matches!(secret_type, "kubernetes.io/service-account-token" | "bootstrap.kubernetes.io/token") {
            return Some(format!("Secrets of type {secret_type} are never brought"));
        }
    }
    is_anothers(source, copy).then(|| "it belongs to another object of this kind".into())
}

/// Whether a related object belongs to another copy, perhaps an earlier one of the same name.
pub fn is_anothers(source: &View, copy: &View) -> bool {
    let owners = source.value["metadata"]["ownerReferences"].as_array();
    let (api_version, copy_kind) = (&copy.value["apiVersion"], &copy.value["kind"]);
    let mut of_copies = owners.into_iter().flatten().filter(|owner| {
        group_of(owner["apiVersion"].as_str()) == group_of(api_version.as_str()) && owner["kind"] == *copy_kind
    });
    // A Secret that belongs to copies belongs to ours: a tenant whose spec steers names must not reach another's.
    let mut owned = of_copies.clone().peekable();
    owned.peek().is_some() && !of_copies.any(|owner| owner["uid"].as_str() == Some(&*copy.uid))
}

fn group_of(api_version: Option<&str>) -> &str {
    api_version.and_then(|text| text.split_once('/')).map_or("", |(group, _)| group)
}

fn content(object: &Value) -> Map<String, Value> {
    // `immutable` would keep a rotated Secret from arriving.
    let own = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata" | "status" | "immutable");
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The related copy as it should be in the consumer.
pub fn desired(key: &OriginKey, origin: &View, source: &View) -> Value {
    let mut body = content(&source.value);
    let owner = json!([{
        "apiVersion": key.gvk.api_version(),
        "kind": key.gvk.kind,
        "name": &*key.name,
        "uid": &*origin.uid,
    }]);
    let metadata = json!({"labels": {keys::MANAGED_BY: keys::MANAGER}, "ownerReferences": owner});
    body.insert("metadata".into(), metadata);
    Value::Object(body)
}

/// What of a related copy is the broker's: its content, the label and the owners.
pub fn observed(held: &Value) -> Value {
    let metadata = &held["metadata"];
    let mut observed = content(held);
    let labels = json!({keys::MANAGED_BY: metadata["labels"][keys::MANAGED_BY]});
    let owners = metadata["ownerReferences"].as_array().cloned().unwrap_or_default();
    observed.insert("metadata".into(), json!({"labels": labels, "ownerReferences": owners}));
    Value::Object(observed)
}

/// The merge patch that makes the related copy what it should be; `None` when it is. Other owners stay.
pub fn patch(desired: &Value, held: &View) -> Option<Value> {
    let observed = observed(&held.value);
    let mut desired = desired.clone();
    let ours = desired["metadata"]["ownerReferences"][0].take();
    let mut owners = observed["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    match owners.iter_mut().find(|owner| owner["uid"] == ours["uid"]) {
        Some(owner) => ["apiVersion", "kind", "name"].iter().for_each(|field| owner[*field] = ours[*field].clone()),
        None => owners.push(ours),
    }
    desired["metadata"]["ownerReferences"] = Value::Array(owners);
    runtime_effect::merge::diff(&observed, &desired).map(|patch| held.version().guard(patch))
}

/// Whether an object in the consumer is a related copy that the broker made for this origin. An owner alone does not
/// say so: other controllers of the consumer make objects that the origin owns.
pub fn belongs(origin_uid: &str, held: &View) -> bool {
    let owners = held.value["metadata"]["ownerReferences"].as_array();
    let owned = owners.into_iter().flatten().any(|owner| owner["uid"].as_str() == Some(origin_uid));
    owned && (held.label(keys::MANAGED_BY) == Some(keys::MANAGER) || held.applied_by_us)
}

/// The consumer's view of `status.relatedResources`: names without the prefix, in the object's own namespace.
pub fn translate(consumer: &ClusterName, namespace: &str, status: &mut Value) {
    let Some(entries) = status.get_mut("relatedResources").and_then(Value::as_object_mut) else { return };
    for entry in entries.values_mut().filter_map(Value::as_object_mut) {
        if let Some(name) = entry.get("name").and_then(Value::as_str) {
            let stripped = strip_prefix(consumer, name).to_owned();
            entry.insert("name".into(), json!(stripped));
        }
        if entry.contains_key("namespace") {
            entry.insert("namespace".into(), json!(namespace));
        }
    }
}
