//! Moves with stages: their MigrationConfiguration, their Migrations and the objects of their stages.

use broker_api::MigrationState;
use http::header::CONTENT_TYPE;
use kube::Client;
use serde::Deserialize;

use crate::watch::Watched;
use crate::widget::NAMESPACE;

/// Name of the MigrationConfiguration.
pub(crate) const CONFIGURATION_NAME: &str = "two-stages";

/// Two stages, each with one object that says of which copy it is, and that is done once its data says so. The consumer
/// is switched after the first.
pub(crate) const CONFIGURATION: &str = r#"
apiVersion: broker.platform-mesh.io/v1alpha1
kind: MigrationConfiguration
metadata: {name: two-stages, namespace: default}
spec:
  from: {group: bench.example.org, version: v1, kind: Widget}
  to: {group: bench.example.org, version: v1, kind: Widget}
  stages:
    - name: first
      progress: true
      templates:
        work: {apiVersion: v1, kind: ConfigMap, data: {copy: "${from.metadata.name}", stage: first}}
      successConditions: ['has(work.data.done) && work.data.done == "true"']
    - name: second
      templates:
        more: {apiVersion: v1, kind: ConfigMap, data: {copy: "${from.metadata.name}", stage: second}}
      successConditions: ['has(more.data.done) && more.data.done == "true"']
"#;

/// Name of the last stage.
pub(crate) const LAST: &str = "second";

/// A Migration as far as it is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Migration {
    metadata: Metadata,
    spec: Spec,
    #[serde(default)]
    status: Status,
}

impl Migration {
    /// Name of the copy that moves; the same at both providers.
    pub(crate) fn copy(&self) -> &str {
        &self.spec.from.name
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> MigrationState {
        self.status.state
    }
}

#[derive(Debug, Deserialize)]
struct Spec {
    from: Side,
}

#[derive(Debug, Deserialize)]
struct Side {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    state: MigrationState,
}

/// An object of a stage.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StageObject {
    metadata: Metadata,
    #[serde(default)]
    data: Data,
}

impl StageObject {
    /// Of which copy and stage it is; both are empty for others' ConfigMaps.
    pub(crate) fn of(&self) -> (&str, &str) {
        (&self.data.copy, &self.data.stage)
    }

    /// Does what its stage waits for.
    pub(crate) async fn complete(&self, client: &Client) -> anyhow::Result<()> {
        let name = &self.metadata.name;
        let path = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{name}?fieldManager=worker");
        let request = http::Request::patch(path)
            .header(CONTENT_TYPE, "application/merge-patch+json")
            .body(br#"{"data":{"done":"true"}}"#.to_vec())?;
        client.request_text(request).await?;
        Ok(())
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Data {
    #[serde(default)]
    copy: String,
    #[serde(default)]
    stage: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    resource_version: String,
}

impl Watched for Migration {
    fn path() -> String {
        format!("/apis/broker.platform-mesh.io/v1alpha1/namespaces/{NAMESPACE}/migrations")
    }

    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}

impl Watched for StageObject {
    fn path() -> String {
        format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
    }

    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
}
