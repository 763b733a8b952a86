//! What API servers do with CRDs: they refuse what a rule of ours refuses, and take a moment to go by another schema.

use e2e::{
    DEADLINE, Scene,
    kind::{ACCEPT_API, CERTIFICATE, CRD},
    scene::ACCEPT_NAMESPACE,
};
use harness::wait_for;
use serde_json::{Value, json};

use crate::{ARIADNE, HOMER, SHADE, WORLD, shade};

#[test]
fn the_crd_refuses_filters_that_cannot_be_meant() {
    WORLD.run(async |world| {
        let ariadne = world.provider(ARIADNE);
        let filters = [
            (json!({"key": "spec.fqdn", "suffix": ".corp"}), "must not start with"),
            (json!({"key": "fqdn"}), "something to check"),
            (json!({"key": "fqdn", "valueIn": []}), "something to check"),
            (json!({"key": "fqdn", "boundary": {}}), "something to check"),
            (json!({"key": "fqdn", "pattern": "("}), "RE2"),
            (json!({"key": "fqdn", "boundary": {"min": 3, "max": 2}}), "min must not be greater"),
            (json!({"key": "fqdn", "boundary": {"min": "lots"}}), "boundary.min"),
            (json!({"key": "fqdn", "suffix": "x", "missing": "Perhaps"}), "missing"),
            (json!({"suffix": "x"}), "key"),
        ];
        for (filter, word) in filters {
            let spec = json!({"gvr": CERTIFICATE.gvr(), "filters": [filter]});
            let object = ACCEPT_API.object(ACCEPT_NAMESPACE, "never", &json!({"spec": spec}));
            let error = ariadne.try_create(&ACCEPT_API, &object).await.expect_err("it is invalid").to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
        for (field, value) in [("weight", json!(0)), ("capacity", json!(-1)), ("expression", json!(""))] {
            let mut spec = json!({"gvr": CERTIFICATE.gvr(), "filters": [{"key": "fqdn", "suffix": "x"}]});
            spec[field] = value;
            let object = ACCEPT_API.object(ACCEPT_NAMESPACE, "never", &json!({"spec": spec}));
            let error = ariadne.try_create(&ACCEPT_API, &object).await.expect_err("it is invalid").to_string();
            assert!(error.contains(field), "{field}: {error}");
        }
    });
}

#[test]
fn the_api_server_refuses_what_its_schema_can_tell() {
    WORLD.run(async |world| {
        let ariadne = world.provider(ARIADNE);
        let filter = |filter: &Value| json!({"gvr": CERTIFICATE.gvr(), "filters": [filter]});
        let wrong = [
            filter(&json!({"key": "fqdn", "pattern": "("})),
            filter(&json!({"key": "fqdn"})),
            filter(&json!({"key": "spec.fqdn", "suffix": "t"})),
            filter(&json!({"key": "fqdn", "boundary": {"min": "8Gx"}})),
            json!({"gvr": CERTIFICATE.gvr(), "weight": 0}),
            json!({"filters": []}),
        ];
        for spec in wrong {
            let object = ACCEPT_API.object(ACCEPT_NAMESPACE, "wrong", &json!({"spec": spec}));
            match ariadne.try_create(&ACCEPT_API, &object).await {
                Err(kube::Error::Api(status)) => assert_eq!(status.code, 422, "{spec}: {status:?}"),
                other => panic!("{spec}: {other:?}"),
            }
        }
    });
}

/// For a second after a CRD has changed API servers tell what happens without its new defaults, and nobody tells of it again.
#[test]
fn a_new_default_reaches_the_copy_of_an_object_that_changes_with_its_crd() {
    WORLD.run(async |world| {
        let (homer, ariadne) = (world.consumer(HOMER), world.provider(ARIADNE));
        let scene = Scene::new(world, "new-default", &[homer]).await;
        let shaded = json!({"key": "color", "prefix": "shaded"});
        scene.accept_kind(&SHADE, ariadne, &[shaded], Value::Null).await;
        homer.create(&SHADE, scene.ns(), "p", json!({"spec": {"color": "shaded"}})).await;
        let name = homer.copy_name("p");
        ariadne.until_there(&SHADE, scene.ns(), &name).await;
        // The answer to whatever the broker still wrote would show it.
        scene.barrier(homer, ariadne).await;
        let crd = shade(Some("dark"));
        homer.edit(&CRD, "", crd["metadata"]["name"].as_str().unwrap(), json!({"spec": crd["spec"]})).await;
        let is_dark = |seen: &e2e::Object| seen.text("/spec/shade") == "dark";
        // Asked again and again: a watch would go by the old one.
        let shown = wait_for(DEADLINE, "the new default", async || {
            let seen = homer.get(&SHADE, scene.ns(), "p").await;
            anyhow::ensure!(is_dark(&seen), "{seen}");
            Ok(())
        });
        shown.await.unwrap();
        homer.edit(&SHADE, scene.ns(), "p", json!({"metadata": {"labels": {"touched": "yes"}}})).await;
        ariadne.until(&SHADE, scene.ns(), &name, "the new default", is_dark).await;
    });
}
