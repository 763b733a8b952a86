//! ResourceGraphDefinitions.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::cluster::{Hub, RGD};

/// A spec with these fields in its schema.
fn with_schema(fields: &Value) -> Value {
    let mut schema = json!({"apiVersion": "v1alpha1", "kind": "Web"});
    for (key, value) in fields.as_object().unwrap() {
        schema[key] = value.clone();
    }
    json!({"schema": schema})
}

/// A spec with one resource of these fields.
fn with_resource(fields: &Value) -> Value {
    let mut spec = with_schema(&json!({}));
    spec["resources"] = json!([{"id": "one"}]);
    for (key, value) in fields.as_object().unwrap() {
        spec["resources"][0][key] = value.clone();
    }
    spec
}

fn with_reference(metadata: &Value) -> Value {
    with_resource(&json!({"externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_server_holds_a_definition_to_its_rules() {
    let hub = Hub::start().await;
    what_is_said_stays_and_what_is_not_is_filled_in(&hub).await;
    what_a_definition_is_called_never_changes(&hub).await;
    kinds_and_versions_are_checked(&hub).await;
    names_are_few_short_and_different(&hub).await;
    a_resource_is_made_or_read(&hub).await;
    what_is_read_has_a_name_or_a_selector(&hub).await;
    a_dimension_has_one_key(&hub).await;
    people_see_how_it_does(&hub).await;
}

async fn what_is_said_stays_and_what_is_not_is_filled_in(hub: &Hub) {
    let least = hub.create(RGD, "least", &with_schema(&json!({}))).await;
    assert_eq!(
        least["spec"]["schema"],
        json!({"apiVersion": "v1alpha1", "kind": "Web", "group": "kro.run", "scope": "Namespaced"})
    );
    assert!(least["status"].is_null());

    let free = json!({"name": "string | required=true", "nested": {"ports": "[]integer", "deep": {"x": "object"}}});
    let schema = json!({"spec": free, "types": {"Port": "integer", "P": {"q": "string"}},
        "status": {"ready": "${one.status.x}", "list": ["${one.a}", {"b": 1}]},
        "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "additionalPrinterColumns": [{"name": "N", "type": "string", "jsonPath": ".spec.name", "priority": 1}]});
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "${schema.spec.name}", "odd": [1, null]},
        "data": {"a": "${schema.spec.nested}"}, "unknown": {"deep": [{"x": 1.5}]}});
    let mut spec = with_schema(&schema);
    spec["resources"] = json!([{"id": "one", "template": template, "readyWhen": ["${one.data.a == 'b'}"],
        "includeWhen": ["${true}"]}]);
    let made = hub.takes(RGD, &spec).await;
    for field in ["spec", "types", "status", "metadata", "additionalPrinterColumns"] {
        assert_eq!(made["spec"]["schema"][field], schema[field], "{field}");
    }
    assert_eq!(made["spec"]["resources"], spec["resources"]);
    hub.takes(RGD, &with_schema(&json!({"scope": "Cluster", "group": "example.com"}))).await;
    for column in [
        json!({"name": "N", "type": "string"}),
        json!({"name": "N", "jsonPath": ".x"}),
        json!({"type": "string", "jsonPath": ".x"}),
    ] {
        let told = hub.refuses(RGD, &with_schema(&json!({"additionalPrinterColumns": [column]}))).await;
        assert!(told.contains("additionalPrinterColumns[0]") && told.contains("Required value"), "{told}");
    }
}

async fn what_a_definition_is_called_never_changes(hub: &Hub) {
    for (field, other) in [("kind", "Other"), ("apiVersion", "v1beta1"), ("group", "example.com"), ("scope", "Cluster")]
    {
        let mut schema = json!({});
        schema[field] = other.into();
        let told = hub.edit(RGD, "least", json!({"spec": {"schema": schema}})).await.expect_err(field);
        assert!(told.contains(&format!("{field} is immutable")), "{told}");
    }
    // What stands for itself is the same as what was filled in.
    let same = json!({"spec": {"schema": {"group": null, "scope": null, "spec": {"a": "string"}}}});
    let edited = hub.edit(RGD, "least", same).await.unwrap();
    assert_eq!(edited["spec"]["schema"]["scope"], "Namespaced");
    assert_eq!(edited["metadata"]["generation"], 2);
}

async fn kinds_and_versions_are_checked(hub: &Hub) {
    let kind = |kind: &str| with_schema(&json!({"kind": kind}));
    let version = |version: &str| with_schema(&json!({"apiVersion": version}));
    let longest = format!("A{}", "b".repeat(62));
    for right in [kind("A"), kind("WebApp2"), kind(&longest), version("v1"), version("v12beta3"), version("v1alpha10")]
    {
        hub.takes(RGD, &right).await;
    }
    let longer = format!("{longest}b");
    for wrong in ["", "web", "2Web", "Web-App", "Web.App", longer.as_str()] {
        let told = hub.refuses(RGD, &kind(wrong)).await;
        assert!(told.contains("spec.schema.kind"), "{told}");
    }
    for wrong in ["", "1", "v", "v1gamma1", "v1alpha", "kro.run/v1", "V1"] {
        let told = hub.refuses(RGD, &version(wrong)).await;
        assert!(told.contains("spec.schema.apiVersion"), "{told}");
    }
    for wrong in ["namespaced", ""] {
        let told = hub.refuses(RGD, &with_schema(&json!({"scope": wrong}))).await;
        assert!(told.contains("spec.schema.scope") && told.contains("Cluster"), "{told}");
    }
    for missing in ["kind", "apiVersion"] {
        let mut spec = with_schema(&json!({}));
        spec["schema"].as_object_mut().unwrap().remove(missing);
        let told = hub.refuses(RGD, &spec).await;
        assert!(told.contains(&format!("spec.schema.{missing}: Required value")), "{told}");
    }
    assert!(hub.refuses(RGD, &json!({"resources": []})).await.contains("spec.schema: Required value"));
}

async fn names_are_few_short_and_different(hub: &Hub) {
    for field in ["shortNames", "categories"] {
        let named = |names: &[String]| {
            let mut schema = json!({});
            schema[field] = json!(names);
            with_schema(&schema)
        };
        let many = |count: usize| (0..count).map(|index| format!("n{index}")).collect::<Vec<_>>();
        hub.takes(RGD, &named(&[])).await;
        hub.takes(RGD, &named(&many(32))).await;
        hub.takes(RGD, &named(&["a".to_owned(), "a-1".to_owned(), "b".repeat(63)])).await;
        let told = hub.refuses(RGD, &named(&many(33))).await;
        assert!(told.contains(&format!("spec.schema.{field}: Too many")), "{told}");
        let told = hub.refuses(RGD, &named(&["a".to_owned(), "a".to_owned()])).await;
        assert!(told.contains(&format!("spec.schema.{field}[1]: Duplicate value")), "{told}");
        for wrong in ["", "Web", "-a", "a-", "1a", "a_b", "a.b", &"b".repeat(64)] {
            let told = hub.refuses(RGD, &named(&[wrong.to_owned()])).await;
            assert!(told.contains(&format!("spec.schema.{field}[0]")), "{wrong:?}: {told}");
        }
    }
}

async fn a_resource_is_made_or_read(hub: &Hub) {
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    hub.takes(RGD, &with_resource(&json!({"template": {}}))).await;
    hub.takes(RGD, &with_resource(&json!({"externalRef": reference}))).await;
    for wrong in [json!({}), json!({"template": {}, "externalRef": reference})] {
        let told = hub.refuses(RGD, &with_resource(&wrong)).await;
        assert!(told.contains("exactly one of template or externalRef must be provided"), "{told}");
    }
    let told = hub.refuses(RGD, &with_resource(&json!({"id": null, "template": {}}))).await;
    assert!(told.contains("spec.resources[0].id: Required value"), "{told}");
}

async fn what_is_read_has_a_name_or_a_selector(hub: &Hub) {
    let labels = json!({"matchLabels": {"a": "${schema.spec.a}"},
        "matchExpressions": [{"key": "k", "operator": "In", "values": ["${schema.spec.b}"]}]});
    for right in [
        json!({"name": "x"}),
        json!({"name": "${schema.spec.x}", "namespace": "n"}),
        json!({"selector": labels}),
        json!({"selector": {}, "namespace": "n"}),
    ] {
        let made = hub.takes(RGD, &with_reference(&right)).await;
        assert_eq!(made["spec"]["resources"][0]["externalRef"]["metadata"], right);
    }
    for wrong in [json!({}), json!({"namespace": "n"}), json!({"name": "x", "selector": {}})] {
        let told = hub.refuses(RGD, &with_reference(&wrong)).await;
        assert!(told.contains("exactly one of name or selector must be provided"), "{told}");
    }
    let told = hub.refuses(RGD, &with_reference(&json!({"name": ""}))).await;
    assert!(told.contains("externalRef.metadata.name"), "{told}");
    for missing in ["apiVersion", "kind", "metadata"] {
        let mut spec = with_reference(&json!({"name": "x"}));
        spec["resources"][0]["externalRef"].as_object_mut().unwrap().remove(missing);
        let told = hub.refuses(RGD, &spec).await;
        assert!(told.contains(&format!("externalRef.{missing}: Required value")), "{told}");
    }
}

async fn a_dimension_has_one_key(hub: &Hub) {
    let each = |dimensions: Value| with_resource(&json!({"template": {}, "forEach": dimensions}));
    hub.takes(RGD, &each(json!([{"a": "${x}"}, {"b": "${y}"}]))).await;
    hub.takes(RGD, &each(json!([]))).await;
    for wrong in [json!([{}]), json!([{"a": "${x}", "b": "${y}"}])] {
        let told = hub.refuses(RGD, &each(wrong)).await;
        assert!(told.contains("spec.resources[0].forEach[0]"), "{told}");
    }
    let told = hub.refuses(RGD, &each(json!([{"a": ["x"]}]))).await;
    assert!(told.contains("spec.resources[0].forEach[0].a"), "{told}");
}

async fn people_see_how_it_does(hub: &Hub) {
    let condition = json!({"type": "Ready", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 2,
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"state": "Active", "topologicalOrder": ["a", "b"], "conditions": [condition],
        "resources": [{"id": "b", "dependencies": [{"id": "a"}]}], "lastIssuedRevision": 3});
    let patch = Patch::Merge(json!({"status": status}));
    let written = hub.api(RGD).patch_status("least", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(written.data["status"], status, "nothing is dropped");
    let table = hub.table(&["rgd"]);
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0], ["NAME", "APIVERSION", "KIND", "STATE", "READY", "AGE"], "{table}");
    assert_eq!(words[1][..5], ["least", "v1alpha1", "Web", "Active", "True"], "{table}");
    let wide = hub.table(&["rgd", "--output=wide"]);
    assert!(wide.contains("TOPOLOGICALORDER") && wide.contains("[\"a\",\"b\"]"), "{wide}");
}
