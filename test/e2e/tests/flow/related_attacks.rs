//! Related resources as a way in: A6; A7 and A8 are in suite `real`. Each entry is refused with an Event, and its neighbours
//! still arrive.

use e2e::{
    Listed,
    kind::{CERTIFICATE, CONFIG_MAP, SECRET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SECOND, THESEUS, WORLD};

#[test]
fn a6_a_reference_into_another_namespace_is_refused() {
    WORLD.run(async |world| {
        let (second, ariadne) = (world.consumer(SECOND), world.provider(ARIADNE));
        let listed = Listed::new("attack-a6-namespace", second, ariadne, Value::Null, world).await;
        ariadne.make_namespace("attack-a6-vault").await;
        ariadne.create(&SECRET, "attack-a6-vault", "root", json!({"stringData": {"a": "b"}})).await;
        listed.list(json!({"bad": {"gvk": SECRET.gvk(), "name": "root", "namespace": "attack-a6-vault"}})).await;
        listed.refused("another namespace").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn a6_another_tenants_secret_is_refused() {
    WORLD.run(async |world| {
        let (homer, second, ariadne) = (world.consumer(HOMER), world.consumer(SECOND), world.provider(ARIADNE));
        let listed = Listed::new("attack-a6-tenant", second, ariadne, Value::Null, world).await;
        let ns = listed.scene.ns();
        homer.make_namespace(ns).await;
        // The other tenant's object of the same name and namespace, with two Secrets: one is known by its name, the
        // other by the copy that owns it.
        listed.scene.certificate(homer, "www").await;
        let theirs = listed.scene.copy(homer, "www", ariadne).await;
        let by_name = format!("{}-tls", theirs.name());
        ariadne.create(&SECRET, ns, &by_name, json!({"stringData": {"a": "b"}})).await;
        let owner = json!([{
            "apiVersion": CERTIFICATE.api_version(), "kind": "Certificate", "name": theirs.name(), "uid": theirs.uid(),
        }]);
        let body = json!({"metadata": {"ownerReferences": owner}, "stringData": {"a": "b"}});
        ariadne.create(&SECRET, ns, "owned", body).await;
        listed
            .list(json!({
                "name": {"gvk": SECRET.gvk(), "name": by_name},
                "owner": {"gvk": SECRET.gvk(), "name": "owned"},
            }))
            .await;
        listed.refused("prefix of another consumer").await;
        listed.refused("belongs to another object").await;
        listed.nothing_else(&[SECRET]).await;
    });
}

#[test]
fn an_accept_api_narrows_the_kinds_and_names_are_names() {
    WORLD.run(async |world| {
        let (second, theseus) = (world.consumer(SECOND), world.provider(THESEUS));
        let narrowed = json!({"relatedKinds": ["ConfigMap"]});
        let listed = Listed::new("attack-narrowed", second, theseus, narrowed, world).await;
        theseus.create(&SECRET, listed.scene.ns(), "tls", json!({"stringData": {"a": "b"}})).await;
        listed
            .list(json!({
                "secret": {"gvk": SECRET.gvk(), "name": "tls"},
                "path": {"gvk": CONFIG_MAP.gvk(), "name": "../../../namespaces/kube-system"},
            }))
            .await;
        listed.refused("relatedKinds").await;
        listed.refused("not a valid object name").await;
        listed.nothing_else(&[SECRET]).await;
    });
}
