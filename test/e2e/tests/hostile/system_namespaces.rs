//! Namespaces: those of the system are refused, and those that a provider does not want.

use e2e::{
    Object, Scene,
    kind::{CERTIFICATE, WIDGET},
};
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, THESEUS, WORLD};

/// Says that its namespace is refused, and by which rule.
fn refused(rule: &str) -> impl Fn(&Object) -> bool {
    move |seen: &Object| {
        let told = seen.condition("Brokered").filter(|_| seen.has("Brokered", "False", "NoProvider"));
        told.is_some_and(|told| told.message.contains("namespace") && told.message.contains(rule))
    }
}

#[test]
fn an_object_in_a_system_namespace_makes_no_copy_in_the_providers() {
    WORLD.run(async |world| {
        let (homer, theseus) = (world.consumer(HOMER), world.provider(THESEUS));
        let scene = Scene::new(world, "namespaces-system", &[homer]).await;
        // Allowing all does not allow these.
        scene.accept(theseus, json!({"namespaces": {"allow": ["*"]}})).await;
        scene.accept(theseus, Value::Null).await;
        let body = json!({"spec": {"fqdn": scene.fqdn("sly")}});
        homer.create(&CERTIFICATE, "kube-system", "namespaces-sly", body).await;
        let denied = refused("namespaces.deny: kube-*");
        homer.until(&CERTIFICATE, "kube-system", "namespaces-sly", "to be refused", denied).await;
        let copy = homer.copy_name("namespaces-sly");
        homer.until_event("kube-system", "namespaces-sly", "Refused", |_| true).await;
        assert!(theseus.find(&CERTIFICATE, "kube-system", &copy).await.is_none());

        // Whoever runs the provider may want them nevertheless.
        scene.accept(theseus, json!({"namespaces": {"deny": ["kube-public"]}})).await;
        theseus.until_there(&CERTIFICATE, "kube-system", &copy).await;
        homer.delete(&CERTIFICATE, "kube-system", "namespaces-sly").await;
        homer.until_gone(&CERTIFICATE, "kube-system", "namespaces-sly").await;
    });
}

#[test]
fn an_accept_api_takes_the_namespaces_that_it_names() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        // Refusals are told in this order, and only the first.
        let scene = Scene::new(world, "aa-own", &[homer]).await;
        let ours = [json!({"key": "for", "valueIn": [scene.name]})];
        let elsewhere = json!({"namespaces": {"allow": ["elsewhere-*"]}});
        let accept = scene.accept_kind(&WIDGET, ariadne, &ours, elsewhere).await;
        homer.create(&WIDGET, scene.ns(), "one", json!({"spec": {"for": scene.name}})).await;
        homer.until(&WIDGET, scene.ns(), "one", "to be refused", refused("namespaces.allow")).await;
        let edit = async |namespaces: Value| {
            let patch = json!({"spec": {"namespaces": namespaces}});
            ariadne.edit(&e2e::kind::ACCEPT_API, e2e::scene::ACCEPT_NAMESPACE, &accept, patch).await;
        };
        edit(json!({"allow": ["elsewhere-*", "aa-o*"]})).await;
        let copy = ariadne.until_there(&WIDGET, scene.ns(), &homer.copy_name("one")).await;
        let placed = |seen: &Object| seen.has("Brokered", "True", "Placed");
        homer.until(&WIDGET, scene.ns(), "one", "to be placed", placed).await;

        // Refused later, it is refused as for any other reason: it stays, and says so.
        edit(json!({"deny": ["aa-own"]})).await;
        let told = |seen: &Object| {
            seen.has("Accepted", "False", "NotAccepted")
                && seen.condition("Accepted").unwrap().message.contains("namespaces.deny: aa-own")
        };
        homer.until(&WIDGET, scene.ns(), "one", "not to be accepted", told).await;
        assert_eq!(ariadne.get(&WIDGET, scene.ns(), &homer.copy_name("one")).await.uid(), copy.uid());
    });
}
