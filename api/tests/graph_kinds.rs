//! The kinds of graphs as people and kro write them, and that `config/crd-graphs/` is what `api/` says.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{fs, path::Path};

use broker_api::{
    crds::HEADER,
    graphs::{GraphRevision, ResourceGraphDefinition, Selector, crds},
};
use serde_json::{Value, json};

/// The CRD of the kind with this plural.
fn crd(plural: &str) -> Value {
    let crds = crds::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
    crds.into_iter().find(|crd| crd["spec"]["names"]["plural"] == plural).unwrap()
}

fn at<'a>(crd: &'a Value, path: &str) -> &'a Value {
    let root = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    path.split('.').fold(root, |schema, part| match part {
        "[]" => &schema["items"],
        name => &schema["properties"][name],
    })
}

fn rules(schema: &Value) -> Vec<(&str, &str)> {
    let rules = schema["x-kubernetes-validations"].as_array().into_iter().flatten();
    rules.map(|rule| (rule["rule"].as_str().unwrap(), rule["message"].as_str().unwrap())).collect()
}

fn columns(crd: &Value) -> Vec<(String, String, i64)> {
    let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().unwrap();
    let column = |column: &Value| {
        let text = |key: &str| column[key].as_str().unwrap().to_owned();
        (text("name"), text("jsonPath"), column["priority"].as_i64().unwrap_or_default())
    };
    columns.iter().map(column).collect()
}

fn wanted(columns: &[(&str, &str, i64)]) -> Vec<(String, String, i64)> {
    columns.iter().map(|(name, path, priority)| ((*name).to_owned(), (*path).to_owned(), *priority)).collect()
}

#[test]
fn the_files_on_disk_are_the_generated_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/crd-graphs");
    let files = crds::files().unwrap();
    assert_eq!(files.len(), 4);
    for (name, text) in &files {
        let found = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(found == *text, "config/crd-graphs/{name} is out of date: run `make manifests`");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let generated = fs::read_to_string(folder.join(&name)).unwrap().starts_with(HEADER);
        assert!(generated && files.contains_key(&name), "config/crd-graphs/{name}: run `make manifests`");
    }
    let broker = broker_api::crds::files().unwrap();
    assert!(broker.keys().all(|name| !name.contains("kro.run")), "who removes these keeps those");
}

#[test]
fn names_and_columns() {
    let rgd = crd("resourcegraphdefinitions");
    assert_eq!(rgd["metadata"]["name"], "resourcegraphdefinitions.kro.run");
    assert_eq!(rgd["spec"]["names"]["shortNames"], json!(["rgd"]));
    assert_eq!(
        columns(&rgd),
        wanted(&[
            ("APIVERSION", ".spec.schema.apiVersion", 0),
            ("KIND", ".spec.schema.kind", 0),
            ("STATE", ".status.state", 0),
            ("READY", ".status.conditions[?(@.type==\"Ready\")].status", 0),
            ("TOPOLOGICALORDER", ".status.topologicalOrder", 1),
            ("AGE", ".metadata.creationTimestamp", 0),
        ])
    );
    let revision = crd("graphrevisions");
    assert_eq!(revision["metadata"]["name"], "graphrevisions.internal.kro.run");
    assert_eq!(revision["spec"]["names"]["shortNames"], json!(["gr"]));
    assert_eq!(
        columns(&revision),
        wanted(&[
            ("RGD", ".spec.snapshot.name", 1),
            ("REVISION", ".spec.revision", 0),
            ("HASH", ".metadata.labels.kro\\.run/graph-revision-hash", 1),
            ("READY", ".status.conditions[?(@.type==\"Ready\")].status", 0),
            ("AGE", ".metadata.creationTimestamp", 0),
        ])
    );
    assert_eq!(revision["spec"]["versions"][0]["selectableFields"], json!([{"jsonPath": ".spec.snapshot.name"}]));
    for crd in [rgd, revision] {
        assert_eq!(crd["spec"]["scope"], "Cluster");
        assert_eq!(crd["spec"]["versions"][0]["name"], "v1alpha1");
        assert!(crd["spec"]["versions"][0]["subresources"]["status"].is_object());
    }
}

#[test]
fn rules_and_defaults_are_those_of_kro() {
    let rgd = crd("resourcegraphdefinitions");
    let immutable = |name: &str| format!("{name} is immutable");
    for name in ["kind", "apiVersion", "group", "scope"] {
        let message = immutable(name);
        let field = at(&rgd, "spec.schema").clone();
        assert_eq!(rules(&field["properties"][name]), [("self == oldSelf", message.as_str())], "{name}");
    }
    assert_eq!(at(&rgd, "spec.schema.kind")["pattern"], "^[A-Z][a-zA-Z0-9]{0,62}$");
    assert_eq!(at(&rgd, "spec.schema.apiVersion")["pattern"], "^v[0-9]+(alpha[0-9]+|beta[0-9]+)?$");
    assert_eq!(at(&rgd, "spec.schema.group")["default"], "kro.run");
    assert_eq!(at(&rgd, "spec.schema.scope")["default"], "Namespaced");
    assert_eq!(at(&rgd, "spec.schema.scope")["enum"], json!(["Namespaced", "Cluster"]));
    assert_eq!(at(&rgd, "spec")["required"], json!(["schema"]));
    assert_eq!(at(&rgd, "spec.schema")["required"], json!(["apiVersion", "kind"]));
    for free in ["spec.schema.spec", "spec.schema.types", "spec.schema.status", "spec.resources.[].template"] {
        let schema = at(&rgd, free);
        assert_eq!(
            (&schema["type"], &schema["x-kubernetes-preserve-unknown-fields"]),
            (&json!("object"), &json!(true))
        );
        assert!(schema["properties"].is_null(), "{free}");
    }
    for names in ["spec.schema.shortNames", "spec.schema.categories"] {
        let schema = at(&rgd, names);
        assert_eq!((&schema["maxItems"], &schema["x-kubernetes-list-type"]), (&json!(32), &json!("set")));
        assert_eq!(schema["items"]["maxLength"], 63);
        assert_eq!(schema["items"]["pattern"], "^[a-z]([-a-z0-9]*[a-z0-9])?$");
    }
    let column = at(&rgd, "spec.schema.additionalPrinterColumns.[]");
    assert_eq!(column["required"], json!(["jsonPath", "name", "type"]));
    let resource = at(&rgd, "spec.resources.[]");
    assert_eq!(resource["required"], json!(["id"]));
    assert_eq!(rules(resource)[0].1, "exactly one of template or externalRef must be provided");
    let external = at(&rgd, "spec.resources.[].externalRef");
    assert_eq!(external["required"], json!(["apiVersion", "kind", "metadata"]));
    assert_eq!(rules(&external["properties"]["metadata"])[0].1, "exactly one of name or selector must be provided");
    assert_eq!(at(&rgd, "spec.resources.[].externalRef.metadata.name")["minLength"], 1);
    let selector = at(&rgd, "spec.resources.[].externalRef.metadata.selector");
    assert_eq!((&selector["type"], &selector["x-kubernetes-map-type"]), (&json!("object"), &json!("atomic")));
    let dimension = at(&rgd, "spec.resources.[].forEach.[]");
    assert_eq!((&dimension["minProperties"], &dimension["maxProperties"]), (&json!(1), &json!(1)));

    let revision = crd("graphrevisions");
    assert_eq!(rules(at(&revision, "spec")), [("self == oldSelf", "spec is immutable")]);
    assert_eq!(at(&revision, "spec.revision")["minimum"], 1.0);
    assert_eq!(at(&revision, "spec.snapshot")["required"], json!(["name", "spec"]));
    assert_eq!(at(&revision, "spec.snapshot.spec.resources"), at(&rgd, "spec.resources"));
}

/// Calls `visit` with each schema and its path.
fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{key}"), property, visit);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            walk(&format!("{path}{mark}"), &schema[key], visit);
        }
    }
}

#[test]
fn every_field_is_described_and_structural() {
    let mut wrong = vec![];
    for plural in ["resourcegraphdefinitions", "graphrevisions"] {
        let crd = crd(plural);
        walk(plural, &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], &mut |path, schema| {
            let scalar = schema["properties"].is_null() && (path.ends_with("[]") || path.ends_with("{}"));
            let bare = !scalar && schema["description"].as_str().unwrap_or_default().is_empty();
            let loose = !schema["type"].is_string() || !schema["$ref"].is_null();
            let format =
                !schema["format"].as_str().is_none_or(|format| ["int32", "int64", "date-time"].contains(&format));
            if bare || loose || format {
                wrong.push(format!("{path}: bare {bare}, loose {loose}, format {format}"));
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_people_write_is_read_and_comes_back() {
    let yaml = r#"
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: web}
spec:
  schema:
    apiVersion: v1alpha1
    kind: WebApp
    spec: {name: "string | required=true", nested: {port: "integer | default=80"}}
    types: null
    status: {url: "${service.spec.clusterIP}"}
    additionalPrinterColumns: [{name: Name, type: string, jsonPath: .spec.name}]
  resources:
    - id: service
      template: {apiVersion: v1, kind: Service, metadata: {name: "${schema.spec.name}"}, spec: {ports: []}}
      forEach: [{x: "${schema.spec.xs}"}]
      readyWhen: null
    - id: config
      externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: y}}
    - id: many
      externalRef: {apiVersion: v1, kind: Secret, metadata: {selector: {matchLabels: {a: "${schema.spec.name}"}}}}
    - id: computed
      externalRef: {apiVersion: v1, kind: Secret, metadata: {selector: "${schema.spec.selector}"}}
"#;
    let rgd: ResourceGraphDefinition = serde_saphyr::from_str(yaml).unwrap();
    assert_eq!(rgd.spec.schema.group(), "kro.run");
    assert_eq!(rgd.spec.schema.scope.as_str(), "Namespaced");
    let resources = &rgd.spec.resources;
    assert_eq!(resources[0].for_each[0]["x"], "${schema.spec.xs}");
    assert_eq!(resources[0].template.as_ref().unwrap()["spec"], json!({"ports": []}));
    let selector = |index: usize| resources[index].external_ref.as_ref().unwrap().metadata.selector.clone().unwrap();
    assert!(matches!(selector(2), Selector::Labels(labels) if labels.match_labels.is_some()));
    assert_eq!(selector(3), Selector::Expression("${schema.spec.selector}".to_owned()));
    let text = serde_json::to_string(&rgd).unwrap();
    assert_eq!(serde_json::from_str::<ResourceGraphDefinition>(&text).unwrap(), rgd);
}

#[test]
fn what_kro_stored_is_read() {
    let revision: GraphRevision = serde_json::from_value(json!({
        "apiVersion": "internal.kro.run/v1alpha1",
        "kind": "GraphRevision",
        "metadata": {"name": "web-r00001", "labels": {"kro.run/graph-revision-hash": "00ff"}},
        "spec": {"revision": 1, "snapshot": {"name": "web", "generation": 3, "spec": {
            "schema": {"kind": "WebApp", "apiVersion": "v1alpha1", "group": "kro.run", "scope": "Namespaced", "spec": {}, "types": {}, "status": {}},
            "resources": [],
        }}},
        "status": {"topologicalOrder": ["a"], "conditions": [{"type": "GraphVerified", "status": "True", "reason": "Verified",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1}],
            "resources": [{"id": "a", "dependencies": [{"id": "b"}]}]},
    }))
    .unwrap();
    assert_eq!(revision.spec.snapshot.generation, 3);
    assert_eq!(revision.status.unwrap().resources[0].dependencies[0].id, "b");
}
