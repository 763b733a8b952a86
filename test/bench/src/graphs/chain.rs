//! `Chain`, the kind that an RGD makes here: a ConfigMap, one that needs its uid, and a Secret that needs that one's. And the
//! same writes as a plain client sends them, on a kind that nobody serves.

use anyhow::Context as _;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::watch::Watched;

/// The namespace of all instances.
pub(crate) const NAMESPACE: &str = "bench";
/// Writes that an instance takes: its marks, three children, its status.
pub(crate) const WRITES: usize = 5;
/// The kind that all instances but those of [`definition`] with a number are of.
pub(crate) const KIND: &str = "Chain";
const SERVED: &str = "bench.example.org";
const PLAIN: &str = "plain.example.org";
const VERSION: &str = "v1alpha1";
const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const TEXT: &str = "some text of an ordinary length, as people give it";

/// Name of the CRD of [`KIND`].
pub(crate) fn crd_name() -> String {
    format!("chains.{SERVED}")
}

/// The RGD of a kind.
pub(crate) fn definition(kind: &str) -> Value {
    let metadata = |suffix: &str| json!({"name": format!("${{schema.metadata.name}}-{suffix}")});
    let config = |suffix: &str, data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(suffix), "data": data});
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": metadata("third"),
        "stringData": {"text": "${schema.spec.text}", "before": "${second.metadata.uid}"},
    });
    json!({
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "schema": {
                "apiVersion": VERSION, "kind": kind, "group": SERVED,
                "spec": {"text": "string | default=\"a\""},
                "status": {"last": "${third.metadata.uid}"},
            },
            "resources": [
                {"id": "first", "template": config("first", json!({"text": "${schema.spec.text}"}))},
                {"id": "second", "template": config("second", json!({
                    "text": "${schema.spec.text}", "before": "${first.metadata.uid}",
                }))},
                {"id": "third", "template": secret},
            ],
        },
    })
}

/// The CRD of a kind of the same shape that is nobody's, from that of [`KIND`].
pub(crate) fn plain_crd(generated: &Value) -> anyhow::Result<Value> {
    let mut spec = generated.get("spec").context("a CRD without a spec")?.clone();
    spec["group"] = json!(PLAIN);
    let metadata = json!({"name": format!("chains.{PLAIN}")});
    Ok(json!({"apiVersion": generated["apiVersion"], "kind": generated["kind"], "metadata": metadata, "spec": spec}))
}

fn instances(group: &str) -> String {
    format!("/apis/{group}/{VERSION}/namespaces/{NAMESPACE}/chains")
}

async fn create_in(client: &Client, group: &str, name: &str) -> anyhow::Result<Made> {
    let object = json!({
        "apiVersion": format!("{group}/{VERSION}"), "kind": KIND,
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"team": "bench"}},
        "spec": {"text": TEXT},
    });
    let request = http::Request::post(format!("{}?fieldManager=bench", instances(group)))
        .header(CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())?;
    Ok(client.request(request).await?)
}

/// Creates an instance.
pub(crate) async fn create(client: &Client, name: &str) -> anyhow::Result<()> {
    create_in(client, SERVED, name).await.map(drop)
}

/// Asks for an instance's deletion.
pub(crate) async fn delete(client: &Client, name: &str) -> anyhow::Result<()> {
    let path = format!("{}/{name}", instances(SERVED));
    client.request_text(http::Request::delete(path).body(Vec::new())?).await?;
    Ok(())
}

fn first_child(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{name}-first")
}

/// Changes the first child of an instance by hand.
pub(crate) async fn disturb(client: &Client, name: &str) -> anyhow::Result<()> {
    patch(client, format!("{}?fieldManager=person", first_child(name)), MERGE, &json!({"data": {"text": "drifted"}}))
        .await?;
    Ok(())
}

/// Whether the first child of an instance is as it should be.
pub(crate) async fn is_repaired(client: &Client, name: &str) -> anyhow::Result<bool> {
    let child: Value = client.request(http::Request::get(first_child(name)).body(Vec::new())?).await?;
    Ok(child["data"]["text"] == TEXT)
}

async fn patch(client: &Client, path: String, how: &str, body: &Value) -> anyhow::Result<Made> {
    let request = http::Request::patch(path).header(CONTENT_TYPE, how).body(body.to_string().into_bytes())?;
    Ok(client.request(request).await?)
}

/// What is read of an answer, which is read as a whole.
#[derive(Deserialize)]
struct Made {
    metadata: Uid,
}

#[derive(Deserialize)]
struct Uid {
    uid: String,
}

/// As many labels as a child has of its owner, or as an instance has; none that is watched.
fn labels(count: usize) -> Value {
    let label = |n: usize| (format!("plain.example.org/label-{n:02}"), json!(format!("a-value-of-label-{n:02}")));
    Value::Object((0..count).map(label).collect::<Map<_, _>>())
}

/// Creates an object like an instance that is nobody's.
pub(crate) async fn create_plain(client: &Client, name: &str) -> anyhow::Result<()> {
    create_in(client, PLAIN, name).await.map(drop)
}

/// Creates an object like an instance, as a person does, and makes the same writes as it takes.
pub(crate) async fn write_plainly(client: &Client, name: &str) -> anyhow::Result<()> {
    create_plain(client, name).await?;
    write_as_controllers_do(client, name).await
}

/// The [`WRITES`] after the first.
pub(crate) async fn write_as_controllers_do(client: &Client, name: &str) -> anyhow::Result<()> {
    let hash = "0".repeat(64);
    let marks = json!({"metadata": {
        "finalizers": ["plain.example.org/finalizer"], "labels": labels(5),
        "annotations": {"plain.example.org/kinds": "ConfigMap,Secret", "plain.example.org/hash": hash, "plain.example.org/tool": "v1"},
    }});
    let instance = format!("{}/{name}", instances(PLAIN));
    patch(client, format!("{instance}?fieldManager=bench"), MERGE, &marks).await?;
    let mut before = String::new();
    for (kind, plural, suffix) in
        [("ConfigMap", "configmaps", "first"), ("ConfigMap", "configmaps", "second"), ("Secret", "secrets", "third")]
    {
        let name = format!("{name}-{suffix}");
        let field = if kind == "Secret" { "stringData" } else { "data" };
        let mut child = json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": {
                "name": name, "namespace": NAMESPACE, "labels": labels(13),
                "annotations": {"plain.example.org/order": "1", "plain.example.org/digest": "0123456789abcdef"},
            },
        });
        child[field] = json!({"text": TEXT, "before": before});
        let path = format!("/api/v1/namespaces/{NAMESPACE}/{plural}/{name}?fieldManager=bench&force=true");
        before = patch(client, path, APPLY, &child).await?.metadata.uid;
    }
    let condition = |kind: &str| {
        json!({"type": kind, "status": "True", "reason": "AllResourcesReady", "message": "all resources are created and ready",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
    };
    let conditions = ["InstanceManaged", "GraphResolved", "ResourcesReady", "Ready"].map(condition);
    let status = json!({"status": {"state": "ACTIVE", "last": before, "conditions": conditions}});
    patch(client, format!("{instance}/status?fieldManager=bench"), MERGE, &status).await?;
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    state: String,
}

/// An instance as far as it is read.
#[derive(Deserialize)]
pub(crate) struct Instance {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

impl Instance {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether it is `ACTIVE`.
    pub(crate) fn is_active(&self) -> bool {
        self.status.state == "ACTIVE"
    }
}

impl Watched for Instance {
    fn path() -> String {
        instances(SERVED)
    }

    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

/// An RGD as far as it is read.
#[derive(Deserialize)]
pub(crate) struct Definition {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

impl Definition {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.metadata.name
    }

    /// Whether its instances are served.
    pub(crate) fn is_active(&self) -> bool {
        self.status.state == "Active"
    }
}

impl Watched for Definition {
    fn path() -> String {
        "/apis/kro.run/v1alpha1/resourcegraphdefinitions".to_owned()
    }

    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

/// Creates an RGD.
pub(crate) async fn define(client: &Client, kind: &str) -> anyhow::Result<()> {
    let request = http::Request::post(format!("{}?fieldManager=bench", Definition::path()))
        .header(CONTENT_TYPE, "application/json")
        .body(definition(kind).to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}
