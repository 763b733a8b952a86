//! Stages in a cluster of their own, of a kind that nobody watched before and that is only installed later.

use broker_api::keys;
use e2e::{
    World,
    kind::{ACCEPT_API, CERTIFICATE, CONFIG_MAP, MIGRATION, SECRET, WIDGET},
    scene::{ACCEPT_NAMESPACE, Scene},
    world::coordination,
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, available, command_line, configure, served, state, the_only, until_swept};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stages_run_in_the_compute_cluster_and_survive_a_killed_broker() {
    let world = World::modelled(&[HOMER], &[ARIADNE, THESEUS], &[CERTIFICATE]).await;
    let compute = coordination(&world.lab, "compute", &[]).await;
    let file = world.lab.directory().join("compute.kubeconfig");
    compute.cluster.write_kubeconfig("broker", &file).unwrap();
    world.start_broker(&[CERTIFICATE], &["--compute-kubeconfig", &file.display().to_string()]).await;
    let (homer, ariadne, theseus) = (world.consumer(HOMER), world.provider(ARIADNE), world.provider(THESEUS));
    let hub = &world.hub;
    let scene = Scene::new(&world, "mig-compute", &[homer]).await;
    let (accept, old) = served(&scene, homer, ariadne, "cert").await;
    let widget = json!({"apiVersion": WIDGET.api_version(), "kind": WIDGET.kind, "spec": {"name": "${migration.metadata.name}"}});
    let stages = json!([{"name": "work", "templates": {"job": widget}, "successConditions": ["has(job.status) && job.status.done"]}]);
    configure(hub, "stages", stages).await;
    scene.accept(theseus, Value::Null).await;
    ariadne.delete(&ACCEPT_API, ACCEPT_NAMESPACE, &accept).await;
    let new = scene.copy(homer, "cert", theseus).await;
    available(theseus, &new).await;
    let migration = the_only(hub, scene.ns()).await;
    let name = migration.name();
    let missing = |seen: &e2e::Object| seen.condition("Stalled").is_some_and(|told| told.reason == "KindMissing");
    let migration = hub.until(&MIGRATION, scene.ns(), name, "to miss the kind", missing).await;
    let id = migration.text("/status/id").to_owned();
    // Its namespace was made for the Secrets of both sides.
    compute.until_there(&SECRET, scene.ns(), &format!("{id}-to-{}-key", new.name())).await;
    compute.apply(&WIDGET.crd().to_string()).await;
    let job = compute.until_there(&WIDGET, scene.ns(), &format!("{id}-job")).await;
    assert_eq!(job.text("/spec/name"), name);
    // A person who says where that is, sees it.
    let object = ["trace", "certificate/cert", "--namespace", scene.ns()];
    let there = ["--compute-kubeconfig".to_owned(), file.display().to_string()];
    let asked = [&object[..], &[&there[0], &there[1]]].concat();
    let said = command_line::broker(&world, &asked).await;
    let told = format!("stage object compute#compute Widget {}/{}", scene.ns(), job.name());
    assert!(said.code == Some(0) && said.out.contains(&told), "{said:?}");
    let said = command_line::broker(&world, &object).await;
    assert!(said.out.contains("stage coordination#coordination") && !said.out.contains(job.name()), "{said:?}");
    let said = command_line::broker(&world, &["clusters", &there[0], &there[1]]).await;
    assert!(said.out.lines().any(|line| line.starts_with("compute") && line.contains("true")), "{said:?}");
    let asked = ["why", object[1], object[2], object[3], "--broker-namespace", "default", &there[0], &there[1]];
    let said = command_line::broker(&world, &asked).await;
    assert!(
        said.out.contains("waits: the move to theseus waits for Migration") && !said.out.contains("compute#"),
        "{said:?}"
    );

    // One of its objects is taken away, one loses its label, and meanwhile nobody is there.
    let mut guard = world.broker().await;
    let broker = guard.as_mut().unwrap();
    broker.kill();
    compute.delete(&SECRET, scene.ns(), &format!("{id}-to-{}-key", new.name())).await;
    let unlabelled = json!({"metadata": {"labels": {keys::MIGRATION_ID: null}}});
    compute.edit(&WIDGET, scene.ns(), job.name(), unlabelled).await;
    broker.start_again(&world.lab).await;
    let labelled = |seen: &e2e::Object| seen.label(keys::MIGRATION_ID) == Some(&id);
    let again = compute.until(&WIDGET, scene.ns(), job.name(), "to be labelled again", labelled).await;
    assert_eq!(again.uid(), job.uid(), "it is not made anew");
    compute.until_there(&SECRET, scene.ns(), &format!("{id}-to-{}-key", new.name())).await;

    compute.set_status(&WIDGET, scene.ns(), job.name(), json!({"done": true})).await;
    hub.until(&MIGRATION, scene.ns(), name, "to complete", state("CutoverCompleted")).await;
    ariadne.until_gone(&CERTIFICATE, scene.ns(), old.name()).await;
    for kind in [WIDGET, SECRET, CONFIG_MAP] {
        until_swept(&compute, &kind, scene.ns(), &id).await;
    }
    let metrics = broker.metrics().await.unwrap();
    assert!(metrics.contains(r#"resource_broker_migrations{state="CutoverCompleted"} 1"#), "{metrics}");
    // For a while it is looked for what may arrive late; not for one that is gone.
    hub.delete(&MIGRATION, scene.ns(), name).await;
    let ended = harness::wait_for(e2e::DEADLINE, "the watches to end", async || {
        let metrics = broker.metrics().await?;
        let watches = metrics.lines().filter(|line| line.contains("compute#compute") && line.contains("staleness"));
        let watches: Vec<&str> = watches.collect();
        anyhow::ensure!(watches.is_empty(), "{watches:?}");
        Ok(())
    });
    ended.await.unwrap();
    assert!(!broker.log().contains("panicked"), "{}", broker.log());
}
