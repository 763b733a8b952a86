//! The generated CRD, whose it is, and what is done about it.

use broker_api::graphs::{GeneratedSchema, keys};
use graphs_core::{
    crd::{Bound, ChangeKind, Owner, Ownership, Step, Verdict, compare, decide, desired, digest, ownership},
    plural,
};
use serde_json::{Value, json};

const OWNER: Owner<'_> = Owner { name: "web", uid: "u-1", version: "v0.9.3+54" };

fn schema(value: Value) -> GeneratedSchema {
    serde_json::from_value(value).unwrap()
}

fn web_app() -> GeneratedSchema {
    schema(json!({"kind": "WebApp", "apiVersion": "v1alpha1"}))
}

fn crd_of(schema: &GeneratedSchema, owner: Owner<'_>, spec: &Value) -> Value {
    desired(owner, schema, &plural::of(&schema.kind), spec, &json!({"type": "object"})).unwrap()
}

fn string_spec() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}})
}

fn crd() -> Value {
    crd_of(&web_app(), OWNER, &string_spec())
}

#[test]
fn the_whole_tree() {
    let status = json!({"type": "object", "properties": {"url": {"type": "string"}}});
    let mut crd = desired(OWNER, &web_app(), "webapps", &string_spec(), &status).unwrap();
    let digest = crd["metadata"]["annotations"].as_object_mut().unwrap().remove(keys::CRD_DIGEST).unwrap();
    assert!(digest.as_str().unwrap().starts_with("sha256:"));
    let text = json!({"type": "string"});
    assert_eq!(
        crd,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "webapps.kro.run",
                "annotations": {},
                "labels": {
                    "kro.run/owned": "true",
                    "kro.run/kro-version": "v0.9.3-54",
                    "kro.run/resource-graph-definition-id": "u-1",
                    "kro.run/resource-graph-definition-name": "web",
                },
            },
            "spec": {
                "group": "kro.run",
                "scope": "Namespaced",
                "names": {"kind": "WebApp", "listKind": "WebAppList", "plural": "webapps", "singular": "webapp"},
                "conversion": {"strategy": "None"},
                "versions": [{
                    "name": "v1alpha1",
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        {
                            "name": "State", "type": "string", "jsonPath": ".status.state",
                            "description": "The state of a ResourceGraphDefinition instance",
                        },
                        {
                            "name": "Ready", "type": "string",
                            "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status",
                            "description": "Whether a ResourceGraphDefinition instance is ready",
                        },
                        {
                            "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
                            "description": "Age of the resource",
                        },
                    ],
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "apiVersion": text,
                            "kind": text,
                            "metadata": {"type": "object"},
                            "spec": {"type": "object", "properties": {"name": text}},
                            "status": {"type": "object", "properties": {
                                "url": text,
                                "state": text,
                                "conditions": {"type": "array", "items": {"type": "object", "properties": {
                                    "type": text, "status": text, "reason": text, "message": text,
                                    "lastTransitionTime": text, "observedGeneration": {"type": "integer"},
                                }}},
                            }},
                        },
                    }},
                }],
            },
        })
    );
}

#[test]
fn what_its_author_adds() {
    let schema = schema(json!({
        "kind": "Index", "apiVersion": "v1", "group": "example.com", "scope": "Cluster",
        "shortNames": ["ix"], "categories": ["all-of-it"],
        "metadata": {"labels": {"team": "a", "kro.run/owned": "false"}, "annotations": {"note": "b"}},
        "additionalPrinterColumns": [
            {"name": "Name", "type": "string", "jsonPath": ".spec.name", "priority": 0, "description": ""},
            {"name": "Wide", "type": "integer", "jsonPath": ".spec.wide", "priority": 1, "format": "int32"},
        ],
    }));
    let crd = crd_of(&schema, OWNER, &string_spec());
    assert_eq!(crd["metadata"]["name"], "indices.example.com");
    assert_eq!(crd["metadata"]["labels"]["team"], "a");
    assert_eq!(crd["metadata"]["labels"]["kro.run/owned"], "true", "ours are not for sale");
    assert_eq!(crd["metadata"]["annotations"]["note"], "b");
    assert_eq!(crd["spec"]["scope"], "Cluster");
    assert_eq!(crd["spec"]["names"]["shortNames"], json!(["ix"]));
    assert_eq!(crd["spec"]["names"]["categories"], json!(["all-of-it"]));
    assert_eq!(
        crd["spec"]["versions"][0]["additionalPrinterColumns"],
        json!([
            {"name": "Name", "type": "string", "jsonPath": ".spec.name"},
            {"name": "Wide", "type": "integer", "jsonPath": ".spec.wide", "priority": 1, "format": "int32"},
        ]),
        "in place of the default ones, as an API server stores them"
    );
}

#[test]
fn a_long_name_is_hashed_and_kept_whole() {
    let name = "n".repeat(100);
    let owner = Owner { name: &name, ..OWNER };
    let crd = crd_of(&web_app(), owner, &string_spec());
    assert_eq!(crd["metadata"]["labels"][keys::RGD_NAME].as_str().unwrap().len(), 63);
    assert_eq!(crd["metadata"]["annotations"][keys::RGD_NAME], name.as_str());
    assert_eq!(ownership(&crd, owner), Ownership::Ours);
    assert_eq!(ownership(&crd, OWNER), Ownership::Other(name.clone()));
    assert_eq!(decide(Some(&crd), &crd, owner, false), Verdict::Keep);
}

#[test]
fn the_digest_is_of_all_that_we_want_but_the_version_of_the_controller() {
    let one = digest(&crd()).unwrap();
    assert_eq!(crd()["metadata"]["annotations"][keys::CRD_DIGEST], one.as_str());
    let newer = crd_of(&web_app(), Owner { version: "v0.10.0", ..OWNER }, &string_spec());
    assert_eq!(digest(&newer).unwrap(), one);
    let mut columns = web_app();
    columns.short_names.push("wa".to_owned());
    assert_ne!(digest(&crd_of(&columns, OWNER, &string_spec())).unwrap(), one);
    assert_ne!(digest(&crd_of(&web_app(), Owner { uid: "u-2", ..OWNER }, &string_spec())).unwrap(), one);
    assert_ne!(digest(&crd_of(&web_app(), OWNER, &json!({"type": "object"}))).unwrap(), one);
}

/// A CRD with these labels alone.
fn labelled(labels: Value) -> Value {
    let mut crd = crd();
    crd["metadata"]["labels"] = labels;
    crd
}

#[test]
fn whose_it_is() {
    let (owned, name, id) = (keys::OWNED, keys::RGD_NAME, keys::RGD_ID);
    for (labels, wanted) in [
        (json!({owned: "true", name: "web", id: "u-1"}), Ownership::Ours),
        (json!({owned: "true", name: "web", id: "u-0"}), Ownership::Adopted),
        (json!({owned: "true", name: "web"}), Ownership::Adopted),
        (json!({owned: "true"}), Ownership::Other(format!("(its label {name} is missing)"))),
        (json!({keys::MANAGED_BY: "kro", name: "web", id: "u-1"}), Ownership::Ours),
        (json!({keys::MANAGED_BY: "kro", name: "api", id: "u-1"}), Ownership::Other("api".to_owned())),
        (json!({owned: "true", name: "api", id: "u-2"}), Ownership::Other("api".to_owned())),
        (json!({owned: "false", keys::MANAGED_BY: "kro", name: "web"}), Ownership::Foreign),
        (json!({keys::MANAGED_BY: "Helm"}), Ownership::Foreign),
        (json!({}), Ownership::Foreign),
        (json!(null), Ownership::Foreign),
    ] {
        assert_eq!(ownership(&labelled(labels.clone()), OWNER), wanted, "{labels}");
    }
}

#[test]
fn what_is_not_ours_is_refused_in_the_words_of_kro() {
    let refused = |labels| match decide(Some(&labelled(labels)), &crd(), OWNER, true) {
        Verdict::Refuse(why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(json!({})), "failed to update CRD webapps.kro.run: CRD already exists and is not owned by KRO");
    assert_eq!(
        refused(json!({keys::OWNED: "true", keys::RGD_NAME: "api"})),
        "failed to update CRD webapps.kro.run: CRD is owned by another ResourceGraphDefinition api"
    );
}

#[test]
fn nothing_is_written_when_nothing_differs() {
    let mut existing = crd_of(&web_app(), Owner { version: "v0.8.0", ..OWNER }, &string_spec());
    existing["metadata"]["resourceVersion"] = "7".into();
    existing["metadata"]["labels"]["theirs"] = "x".into();
    existing["spec"]["preserveUnknownFields"] = false.into();
    existing["status"] = json!({"storedVersions": ["v1alpha1"]});
    assert_eq!(decide(Some(&existing), &crd(), OWNER, false), Verdict::Keep);
    assert_eq!(decide(None, &crd(), OWNER, false), Verdict::Create);
}

#[test]
fn whatever_differs_is_written() {
    let change = |pointer: &str, value: Value| {
        let mut existing = crd();
        *existing.pointer_mut(pointer).unwrap() = value;
        matches!(decide(Some(&existing), &crd(), OWNER, false), Verdict::Update(_))
    };
    let version = "/spec/versions/0";
    assert!(change("/spec/names/singular", "other".into()));
    assert!(change("/metadata/labels/kro.run~1resource-graph-definition-id", "u-0".into()));
    assert!(change("/metadata/annotations/internal.kro.run~1crd-digest", "x".into()));
    assert!(change(&format!("{version}/additionalPrinterColumns/0/name"), "x".into()));
    assert!(change(&format!("{version}/served"), false.into()));
    assert!(change(
        &format!("{version}/schema/openAPIV3Schema/properties/spec/properties/name"),
        json!({
            "type": "string", "minLength": 1, "x-kubernetes-preserve-unknown-fields": true
        })
    ));
}

#[test]
fn a_breaking_change_needs_a_word() {
    let fields = |names: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties})
    };
    let old = crd_of(&web_app(), OWNER, &fields(&["a", "b", "c", "d", "e", "name"]));
    assert_eq!(
        decide(Some(&old), &crd(), OWNER, false),
        Verdict::Refuse(
            "cannot update CRD webapps.kro.run: breaking changes detected: Property a was removed; Property b was removed; \
             Property c was removed; and 2 more changes"
                .to_owned()
        )
    );
    let Verdict::Update(report) = decide(Some(&old), &crd(), OWNER, true) else { panic!("not written") };
    assert_eq!(report.changes.len(), 5);
    let three = compare(&crd_of(&web_app(), OWNER, &fields(&["a", "b", "c", "name"])), &crd()).unwrap();
    assert_eq!(three.summary(), "Property a was removed; Property b was removed; Property c was removed");
}

#[test]
fn a_version_that_is_served_no_more_breaks() {
    let with = |served: bool| {
        let mut crd = crd();
        crd["spec"]["versions"][0]["served"] = served.into();
        crd
    };
    let breaks = |old, new| compare(&with(old), &with(new)).unwrap().is_breaking();
    assert_eq!([breaks(true, true), breaks(true, false)], [false, true]);
    assert_eq!([breaks(false, true), breaks(false, false)], [false, false]);
}

fn changed(old: &Value, new: &Value) -> Vec<(ChangeKind, bool, String)> {
    let report = compare(&crd_of(&web_app(), OWNER, old), &crd_of(&web_app(), OWNER, new)).unwrap();
    report.changes.iter().map(|change| (change.kind, change.breaking, change.path.clone())).collect()
}

fn of(field: Value) -> Value {
    let mut spec = json!({"type": "object", "properties": {}});
    spec["properties"]["f"] = field;
    spec
}

#[test]
fn what_kro_does_not_see_is_seen() {
    let at = |rest: &str| format!(".properties.spec.properties.f{rest}");
    let text = json!({"type": "string"});
    let ruled = json!({"type": "string", "x-kubernetes-validations": [{"rule": "a", "message": "m"}]});
    assert_eq!(
        changed(&of(text.clone()), &of(json!({"type": "string", "enum": ["a"]}))),
        [(ChangeKind::EnumAdded, true, at(".enum"))]
    );
    assert_eq!(
        changed(&of(text.clone()), &of(ruled.clone())),
        [(ChangeKind::ValidationAdded, true, at(".x-kubernetes-validations"))]
    );
    assert_eq!(changed(&of(ruled.clone()), &of(text)), []);
    let mut other = ruled.clone();
    other["x-kubernetes-validations"][0]["message"] = "n".into();
    assert_eq!(changed(&of(ruled), &of(other)), [], "another message is no other rule");
    let map =
        |minimum: i32| of(json!({"type": "object", "additionalProperties": {"type": "integer", "minimum": minimum}}));
    assert_eq!(
        changed(&map(1), &map(2)),
        [(ChangeKind::Bound(Bound::Minimum, Step::Increased), true, at(".additionalProperties.minimum"))]
    );
    assert_eq!(changed(&map(2), &map(1)), []);
    let mut described = map(1);
    described["properties"]["f"]["description"] = "what it is".into();
    let told = [(ChangeKind::DescriptionChanged, false, at(".description"))];
    assert_eq!(changed(&map(1), &described), told, "what is said of the map itself is no value of it");
}

#[test]
fn a_bound_that_stays_is_no_change_and_a_zero_has_no_sign() {
    let bounds = json!({"minimum": 1, "maximum": 2, "minLength": 1, "maxLength": 2, "minItems": 1, "maxItems": 2});
    assert_eq!(changed(&of(bounds.clone()), &of(bounds)), []);
    let from = |minimum: f64| crd_of(&web_app(), OWNER, &of(json!({"type": "number", "minimum": minimum})));
    let report = compare(&from(1.5), &from(-0.0)).unwrap();
    assert_eq!((report.changes[0].old.as_str(), report.changes[0].new.as_str()), ("1.5", "0"));
}

#[test]
fn a_schema_may_be_as_deep_as_its_crd_can_still_be_read() {
    let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!([inner]));
    let desired = |spec: &Value, status: &Value| desired(OWNER, &web_app(), "webapps", spec, status);
    let flat = json!({});
    assert!(desired(&nested(120), &flat).is_ok() && desired(&flat, &nested(120)).is_ok());
    assert!(desired(&nested(121), &flat).is_err() && desired(&flat, &nested(121)).is_err());
}

#[test]
fn versions_that_cannot_be_compared() {
    let mut two = crd();
    two["spec"]["versions"].as_array_mut().unwrap().push(json!({"name": "v1"}));
    assert!(
        matches!(decide(Some(&two), &crd(), OWNER, true), Verdict::Refuse(why) if why.contains("exactly one version"))
    );
    let mut bare = crd();
    bare["spec"]["versions"][0]["schema"] = json!(null);
    assert!(matches!(decide(Some(&bare), &crd(), OWNER, true), Verdict::Refuse(why) if why.contains("has no schema")));
}

#[test]
fn strangers_crds_cost_little() {
    let nest = |inner: Value| {
        Value::Object([("type".to_owned(), "array".into()), ("items".to_owned(), inner)].into_iter().collect())
    };
    let deep = || (0..100_000).fold(json!({"type": "string"}), |inner, _| nest(inner));
    let mut existing = crd();
    existing["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = deep();
    assert!(matches!(decide(Some(&existing), &crd(), OWNER, true), Verdict::Refuse(why) if why.contains("deep")));
    let spec = deep();
    assert!(desired(OWNER, &web_app(), "webapps", &spec, &json!({})).is_err());
    // Dropping them would recurse.
    std::mem::forget((existing, spec));
    let text = "x".repeat(1 << 20);
    let report = compare(
        &crd_of(&web_app(), OWNER, &of(json!({"type": "string"}))),
        &crd_of(&web_app(), OWNER, &of(json!({"type": "string", "pattern": text}))),
    );
    assert!(report.unwrap().summary().len() < 1000);
}

#[test]
fn what_somebody_added_to_the_schema_is_taken_away_again_and_what_an_rgd_takes_away_is_refused() {
    let wanted = crd();
    let mut edited = wanted.clone();
    edited["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["mine"] =
        json!({"type": "string"});
    assert!(matches!(decide(Some(&edited), &wanted, OWNER, false), Verdict::Update(_)));
    let before =
        crd_of(&web_app(), OWNER, &edited["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]);
    assert!(matches!(decide(Some(&before), &wanted, OWNER, false), Verdict::Refuse(_)));
}
