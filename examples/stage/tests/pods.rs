//! `pod-runner` beside Kubernetes' own controllers: pods run, restart, are told to end, and say what came of them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use example_stage::{DEADLINE, Place, Screen, Stage, controllers, program};
use harness::{Lab, LabOptions, kubectl_binary, wait_for};
use k8s_openapi::api::{
    apps::v1::Deployment,
    batch::v1::Job,
    core::v1::{ContainerStatus, Pod, ServiceAccount},
};
use kube::{Api, api::ListParams};
use serde_json::{Value, json};

/// One cluster with controllers and runner; pods may run `sh`.
async fn stage() -> (Stage, Place) {
    let stage = Stage::new(Lab::start(LabOptions::default()).await.unwrap(), Screen::new());
    let [hub] = stage.clusters(["hub"]).await.unwrap();
    stage.control(&hub, &controllers::WORKLOADS).unwrap();
    let kubeconfig = stage.lab.directory().join("pod-runner.kubeconfig");
    hub.cluster.write_kubeconfig("admin", &kubeconfig).unwrap();
    let program = program::example("pod-runner", "pod-runner").unwrap().arg("--kubeconfig").arg(kubeconfig);
    let program = program.arg("--directory").arg(stage.lab.directory()).args(["--program", "sh=/bin/sh"]);
    stage.start(&program).unwrap();
    (stage, hub)
}

fn template(script: &str) -> Value {
    let container = json!({ "name": "c", "image": "registry.example.org/sh:1", "args": ["-c", script] });
    json!({ "metadata": { "labels": { "app": "a" } }, "spec": { "containers": [container] } })
}

fn deployment(replicas: u32, script: &str) -> String {
    let spec = json!({
        "replicas": replicas, "selector": { "matchLabels": { "app": "a" } }, "template": template(script),
    });
    json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "a" }, "spec": spec }).to_string()
}

async fn available(hub: &Place, wanted: i32) {
    wait_for(DEADLINE, "the Deployment's replicas", async || {
        let held = hub.api::<Deployment>().get("a").await?;
        let status = held.status.unwrap_or_default();
        let observed = status.observed_generation == held.metadata.generation;
        let pods = hub.list::<Pod>().await?.len();
        let there = status.available_replicas.unwrap_or_default();
        let updated = status.updated_replicas.unwrap_or_default();
        anyhow::ensure!(observed && there == wanted && updated == wanted, "{status:?}");
        anyhow::ensure!(i32::try_from(pods)? == wanted, "{pods} pods");
        anyhow::Ok(())
    })
    .await
    .unwrap();
}

/// The state of the one container of the one pod of a Job or Deployment.
async fn container(hub: &Place, selector: &str, fits: impl Fn(&ContainerStatus) -> bool) -> ContainerStatus {
    wait_for(DEADLINE, "the container's status", async || {
        let pods = hub.api::<Pod>().list(&ListParams::default().labels(selector)).await?;
        let pod = pods.items.into_iter().next().ok_or_else(|| anyhow::anyhow!("no pod"))?;
        let status = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
        let status = status.into_iter().next().ok_or_else(|| anyhow::anyhow!("no status"))?;
        anyhow::ensure!(fits(&status), "{status:?}");
        anyhow::Ok(status)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_deployment_runs_rolls_and_goes() {
    let (stage, hub) = stage().await;
    let script = |word: &str| {
        format!("trap 'echo {word} was told to end; exit 0' TERM; echo {word} runs; while :; do sleep 0.1; done")
    };
    let counted = |text: &str| stage.log("sh").matches(text).count();
    hub.apply(&deployment(2, &script("first"))).await.unwrap();
    available(&hub, 2).await;
    wait_for(DEADLINE, "two processes", async || counted("first runs") == 2).await.unwrap();
    hub.apply(&deployment(1, &script("first"))).await.unwrap();
    available(&hub, 1).await;
    wait_for(DEADLINE, "the end of one", async || counted("first was told to end") == 1).await.unwrap();
    // Another template: the new one runs, then the old one is told to end.
    hub.apply(&deployment(1, &script("second"))).await.unwrap();
    available(&hub, 1).await;
    wait_for(DEADLINE, "the other's end", async || counted("first was told to end") == 2).await.unwrap();
    assert_eq!((counted("first runs"), counted("second runs"), counted("second was told to end")), (2, 1, 0));
    hub.delete::<Deployment>("a").await.unwrap();
    hub.none::<Pod>("of the Deployment", |_| true).await.unwrap();
    wait_for(DEADLINE, "the last end", async || counted("second was told to end") == 1).await.unwrap();
}

#[tokio::test]
async fn a_crash_is_told_and_tried_again() {
    let (_stage, hub) = stage().await;
    hub.apply(&deployment(1, "echo no such flag; exit 3")).await.unwrap();
    let status = container(&hub, "app=a", |status| status.restart_count > 0).await;
    let last = status.last_state.unwrap().terminated.unwrap();
    assert_eq!((last.exit_code, last.message.as_deref()), (3, Some("no such flag")));
    let waits = |status: &ContainerStatus| {
        let waiting = status.state.as_ref().and_then(|state| state.waiting.as_ref());
        waiting.is_some_and(|waiting| waiting.reason.as_deref() == Some("CrashLoopBackOff"))
    };
    container(&hub, "app=a", waits).await;
}

#[tokio::test]
async fn a_job_acts_as_its_service_account_and_runs_nothing_else() {
    let (_stage, hub) = stage().await;
    let account = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "worker" } });
    hub.apply(&account.to_string()).await.unwrap();
    Api::<ServiceAccount>::default_namespaced(hub.client.clone()).get("worker").await.unwrap();
    let whoami = format!("{} --kubeconfig \"$SH_KUBECONFIG\" auth whoami", kubectl_binary().unwrap().display());
    for (name, script, command) in [("whoami", whoami.as_str(), None), ("other", "", Some(json!(["/bin/ls"])))] {
        let mut template = template(script);
        template["spec"]["restartPolicy"] = json!("Never");
        template["spec"]["serviceAccountName"] = json!("worker");
        if let Some(command) = command {
            template["spec"]["containers"][0]["command"] = command;
        }
        let spec = json!({ "backoffLimit": 0, "template": template });
        let job = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name }, "spec": spec });
        hub.apply(&job.to_string()).await.unwrap();
    }
    let ended = |status: &ContainerStatus| status.state.as_ref().is_some_and(|state| state.terminated.is_some());
    let said = async |job: &str| {
        let status = container(&hub, &format!("batch.kubernetes.io/job-name={job}"), ended).await;
        let end = status.state.unwrap().terminated.unwrap();
        (end.exit_code, end.message.unwrap_or_default())
    };
    let (code, text) = said("whoami").await;
    assert!(code == 0 && text.contains("system:serviceaccount:default:worker"), "{code}: {text}");
    let (code, text) = said("other").await;
    assert!(code != 0 && text.contains("no program \"/bin/ls\""), "{code}: {text}");
    wait_for(DEADLINE, "the Job to be complete", async || {
        hub.api::<Job>()
            .get("whoami")
            .await?
            .status
            .and_then(|status| status.succeeded)
            .ok_or_else(|| anyhow::anyhow!("not yet"))
    })
    .await
    .unwrap();
}
