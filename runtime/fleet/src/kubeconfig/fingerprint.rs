//! A digest of where a kubeconfig leads and with which credentials.

use kube::config::{AuthInfo, Cluster};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Compared, never shown: it is made from credentials.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl std::fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fingerprint(…)")
    }
}

impl Fingerprint {
    /// This and some content. The order of calls matters.
    pub(super) fn and(self, content: &[u8]) -> Self {
        let mut digest = Sha256::new();
        digest.update(self.0);
        digest.update(content);
        Self(digest.finalize().into())
    }
}

pub(super) fn of(cluster: &Cluster, user: &AuthInfo) -> Fingerprint {
    let mut digest = Sha256::new();
    for part in [serde_json::to_value(cluster), serde_json::to_value(user)] {
        // Neither type has a value that JSON cannot hold.
        add(&mut digest, &part.unwrap_or_default());
    }
    Fingerprint(digest.finalize().into())
}

/// Adds a value with its keys sorted: kube keeps some of these maps in hash order.
fn add(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            digest.update(b"{");
            for (key, value) in fields {
                add(digest, &Value::String(key.clone()));
                add(digest, value);
            }
            digest.update(b"}");
        }
        Value::Array(items) => {
            digest.update(b"[");
            for item in items {
                add(digest, item);
            }
            digest.update(b"]");
        }
        // JSON text of a scalar is unambiguous: texts are quoted, and the comma ends numbers.
        scalar => {
            digest.update(scalar.to_string());
            digest.update(b",");
        }
    }
}
