//! An instance that waits for an object of others.

use e2e::kind::CONFIG_MAP;
use serde_json::json;

use super::{accepted, active};
use crate::{CALM, kinds::FINALIZER, rgd::Rgd, scene::Scene};

#[test]
fn an_instance_without_a_spec_waits_for_what_it_refers_to() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "external-references").await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  kind: CheckExternalReference
  spec:
    name: string | default=foobar
resources:
- id: input
  externalRef:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: check-external-references
      namespace: default
- id: owned
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: config
    data:
      ECHO_VALUE: ${input.?data.ECHO_VALUE.orValue("not found")}
"#,
        );
        let kind = scene.apply(&rgd).await;
        accepted(&scene, &kind, &["input", "owned"]).await;
        stage.place.create(&kind, scene.ns(), "waits", json!({})).await;
        let in_progress = |seen: &e2e::Object| seen.text("/status/state") == "IN_PROGRESS";
        let seen = scene.until(&kind, "waits", "to be IN_PROGRESS", in_progress).await;
        assert_eq!(seen.text("/spec/name"), "foobar", "{seen}");
        assert_eq!(seen.finalizers(), [FINALIZER]);
        assert_eq!(seen.label("kro.run/owned"), Some("true"));
        let told = seen.condition("ResourcesReady").unwrap();
        assert!(told.message.contains("waiting for external reference \"input\": not found"), "{seen}");
        assert!(stage.place.find(&CONFIG_MAP, scene.ns(), "config").await.is_none());

        let data = json!({"data": {"ECHO_VALUE": "Hello, World!"}});
        stage.place.create(&CONFIG_MAP, "default", "check-external-references", data).await;
        active(&scene, &kind, "waits").await;
        assert_eq!(scene.config("config").await.text("/data/ECHO_VALUE"), "Hello, World!");
        scene.delete(&kind, "waits").await;
        scene.gone(&kind, "waits").await;
        let kept = stage.place.get(&CONFIG_MAP, "default", "check-external-references").await;
        assert!(kept.at("/metadata/labels").is_null() && !kept.is_deleting(), "it is read and no more: {kept}");
        stage.place.delete(&CONFIG_MAP, "default", "check-external-references").await;
        stage.nothing_was_denied().await;
    });
}
