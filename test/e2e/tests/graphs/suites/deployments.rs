//! Deployments: made, changed, and left alone where others own a field.

use e2e::kind::CRD;
use serde_json::json;

use super::{accepted, active, crd};
use crate::{
    CALM,
    kinds::{DEPLOYMENT, RGD},
    rgd::Rgd,
    scene::Scene,
    tree::generated_crd,
};

/// One Deployment with these many replicas of an image; the shape of several suites.
fn simple(kind: &str) -> Rgd {
    Rgd::yaml(&format!(
        r#"
schema:
  apiVersion: v1alpha1
  kind: {kind}
  spec:
    name: string
    replicas: integer | default=1
    image: string | default="nginx:latest"
    port: integer | default=80
resources:
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: ${{schema.spec.name}}
    spec:
      replicas: ${{schema.spec.replicas}}
      selector:
        matchLabels:
          app: deployment
      template:
        metadata:
          labels:
            app: deployment
        spec:
          containers:
          - name: ${{schema.spec.name}}-deployment
            image: ${{schema.spec.image}}
            ports:
            - containerPort: ${{schema.spec.port}}
"#
    ))
}

/// The schema of `spec` of [`simple`].
fn simple_schema() -> serde_json::Value {
    json!({"spec": {
        "type": "object",
        "default": {},
        "properties": {
            "name": {"type": "string"},
            "replicas": {"type": "integer", "default": 1},
            "image": {"type": "string", "default": "nginx:latest"},
            "port": {"type": "integer", "default": 80},
        },
    }})
}

#[test]
fn an_instance_makes_a_deployment_of_typed_values() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "instance-creation").await;
        let kind = scene.apply(&simple("CheckInstanceCreationSimpleDeployment")).await;
        accepted(&scene, &kind, &["deployment"]).await;
        assert_eq!(crd(&scene, &kind).await.at("/spec"), &generated_crd(&kind, &simple_schema()));

        let spec = json!({"name": "test-instance", "replicas": 2, "image": "nginx:1.25", "port": 8080});
        scene.create(&kind, "test-instance", spec).await;
        active(&scene, &kind, "test-instance").await;
        let seen = stage.place.get(&DEPLOYMENT, scene.ns(), "test-instance").await;
        assert_eq!(seen.at("/spec/replicas"), 2);
        let container = seen.at("/spec/template/spec/containers/0");
        assert_eq!(container["image"], "nginx:1.25");
        assert_eq!(container["name"], "test-instance-deployment");
        assert_eq!(container["ports"][0]["containerPort"], 8080);
        assert_eq!(seen.generation(), 1, "{seen}");
    });
}

#[test]
fn the_generated_crd_is_exactly_this() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "rgd-creation").await;
        let kind = scene.apply(&simple("CheckRgdCreationSimpleDeployment")).await;
        assert_eq!(kind.plural, "checkrgdcreationsimpledeployments");
        let rgd = accepted(&scene, &kind, &["deployment"]).await;
        let seen = crd(&scene, &kind).await;
        assert_eq!(seen.at("/spec"), &generated_crd(&kind, &simple_schema()));
        assert_eq!(seen.label("kro.run/owned"), Some("true"));
        assert_eq!(seen.label("kro.run/resource-graph-definition-id"), Some(rgd.uid()));
        assert_eq!(seen.label("kro.run/resource-graph-definition-name"), Some(rgd.name()));
    });
}

#[test]
fn a_crd_stays_untouched_when_its_rgd_goes() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "rgd-deletion").await;
        let kind = scene.apply(&simple("CheckRgdDeletionSimpleDeployment")).await;
        accepted(&scene, &kind, &["deployment"]).await;
        let before = crd(&scene, &kind).await;
        let name = scene.rgd_name(kind.kind);
        stage.place.delete(&RGD, "", &name).await;
        stage.place.until_gone(&RGD, "", &name).await;
        // Whatever else the controller had to do about it, it has done before another RGD comes and goes.
        let other = scene.define(&Rgd::new("Later")).await;
        stage.place.delete(&RGD, "", &scene.rgd_name(other.kind)).await;
        stage.place.until_gone(&RGD, "", &scene.rgd_name(other.kind)).await;
        let after = stage.place.get(&CRD, "", before.name()).await;
        assert_eq!((after.version(), after.generation()), (before.version(), 1), "{after}");
    });
}

#[test]
fn a_deployment_follows_its_instance() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "instance-update").await;
        let kind = scene.apply(&simple("CheckInstanceUpdateSimpleDeployment")).await;
        accepted(&scene, &kind, &["deployment"]).await;
        scene.create(&kind, "test-instance", json!({"name": "test-instance", "image": "nginx:1.25"})).await;
        let before = active(&scene, &kind, "test-instance").await;
        assert_eq!(before.at("/spec/replicas"), 1);
        scene.edit(&kind, "test-instance", json!({"replicas": 3})).await;
        let follows = |seen: &e2e::Object| seen.at("/spec/replicas") == 3;
        let seen = scene.until(&DEPLOYMENT, "test-instance", "3 replicas", follows).await;
        assert_eq!(seen.generation(), 2, "one write: {seen}");
        let seen = scene.active(&kind, "test-instance").await;
        assert_eq!(seen.generation(), 2);
    });
}
