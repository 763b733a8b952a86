//! The kubeconfig by which the broker comes to a member, and the Secret that holds it. Neither is ever printed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use broker_api::{Role, keys};
use serde_json::{Value, json};

/// Stands for what is not shown.
pub(crate) const MASK: &str = "***";

/// The credentials of the broker's ServiceAccount in a member.
pub(crate) struct Token {
    token: String,
    authority: String,
}

impl Token {
    /// Of the Secret that the controller manager has filled. `None`: it has not yet.
    pub(crate) fn of(secret: &Value) -> Option<Self> {
        let data = |key: &str| secret["data"][key].as_str().filter(|text| !text.is_empty());
        let token = String::from_utf8(STANDARD.decode(data("token")?).ok()?).ok()?;
        Some(Self { token, authority: data("ca.crt")?.to_owned() })
    }

    /// A kubeconfig with it.
    pub(crate) fn kubeconfig(&self, server: &str, namespace: &str) -> String {
        text(server, namespace, &self.token, Some(&self.authority))
    }
}

/// A kubeconfig. `authority`: base64 of a PEM text.
pub(crate) fn text(server: &str, namespace: &str, token: &str, authority: Option<&str>) -> String {
    // JSON's strings are YAML's, whatever is in them.
    let [server, namespace, token] = [server, namespace, token].map(|text| Value::from(text).to_string());
    let authority = authority.map(|text| format!("\n      certificate-authority-data: {}", Value::from(text)));
    format!(
        "apiVersion: v1
kind: Config
current-context: broker
contexts:
  - name: broker
    context: {{cluster: broker, user: resource-broker, namespace: {namespace}}}
clusters:
  - name: broker
    cluster:
      server: {server}{}
users:
  - name: resource-broker
    user:
      token: {token}
",
        authority.unwrap_or_default()
    )
}

/// The labelled Secret that makes a cluster of the broker.
pub(crate) fn secret(namespace: &str, name: &str, role: Role, kubeconfig: &str) -> Value {
    let mut secret = bare(namespace, name, role);
    secret["data"] = json!({ "kubeconfig": STANDARD.encode(kubeconfig) });
    secret
}

/// The same to be shown, of a kubeconfig without anything secret.
pub(crate) fn shown(namespace: &str, name: &str, role: Role, masked: &str) -> Value {
    let mut secret = bare(namespace, name, role);
    secret["stringData"] = json!({ "kubeconfig": masked });
    secret
}

fn bare(namespace: &str, name: &str, role: Role) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": name, "namespace": namespace, "labels": { keys::ROLE: role.as_str() } },
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use runtime_fleet::kubeconfig::{Kubeconfig, Trust};

    use super::*;
    use crate::cluster_secret::ClusterSecret;

    #[test]
    fn the_broker_takes_what_is_made() {
        let pem = STANDARD.encode("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        let filled = json!({ "data": { "token": STANDARD.encode("t0ken"), "ca.crt": pem } });
        let text = Token::of(&filled).unwrap().kubeconfig("https://homer.example.org:6443", "system");
        let read = Kubeconfig::parse(&text, &Trust::Secret).unwrap();
        assert_eq!((read.server(), read.namespace()), ("https://homer.example.org:6443", Some("system")));
        let secret = ClusterSecret::read(secret("clusters", "homer", Role::Consumer, &text), None).unwrap();
        assert_eq!((secret.role, secret.name.as_str()), (Some(Role::Consumer), "homer"));
        assert!(secret.kubeconfig.is_ok());
    }

    #[test]
    fn a_secret_that_is_not_filled_yet_gives_nothing() {
        for data in [json!({}), json!({ "token": "" }), json!({ "token": "dA==" }), json!({ "ca.crt": "dA==" })] {
            assert!(Token::of(&json!({ "data": data })).is_none(), "{data}");
        }
    }

    #[test]
    fn what_is_shown_holds_no_token() {
        let masked = text("https://homer.example.org", "system", MASK, Some(MASK));
        let shown = shown("clusters", "homer", Role::Consumer, &masked);
        assert!(shown["stringData"]["kubeconfig"].as_str().unwrap().contains(MASK) && shown["data"].is_null());
    }
}
