//! YAML that users of the reference already have is read as it is, and nothing is lost or added when it is written.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use broker_api::{
    AcceptApi, Broker, BrokeredStatus, Migration, MigrationConfiguration, MigrationState, MigrationStatus,
    accept_api::Bound,
    brokered_status::Availability,
    migration::{millis_of, time_of},
    migration_configuration::OnFailure,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Reads `yaml`, checks that what `T` writes says all that `yaml` says, and returns it.
fn read<T: DeserializeOwned + Serialize>(yaml: &str) -> T {
    let source: Value = serde_saphyr::from_str(yaml).unwrap();
    let value: T = serde_saphyr::from_str(yaml).unwrap();
    assert_keeps("", &source, &serde_json::to_value(&value).unwrap());
    value
}

/// Every field of `source` is in `written`, with the same value. Defaults may be added.
fn assert_keeps(path: &str, source: &Value, written: &Value) {
    match (source, written) {
        (Value::Object(source), Value::Object(written)) => {
            for (key, value) in source {
                let written = written.get(key).unwrap_or_else(|| panic!("{path}.{key} is lost"));
                assert_keeps(&format!("{path}.{key}"), value, written);
            }
        }
        (Value::Array(source), Value::Array(written)) if source.len() == written.len() => {
            for (index, (source, written)) in source.iter().zip(written).enumerate() {
                assert_keeps(&format!("{path}[{index}]"), source, written);
            }
        }
        _ => assert_eq!(source, written, "{path}"),
    }
}

#[test]
fn accept_api() {
    let api: AcceptApi = read(
        "
apiVersion: broker.platform-mesh.io/v1alpha1
kind: AcceptAPI
metadata:
  name: certificates
  namespace: default
spec:
  gvr:
    group: example.platform-mesh.io
    version: v1alpha1
    resource: certificates
  filters:
  - key: fqdn
    suffix: internal.corp
  - key: arch
    valueIn: [x86_64, arm64]
  - key: memory
    boundary:
      min: 512
      max: 8Gi
",
    );
    assert_eq!(api.spec.gvr.resource, "certificates");
    assert_eq!(api.spec.filters[0].suffix.as_deref(), Some("internal.corp"));
    let boundary = api.spec.filters[2].boundary.as_ref().unwrap();
    assert_eq!((&boundary.min, &boundary.max), (&Some(Bound::Int(512)), &Some(Bound::Text("8Gi".into()))));
    assert_eq!((api.spec.priority, api.spec.weight, api.spec.capacity, api.spec.cordoned), (0, 1, None, false));
}

#[test]
fn accept_api_as_the_go_client_writes_it() {
    let api: AcceptApi = serde_json::from_value(json!({
        "apiVersion": "broker.platform-mesh.io/v1alpha1",
        "kind": "AcceptAPI",
        "metadata": { "name": "a", "creationTimestamp": null },
        "spec": {
            "gvr": { "group": "", "version": "v1", "resource": "configmaps" },
            "filters": [{ "key": "arch", "valueIn": ["arm64"], "boundary": {} }],
        },
        "status": {},
    }))
    .unwrap();
    assert_eq!(api.spec.gvr.group, "");
    assert_eq!(api.spec.filters[0].boundary, Some(broker_api::Boundary::default()));
}

#[test]
fn migration() {
    let migration: Migration = read(
        "
apiVersion: broker.platform-mesh.io/v1alpha1
kind: Migration
metadata:
  name: vm
  namespace: default
spec:
  from:
    gvk: {group: example.platform-mesh.io, version: v1alpha1, kind: VM}
    name: a8b70b353e97-vm
    namespace: default
    clusterName: x86
  to:
    gvk: {group: example.platform-mesh.io, version: v1alpha1, kind: VM}
    name: a8b70b353e97-vm
    namespace: default
    clusterName: arm64
status:
  state: InitialInProgress
  id: abc
  stage: copy-data
",
    );
    assert_eq!(migration.spec.to.cluster_name, "arm64");
    assert_eq!(migration.status.unwrap().state, MigrationState::InitialInProgress);
    assert_eq!(serde_json::to_value(MigrationState::Unknown).unwrap(), json!(""));
}

#[test]
fn a_migration_keeps_the_stages_it_recorded() {
    let stages = json!([{
        "name": "copy",
        "templates": {"job": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"anything": [1, {"a": "${to.spec.b}"}]}}},
        "successConditions": ["job.status.succeeded == 1"],
        "progress": true,
        "timeoutSeconds": 60,
        "onFailure": "Hold",
    }]);
    let source = json!({
        "state": "InitialInProgress",
        "configurationGeneration": 3,
        "configuration": {"namespace": "ns", "name": "certs", "generation": 3, "stages": stages},
        "stages": [{"name": "copy", "state": "Running", "started": "2026-01-01T00:00:00Z", "retry": 2}],
    });
    let status: MigrationStatus = serde_json::from_value(source.clone()).unwrap();
    let written = serde_json::to_value(&status).unwrap();
    assert_eq!(written, source);
    assert_eq!(millis_of(&time_of(1_767_225_600_999)), 1_767_225_600_000);
    assert_eq!(status.stages[0].started.as_ref().map(millis_of), Some(1_767_225_600_000));
    assert_eq!(millis_of(&time_of(u64::MAX)), 0, "no calendar has it");
}

#[test]
fn migration_configuration() {
    let configuration: MigrationConfiguration = read(
        "
apiVersion: broker.platform-mesh.io/v1alpha1
kind: MigrationConfiguration
metadata:
  name: migrate-vm
  namespace: default
spec:
  from: {group: example.platform-mesh.io, version: v1alpha1, kind: VM}
  to: {group: example.platform-mesh.io, version: v1alpha1, kind: VM}
  stages:
  - name: copy-data
    progress: true
    templates:
      copy:
        apiVersion: v1
        kind: ConfigMap
        data: {key: value}
    successConditions:
    - copy.data.key == \"done\"
",
    );
    let stage = &configuration.spec.stages[0];
    assert_eq!(stage.templates["copy"].0["data"]["key"], "value");
    assert!(stage.progress);
    assert_eq!(stage.on_failure, OnFailure::Rollback);
}

#[test]
fn broker() {
    let broker: Broker = read(
        "
apiVersion: operator.broker.platform-mesh.io/v1alpha1
kind: Broker
metadata:
  name: resource-broker
  namespace: resource-broker-system
spec:
  replicas: 2
  image: {repository: localhost/resource-broker, tag: dev, pullPolicy: IfNotPresent, imagePullSecrets: [{name: pull}]}
  serviceAccountName: broker
  resources: {limits: {memory: 128Mi}}
  securityContext: {runAsNonRoot: true}
  extraArgs: [-watch-kind=Certificate.v1alpha1.example.platform-mesh.io]
  env: [{name: A, value: b}]
  volumes:
  - name: kubeconfig
    secret: {secretName: kubeconfig}
  volumeMounts:
  - {name: kubeconfig, mountPath: /kubeconfigs, readOnly: true}
",
    );
    assert_eq!(broker.spec.volumes[0].name, "kubeconfig");
}

#[test]
fn status_of_a_brokered_kind() {
    let status: BrokeredStatus = read(
        "
status: Available
relatedResources:
  secret:
    gvk: {group: core, version: v1, kind: Secret}
    name: a8b70b353e97-tls
",
    );
    assert_eq!(status.status, Some(Availability::Available));
    assert_eq!(status.related_resources["secret"].gvk.kind, "Secret");
}
