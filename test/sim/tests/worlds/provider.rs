//! Who realises Certificates in a provider: makes a Secret, then says so in the status.

use std::time::Duration;

use serde_json::{Value, json};
use sim::ApiServer;
use tokio::time::sleep;

use crate::{
    person::Person,
    stage::{CERTIFICATE, CERTIFICATES, PRIVATE},
};

/// It takes its time.
const TAKES: Duration = Duration::from_secs(2);

/// Works until it is dropped.
pub(crate) async fn run(server: &ApiServer) {
    let mut changes = server.changes();
    loop {
        for ((resource, namespace, name), object) in server.contents() {
            let leaves = object["metadata"]["deletionTimestamp"].is_string();
            if resource == CERTIFICATE && namespace != PRIVATE && !leaves {
                realise(server, &namespace, &name, &object).await;
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

async fn realise(server: &ApiServer, namespace: &str, name: &str, certificate: &Value) {
    let issuer = Person { name: "issuer", server };
    let secret = format!("{name}-tls");
    if !server.contents().contains_key(&("secrets".to_owned(), namespace.to_owned(), secret.clone())) {
        sleep(TAKES).await;
        let owner = json!({"apiVersion": certificate["apiVersion"], "kind": certificate["kind"], "name": name,
            "uid": certificate["metadata"]["uid"]});
        let body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "ownerReferences": [owner]},
            "stringData": {"tls.crt": certificate["spec"]["fqdn"]}});
        // It may have gone meanwhile, with its namespace.
        issuer.ask("POST", &format!("/api/v1/namespaces/{namespace}/secrets"), &body).await;
    }
    if certificate["status"]["status"] != "Available" {
        sleep(TAKES).await;
        let related = json!({"tls": {"gvk": {"version": "v1", "kind": "Secret"}, "name": secret}});
        let status = json!({"status": {"status": "Available", "relatedResources": related}});
        let path = CERTIFICATES.replace("/shop/", &format!("/{namespace}/"));
        issuer.ask("PATCH", &format!("{path}/{name}/status"), &status).await;
    }
}
