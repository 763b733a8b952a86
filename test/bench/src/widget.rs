//! `Widget`, the kind that is brokered here: about 3 KB of the sorts of fields that real objects have, and requests on it
//! that cost this process as little as possible (bytes out, bytes in, nothing parsed).

use anyhow::Context as _;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The kind as the broker's `--watch-kind` takes it.
pub(crate) const WATCH_KIND: &str = "Widget.v1.bench.example.org";
/// Plural name.
pub(crate) const RESOURCE: &str = "widgets";
/// The namespace of all objects.
pub(crate) const NAMESPACE: &str = "bench";
/// Path of all objects of the kind.
pub(crate) const ALL: &str = "/apis/bench.example.org/v1/widgets";

/// The CRD and the namespace. Lists of both sorts: merged by key, as in Pods, and atomic.
pub(crate) const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.bench.example.org}
spec:
  group: bench.example.org
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                part: {type: string}
                engine: {type: string}
                version: {type: string}
                replicas: {type: integer}
                notes: {type: string}
                resources:
                  type: object
                  properties: {cpu: {type: string}, memory: {type: string}, storage: {type: string}}
                parameters: {type: object, additionalProperties: {type: string}}
                env:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [name]
                  items:
                    type: object
                    required: [name]
                    properties: {name: {type: string}, value: {type: string}}
                rules:
                  type: array
                  items:
                    type: object
                    properties:
                      host: {type: string}
                      path: {type: string}
                      port: {type: integer}
                      methods: {type: array, items: {type: string}}
            status:
              type: object
              properties:
                status: {type: string}
                revision: {type: integer}
                relatedResources: {type: object, x-kubernetes-preserve-unknown-fields: true}
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status, lastTransitionTime, reason, message]
                    properties:
                      type: {type: string}
                      status: {type: string}
                      reason: {type: string}
                      message: {type: string}
                      lastTransitionTime: {type: string, format: date-time}
                      observedGeneration: {type: integer}
";

/// What a provider says: it takes all of them.
pub(crate) const ACCEPT_API: &str = "
apiVersion: broker.platform-mesh.io/v1alpha1
kind: AcceptAPI
metadata: {name: widgets, namespace: default}
spec:
  gvr: {group: bench.example.org, version: v1, resource: widgets}
  weight: 1
";

/// An AcceptAPI of a kind that nobody brokers.
pub(crate) fn accept_another() -> String {
    ACCEPT_API.replace(RESOURCE, "gadgets")
}

/// The same for only those objects whose names begin with one of these words and a number.
pub(crate) fn offer(parts: &[&str]) -> String {
    let parts = parts.join(", ");
    format!("{}  filters: [{{key: part, valueIn: [{parts}]}}]\n", ACCEPT_API.trim_start())
}

/// The object as JSON.
pub(crate) fn body(name: &str) -> Vec<u8> {
    let env: Vec<_> = (0..10)
        .map(|n| json!({"name": format!("SETTING_{n:02}"), "value": format!("{name}-value-{n:02}-of-this-setting")}))
        .collect();
    let rules: Vec<_> = (0..8)
        .map(|n| {
            json!({"host": format!("rule-{n}.{name}.bench.example.org"), "path": format!("/api/v{n}/things"),
                "port": 8080 + n, "methods": ["GET", "POST"]})
        })
        .collect();
    let parameters: serde_json::Map<_, _> = (0..8)
        .map(|n| {
            (
                format!("parameter.{n}"),
                json!(format!("some text of an ordinary length, which is the parameter number {n}")),
            )
        })
        .collect();
    let (part, _) = name.rsplit_once('-').unwrap_or_default();
    let object = json!({
        "apiVersion": "bench.example.org/v1",
        "kind": "Widget",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"team": "bench"}},
        "spec": {
            "part": part, "engine": "postgres", "version": "18.1", "replicas": 3,
            "resources": {"cpu": "500m", "memory": "8Gi", "storage": "100Gi"},
            "notes": "An object of a size that one meets in real clusters. ".repeat(8),
            "parameters": parameters, "env": env, "rules": rules,
        },
    });
    object.to_string().into_bytes()
}

/// Creates the object.
pub(crate) async fn create(client: &Client, name: &str) -> anyhow::Result<()> {
    let path = format!("/apis/bench.example.org/v1/namespaces/{NAMESPACE}/widgets?fieldManager=bench");
    let request = http::Request::post(path).header(CONTENT_TYPE, "application/json").body(body(name))?;
    client.request_text(request).await?;
    Ok(())
}

/// Changes one field of the spec.
pub(crate) async fn edit(client: &Client, name: &str, replicas: usize) -> anyhow::Result<()> {
    let request = http::Request::patch(path(name, "bench"))
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .body(json!({"spec": {"replicas": replicas}}).to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}

/// Asks for the object's deletion.
pub(crate) async fn delete(client: &Client, name: &str) -> anyhow::Result<()> {
    client.request_text(http::Request::delete(path(name, "bench")).body(Vec::new())?).await?;
    Ok(())
}

fn path(name: &str, manager: &str) -> String {
    format!("/apis/bench.example.org/v1/namespaces/{NAMESPACE}/widgets/{name}?fieldManager={manager}")
}

/// A finalizer and annotations of the size that the broker adds.
fn marks() -> serde_json::Value {
    json!({
        "finalizers": ["bench.example.org/finalizer"],
        "annotations": {"bench.example.org/provider": "east", "bench.example.org/signature": "0".repeat(80)},
    })
}

/// What the API server should answer a write with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The object.
    Object,
    /// Its metadata.
    Metadata,
}

impl Answer {
    fn accept(self) -> &'static str {
        match self {
            Self::Object => "application/json",
            Self::Metadata => "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        }
    }
}

/// Adds marks by a merge patch.
pub(crate) async fn merge_marks(client: &Client, name: &str, answer: Answer) -> anyhow::Result<()> {
    let marks = json!({"metadata": marks()});
    let path = path(name, "broker");
    let request = http::Request::patch(path)
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .header(ACCEPT, answer.accept())
        .body(marks.to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}

/// The object with marks, as it would be sent to update it, its version included.
pub(crate) async fn marked(client: &Client, name: &str) -> anyhow::Result<Vec<u8>> {
    let request = http::Request::get(path(name, "broker")).body(Vec::new())?;
    let mut object: serde_json::Value = client.request(request).await?;
    let metadata = object["metadata"].as_object_mut().context("an object without metadata")?;
    // The API server keeps what it has where an update says nothing of it.
    metadata.remove("managedFields");
    metadata.extend(marks().as_object().cloned().unwrap_or_default());
    Ok(object.to_string().into_bytes())
}

/// Replaces an object.
pub(crate) async fn update(client: &Client, name: &str, object: Vec<u8>) -> anyhow::Result<()> {
    let request = http::Request::put(path(name, "broker")).header(CONTENT_TYPE, "application/json").body(object)?;
    client.request_text(request).await?;
    Ok(())
}

/// Server-side apply of the whole object.
pub(crate) async fn apply(client: &Client, name: &str, answer: Answer) -> anyhow::Result<()> {
    let path = path(name, "applier") + "&force=true";
    let request = http::Request::patch(path)
        .header(CONTENT_TYPE, "application/apply-patch+yaml")
        .header(ACCEPT, answer.accept())
        .body(body(name))?;
    client.request_text(request).await?;
    Ok(())
}

/// Writes a status such as a provider's controller would. `copy` is the object's name at the provider.
pub(crate) async fn write_status(client: &Client, copy: &str, revision: u64) -> anyhow::Result<()> {
    patch_status(client, copy, &json!({"status": status(revision)})).await
}

/// The same, with the copy's Secret as a related resource.
pub(crate) async fn write_status_with_secret(client: &Client, copy: &str, revision: u64) -> anyhow::Result<()> {
    let mut status = status(revision);
    let gvk = json!({"group": "", "version": "v1", "kind": "Secret"});
    status["relatedResources"] = json!({"credentials": {"gvk": gvk, "name": secret(copy), "namespace": NAMESPACE}});
    patch_status(client, copy, &json!({"status": status})).await
}

/// The status that a provider's controller writes.
pub(crate) fn status(revision: u64) -> serde_json::Value {
    json!({
        "status": "Available",
        "revision": revision,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "Running", "message": "3 of 3 replicas serve",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
        }],
    })
}

async fn patch_status(client: &Client, copy: &str, status: &serde_json::Value) -> anyhow::Result<()> {
    let path = format!("/apis/bench.example.org/v1/namespaces/{NAMESPACE}/widgets/{copy}/status?fieldManager=provider");
    let request = http::Request::patch(path)
        .header(CONTENT_TYPE, "application/merge-patch+json")
        .body(status.to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}

/// Name of the copy of an object of this consumer: the first 12 hex digits of SHA-256 over `consumer#<name>` come first.
pub(crate) fn copy_name(consumer: &str, name: &str) -> String {
    let mut hash = hex::encode(Sha256::digest(format!("consumer#{consumer}")));
    hash.truncate(12);
    format!("{hash}-{name}")
}

/// Name of the Secret of a copy.
fn secret(copy: &str) -> String {
    format!("{copy}-credentials")
}

/// Makes the Secret of a copy, which says who issued it.
pub(crate) async fn create_secret(client: &Client, copy: &str, issuer: usize) -> anyhow::Result<()> {
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": secret(copy), "namespace": NAMESPACE},
        "stringData": {"issuer": issuer.to_string(), "password": "0".repeat(64)},
    });
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets?fieldManager=provider");
    let body = secret.to_string().into_bytes();
    client.request_text(http::Request::post(path).header(CONTENT_TYPE, "application/json").body(body)?).await?;
    Ok(())
}

/// Deletes the Secret of a copy.
pub(crate) async fn delete_secret(client: &Client, copy: &str) -> anyhow::Result<()> {
    let path = format!("/api/v1/namespaces/{NAMESPACE}/secrets/{}", secret(copy));
    client.request_text(http::Request::delete(path).body(Vec::new())?).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_about_three_kilobytes() {
        let size = body("burst-00001").len();
        assert!((2_900..3_150).contains(&size), "{size}");
    }
}
