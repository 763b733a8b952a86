//! Objects of any form: names made of random texts, fields that no schema knows.

use e2e::kind::CONFIG_MAP;
use serde_json::json;

use super::{accepted, active, crd};
use crate::{
    CALM,
    conditions::instance_conditions,
    kinds::{RGD, kind},
    rgd::Rgd,
    rights,
    scene::Scene,
    tree::{generated_crd, timeless},
};

#[test]
fn a_name_may_be_a_random_text_seeded_by_the_uid() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "cel-random").await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  group: test.kro.run
  kind: RandomFnApp
  spec:
    name: string
    namespace: string | default="default"
resources:
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: ${random.seededString(10, schema.metadata.uid)}
      namespace: ${schema.spec.namespace}
    data:
      uid: ${schema.metadata.uid}
"#,
        );
        let app = scene.apply(&rgd).await;
        accepted(&scene, &app, &["config"]).await;
        scene.create(&app, "random", json!({"name": "random", "namespace": "default"})).await;
        let seen = active(&scene, &app, "random").await;
        assert!(seen.has("Ready", "True", "Ready"), "{seen}");

        let all = stage.place.list(&CONFIG_MAP, "default").await;
        let mine: Vec<_> = all.iter().filter(|config| config.text("/data/uid") == seen.uid()).collect();
        assert_eq!(mine.len(), 1, "{mine:?}");
        let (first, rest) = mine[0].name().split_at(8);
        assert_eq!(
            (rest.len(), first.starts_with(rest)),
            (2, true),
            "it repeats every 8 characters: {}",
            mine[0].name()
        );
        scene.delete(&app, "random").await;
        scene.gone(&app, "random").await;
        assert!(
            stage.place.find(&CONFIG_MAP, "default", mine[0].name()).await.is_none(),
            "also from another namespace"
        );
    });
}

#[test]
fn a_field_may_hold_any_object() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "arbitrary").await;
        let rgd = Rgd::yaml(
            r"
schema:
  apiVersion: v1alpha1
  kind: CheckArbitraryObject
  spec:
    values: object | required=true
resources: []
",
        );
        let kind = scene.apply(&rgd).await;
        accepted(&scene, &kind, &[]).await;
        let values = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = json!({"type": "object", "required": ["values"], "properties": {"values": values}});
        let seen = crd(&scene, &kind).await;
        assert_eq!(seen.at("/spec"), &generated_crd(&kind, &json!({"spec": spec})));

        let nested = json!({"values": {
            "text": "a", "number": 3, "list": [1, "two", {"three": 3}], "deep": {"deeper": {"deepest": true}},
        }});
        scene.create(&kind, "any", nested.clone()).await;
        let seen = active(&scene, &kind, "any").await;
        assert_eq!(seen.at("/spec"), &nested);
        assert_eq!(timeless(seen.at("/status/conditions")), instance_conditions(1));
        assert_eq!(seen.text("/status/state"), "ACTIVE");
    });
}

#[test]
fn fields_that_no_schema_knows_are_read_from_another_crd() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "unknown-fields").await;
        let foreign = kind("kro.run", "AllowUnknown", "allowunknowns");
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = json!({"spec": {"type": "object", "properties": {"name": {"type": "string"}, "config": open}}});
        let installed = stage.place.apply(&foreign.crd_with(&spec, false).to_string()).await.remove(0);
        rights::grant(&stage.place, "unknown-fields-foreign", vec![rights::children(&foreign)]).await;
        let rgd = Rgd::yaml(
            r"
schema:
  apiVersion: v1alpha1
  kind: CheckUnknown
  spec:
    name: string
    nested: object
resources:
- id: example
  template:
    apiVersion: kro.run/v1alpha1
    kind: AllowUnknown
    metadata:
      name: ${schema.spec.name}
    spec:
      name: ${schema.spec.name}
      config:
        foo: bar
- id: configmap
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: ${schema.spec.name}
    data:
      foo: ${example.spec.config.foo}
      name: ${example.spec.name}
      nested: ${schema.spec.nested.field}
",
        );
        let kind = scene.apply(&rgd).await;
        accepted(&scene, &kind, &["example", "configmap"]).await;
        let instance =
            kind.object(scene.ns(), "name", &json!({"spec": {"name": "name", "nested": {"field": "value"}}}));
        let mut versions = Vec::new();
        for _ in 0..2 {
            stage.place.apply(&instance.to_string()).await;
            versions.push(active(&scene, &kind, "name").await.version().to_owned());
            let config = scene.config("name").await;
            assert_eq!(config.at("/data"), &json!({"foo": "bar", "name": "name", "nested": "value"}));
            versions.push(config.version().to_owned());
        }
        assert_eq!(versions[..2], versions[2..], "the second apply changes nothing");
        let now = stage.place.get(&e2e::kind::CRD, "", "allowunknowns.kro.run").await;
        assert_eq!(now.at("/metadata/labels"), installed.at("/metadata/labels"), "a CRD of others is never claimed");
        assert_eq!(now.generation(), 1);
    });
}

#[test]
fn an_rgd_may_have_no_resources_at_all() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "no-resources").await;
        let mut rgd = Rgd::new("Bare");
        rgd.spec.as_object_mut().unwrap().remove("resources");
        let bare = scene.define(&rgd).await;
        let seen = scene.bring_up(&bare, "bare", json!({})).await;
        assert_eq!(timeless(seen.at("/status/conditions")), instance_conditions(1));
        let seen = stage.place.get(&RGD, "", &scene.rgd_name("Bare")).await;
        assert_eq!(seen.generation(), 1, "{seen}");
    });
}
