use broker_api::keys;
use broker_core::{memory::Subject, migration::known::Side};
use runtime_effect::kind::Kind;
use runtime_engine::view::view;
use serde_json::{Value, json};

use super::*;
use crate::origins::key::origin_key;

/// A person's Migration of `n/a8b70b353e97-cert` from `one` to `two`, with these fields put over it.
pub(crate) fn migration(patch: &Value) -> Known {
    let side = |cluster: &str| {
        let gvk = json!({"group": "example.platform-mesh.io", "version": "v1alpha1", "kind": "Certificate"});
        json!({"gvk": gvk, "name": "a8b70b353e97-cert", "namespace": "n", "clusterName": cluster})
    };
    let mut value = json!({
        "metadata": {"name": "m", "namespace": "n", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"from": side("one"), "to": side("two")},
    });
    for (part, fields) in patch.as_object().into_iter().flatten() {
        for (name, field) in fields.as_object().into_iter().flatten() {
            value[part][name] = field.clone();
        }
    }
    let (key, object) = crate::conventions::object(&value);
    Known::parse(&key, &view(&object).unwrap(), None, None).unwrap()
}

fn origin(name: &str) -> OriginKey {
    let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
    origin_key(&ClusterName::consumer("homer"), &Arc::new(kind), &ObjectKey::new("n", name))
}

fn about(name: &str) -> MovedOrigin {
    MovedOrigin::Known(origin(name), "1".into())
}

/// What a Migration may listen to.
fn secret() -> Interest {
    Interest {
        cluster: ClusterName::provider("one"),
        kind: Kind { group: String::new(), version: "v1".into(), kind: "Secret".into() },
        namespace: "n".into(),
        name: "s".into(),
    }
}

#[test]
fn another_migration_of_the_same_name_has_no_past() {
    let all = Migrations::default();
    let known = migration(&json!({}));
    let key = known.key.clone();
    all.update(&key, Some((known, about("x"))));
    all.listen(&key, &[secret()]);
    all.remember(&key, |memory| memory.wrote(Subject::Migration, [1; 8], None, 5));
    let ends = || all.set_ends(&key, Ends { stages: Vec::new(), failed: Some("Why") });
    ends();
    all.update(&key, Some((migration(&json!({"spec": {"force": true}})), about("x"))));
    assert!(all.get(&key).unwrap().2.wants_again(Subject::Migration, [1; 8]));
    assert_eq!(all.take_ends(&key).failed, Some("Why"), "that the write went through is heard after its answer");
    ends();
    all.update(&key, Some((migration(&json!({"metadata": {"uid": "other"}})), about("x"))));
    assert!(!all.get(&key).unwrap().2.wants_again(Subject::Migration, [1; 8]));
    assert_eq!(all.take_ends(&key).failed, None);
    assert!(all.lock().interests.of(&secret()).is_empty(), "the other one has not listened to anything yet");
}

#[test]
fn what_concerns_a_migration_puts_it_into_the_queue() {
    let all = Migrations::default();
    all.set_hub(&ClusterName::new(broker_api::Role::Coordination, "hub"));
    let known = migration(&json!({"status": {"id": "x1"}}));
    let key = known.key.clone();
    let interest = secret();
    let adds = || all.queue.stats().adds;
    all.stage_moved("x1");
    assert_eq!(adds(), 0);
    all.update(&key, Some((known, about("x"))));
    assert!(all.listen(&key, std::slice::from_ref(&interest)) && !all.listen(&key, std::slice::from_ref(&interest)));
    all.stage_moved("x1");
    all.related_moved(&interest);
    all.copy_moved(&ObjectKey::new("n", "a8b70b353e97-cert"));
    all.origin_moved(&origin("x"));
    assert_eq!(adds(), 4);
    all.copy_moved(&ObjectKey::new("other", "a8b70b353e97-cert"));
    all.listen(&key, &[]);
    all.related_moved(&interest);
    all.update(&key, Some((migration(&json!({"status": {"state": "Failed"}})), about("x"))));
    all.origin_moved(&origin("x"));
    assert_eq!(adds(), 4, "it has ended, and listens no more");
    // Its finalizer waits for the move to end.
    let held = json!({"metadata": {"finalizers": [keys::FINALIZER]}, "status": {"state": "CutoverCompleted"}});
    all.update(&key, Some((migration(&held), about("x"))));
    all.stage_moved("x1");
    all.origin_moved(&origin("x"));
    assert_eq!(adds(), 5);
}

/// Providers `one` and `two`, and the consumer `homer` once it is known whose object it is.
#[test]
fn a_cluster_has_looked_at_what_is_open_and_has_to_do_with_it() {
    let all = Migrations::default();
    all.set_hub(&ClusterName::new(broker_api::Role::Coordination, "hub"));
    let known = migration(&json!({}));
    let key = known.key.clone();
    all.update(&key, Some((known.clone(), MovedOrigin::Unknown)));
    let told = || {
        let clusters = [ClusterName::provider("one"), ClusterName::provider("two"), ClusterName::consumer("homer")];
        let adds = || all.queue.stats().adds;
        clusters.map(|cluster| {
            let before = adds();
            all.cluster_moved(&cluster);
            adds() - before
        })
    };
    assert_eq!(told(), [1, 1, 0]);
    let held = all.get(&key).unwrap().0;
    all.set_about(&held, about("x"));
    assert_eq!(told(), [1, 1, 1]);
    let elsewhere = |provider: &str| Known {
        to: Side { provider: ClusterName::provider(provider), ..known.to.clone() },
        ..known.clone()
    };
    all.update(&key, Some((elsewhere("three"), about("x"))));
    assert_eq!(told(), [1, 0, 1], "it was edited");
    all.update(&key, Some((migration(&json!({"status": {"state": "Failed"}})), about("x"))));
    assert_eq!(told(), [0, 0, 0], "it has ended");
    all.enqueue_open();
    all.update(&key, Some((known, about("x"))));
    all.listen(&key, &[secret()]);
    all.update(&key, None);
    assert!(all.lock().interests.of(&secret()).is_empty());
    assert_eq!(format!("{:?}", all.lock().book), format!("{:?}", Book::<Rest>::default()), "nothing is kept of it");
}
