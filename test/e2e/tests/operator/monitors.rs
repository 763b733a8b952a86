//! ServiceMonitors, of a kind that a cluster may not have, or not yet.

use serde_json::{Value, json};

use crate::stage::{CLUSTERS, CRDS, DEPLOYMENT, MONITOR, SYSTEM, Stage, assert_no_writes};

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

pub(crate) async fn service_monitors_are_made_once_there_is_the_kind(stage: &mut Stage) {
    let spec = |metrics: bool| {
        json!({"watchKinds": ["Certificate.v1alpha1.example.platform-mesh.io"], "clusterSecretsNamespace": CLUSTERS,
            "metrics": {"enabled": metrics}})
    };
    stage.broker("watched", spec(true)).await;
    stage.until_there(DEPLOYMENT, SYSTEM, "watched").await;
    stage.until_passed("watched").await;
    stage.cluster.apply("person", CRD).await.unwrap();
    let monitor = stage.until_there(MONITOR, SYSTEM, "watched").await;
    assert_eq!(monitor["spec"]["endpoints"], json!([{"port": "metrics"}]));
    assert_eq!(monitor["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"], "watched");

    stage.delete(MONITOR, SYSTEM, "watched").await;
    let again = |seen: &Value| !seen.is_null() && seen["metadata"]["uid"] != monitor["metadata"]["uid"];
    stage.until(MONITOR, (SYSTEM, "watched"), "to be there again", again).await;
    stage.until_passed("watched").await;
    stage.stop_operator().await;
    let mark = stage.mark().await;
    stage.start_operator();
    stage.until_passed("watched").await;
    assert_no_writes(&stage.asked(mark).await);

    stage.broker("watched", spec(false)).await;
    stage.until_gone(MONITOR, SYSTEM, "watched").await;
    stage.broker("watched", spec(true)).await;
    stage.until_there(MONITOR, SYSTEM, "watched").await;
    // The kind goes, and the Broker goes on.
    stage.delete(CRDS, "", "servicemonitors.monitoring.coreos.com").await;
    stage
        .broker(
            "watched",
            json!({"watchKinds": ["VM.v1alpha1.example.platform-mesh.io"],
        "clusterSecretsNamespace": CLUSTERS}),
        )
        .await;
    let changed = |seen: &Value| seen["spec"]["template"]["spec"]["containers"][0]["args"].to_string().contains("VM.");
    stage.until(DEPLOYMENT, (SYSTEM, "watched"), "the other kind", changed).await;
    stage.until_stands("watched", &[("Degraded", "-AsExpected")]).await;
    stage.remove("watched").await;
}
