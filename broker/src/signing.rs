//! The signing keys: a Secret in the coordination cluster, made at first start, read again whenever it changes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use base64::Engine as _;
use broker_api::{Role, keys};
use broker_core::assignment::KeyRing;
use broker_fleet::{
    error::CallError,
    index::{Index, Lookup},
    object::{Object, ObjectKey},
    write::Writer,
};
use serde_json::json;
use tracing::{error, info, warn};

use crate::{act::Acted, broker::Broker};

/// Bytes of a new key: as long as the hash, which is what HMAC asks for (RFC 2104).
const KEY_BYTES: usize = 32;

fn data(object: &Object) -> Option<BTreeMap<String, Vec<u8>>> {
    let value = object.value().ok()?;
    let entries = value.get("data")?.as_object()?;
    let decode = |text: &serde_json::Value| base64::engine::general_purpose::STANDARD.decode(text.as_str()?).ok();
    entries.iter().map(|(name, text)| Some((name.clone(), decode(text)?))).collect()
}

impl Broker {
    /// The Secret has changed. Without it, or with a broken one, the keys at hand stay in use.
    pub(crate) fn read_signing_key(&self, secret: Option<&Object>) {
        let Some(secret) = secret else {
            warn!(
                secret = keys::SIGNING_KEY_SECRET,
                "the signing keys' Secret is gone; the keys at hand stay in use until the broker restarts. Restore it: without its keys all assignments lose their proof"
            );
            return;
        };
        match KeyRing::from_secret_data(&data(secret).unwrap_or_default()) {
            Ok(ring) => {
                info!(secret = keys::SIGNING_KEY_SECRET, signs_with = ring.signs_with(), "signing keys read");
                self.ring.store(Some(Arc::new(ring)));
                self.judge_migrations();
                // Everything that was decided without keys, or with others, is decided again.
                for key in self.records.select(|_, _| true) {
                    self.enqueue(key);
                }
            }
            Err(error) => error!(secret = keys::SIGNING_KEY_SECRET, %error, "the signing keys cannot be used"),
        }
    }

    /// The first list is done: if there is no Secret, this is the first start.
    pub(crate) fn ensure_signing_key(&self, index: &Index) {
        let key = ObjectKey::new(self.namespace.as_str(), keys::SIGNING_KEY_SECRET);
        if index.get(&key) != Lookup::Absent {
            return;
        }
        let Some(cluster) = self.fleet().cluster(index.cluster()) else { return };
        let broker = self.itself();
        tokio::spawn(async move {
            let mut wait = Duration::from_millis(100);
            // A follower leaves it to the leader, and reads what that one makes.
            while !(broker.leads() && matches!(make(&cluster, &key).await, Acted::Done)) {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(5));
            }
        });
    }
}

async fn make(cluster: &broker_fleet::cluster::Cluster, key: &ObjectKey) -> Acted {
    debug_assert_eq!(cluster.name().role(), Role::Coordination);
    let Some(connection) = cluster.connection() else { return Acted::Failed };
    let Some(kind) = broker_fleet::well_known(&crate::broker::secret()) else { return Acted::Failed };
    let bytes: [u8; KEY_BYTES] = rand::random();
    let id = format!("k{}", k8s_openapi::jiff::Timestamp::now().as_second());
    let body = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": &*key.name, "namespace": &*key.namespace, "labels": {keys::MANAGED_BY: keys::MANAGER}},
        "data": {id: base64::engine::general_purpose::STANDARD.encode(bytes)},
    });
    match Writer::new(&connection.caller, keys::MANAGER).create(&kind, key, &body).await {
        // Whoever made it, the watch brings it.
        Ok(_) | Err(CallError::AlreadyExists(_)) => Acted::Done,
        Err(error) => {
            error!(secret = %key, %error, "cannot make the signing keys; nothing is brokered without them");
            Acted::Failed
        }
    }
}
