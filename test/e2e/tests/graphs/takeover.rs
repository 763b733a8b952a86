//! What kro leaves behind is taken over: nothing is issued, and no child is written.

use e2e::{
    Kind, Object,
    kind::{CONFIG_MAP, CRD},
};
use harness::wait_for;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::{
    ALONE, BROKEN,
    idle::until_quiet,
    kinds::{MANAGER, REVISION, RGD},
    rgd::{Node, Rgd},
    scene::Scene,
    writes::words,
};

const LEASE: Kind = Kind { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };
const QUIET: std::time::Duration = std::time::Duration::from_millis(1500);

fn pair() -> Rgd {
    Rgd::new("Pair")
        .spec(json!({"text": "string | default=\"a\""}))
        .status(json!({"uid": "${one.metadata.uid}"}))
        .node(Node::config("one", "${schema.metadata.name}-1", json!({"text": "${schema.spec.text}"})))
        .node(Node::config("two", "${schema.metadata.name}-2", json!({"uid": "${one.metadata.uid}"})))
}

/// Makes a child what kro would have applied: its version, and no digest.
async fn as_kro_applied(scene: &Scene<'_>, name: &str) -> Object {
    let held = scene.config(name).await;
    let mut labels = held.at("/metadata/labels").clone();
    labels["kro.run/kro-version"] = json!("v0.9.3");
    let order = held.annotation("internal.kro.run/apply-order").unwrap();
    let annotations = json!({"internal.kro.run/apply-order": order});
    let body = CONFIG_MAP.object(
        scene.ns(),
        name,
        &json!({"metadata": {"labels": labels, "annotations": annotations}, "data": held.at("/data")}),
    );
    let api = scene.place().api(&CONFIG_MAP, scene.ns());
    let applied = api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(body)).await.unwrap();
    let applied = Object::from(applied);
    assert_eq!(applied.annotation("internal.kro.run/applied-digest"), None, "{applied}");
    applied
}

/// Makes a revision one that kro has issued, with its own hash.
async fn as_kro_issued(scene: &Scene<'_>, name: &str) {
    let place = scene.place();
    let held = place.get(&REVISION, "", name).await;
    place.edit(&REVISION, "", name, json!({"metadata": {"finalizers": null}})).await;
    place.delete(&REVISION, "", name).await;
    place.until_gone(&REVISION, "", name).await;
    let mut labels = held.at("/metadata/labels").clone();
    labels["kro.run/kro-version"] = json!("v0.9.3");
    labels["kro.run/graph-revision-hash"] = json!("5d41402abc4b2a76");
    let owners = held.at("/metadata/ownerReferences");
    let metadata = json!({"labels": labels, "ownerReferences": owners, "finalizers": held.at("/metadata/finalizers")});
    place.create(&REVISION, "", name, json!({"metadata": metadata, "spec": held.at("/spec")})).await;
    place.set_status(&REVISION, "", name, held.at("/status").clone()).await;
}

/// Makes marks of an object what kro's version of them is.
async fn marked(scene: &Scene<'_>, kind: &Kind, namespace: &str, name: &str, annotations: Value) {
    let labels = json!({"kro.run/kro-version": "v0.9.3"});
    let patch = json!({"metadata": {"labels": labels, "annotations": annotations}});
    scene.place().edit(kind, namespace, name, patch).await;
}

#[test]
fn what_kro_left_is_taken_over_without_a_write_to_a_child() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "taken-over").await;
        let kind = scene.define(&pair()).await;
        for name in ["x", "leaving"] {
            scene.bring_up(&kind, name, json!({})).await;
        }
        let mut controller = stage.controller().await;
        controller.terminate().await;
        let tooling = json!({"applyset.kubernetes.io/tooling": "kro/0.9.3"});
        for name in ["x", "leaving"] {
            marked(&scene, &kind, scene.ns(), name, tooling.clone()).await;
            for child in [format!("{name}-1"), format!("{name}-2")] {
                as_kro_applied(&scene, &child).await;
            }
        }
        let crd = format!("{}.{}", kind.plural, kind.group);
        marked(&scene, &CRD, "", &crd, json!({"internal.kro.run/crd-digest": null})).await;
        let revision = format!("{}-r00001", scene.rgd_name("Pair"));
        as_kro_issued(&scene, &revision).await;
        // A condition of earlier releases.
        let name = scene.rgd_name("Pair");
        let mut conditions = stage.place.get(&RGD, "", &name).await.at("/status/conditions").clone();
        let mut old = conditions[0].clone();
        old["type"] = json!("ResourceGraphAccepted");
        conditions.as_array_mut().unwrap().push(old);
        stage.place.set_status(&RGD, "", &name, json!({"conditions": conditions})).await;
        // Half deleted: the last wave is gone.
        scene.delete(&kind, "leaving").await;
        scene.delete(&CONFIG_MAP, "leaving-2").await;
        let before = [scene.config("x-1").await, scene.config("x-2").await];

        let mark = stage.mark().await;
        controller.start_again(&stage.lab).await;
        drop(controller);
        scene.gone(&kind, "leaving").await;
        until_quiet(stage, QUIET).await;
        assert_eq!(scene.configs().await, ["x-1", "x-2"]);
        let requests = stage.requests(mark).await;
        let children = words(&requests.on("configmaps"));
        assert_eq!(children, ["delete configmaps"], "of the one that was half deleted: {requests:?}");
        assert_eq!(words(&requests.on("graphrevisions")), Vec::<String>::new(), "{requests:?}");
        for child in before {
            assert_eq!(scene.config(child.name()).await.version(), child.version(), "{child}");
        }
        let gone = |seen: &Object| seen.condition("ResourceGraphAccepted").is_none();
        let seen = scene.rgd_until(&kind, "the old condition to go", gone).await;
        assert_eq!(
            crate::tree::timeless(seen.at("/status/conditions")),
            crate::conditions::rgd_conditions("Pair", 1, 1)
        );
        let seen = scene.served(&kind).await;
        assert_eq!(seen.at("/status/lastIssuedRevision"), 1, "{seen}");

        scene.edit(&kind, "x", json!({"text": "b"})).await;
        scene.config_says("x-1", "text", "b").await;
        scene.active(&kind, "x").await;
        let seen = scene.config("x-1").await;
        let managers = seen.at("/metadata/managedFields").as_array().unwrap();
        let ours = managers.iter().filter(|one| one["manager"] == MANAGER && one["operation"] == "Apply").count();
        assert_eq!(ours, 1, "{managers:?}");
    });
}

#[test]
fn an_rgd_that_kro_made_before_there_were_revisions_gets_exactly_one() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "no-revisions").await;
        let kind = scene.define(&pair()).await;
        scene.bring_up(&kind, "x", json!({})).await;
        let name = scene.rgd_name("Pair");
        let mut controller = stage.controller().await;
        controller.terminate().await;
        let revision = format!("{name}-r00001");
        stage.place.edit(&REVISION, "", &revision, json!({"metadata": {"finalizers": null}})).await;
        stage.place.delete(&REVISION, "", &revision).await;
        stage.place.set_status(&RGD, "", &name, json!({"lastIssuedRevision": null})).await;
        let child = as_kro_applied(&scene, "x-1").await;
        let mark = stage.mark().await;
        controller.start_again(&stage.lab).await;
        drop(controller);
        let issued = |seen: &Object| seen.at("/status/lastIssuedRevision") == 1;
        scene.rgd_until(&kind, "one revision", issued).await;
        until_quiet(stage, QUIET).await;
        let requests = stage.requests(mark).await;
        assert_eq!(requests.writes().on("graphrevisions").only(|event| event.code == 201).len(), 1, "{requests:?}");
        assert!(scene.config("x-1").await.uid() == child.uid());
        scene.active(&kind, "x").await;
    });
}

#[test]
fn nothing_is_done_while_another_holds_kros_lease() {
    BROKEN.run(async |stage| {
        let _alone = ALONE.lock().await;
        let scene = Scene::new(stage, "leased").await;
        let mut controller = stage.controller().await;
        controller.terminate().await;
        let now = Object::from(
            stage.place.api(&LEASE, "leased").create(&kube::api::PostParams::default(), &lease()).await.unwrap(),
        );
        let mark = stage.mark().await;
        controller.spawn_with(&stage.lab, &["--leader-elect", "--leader-election-namespace", "leased"]);
        let looked = wait_for(e2e::DEADLINE, "the lease to be looked at", async || {
            let requests = stage.requests(mark).await;
            requests.on("leases").len() >= 2
        });
        looked.await.unwrap();
        scene.apply(&pair()).await;
        let requests = stage.requests(mark).await;
        let writes = words(&requests.only(|event| event.resource != "leases"));
        assert_eq!(writes, Vec::<String>::new(), "{requests:?}");
        let held = stage.place.get(&LEASE, "leased", "controller.kro.run").await;
        assert_eq!(held.text("/spec/holderIdentity"), now.text("/spec/holderIdentity"), "{held}");
        stage.place.delete(&LEASE, "leased", "controller.kro.run").await;
        let kind = scene.kind_of(&pair());
        scene.served(&kind).await;
        let held = stage.place.get(&LEASE, "leased", "controller.kro.run").await;
        assert_ne!(held.text("/spec/holderIdentity"), now.text("/spec/holderIdentity"), "{held}");
        controller.with_args(&stage.lab, &[]).await;
    });
}

fn lease() -> kube::api::DynamicObject {
    let now = k8s_openapi::jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let spec = json!({
        "holderIdentity": "kro-7c9f_1", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now,
        "leaseTransitions": 1,
    });
    serde_json::from_value(LEASE.object("leased", "controller.kro.run", &json!({"spec": spec}))).unwrap()
}
