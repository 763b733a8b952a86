//! Deletion while the provider cannot be reached: held, told, released by hand, and nothing is left in the end.

use broker_api::keys;
use e2e::{Object, Scene, kind::CERTIFICATE};
use serde_json::{Value, json};

use crate::{PEACE, WORLD, cast, placed};

#[test]
fn an_unreachable_provider_holds_the_finalizer_until_a_person_releases_it() {
    WORLD.run(async |world| {
        let _broken = PEACE.write().await;
        let [homer, _, ariadne, theseus] = cast(world);
        let scene = Scene::new(world, "forced", &[homer]).await;
        scene.accept(ariadne, json!({"filters": [{"key": "fqdn", "prefix": "a"}]})).await;
        scene.accept(theseus, json!({"filters": [{"key": "fqdn", "prefix": "t"}]})).await;
        for (name, provider) in [("a1", ariadne), ("t1", theseus), ("t2", theseus)] {
            scene.certificate(homer, name).await;
            scene.copy(homer, name, provider).await;
            scene.until(homer, name, "to be placed", placed).await;
        }
        let unserved =
            homer.create(&CERTIFICATE, scene.ns(), "nobody", json!({"spec": {"fqdn": "x.example.org"}})).await;

        theseus.cluster.stop();
        for name in ["a1", "t1", "t2", "nobody"] {
            homer.delete(&CERTIFICATE, scene.ns(), name).await;
        }
        // The others go as ever.
        homer.until_gone(&CERTIFICATE, scene.ns(), "a1").await;
        homer.until_gone(&CERTIFICATE, scene.ns(), unserved.name()).await;
        assert!(scene.find_copy(homer, "a1", ariadne).await.is_none());
        // The held ones say why and what helps.
        for name in ["t1", "t2"] {
            let held = |seen: &Object| seen.has("Brokered", "False", "ProviderUnreachable");
            let origin = scene.until(homer, name, "to say that it is held", held).await;
            let told = origin.condition("Brokered").unwrap().message;
            assert!(told.contains("theseus") && told.contains(keys::FORCE_DELETE), "{told}");
            assert_eq!(origin.finalizers(), [keys::FINALIZER]);
            homer.until_event(scene.ns(), name, "ProviderUnreachable", |event| event.message.contains("theseus")).await;
        }

        // One is released by hand; the other waits on.
        let force = json!({"metadata": {"annotations": {keys::FORCE_DELETE: "true"}}});
        homer.edit(&CERTIFICATE, scene.ns(), "t1", force).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "t1").await;
        scene.barrier(homer, ariadne).await;
        assert_eq!(homer.get(&CERTIFICATE, scene.ns(), "t2").await.finalizers(), [keys::FINALIZER]);

        // The provider is back: what was left there goes, of both.
        theseus.cluster.start_again().await.unwrap();
        homer.until_gone(&CERTIFICATE, scene.ns(), "t2").await;
        for name in ["t1", "t2"] {
            theseus.until_gone(&CERTIFICATE, scene.ns(), &homer.copy_name(name)).await;
        }

        // Where the provider can be reached and holds the copy, the annotation releases the object after a moment: the provider
        // is asked first, and what it holds goes when it lets go.
        let body =
            json!({"metadata": {"annotations": {keys::FORCE_DELETE: "true"}}, "spec": {"fqdn": scene.fqdn("t3")}});
        homer.create(&CERTIFICATE, scene.ns(), "t3", body).await;
        let copy = scene.copy(homer, "t3", theseus).await;
        let hold = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
        theseus.edit(&CERTIFICATE, scene.ns(), copy.name(), hold(json!(["e2e.test/hold"]))).await;
        homer.delete(&CERTIFICATE, scene.ns(), "t3").await;
        scene.copy_until(homer, "t3", theseus, "to be on its way out", Object::is_deleting).await;
        homer.until_gone(&CERTIFICATE, scene.ns(), "t3").await;
        assert!(scene.find_copy(homer, "t3", theseus).await.is_some());
        theseus.edit(&CERTIFICATE, scene.ns(), copy.name(), hold(Value::Null)).await;
        theseus.until_gone(&CERTIFICATE, scene.ns(), copy.name()).await;
    });
}
