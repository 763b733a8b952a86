//! Schemas with every marker, whole.

use serde_json::{Value, json};

use super::{accepted, active, crd};
use crate::{CALM, kinds::kind, rgd::Rgd, rights, scene::Scene, tree::generated_crd};

fn field(kind: &str, more: Value) -> Value {
    let mut field = json!({"type": kind});
    for (name, value) in more.as_object().into_iter().flatten() {
        field[name] = value.clone();
    }
    field
}

#[test]
fn defaults_and_required_fields_go_together() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "required-default").await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  kind: CheckRequiredDefault
  types:
    Port: integer | default=8080 minimum=1 maximum=65535
    Endpoint:
      name: string | required=true
      url: string | required=true pattern="^https?://"
    Level: string | enum="low,medium,high" default=low
  spec:
    appName: string | required=true
    clusterId: string | immutable=true
    replicas: integer | default=1 validation="self <= 10 || self % 2 == 0"
    level: Level
    database:
      host: string | required=true
      username: string | required=true
      port: Port
    retry:
      attempts: integer | default=3
      backoff: string | default="1s"
    resources:
      limits:
        cpu: string | default="500m"
      tag: string
    endpoints: "[]Endpoint | minItems=1"
    annotations: "map[string]string"
resources:
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: ${schema.spec.appName}
    data:
      replicas: ${string(schema.spec.replicas)}
      attempts: ${string(schema.spec.retry.attempts)}
      cpu: ${schema.spec.resources.limits.cpu}
"#,
        );
        let made = scene.apply(&rgd).await;
        accepted(&scene, &made, &["config"]).await;
        let spec = crd(&scene, &made).await.at("/spec/versions/0/schema/openAPIV3Schema/properties/spec").clone();
        assert_eq!(spec["required"], json!(["appName"]));
        assert!(spec.get("default").is_none(), "it has a required field: {spec}");
        let fields = &spec["properties"];
        assert_eq!(fields["database"]["required"], json!(["host", "username"]));
        assert!(fields["database"].get("default").is_none());
        let port = field("integer", json!({"default": 8080, "minimum": 1, "maximum": 65535}));
        assert_eq!(fields["database"]["properties"]["port"], port);
        assert_eq!(fields["retry"]["default"], json!({}));
        assert_eq!(fields["resources"]["default"], json!({}));
        assert_eq!(fields["resources"]["properties"]["limits"]["default"], json!({}));
        let endpoint = json!({
            "type": "object",
            "required": ["name", "url"],
            "properties": {"name": {"type": "string"}, "url": {"type": "string", "pattern": "^https?://"}},
        });
        assert_eq!(fields["endpoints"], json!({"type": "array", "minItems": 1, "items": endpoint}));
        assert_eq!(fields["annotations"], json!({"type": "object", "additionalProperties": {"type": "string"}}));
        let rules = |rule: &str, message: &str| json!([{"rule": rule, "message": message}]);
        let immutable = rules("self == oldSelf", "field is immutable");
        assert_eq!(fields["clusterId"]["x-kubernetes-validations"], immutable);
        let validation = rules("self <= 10 || self % 2 == 0", "validation failed");
        assert_eq!(fields["replicas"]["x-kubernetes-validations"], validation);
        assert_eq!(fields["level"], field("string", json!({"enum": ["low", "medium", "high"], "default": "low"})));

        let minimal = json!({"appName": "minimal", "database": {"host": "db", "username": "me"}});
        scene.create(&made, "minimal", minimal).await;
        let seen = active(&scene, &made, "minimal").await;
        let wanted = json!({
            "appName": "minimal", "replicas": 1, "level": "low",
            "database": {"host": "db", "username": "me", "port": 8080},
            "retry": {"attempts": 3, "backoff": "1s"},
            "resources": {"limits": {"cpu": "500m"}},
        });
        assert_eq!(seen.at("/spec"), &wanted);
        let config = scene.config("minimal").await;
        assert_eq!(config.at("/data"), &json!({"replicas": "1", "attempts": "3", "cpu": "500m"}));
        for (name, spec) in [
            ("no-name", json!({"database": {"host": "db", "username": "me"}})),
            ("no-host", json!({"appName": "a", "database": {"username": "me"}})),
            ("eleven", json!({"appName": "a", "replicas": 11})),
            ("level", json!({"appName": "a", "level": "highest"})),
            ("url", json!({"appName": "a", "endpoints": [{"name": "a", "url": "ftp://a"}]})),
        ] {
            let object = made.object(scene.ns(), name, &json!({"spec": spec}));
            assert!(stage.place.try_create(&made, &object).await.is_err(), "{object}");
        }
    });
}

#[test]
fn every_marker_of_validation_is_in_the_crd() {
    CALM.run(async |stage| {
        let scene = Scene::new(stage, "validation-markers").await;
        let rgd = Rgd::yaml(
            r#"
schema:
  apiVersion: v1alpha1
  kind: CheckValidationMarkers
  spec:
    name: string | required=true minLength=3 maxLength=20 pattern="^[a-z][a-z0-9-]*$" description="Name of all"
    version: string | default="1.0.0" pattern="^v?[0-9]+\.[0-9]+\.[0-9]+$"
    tags: "[]string | uniqueItems=true minItems=1 maxItems=5"
    priorities: "[]integer | minItems=0 maxItems=3"
    size: integer | default=10 minimum=1 maximum=100
resources:
- id: config
  template:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: ${schema.spec.name}
    data:
      properties: |
        name=${schema.spec.name}
        version=${schema.spec.version}
        tags=${schema.spec.tags.join(",")}
        size=${string(schema.spec.size)}
"#,
        );
        // A word that ends in `s` is its own plural.
        let made = kind("kro.run", "CheckValidationMarkers", "checkvalidationmarkers");
        rights::grant(&stage.place, "validation-markers", vec![rights::instances(&made)]).await;
        scene.apply(&rgd).await;
        accepted(&scene, &made, &["config"]).await;
        let name = json!({
            "minLength": 3, "maxLength": 20, "pattern": "^[a-z][a-z0-9-]*$", "description": "Name of all",
        });
        let text = json!({"type": "string"});
        let schema = json!({"spec": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": field("string", name),
                "version": field("string", json!({"default": "1.0.0", "pattern": r"^v?[0-9]+\.[0-9]+\.[0-9]+$"})),
                "tags": {"type": "array", "items": text, "minItems": 1, "maxItems": 5, "x-kubernetes-list-type": "set"},
                "priorities": {"type": "array", "items": {"type": "integer"}, "minItems": 0, "maxItems": 3},
                "size": field("integer", json!({"default": 10, "minimum": 1, "maximum": 100})),
            },
        }});
        assert_eq!(crd(&scene, &made).await.at("/spec"), &generated_crd(&made, &schema));

        scene.create(&made, "valid", json!({"name": "valid", "tags": ["a", "b"], "priorities": [1, 1]})).await;
        active(&scene, &made, "valid").await;
        let properties = "name=valid\nversion=1.0.0\ntags=a,b\nsize=10\n";
        assert_eq!(scene.config("valid").await.text("/data/properties"), properties);
        for (name, spec) in [
            ("short", json!({"name": "ab", "tags": ["a"]})),
            ("pattern", json!({"name": "valid", "tags": ["a"], "version": "one"})),
            ("twice", json!({"name": "valid", "tags": ["a", "a"]})),
            ("big", json!({"name": "valid", "tags": ["a"], "size": 101})),
        ] {
            let object = made.object(scene.ns(), name, &json!({"spec": spec}));
            assert!(stage.place.try_create(&made, &object).await.is_err(), "{object}");
            assert!(stage.place.find(&made, scene.ns(), name).await.is_none());
        }
    });
}
