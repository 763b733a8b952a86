//! Who realises Certificates in a provider: makes a Secret, then says so in the status; or what it likes better.

use std::time::Duration;

use serde_json::{Value, json};
use sim::ApiServer;
use tokio::{sync::watch, time::sleep};

use crate::{
    person::Person,
    stage::{CERTIFICATE, FOREIGN, PRIVATE, certificates},
};

/// How a provider works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    /// It takes seconds.
    Prompt,
    /// It takes a minute for each step.
    Slow,
    /// It does nothing.
    Idle,
    /// It says that nothing can be had.
    Failing,
    /// It names a token of its own cluster as what belongs to a Certificate.
    Tokens,
    /// It names a Secret of another namespace.
    Foreign,
    /// It holds each Certificate with a finalizer, and has something to do before it lets go.
    Clinging,
}

/// By which a provider holds what it has not done with.
const HOLD: &str = "issuer.example.org/revoke";

impl Mood {
    fn takes(self) -> Duration {
        Duration::from_secs(if self == Self::Slow { 60 } else { 2 })
    }
}

/// Works until it is dropped.
pub(crate) async fn run(server: ApiServer, mut mood: watch::Receiver<Mood>) {
    let mut changes = server.changes();
    loop {
        let now = *mood.borrow_and_update();
        for ((namespace, name), object) in server.objects(CERTIFICATE) {
            let leaves = object["metadata"]["deletionTimestamp"].is_string();
            // What it has stolen it does not care for, nor for what somebody makes who is in the way.
            let is_copy =
                namespace != PRIVATE && !name.starts_with("forged") && object["metadata"]["labels"][FOREIGN].is_null();
            if is_copy && !leaves && now != Mood::Idle {
                realise(&server, now, &namespace, &name, &object).await;
            }
            // Whatever it likes to do now, it lets go of what it once took hold of.
            cling(&server, is_copy && !leaves && now == Mood::Clinging, &namespace, &name, &object).await;
        }
        tokio::select! {
            biased;
            changed = mood.changed() => if changed.is_err() { return },
            changed = changes.changed() => if changed.is_err() { return },
        }
    }
}

/// Takes hold of a Certificate, or lets go of it.
async fn cling(server: &ApiServer, clings: bool, namespace: &str, name: &str, certificate: &Value) {
    let finalizers = certificate["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    if finalizers.contains(&json!(HOLD)) == clings {
        return;
    }
    sleep(Mood::Clinging.takes()).await;
    let others = finalizers.into_iter().filter(|finalizer| *finalizer != HOLD);
    let wanted: Vec<Value> = others.chain(clings.then(|| json!(HOLD))).collect();
    let body = json!({"metadata": {"finalizers": wanted}});
    Person { name: "issuer", server }.ask("PATCH", &format!("{}/{name}", certificates(namespace)), &body).await;
}

async fn realise(server: &ApiServer, mood: Mood, namespace: &str, name: &str, certificate: &Value) {
    let issuer = Person { name: "issuer", server };
    issue(&issuer, mood, namespace, name, certificate).await;
    let status = status(mood, name);
    let held = &certificate["status"];
    let differs = status.as_object().unwrap().iter().any(|(field, value)| held[field] != plain(value));
    if differs {
        sleep(mood.takes()).await;
        let path = format!("{}/{name}/status", certificates(namespace));
        issuer.ask("PATCH", &path, &json!({"status": status})).await;
    }
}

/// Without what is null.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(_, value)| !value.is_null());
            kept.map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        other => other.clone(),
    }
}

/// The Secret of a Certificate, as it is to be.
async fn issue(issuer: &Person<'_>, mood: Mood, namespace: &str, name: &str, certificate: &Value) {
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    let secret = format!("{name}-tls");
    let owner = json!({"apiVersion": certificate["apiVersion"], "kind": certificate["kind"], "name": name,
        "uid": certificate["metadata"]["uid"]});
    let held = issuer.server.objects("secrets").remove(&(namespace.to_owned(), secret.clone()));
    let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "ownerReferences": [owner]},
        "stringData": {"tls.crt": certificate["spec"]["fqdn"]}});
    let path = format!("{secrets}/{secret}");
    match held {
        // It may have gone meanwhile, with its namespace.
        None => {
            sleep(mood.takes()).await;
            issuer.ask("POST", &secrets, &body).await;
        }
        Some(held) if held["metadata"]["ownerReferences"][0]["uid"] != owner["uid"] => {
            issuer.ask("DELETE", &path, &Value::Null).await;
            issuer.ask("POST", &secrets, &body).await;
        }
        Some(held) => {
            let text = json!({"stringData": body["stringData"]});
            if held["data"]["tls.crt"] != json!(base64(certificate["spec"]["fqdn"].as_str().unwrap_or_default())) {
                issuer.ask("PATCH", &path, &text).await;
            }
        }
    }
    let token = format!("{name}-token");
    if mood == Mood::Tokens {
        let token = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
            "metadata": {"name": token, "ownerReferences": [owner],
                "annotations": {"kubernetes.io/service-account.name": "default"}},
            "stringData": {"token": "t"}});
        issuer.ask("POST", &secrets, &token).await;
    } else if issuer.server.objects("secrets").contains_key(&(namespace.to_owned(), token.clone())) {
        // Which provider the mood meets is chance, and what is left in the end must not tell.
        issuer.ask("DELETE", &format!("{secrets}/{token}"), &Value::Null).await;
    }
}

/// What it says of a Certificate. Null: nothing.
fn status(mood: Mood, name: &str) -> Value {
    let secret = |name: String| json!({"gvk": {"version": "v1", "kind": "Secret"}, "name": name});
    let mut related = json!({"tls": secret(format!("{name}-tls")), "token": null, "foreign": null});
    match mood {
        Mood::Tokens => related["token"] = secret(format!("{name}-token")),
        Mood::Foreign => {
            related["foreign"] = secret("website-tls".to_owned());
            related["foreign"]["namespace"] = json!(PRIVATE);
        }
        _ => {}
    }
    let word = if mood == Mood::Failing { "Failed" } else { "Available" };
    // It says of which copy it speaks.
    let issued = json!([{"type": "Issued", "status": "True", "reason": "Issued", "message": format!("for {name}"),
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    json!({"status": word, "relatedResources": related, "conditions": issued})
}

/// As Secrets have it.
pub(crate) fn base64(text: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    STANDARD.encode(text)
}
