//! The copy of an origin: what it should look like, and whether what is there does.

use broker_api::{ClusterName, keys};
use runtime_cel::schema::Schema;
use runtime_effect::{merge, view::View};
use serde_json::{Map, Value, json};

use crate::{
    assignment::{KeyRing, Seal},
    naming::{self, consumer_hash},
    snapshot::{OriginKey, name_limit},
};

/// Name of an origin's copy.
pub fn name(key: &OriginKey) -> String {
    naming::copy_name(&key.cluster, &key.name, name_limit(&key.gvk))
}

/// The slot of the consumer with this hash: its first byte.
fn slot(consumer: &str) -> &str {
    consumer.get(..2).unwrap_or(consumer)
}

/// Whether a person's label or annotation goes along with the copy. Kubernetes' own and ours do not.
pub fn travels(key: &str) -> bool {
    let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
    !(key.starts_with(keys::PREFIX)
        || prefix == "kubectl.kubernetes.io"
        || prefix == "k8s.io"
        || prefix.ends_with(".k8s.io"))
}

fn travelling(origin: &Value, map: &str) -> Map<String, Value> {
    let held = origin["metadata"][map].as_object();
    held.into_iter()
        .flatten()
        .filter(|(key, _)| travels(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// All top-level fields but metadata and status: what an origin and its copy have in common.
fn content(object: &Value) -> Map<String, Value> {
    let own = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata" | "status");
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The copy as it should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// What is applied: payload and marks.
    pub body: Value,
    /// Digest of the payload before the provider's schema pruned it: what the origin's signature carries.
    pub digest: [u8; 8],
    /// Fields that the provider's schema does not have.
    pub lost: Vec<String>,
}

/// The copy as it should be at a provider.
pub fn desired(
    key: &OriginKey,
    origin: &View,
    provider: &ClusterName,
    epoch: u64,
    schema: &Schema,
    ring: &KeyRing,
) -> Desired {
    let mut payload = content(&origin.value);
    let metadata = json!({
        "labels": travelling(&origin.value, "labels"),
        "annotations": travelling(&origin.value, "annotations"),
    });
    payload.insert("metadata".into(), metadata);
    let mut payload = Value::Object(payload);
    let digest = merge::digest(&payload);
    let metadata = payload.as_object_mut().and_then(|payload| payload.remove("metadata")).unwrap_or_default();
    let mut lost = Vec::new();
    let mut body = schema.fit(payload, &mut lost);
    body["metadata"] = metadata;
    let signature = ring.sign_origin(&key.subject(&origin.uid), provider.name(), &Seal { epoch, digest });
    let metadata = &mut body["metadata"];
    for (name, value) in [
        (keys::CONSUMER_CLUSTER, key.cluster.name()),
        (keys::CONSUMER_NAMESPACE, &*key.namespace),
        (keys::CONSUMER_NAME, &*key.name),
        (keys::CONSUMER_UID, &*origin.uid),
        (keys::ORIGIN, signature.as_str()),
    ] {
        metadata["annotations"][name] = json!(value);
    }
    metadata["labels"][keys::MANAGED_BY] = json!(keys::MANAGER);
    let consumer = consumer_hash(&key.cluster);
    metadata["labels"][keys::SLOT] = json!(slot(&consumer));
    metadata["labels"][keys::CONSUMER] = json!(consumer);
    Desired { body, digest, lost }
}

/// What a copy's signature says, if it is a copy of the origin with this uid.
pub fn signed_origin(key: &OriginKey, uid: &str, provider: &ClusterName, copy: &View, ring: &KeyRing) -> Option<Seal> {
    ring.verify_origin(&key.subject(uid), provider.name(), copy.annotation(keys::ORIGIN)?)
}

/// The first place where the copy is not as desired. The signature is compared by what it says.
pub fn difference(desired: &Desired, epoch: u64, signed: Option<Seal>, copy: &View, schema: &Schema) -> Option<String> {
    match signed {
        None => return Some(format!("metadata.annotations[{}]", keys::ORIGIN)),
        Some(origin) if origin.epoch != epoch || origin.digest != desired.digest => return Some("the origin".into()),
        // Of the same content, but signed with a key that is to be taken out.
        Some(_)
            if key_of(copy.annotation(keys::ORIGIN))
                != key_of(desired.body["metadata"]["annotations"][keys::ORIGIN].as_str()) =>
        {
            return Some("the signing key".into());
        }
        Some(_) => {}
    }
    let wanted = desired.body["metadata"].as_object().into_iter().flatten();
    for (map, entries) in wanted {
        for (name, value) in entries.as_object().into_iter().flatten().filter(|(name, _)| *name != keys::ORIGIN) {
            let held = copy.value["metadata"][map].get(name);
            // Of an earlier release: it is not worth a write of its own.
            let earlier = name == keys::SLOT && held.is_none();
            if held != Some(value) && !earlier {
                return Some(format!("metadata.{map}[{name}]"));
            }
        }
    }
    schema.difference(&Value::Object(content(&desired.body)), &copy.value)
}

/// Which key has signed.
fn key_of(signature: Option<&str>) -> Option<&str> {
    signature?.split('.').nth(1)
}

/// What of a copy others may have changed: all but status and the metadata that the API server keeps.
pub fn observed(copy: &Value) -> Value {
    let mut observed = content(copy);
    let metadata = &copy["metadata"];
    observed.insert("metadata".into(), json!({"labels": metadata["labels"], "annotations": metadata["annotations"]}));
    Value::Object(observed)
}
