//! Clusters that turn out empty: nothing goes before a person has confirmed it. And one API server in two roles that
//! does not say who it is.

use broker_api::keys;
use e2e::{Broker, BrokerSetup, DEADLINE, Object, Place, Scene, kind::ACCEPT_API, scene::ACCEPT_NAMESPACE};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{BART, HOMER, HUB, WORLD, deletion::HOLD};

/// All that the limited user needs, but for `kube-system`: RBAC as `admin` would give it.
pub(crate) const ALL_BUT_NAMESPACES: &str = r#"
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: blind}
rules:
- {apiGroups: ["e2e.test", "broker.platform-mesh.io", "apiextensions.k8s.io", "events.k8s.io"], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [secrets, configmaps], verbs: ["*"]}
- {apiGroups: [""], resources: [namespaces], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: blind}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: blind}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: limited}]
"#;

/// A kind of the broker whose consumer and provider are one API server.
const TWIN: e2e::Kind = e2e::Kind::test("Twin", "twins");

/// Coordination cluster, consumer and provider in one, and `kube-system` may not be read: whose is whose is told by the
/// signature.
#[test]
fn one_api_server_in_two_roles_makes_no_copies_of_copies_although_it_does_not_say_who_it_is() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let _alone = HUB.lock().await;
        let both = Place::new("both", world.hub.cluster.clone()).await;
        both.apply(&format!("{}\n---\n{}\n---\n{ALL_BUT_NAMESPACES}", TWIN.crd(), ACCEPT_API.crd())).await;
        let scene = Scene::new(world, "twins", &[&both]).await;
        both.make_namespace("twins-broker").await;
        let setup = BrokerSetup {
            name: "twins-broker",
            user: "limited",
            consumers: vec![&both],
            providers: vec![&both],
            kinds: &[TWIN],
            args: coordination(world, "twins-broker", &["--namespace", "twins-broker"]),
            ..BrokerSetup::default()
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        assert!(broker.log().contains("may not read the namespace kube-system"), "{}", broker.last_lines(20));
        let any = json!({"key": "scene", "valueIn": [scene.name]});
        let accept = scene.accept_kind(&TWIN, &both, &[any], Value::Null).await;
        for name in ["m", "n"] {
            both.create(&TWIN, scene.ns(), name, json!({"spec": {"scene": scene.name}})).await;
            let copy = both.until_there(&TWIN, scene.ns(), &both.copy_name(name)).await;
            both.set_status(&TWIN, scene.ns(), copy.name(), json!({"status": "Available"})).await;
            let back = |seen: &Object| seen.text("/status/status") == "Available";
            both.until(&TWIN, scene.ns(), name, "the status", back).await;
        }
        let placed = |seen: &Object| seen.at("/status/placed") == 2;
        both.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "2 placed", placed).await;
        // Whoever strips a copy's marks gets them back, and no copy of it.
        let stripped = json!({"metadata": {"annotations": null, "labels": null}});
        both.edit(&TWIN, scene.ns(), &both.copy_name("m"), stripped).await;
        let marked = |seen: &Object| seen.annotation(keys::ORIGIN).is_some();
        both.until(&TWIN, scene.ns(), &both.copy_name("m"), "its marks again", marked).await;
        let all = both.list(&TWIN, scene.ns()).await;
        assert_eq!(all.len(), 4, "{all:?}");
        for copy in all.iter().filter(|object| object.annotation(keys::CONSUMER_UID).is_some()) {
            assert_eq!((copy.finalizers(), copy.annotation(keys::PROVIDER_CLUSTER)), (vec![], None), "{copy}");
        }
        for name in ["m", "n"] {
            both.delete(&TWIN, scene.ns(), name).await;
            both.until_gone(&TWIN, scene.ns(), name).await;
        }
        assert_eq!(both.list(&TWIN, scene.ns()).await, []);
        assert_eq!(broker.terminate().await, Some(0));
    });
}

/// Flags of a broker whose coordination cluster is the hub, as a user who may do everything there.
pub(crate) fn coordination(world: &e2e::World, name: &str, args: &[&str]) -> Vec<String> {
    let file = world.lab.directory().join(format!("{name}-hub.kubeconfig"));
    world.hub.cluster.write_kubeconfig("broker", &file).unwrap();
    let hub = ["--coordination-kubeconfig".to_owned(), file.display().to_string()];
    hub.into_iter().chain(crate::arguments(args)).collect()
}

/// A kind of the broker whose consumer is swapped.
const SWAPPED: e2e::Kind = e2e::Kind::test("Swapped", "swappeds");

const MANY: usize = 12;

async fn until_it_holds(broker: &Broker) {
    let held = wait_for(DEADLINE, "the metric of deletions that are held", async || {
        let metrics = broker.metrics().await?;
        let all = format!("resource_broker_deletions_held{{consumer=\"consumer#homer\"}} {MANY}");
        anyhow::ensure!(metrics.contains(&all), "{metrics}");
        Ok(())
    });
    held.await.unwrap_or_else(|error| panic!("{error:#}\n{}", broker.last_lines(40)));
}

async fn until_left(broker: &Broker, count: usize, uids: &impl AsyncFn() -> Vec<String>) {
    let what = format!("{count} copies to be left");
    let left = wait_for(DEADLINE, &what, async || {
        let left = uids().await.len();
        if left == count { Ok(()) } else { Err(format!("{left} left")) }
    });
    left.await.unwrap_or_else(|error| panic!("{error:#}\n{}", broker.last_lines(40)));
}

fn is_held(seen: &Object) -> bool {
    seen.has("DeletionsHeld", "True", "OriginsVanished")
}

/// A kubeconfig leads to another cluster, which is empty and may not be asked who it is: all origins seem to be gone, and
/// live reads say so, too.
#[test]
fn copies_stay_when_most_origins_of_a_cluster_vanish_until_a_person_confirms() {
    WORLD.run(async |world| {
        let _beside = crate::MIGRATIONS.read().await;
        let _alone = HUB.lock().await;
        let (homer, bart, hub) = (world.consumer(HOMER), world.consumer(BART), &world.hub);
        for place in [homer, bart, hub] {
            place.apply(&format!("{}\n---\n{ALL_BUT_NAMESPACES}", SWAPPED.crd())).await;
        }
        hub.apply(&ACCEPT_API.crd().to_string()).await;
        let scene = Scene::new(world, "swapped", &[homer]).await;
        hub.make_namespace("swapped-broker").await;
        let directory = world.lab.directory().join("swapped-consumers");
        std::fs::create_dir_all(&directory).unwrap();
        let file = directory.join("homer.kubeconfig");
        homer.cluster.write_kubeconfig("limited", &file).unwrap();
        let args = ["--namespace", "swapped-broker", "--consumer-kubeconfig", &file.display().to_string()];
        let setup = BrokerSetup {
            name: "swapped-broker",
            coordination: Some(hub),
            providers: vec![hub],
            kinds: &[SWAPPED],
            args: crate::arguments(&args),
            ..BrokerSetup::default()
        };
        let mut broker = Broker::start(&world.lab, &setup).await;
        let any = json!({"key": "scene", "valueIn": [scene.name]});
        let accept = scene.accept_kind(&SWAPPED, hub, &[any], Value::Null).await;
        for number in 0..MANY {
            let body = json!({"spec": {"scene": scene.name}});
            homer.create(&SWAPPED, scene.ns(), &format!("o{number}"), body).await;
        }
        let mut copies = Vec::new();
        for number in 0..MANY {
            let name = homer.copy_name(&format!("o{number}"));
            copies.push(hub.until_there(&SWAPPED, scene.ns(), &name).await.uid().to_owned());
        }
        copies.sort();
        let uids = async || {
            let mut uids: Vec<String> =
                hub.list(&SWAPPED, scene.ns()).await.iter().map(|copy| copy.uid().to_owned()).collect();
            uids.sort();
            uids
        };

        // Also after a restart: it is read off what is there.
        assert_eq!(broker.terminate().await, Some(0));
        bart.cluster.write_kubeconfig("limited", &file).unwrap();
        broker.start_again(&world.lab).await;
        let told = hub.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "deletions to be held", is_held).await;
        let message = &told.condition("DeletionsHeld").unwrap().message;
        assert!(message.contains("12 of 12") && message.contains("consumer homer"), "{message}");
        assert!(message.contains(keys::CONFIRM_DELETIONS), "it says what to do: {message}");
        hub.until_event(ACCEPT_NAMESPACE, &accept, "OriginsVanished", |told| told.status == "Warning").await;
        until_it_holds(&broker).await;
        let (code, body) = broker.health("/readyz").await.unwrap();
        assert!(code == 200 && body.contains("12 copies have lost their origins"), "{code} {body}");
        assert_eq!(uids().await, copies);

        // It was a mistake: all is as before, the same copies.
        homer.cluster.write_kubeconfig("limited", &file).unwrap();
        let released = |seen: &Object| seen.condition("DeletionsHeld").is_none();
        hub.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "the brake to be released", released).await;
        let wanted = json!({"spec": {"scene": scene.name, "size": 2}});
        homer.edit(&SWAPPED, scene.ns(), "o1", wanted).await;
        let edited = |seen: &Object| seen.at("/spec/size") == 2;
        hub.until(&SWAPPED, scene.ns(), &homer.copy_name("o1"), "the edit", edited).await;
        assert_eq!(uids().await, copies);

        // It was none: a person at the provider says so. Killed before, and in the middle of what comes of it, with one
        // copy that its provider holds.
        bart.cluster.write_kubeconfig("limited", &file).unwrap();
        hub.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "deletions to be held again", is_held).await;
        assert_eq!(uids().await, copies);
        let last = homer.copy_name("o0");
        hub.edit(&SWAPPED, scene.ns(), &last, json!({"metadata": {"finalizers": [HOLD]}})).await;
        broker.kill();
        broker.start_again(&world.lab).await;
        until_it_holds(&broker).await;
        assert_eq!(uids().await, copies);
        broker.kill();
        let confirmed = json!({"metadata": {"annotations": {keys::CONFIRM_DELETIONS: HOMER}}});
        hub.edit(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, confirmed).await;
        broker.start_again(&world.lab).await;
        until_left(&broker, 1, &uids).await;
        hub.until(&SWAPPED, scene.ns(), &last, "to be on its way out", Object::is_deleting).await;
        broker.kill();
        broker.start_again(&world.lab).await;
        hub.edit(&SWAPPED, scene.ns(), &last, json!({"metadata": {"finalizers": null}})).await;
        until_left(&broker, 0, &uids).await;
        hub.until(&ACCEPT_API, ACCEPT_NAMESPACE, &accept, "nothing to be held", released).await;
        assert_eq!(broker.terminate().await, Some(0));
        homer.edit(&SWAPPED, scene.ns(), "o1", json!({"metadata": {"finalizers": null}})).await;
    });
}
