//! Names of revisions, and when two specs say the same.

use broker_api::graphs::ResourceGraphDefinitionSpec;
use graphs_core::revision::{Content, name, same_content};
use proptest::prelude::*;
use serde_json::{Value, json};

fn spec(value: &Value) -> ResourceGraphDefinitionSpec {
    serde_json::from_value(value.clone()).unwrap()
}

fn same(one: &Value, other: &Value) -> bool {
    same_content(&spec(one), &spec(other)).unwrap()
}

fn full() -> Value {
    json!({
        "schema": {
            "kind": "WebApp", "apiVersion": "v1alpha1",
            "spec": {"name": "string", "port": "integer | default=80"},
            "shortNames": ["wa"],
            "additionalPrinterColumns": [{"name": "N", "type": "string", "jsonPath": ".spec.name"}],
        },
        "resources": [
            {
                "id": "a",
                "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "n": 1, "l": []},
                "readyWhen": ["${a.x}", "${a.y}"],
                "includeWhen": ["${schema.spec.x}", "${schema.spec.y}"],
                "forEach": [{"x": "${schema.spec.xs}"}, {"y": "${schema.spec.ys}"}],
            },
            {
                "id": "b",
                "externalRef": {
                    "apiVersion": "v1", "kind": "Secret",
                    "metadata": {"selector": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}},
                },
            },
        ],
    })
}

/// The full spec, with one place set to something else.
fn with(pointer: &str, value: Value) -> Value {
    let mut spec = full();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match spec.pointer_mut(parent).unwrap() {
        Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
        parent => parent[key] = value,
    }
    spec
}

#[test]
fn order_that_means_nothing_makes_no_difference() {
    let mut other = full();
    other["resources"].as_array_mut().unwrap().reverse();
    assert!(same(&full(), &other));
    assert!(same(&full(), &with("/resources/0/readyWhen", json!(["${a.y}", "${a.x}"]))));
    assert!(same(&full(), &with("/resources/0/includeWhen", json!(["${schema.spec.y}", "${schema.spec.x}"]))));
}

#[test]
fn what_is_empty_or_default_makes_no_difference() {
    for (pointer, value) in [
        ("/schema/group", json!("kro.run")),
        ("/schema/group", json!("")),
        ("/schema/scope", json!("Namespaced")),
        ("/schema/types", json!({})),
        ("/schema/types", json!(null)),
        ("/schema/status", json!({})),
        ("/schema/categories", json!([])),
        ("/schema/categories", json!(null)),
        ("/schema/metadata", json!({})),
        ("/schema/metadata", json!({"labels": {}, "annotations": null})),
        ("/schema/additionalPrinterColumns/0/priority", json!(0)),
        ("/schema/additionalPrinterColumns/0/description", json!("")),
        ("/schema/additionalPrinterColumns/0/format", json!("")),
        ("/resources/1/externalRef/metadata/name", json!("")),
        ("/resources/1/readyWhen", json!([])),
        ("/resources/1/includeWhen", json!(null)),
        ("/resources/1/forEach", json!([])),
        ("/resources/1/template", json!(null)),
        ("/resources/1/externalRef/metadata/namespace", json!("")),
        ("/resources/1/externalRef/metadata/selector/matchLabels", json!({})),
        ("/resources/1/externalRef/metadata/selector/matchExpressions/0/values", json!([])),
        ("/resources/0/template/n", json!(1.0)),
    ] {
        assert!(same(&full(), &with(pointer, value.clone())), "{pointer} {value}");
    }
    assert!(same(
        &json!({"schema": {"kind": "A", "apiVersion": "v1"}}),
        &json!({
            "schema": {"kind": "A", "apiVersion": "v1"}, "resources": []
        })
    ));
}

#[test]
fn what_means_something_makes_a_difference() {
    for (pointer, value) in [
        ("/schema/group", json!("example.com")),
        ("/schema/scope", json!("Cluster")),
        ("/schema/spec/port", json!("integer | default=81")),
        ("/schema/types", json!({"A": "string"})),
        ("/schema/metadata", json!({"labels": {"a": "b"}})),
        ("/schema/shortNames", json!([])),
        ("/schema/additionalPrinterColumns/0/priority", json!(1)),
        ("/schema/additionalPrinterColumns/0/description", json!("what it is")),
        ("/schema/additionalPrinterColumns/0/format", json!("byte")),
        ("/resources/0/readyWhen", json!(["${a.x}"])),
        ("/resources/0/forEach", json!([{"y": "${schema.spec.ys}"}, {"x": "${schema.spec.xs}"}])),
        ("/resources/0/template/n", json!(2)),
        ("/resources/0/template/n", json!("1")),
        ("/resources/0/template/n", json!(null)),
        ("/resources/0/template/l", json!({})),
        ("/resources/0/id", json!("c")),
        ("/resources/1/externalRef/metadata/namespace", json!("x")),
        ("/resources/1/externalRef/metadata/name", json!("x")),
        ("/resources/1/externalRef/metadata/selector/matchLabels", json!({"a": "b"})),
        ("/resources/1/externalRef/metadata/selector/matchExpressions/0/values", json!(["x"])),
        ("/resources/1/externalRef/metadata/selector", json!({})),
        ("/resources/1/externalRef/metadata/selector", json!("${schema.spec.selector}")),
    ] {
        assert!(!same(&full(), &with(pointer, value.clone())), "{pointer} {value}");
    }
}

#[test]
fn a_snapshot_has_the_content_of_its_origin() {
    let origin = spec(&full());
    let stored = spec(&serde_json::to_value(&origin).unwrap());
    assert!(same_content(&origin, &stored).unwrap());
    let label = Content::of(&origin).unwrap().label();
    assert!(label.len() == 16 && graphs_core::labels::is_value(&label), "{label}");
}

#[test]
fn what_nests_too_deep_has_no_content() {
    let deep = || {
        let inner = (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        [("a".to_owned(), inner)].into_iter().collect::<serde_json::Map<_, _>>()
    };
    let (mut one, mut other) = (spec(&full()), spec(&full()));
    one.resources[0].template = Some(deep());
    assert!(Content::of(&one).is_err());
    other.schema.spec = deep();
    assert!(Content::of(&other).is_err());
    // Dropping them would recurse.
    std::mem::forget((one, other));
    let nested = |levels: usize| {
        let mut spec = spec(&full());
        let inner = (2..levels).fold(json!({}), |inner, _| json!([inner]));
        spec.resources[0].template = Some([("a".to_owned(), inner)].into_iter().collect());
        Content::of(&spec).is_ok()
    };
    assert_eq!([nested(124), nested(125)], [true, false]);
}

#[test]
fn names_are_those_of_kro() {
    assert_eq!(name("my-webapp", 1), "my-webapp-r00001");
    assert_eq!(name("a", 123_456), "a-r123456");
    let fits = "a".repeat(253 - 7);
    assert_eq!(name(&fits, 7), format!("{fits}-r00007"));
    // FNV-1a of 253 times `a`.
    let long = "a".repeat(253);
    assert_eq!(name(&long, 7), format!("{}-r00007-{:08x}", "a".repeat(253 - 16), fnv(&long)));
    // Where it is cut there is a dot.
    let dotted = format!("{}.-{}", "a".repeat(235), "b".repeat(16));
    assert_eq!(name(&dotted, 7), format!("{}-r00007-{:08x}", "a".repeat(235), fnv(&dotted)));
    assert!(name(&".".repeat(253), 1).starts_with("gr-r00001-"));
}

/// FNV-1a, checked with values that its authors published.
fn fnv(text: &str) -> u32 {
    let hash = |text: &str| {
        text.bytes().fold(2_166_136_261, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
    };
    assert_eq!((hash(""), hash("a"), hash("foobar")), (0x811c_9dc5, 0xe40c_292c, 0xbf9c_f968));
    hash(text)
}

proptest! {
    #[test]
    fn a_name_is_a_name(rgd in "[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", revision in 1..i64::MAX) {
        let name = name(&rgd, revision);
        prop_assert!(name.len() <= 253 && name.contains(&format!("-r{revision:05}")), "{name}");
    }
}
