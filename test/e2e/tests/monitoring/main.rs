//! A real Prometheus reads what broker, `resource-graphs` and operator tell, with the alerts and the dashboard of
//! `config/monitoring` as people load them.
//!
//! It is one story: nothing is wrong and no alert is there; then one thing after the other goes wrong. What an alert waits
//! for before it fires takes too long here, so that it is pending; when each fires is what `alerts_test.yaml` is for.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dashboard;
mod prometheus;
mod stage;

use e2e::kind::{CERTIFICATE, MIGRATION, SECRET};
use prometheus::Prometheus;
use serde_json::json;
use stage::{BROKER, CLUSTERS, GRAPHS, LEASE, OPERATOR, SHOP, SYSTEM, Stage, note};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prometheus_takes_alerts_and_dashboard_and_tells_what_goes_wrong() {
    if !prometheus::is_there() {
        return eprintln!("skipped: there is no Prometheus (make prometheus)");
    }
    let mut stage = Box::pin(Stage::start()).await;
    let targets = [
        (BROKER, stage.broker.metrics_address()),
        (GRAPHS, stage.graphs.metrics_address()),
        (OPERATOR, stage.operator.metrics_address()),
    ];
    let prometheus = Prometheus::start(&stage.lab, SYSTEM, &targets).await;
    prometheus.until_calm(targets.len()).await;
    what_people_ask_for_cannot_be(&stage, &prometheus).await;
    a_cluster_is_away(&stage, &prometheus).await;
    dashboard::is_filled(&prometheus).await;
    programs_end(&mut stage, &prometheus).await;
    nobody_leads(&mut stage, &prometheus).await;
}

async fn what_people_ask_for_cannot_be(stage: &Stage, prometheus: &Prometheus) {
    let broker = ("job", BROKER);
    // Ten are many.
    for number in 0..10 {
        let spec = json!({"spec": {"fqdn": format!("stray-{number}.elsewhere.test")}});
        stage.homer.create(&CERTIFICATE, SHOP, &format!("stray-{number}"), spec).await;
    }
    prometheus.until_alert("ResourceBrokerObjectsNotServed", &[broker, ("state", "Waiting")]).await;
    let summary = prometheus.until_alert("ResourceBrokerManyObjectsNotServed", &[broker]).await;
    assert!(summary.ends_with("% of the objects of resource-broker-system/broker are not served"), "{summary}");

    let side =
        |cluster: &str| json!({"gvk": CERTIFICATE.gvk(), "name": "none", "namespace": SHOP, "clusterName": cluster});
    let spec = json!({"from": side("theseus"), "to": side("nobody")});
    stage.hub.create(&MIGRATION, SHOP, "nowhere", json!({"spec": spec})).await;
    prometheus.until_alert("ResourceBrokerMigrationsFailed", &[broker]).await;

    let labels = json!({"broker.platform-mesh.io/role": "consumer"});
    let rejected = json!({"metadata": {"labels": labels}, "stringData": {"kubeconfig": "nothing"}});
    stage.hub.create(&SECRET, CLUSTERS, "rejected", rejected).await;
    let summary = prometheus.until_alert("ResourceBrokerKubeconfigsRejected", &[broker]).await;
    assert_eq!(summary, "1 kubeconfigs of resource-broker-system/broker cannot be used");

    // Another's ConfigMap.
    stage.hub.apply(&note("second", "first")).await;
    prometheus.until_alert("ResourceGraphsInstancesFail", &[("job", GRAPHS)]).await;
}

async fn a_cluster_is_away(stage: &Stage, prometheus: &Prometheus) {
    stage.theseus.cluster.stop();
    prometheus.until_alert("ResourceBrokerClustersUnreachable", &[("job", BROKER), ("role", "provider")]).await;
    let spoke = ("cluster", "spoke#theseus");
    let summary = prometheus.until_alert("ResourceGraphsSpokeUnreachable", &[("job", GRAPHS), spoke]).await;
    assert_eq!(summary, "Cluster spoke#theseus is not reached");
}

async fn programs_end(stage: &mut Stage, prometheus: &Prometheus) {
    for program in [&mut stage.broker, &mut stage.graphs, &mut stage.operator] {
        program.kill();
    }
    prometheus.until_alert("ResourceBrokerGone", &[("job", BROKER), ("namespace", SYSTEM)]).await;
    prometheus.until_alert("ResourceGraphsGone", &[("job", GRAPHS), ("namespace", SYSTEM)]).await;
    prometheus.until_alert("ResourceBrokerOperatorGone", &[("job", OPERATOR), ("namespace", SYSTEM)]).await;
}

/// The broker comes back, and somebody else has the Lease.
async fn nobody_leads(stage: &mut Stage, prometheus: &Prometheus) {
    let lease = "resource-broker";
    let theirs = json!({"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}});
    stage.hub.edit(&LEASE, SYSTEM, lease, theirs).await;
    stage.broker.start_again(&stage.lab).await;
    prometheus.until_alert("ResourceBrokerNoLeader", &[("job", BROKER), ("name", lease)]).await;
    prometheus.until_over("ResourceBrokerGone").await;
    stage.hub.delete(&LEASE, SYSTEM, lease).await;
    prometheus.until_over("ResourceBrokerNoLeader").await;
}
