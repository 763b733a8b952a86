//! The Migration that the broker makes for a move: its name and content.

use broker_api::{ClusterName, keys};
use runtime_effect::kind::Kind;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    assignment::{Errand, KeyRing, Maker},
    copy,
    snapshot::OriginKey,
};

/// Hex digits of the object's hash in the name.
const HASH: usize = 12;

/// The kind `Migration`.
pub fn kind() -> Kind {
    Kind { group: keys::GROUP.into(), version: "v1alpha1".into(), kind: "Migration".into() }
}

/// Name of the Migration of the move that this epoch began: `<kind>-<12 hex>-<epoch>`. The same whoever computes it, so
/// that a broker that has lost its memory finds the Migration it made.
pub fn name(key: &OriginKey, uid: &str, epoch: u64) -> String {
    let mut hash = Sha256::new();
    let OriginKey { cluster, gvk, namespace, name } = key;
    for text in [cluster.name(), &gvk.group, &gvk.version, &gvk.kind, namespace, name, uid] {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    }
    let hash = hex::encode(hash.finalize());
    format!("{}-{}-{epoch}", gvk.kind.to_lowercase(), &hash[..HASH])
}

/// The Migration of the move of this origin's copy that an epoch began, signed; `name` is its [`name`].
pub fn body(
    key: &OriginKey,
    uid: &str,
    name: &str,
    (from, to): (&ClusterName, &ClusterName),
    epoch: u64,
    ring: &KeyRing,
) -> Value {
    let side = |cluster: &ClusterName| {
        json!({
            "gvk": {"group": key.gvk.group, "version": key.gvk.version, "kind": key.gvk.kind},
            "name": copy::name(key),
            "namespace": &*key.namespace,
            "clusterName": cluster.name(),
        })
    };
    let errand = Errand { namespace: &key.namespace, name, uid: "", from: from.name(), to: to.name() };
    json!({
        "metadata": {
            "labels": {keys::MANAGED_BY: keys::MANAGER},
            "annotations": {
                keys::CONSUMER_CLUSTER: key.cluster.name(),
                keys::CONSUMER_NAMESPACE: &*key.namespace,
                keys::CONSUMER_NAME: &*key.name,
                keys::CONSUMER_UID: uid,
                keys::ORIGIN: ring.sign_migration(&key.subject(uid), &errand, Maker::Broker(epoch)),
            },
            "finalizers": [keys::FINALIZER],
        },
        "spec": {"from": side(from), "to": side(to)},
    })
}
