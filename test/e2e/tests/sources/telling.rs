//! `/healthz`, `/readyz` and `/metrics`.

use e2e::Scene;
use serde_json::Value;

use crate::{ARIADNE, BART, HOMER, PEACE, WORLD, engage, file, metric, placed, until_metric, until_said};

#[test]
fn an_unreachable_cluster_is_named_and_not_fatal() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let bart = world.consumer(BART);
        bart.cluster.stop();
        engage(world, "consumer", bart, BART, "broker");
        let said = until_said(world, &["consumer#bart is unreachable"]).await;
        assert!(said.len() > "consumer#bart is unreachable: ".len(), "it says why: {said}");
        until_metric(world, "resource_broker_clusters{role=\"consumer\",state=\"Unreachable\"}", 1.0).await;
        let (code, _) = world.broker().await.as_ref().unwrap().health("/healthz").await.unwrap();
        assert_eq!(code, 200);
        bart.cluster.start_again().await.unwrap();
        until_metric(world, "resource_broker_clusters{role=\"consumer\",state=\"Ready\"}", 2.0).await;
        std::fs::remove_file(file(world, "consumer", BART)).unwrap();
        until_metric(world, "resource_broker_clusters{role=\"consumer\",state=\"Ready\"}", 1.0).await;
    });
}

#[test]
fn metrics_have_the_names_that_people_know() {
    WORLD.run(async |world| {
        let _order = PEACE.read().await;
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "metrics", &[homer]).await;
        scene.accept(ariadne, Value::Null).await;
        let count = "resource_broker_create_to_copy_seconds_count";
        let before = metric(world, count).await.unwrap();
        let served = metric(world, "resource_broker_objects{state=\"Served\"}").await.unwrap();
        scene.certificate(homer, "web").await;
        scene.until(homer, "web", "to be placed", placed).await;
        assert!((metric(world, count).await.unwrap() - before - 1.0).abs() < 1e-9, "one more copy was made");
        until_metric(world, "resource_broker_objects{state=\"Served\"}", served + 1.0).await;

        let guard = world.broker().await;
        let metrics = guard.as_ref().unwrap().metrics().await.unwrap();
        for name in [
            "workqueue_adds_total{name=\"origins\"}",
            "workqueue_depth{name=\"origins\"}",
            "workqueue_retries_total{name=\"origins\"}",
            "workqueue_queue_duration_seconds_bucket{",
            "workqueue_work_duration_seconds_bucket{",
            "workqueue_longest_running_processor_seconds{name=\"origins\"}",
            "rest_client_requests_total{code=\"200\"",
            "rest_client_request_duration_seconds_bucket{",
            "resource_broker_objects{state=\"Waiting\"}",
            "resource_broker_clusters{role=\"coordination\",state=\"Ready\"} 1",
            "resource_broker_watch_staleness_seconds{cluster=\"consumer#homer\",kind=\"Certificate\"}",
            "resource_broker_create_to_copy_seconds_bucket{",
            "resource_broker_kubeconfigs_rejected ",
            "leader_election_master_status{name=\"resource-broker\"} 1",
        ] {
            assert!(metrics.contains(name), "{name} is not in\n{metrics}");
        }
        for user in ["broker", "broker-2"] {
            assert!(!metrics.contains(homer.cluster.token(user).unwrap()), "a token in the metrics");
        }
        let broker = guard.as_ref().unwrap();
        assert_eq!(broker.health("/healthz").await.unwrap(), (200, "ok\n".to_owned()));
    });
}
