//! What CRDs say, compared with what an API server (1.36) has published of the same CRD.

use std::sync::Arc;

use kube::core::GroupVersionKind;
use runtime_cel::schema::Schema;

use super::*;
use crate::openapi;

/// A list with a CRD that uses all that structural schemas know.
const CRDS: &str = include_str!("definition/crds.json");

/// What the API server made of it.
const OPENAPI: &str = include_str!("definition/openapi.json");

fn thing(version: &str) -> KindInfo {
    let gvk = GroupVersionKind::gvk("g.io", version, "Thing");
    KindInfo { gvk, plural: "things".into(), namespaced: true, has_status: true }
}

fn defined(list: &str, kind: &KindInfo) -> Option<Value> {
    parse(list.as_bytes(), kind).unwrap().map(|definition| definition.schema.json().clone())
}

fn published() -> Value {
    let mut found = None;
    openapi::each_schema(OPENAPI.as_bytes(), &[Arc::new(thing("v1"))], |_, schema| found = schema.unwrap()).unwrap();
    found.unwrap()
}

/// A list with the CRD of `things` whose only version has this schema.
fn list_of(schema: &str) -> String {
    format!(
        r#"{{"items":[{{"metadata":{{"name":"things.g.io","resourceVersion":"7"}},"spec":{{"group":"g.io",
            "names":{{"kind":"Thing","plural":"things"}},
            "versions":[{{"name":"v1","served":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}]}}"#
    )
}

#[test]
fn a_crd_and_what_is_published_of_it_hold_the_same() {
    let (defined, published) = (defined(CRDS, &thing("v1")).unwrap(), published());
    assert_eq!(Schema::compile(&defined), Schema::compile(&published));
    // Field by field, so that it is known which one it is.
    for (name, schema) in published["properties"]["spec"]["properties"].as_object().unwrap() {
        let ours = &defined["properties"]["spec"]["properties"][name];
        assert_eq!(Schema::compile(ours), Schema::compile(schema), "{name}");
    }
}

#[test]
fn what_all_objects_have_is_there() {
    let defined = defined(CRDS, &thing("v1")).unwrap();
    let spec = &defined["properties"]["spec"]["properties"];
    let embedded = [&defined, &spec["job"], &spec["jobs"]["items"], &spec["byName"]["additionalProperties"]];
    for schema in embedded {
        let properties = &schema["properties"];
        assert_eq!(properties["kind"]["type"], "string");
        assert_eq!(properties["metadata"]["properties"]["labels"]["additionalProperties"]["type"], "string");
    }
    let free = self::defined(CRDS, &thing("v2")).unwrap();
    assert_eq!(free["x-kubernetes-preserve-unknown-fields"], true);
    assert_eq!(free["properties"]["metadata"]["type"], "object");
}

#[test]
fn only_its_own_crd_defines_a_kind() {
    let version = edition("cb38def6-b124-410d-9086-bb85476af30b", 1, 254);
    assert_eq!(parse(CRDS.as_bytes(), &thing("v1")).unwrap().unwrap().version, version);
    assert!(parse(CRDS.as_bytes(), &thing("v3")).unwrap().is_none(), "it is not served");
    assert!(parse(CRDS.as_bytes(), &thing("v4")).unwrap().is_none(), "there is no such version");
    let mut other = thing("v1");
    other.gvk.kind = "Other".into();
    assert!(parse(CRDS.as_bytes(), &other).unwrap().is_none(), "it has the name and is of another kind");
    assert!(parse(br#"{"items":[]}"#, &thing("v1")).unwrap().is_none());
    let unnamed = CRDS.replace("things.g.io", "elsewhere.g.io");
    assert!(parse(unnamed.as_bytes(), &thing("v1")).unwrap().is_none(), "an API server that does not know selectors");
    let foreign = list_of("{}").replace(r#""group":"g.io""#, r#""group":"h.io""#);
    assert!(parse(foreign.as_bytes(), &thing("v1")).unwrap().is_none());
    let plural = list_of("{}").replace(r#""plural":"things""#, r#""plural":"thingies""#);
    assert!(parse(plural.as_bytes(), &thing("v1")).unwrap().is_none());
    assert!(parse(list_of("null").as_bytes(), &thing("v1")).unwrap().is_none(), "it says nothing");
    assert!(parse(b"[]", &thing("v1")).is_err());
}

#[test]
fn what_a_crd_takes_is_bounded() {
    let values = format!(r#"{{"enum":[{}0]}}"#, r#"{"":0},"#.repeat(100_000));
    assert!(parse(list_of(&values).as_bytes(), &thing("v1")).err().unwrap().contains("MiB"));
    // Each is small, and what is added to it is not.
    let many: Vec<String> =
        (0..5_000).map(|n| format!(r#""f{n}":{{"x-kubernetes-embedded-resource":true}}"#)).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, many.join(","));
    assert!(parse(list_of(&schema).as_bytes(), &thing("v1")).err().unwrap().contains("MiB"));
    let deep = format!("{}{}{}", r#"{"items":"#.repeat(110), "{}", "}".repeat(110));
    assert!(defined(&list_of(&deep), &thing("v1")).is_some());
}

#[test]
fn an_edition_is_a_crd_and_its_spec() {
    let parsed = |text: &str, kind: &KindInfo| parse(text.as_bytes(), kind).unwrap().unwrap().version;
    let (own, mut list) = (thing("v1"), serde_json::from_str::<Value>(CRDS).unwrap());
    let first = parsed(CRDS, &own);
    let item =
        list["items"].as_array_mut().unwrap().iter_mut().find(|crd| crd["spec"]["names"]["kind"] == "Thing").unwrap();
    item["metadata"]["resourceVersion"] = json!("9999");
    item["metadata"]["annotations"] = json!({"a": "b"});
    let (uid, generation) =
        (item["metadata"]["uid"].as_str().unwrap().to_owned(), item["metadata"]["generation"].as_u64().unwrap());
    let marked = list.to_string();
    assert_eq!(
        (parsed(&marked, &own), first),
        (first, edition(&uid, generation, 1)),
        "labels and annotations make none"
    );
    assert_ne!(edition(&uid, generation + 1, 1), first);
    assert_ne!(edition("another", generation, 1), first);
    assert_eq!(edition(&uid, 0, 7), 7, "not every server counts");
    let behind = KindInfo { has_status: !own.has_status, ..own };
    assert_eq!(parsed(CRDS, &behind), 0, "who answered discovery is behind");
}
