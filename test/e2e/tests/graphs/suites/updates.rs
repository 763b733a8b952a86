//! Four resources side by side, one of which another controller writes to.

use e2e::{Object, kind::CONFIG_MAP};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::{accepted, active};
use crate::{
    CALM,
    kinds::{DEPLOYMENT, SERVICE},
    rgd::Rgd,
    scene::Scene,
};

const AUTOSCALER: e2e::Kind = e2e::Kind {
    group: "autoscaling",
    version: "v2",
    kind: "HorizontalPodAutoscaler",
    plural: "horizontalpodautoscalers",
};

/// What the HPA controller does when fewer replicas run than there should at least be.
async fn scale(scene: &Scene<'_>, name: &str, replicas: i64) {
    let params = PatchParams::default();
    let params = PatchParams { field_manager: Some("kube-controller-manager".to_owned()), ..params };
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    scene.place().api(&DEPLOYMENT, scene.ns()).patch_scale(name, &params, &patch).await.unwrap();
}

#[test]
fn replicas_that_an_autoscaler_owns_are_left_alone() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "multi-resource").await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  kind: CheckMultiResourceApp
  spec:
    name: string
    image: string | default="nginx:1.25"
    minReplicas: integer | default=1
    maxReplicas: integer | default=5
resources:
- id: configmap
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: ${schema.spec.name}
    data:
      name: ${schema.spec.name}
- id: service
  template:
    apiVersion: v1
    kind: Service
    metadata:
      name: ${schema.spec.name}
    spec:
      selector:
        app: ${schema.spec.name}
      ports:
      - port: 80
        targetPort: 80
- id: deployment
  template:
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: ${schema.spec.name}
    spec:
      selector:
        matchLabels:
          app: ${schema.spec.name}
      template:
        metadata:
          labels:
            app: ${schema.spec.name}
        spec:
          containers:
          - name: app
            image: ${schema.spec.image}
            resources:
              requests:
                cpu: 0.1
                memory: 1024Mi
            envFrom:
            - configMapRef:
                name: ${schema.spec.name}
- id: autoscaler
  template:
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata:
      name: ${schema.spec.name}
    spec:
      scaleTargetRef:
        apiVersion: apps/v1
        kind: Deployment
        name: ${schema.spec.name}
      minReplicas: ${schema.spec.minReplicas}
      maxReplicas: ${schema.spec.maxReplicas}
      metrics:
      - type: Resource
        resource:
          name: cpu
          target:
            type: Utilization
            averageUtilization: 80
"#,
        );
        let kind = scene.apply(&rgd).await;
        accepted(&scene, &kind, &["configmap", "service", "deployment", "autoscaler"]).await;
        let name = "test-app-instance";
        scene.create(&kind, name, json!({"name": name})).await;
        active(&scene, &kind, name).await;
        for child in [CONFIG_MAP, SERVICE, DEPLOYMENT, AUTOSCALER] {
            let seen = stage.place.get(&child, scene.ns(), name).await;
            assert_eq!(seen.label("kro.run/instance-name"), Some(name), "{seen}");
            assert_eq!(seen.label("kro.run/owned"), Some("true"), "{seen}");
        }
        scene.barrier(&kind, json!({"name": "other"})).await;
        let seen = stage.place.get(&DEPLOYMENT, scene.ns(), name).await;
        assert_eq!(seen.generation(), 1, "{seen}");

        scene.edit(&kind, name, json!({"image": "nginx:1.26", "minReplicas": 2})).await;
        let follows = |seen: &Object| seen.at("/spec/minReplicas") == 2;
        scene.until(&AUTOSCALER, name, "minReplicas 2", follows).await;
        let follows = |seen: &Object| seen.text("/spec/template/spec/containers/0/image") == "nginx:1.26";
        scene.until(&DEPLOYMENT, name, "the new image", follows).await;
        scale(&scene, name, 2).await;
        scene.active(&kind, name).await;
        scene.barrier(&kind, json!({"name": "other"})).await;
        let seen = stage.place.get(&DEPLOYMENT, scene.ns(), name).await;
        assert_eq!(seen.generation(), 3, "one write by us, one by the autoscaler: {seen}");
        assert_eq!(seen.at("/spec/replicas"), 2, "{seen}");
        scene.delete(&kind, name).await;
        scene.gone(&kind, name).await;
        stage.nothing_was_denied().await;
    });
}
