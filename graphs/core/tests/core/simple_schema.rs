//! SimpleSchema beyond what was recorded: what is better, what errors say, and what hostile inputs cost.

use graphs_core::simple_schema::{MAX_BYTES, MAX_DEPTH, MAX_FIELDS, SchemaError, to_open_api};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn with_types(spec: &Value, types: &Value) -> Result<Value, SchemaError> {
    to_open_api(spec.as_object().unwrap(), types.as_object().unwrap())
}

fn field(text: &str) -> Result<Value, SchemaError> {
    with_types(&json!({"f": text}), &json!({})).map(|schema| schema["properties"]["f"].clone())
}

fn wrong(spec: &Value, types: &Value) -> String {
    with_types(spec, types).unwrap_err().to_string()
}

#[test]
fn an_error_says_where_what_and_what_to_do() {
    let none = json!({});
    assert_eq!(
        wrong(&json!({"db": {"port": "int | default=1"}}), &none),
        "spec.db.port: unknown type: int (write integer)"
    );
    assert!(
        wrong(&json!({"a.b": {"c": 5}}), &none).starts_with(r#"spec["a.b"].c: unexpected type: a field is a text"#)
    );
    assert!(wrong(&json!({"f": "string | minLength=1.5"}), &none).starts_with("spec.f: minLength is no whole number"));
    let types = json!({"A": {"b": {"c": "Nope"}}});
    assert!(wrong(&none, &types).starts_with("types.A: unknown type: Nope"));
    let types = json!({"A": {"b": "string | nope=1"}});
    assert!(wrong(&none, &types).starts_with("types.A.b: unknown marker: nope"));
}

#[test]
fn which_type_was_meant_is_told() {
    for (written, meant) in [
        ("int64", "integer"),
        ("Integer", "integer"),
        ("bool", "boolean"),
        ("double", "float"),
        ("number", "float"),
        ("String", "string"),
        ("bytes", "string"),
        ("dict", "object"),
        ("any", "object"),
        ("Port", "string, integer, boolean, float, object, []T, map[string]T or a name in schema.types"),
    ] {
        let told = wrong(&json!({"f": written}), &json!({}));
        assert_eq!(told, format!("spec.f: unknown type: {written} (write {meant})"));
    }
}

#[test]
fn a_circle_of_types_is_told() {
    let types = json!({"A": {"b": "[]B"}, "B": "map[string]C", "C": {"x": {"y": "B"}}, "D": "string"});
    let error = wrong(&json!({}), &types);
    assert!(error.contains("cyclic dependency in type") && error.contains("B -> C -> B"), "{error}");
    let error = wrong(&json!({}), &json!({"A": "A | default=1"}));
    assert!(error.contains("cyclic dependency in type A: A -> A"), "{error}");
    let long: Map<String, Value> =
        (0..1000).map(|i| (format!("T{i}"), format!("T{}", (i + 1) % 1000).into())).collect();
    let error = wrong(&json!({}), &long.into());
    assert!(error.contains(": T0 -> T1 -> T2 -> T3 -> T4 -> T5 -> T6 -> T7 -> …; take"), "{error}");
}

#[test]
fn white_space_behind_the_bar_means_nothing() {
    for text in ["string|", "string | ", "string |\n"] {
        assert_eq!(field(text).unwrap(), json!({"type": "string"}), "{text:?}");
    }
    assert_eq!(field("integer | minimum=1 ").unwrap(), json!({"type": "integer", "minimum": 1}));
}

#[test]
fn a_default_of_a_text_is_escaped_where_it_is_no_json() {
    for (text, wanted) in [
        (r#"string | default="say \"hi\"""#, r#"say "hi""#),
        (r#"string | default="c:\\dir""#, r"c:\dir"),
        (r#"string | default="a\nb""#, "a\nb"),
        (r#"string | default="\\u00e9""#, "é"),
        (r"string | default=^\d+$", r"^\d+$"),
        ("string | default=\"a\tb\"", "a\tb"),
        (r#"string | default={"a":1}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(field(text).unwrap()["default"], wanted, "{text}");
    }
}

#[test]
fn defaults_are_values_of_their_type() {
    for (text, wanted) in [
        ("boolean | default=T", json!(true)),
        ("boolean | default=0", json!(false)),
        ("integer | default=+007", json!(7)),
        ("float | default=.5", json!(0.5)),
        ("float | default=1e3", json!(1000)),
        ("integer | enum=+1,02", json!([1, 2])),
        ("[]string | default=[\"a\", 'b']", json!(null)),
        ("object | default={a: b}", json!(null)),
        ("[]string | default={}", json!(null)),
        ("map[string]string | default=[]", json!(null)),
        ("object | default=1", json!(null)),
        ("object | default={\"a\":1}", json!({"a": 1})),
        ("[]string | default=[\"a\"]", json!(["a"])),
        ("float | default=NaN", json!(null)),
        ("float | minimum=inf", json!(null)),
    ] {
        let found = field(text).map(|field| field.get("default").or(field.get("enum")).cloned().unwrap());
        assert_eq!(found.unwrap_or_default(), wanted, "{text}");
    }
}

#[test]
fn what_lists_are_told_goes_together() {
    for text in [
        "[]string | uniqueItems=true listType=atomic",
        "[]string | listType=atomic listType=set",
        "[]object | listType=map listMapKey=a uniqueItems=true",
        "[]object | listMapKey=a",
        "[]object | uniqueItems=true listMapKey=a",
        "string | listType=set",
        "map[string]string | listMapKey=a",
    ] {
        assert!(field(text).is_err(), "{text}");
    }
    let types = json!({"L": "[]object | listType=map listMapKey=a"});
    let built = with_types(&json!({"f": "L | listMapKey=b minItems=1"}), &types).unwrap();
    assert_eq!(built["properties"]["f"]["x-kubernetes-list-map-keys"], json!(["a", "b"]));
    assert!(with_types(&json!({"f": "L | listType=set"}), &types).is_err());
    assert!(with_types(&json!({"f": "L | listType=map uniqueItems=false"}), &types).is_ok());
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|at| format!("listMapKey=k{at}")).collect();
        field(&format!("[]object | listType=map {}", keys.join(" ")))
    };
    assert_eq!(keys(32).unwrap()["x-kubernetes-list-map-keys"].as_array().unwrap().len(), 32);
    assert!(keys(33).is_err());
}

#[test]
fn required_goes_through_aliases_but_not_into_lists() {
    let types = json!({"A": "B", "B": "string | required=true", "S": {"x": "A", "y": "[]A", "z": "map[string]B"}});
    let built = with_types(&json!({"b": "A | required=true", "a": "A", "s": "S", "l": "[]A"}), &types).unwrap();
    assert_eq!(built["required"], json!(["a", "b"]));
    assert_eq!(built["properties"]["s"]["required"], json!(["x"]));
    let twice = with_types(&json!({"a": "string | required=true required=true"}), &json!({})).unwrap();
    assert_eq!(twice["required"], json!(["a"]));
}

#[test]
fn a_struct_has_a_default_when_nothing_in_it_is_required() {
    let types = json!({"S": {"x": "integer | default=1"}});
    let built = with_types(&json!({"a": "S", "b": {"c": "S | required=true"}}), &types).unwrap();
    assert_eq!(built["default"], json!({}));
    assert_eq!(built["properties"]["a"]["default"], json!({}));
    assert_eq!(built["properties"]["b"].get("default"), None);
}

fn nested(depth: usize) -> Value {
    nest(json!("string"), depth)
}

fn nest(innermost: Value, depth: usize) -> Value {
    let nest = |inner: Value| Value::Object([("a".to_owned(), inner)].into_iter().collect());
    (0..depth).fold(innermost, |inner, _| nest(inner))
}

#[test]
fn depth_is_bounded_and_cheap() {
    assert!(with_types(&nested(MAX_DEPTH), &json!({})).is_ok());
    let empty = |depth| with_types(&nest(json!({}), depth), &json!({})).is_ok();
    assert_eq!([empty(MAX_DEPTH), empty(MAX_DEPTH + 1)], [true, false]);
    for depth in [MAX_DEPTH + 1, 1_000, 100_000] {
        let deep = nested(depth);
        assert!(wrong(&deep, &json!({})).contains("levels deep"), "{depth}");
        let as_types = with_types(&json!({}), &deep);
        // The name of a type is no level.
        assert_eq!(as_types.is_ok(), depth == MAX_DEPTH + 1, "{depth}");
        // Dropping it would recurse.
        std::mem::forget(deep);
    }
    // Each type is one level deeper than the one it uses.
    let chain: Map<String, Value> = (0..MAX_DEPTH + 2)
        .map(|i| (format!("T{i:03}"), if i == 0 { json!("string") } else { json!({"a": format!("T{:03}", i - 1)}) }))
        .collect();
    assert!(wrong(&json!({}), &chain.into()).contains("levels deep"));
    assert!(field(&format!("object | default={}1{}", "[".repeat(100), "]".repeat(100))).is_err());
    assert!(field(&format!("object | default={}", "[".repeat(1 << 20))).is_err());
}

#[test]
fn types_that_double_are_refused_cheaply() {
    let types: Map<String, Value> = (0..30)
        .map(|i| {
            let inner = format!("T{:02}", i - 1);
            (format!("T{i:02}"), if i == 0 { json!("string") } else { json!({"a": inner, "b": inner}) })
        })
        .collect();
    assert!(wrong(&json!({"f": "T29"}), &types.into()).contains("too large"));
    let types = json!({"T": format!("string | description=\"{}\"", "x".repeat(100_000))});
    let spec: Map<String, Value> = (0..10_000).map(|i| (format!("f{i}"), json!("T"))).collect();
    assert!(wrong(&spec.into(), &types).contains("too large"));
    let many: Map<String, Value> = (0..100_000).map(|i| (format!("t{i}"), json!("string"))).collect();
    assert!(wrong(&many.into(), &json!({})).contains("too large"));
}

#[test]
fn what_is_just_small_enough_is_made() {
    let fields = |count: usize| -> Value {
        let all: Map<String, Value> = (0..count).map(|at| (format!("f{at}"), json!("string"))).collect();
        all.into()
    };
    assert!(with_types(&fields(MAX_FIELDS), &json!({})).is_ok());
    assert!(wrong(&fields(MAX_FIELDS + 1), &json!({})).contains("too large"));
    let text = |bytes: usize| {
        let written = "string | description=";
        json!({"f": format!("{written}{}", "x".repeat(bytes - "f".len() - written.len()))})
    };
    assert!(with_types(&text(MAX_BYTES), &json!({})).is_ok());
    assert!(wrong(&text(MAX_BYTES + 1), &json!({})).contains("too large"));
    // 100 in the type, and 101 wherever it is used.
    let uses = |count: usize| -> Value {
        let all: Map<String, Value> = (0..count).map(|at| (format!("u{at}"), json!("T"))).collect();
        all.into()
    };
    let types = json!({"T": {"inner": fields(99)}});
    let most = (MAX_FIELDS - 100) / 101;
    assert!(with_types(&uses(most), &types).is_ok());
    assert!(wrong(&uses(most + 1), &types).contains("too large"));
}

#[test]
fn long_texts_are_read_once() {
    let long = 1 << 20;
    let keys: Vec<String> = (0..50_000).map(|i| format!("listMapKey=k{i} ")).collect();
    for text in [
        "x".repeat(long),
        "[]".repeat(long / 2),
        "map[string]".repeat(long / 11),
        format!("string | {}", "required=true ".repeat(long / 14)),
        format!("string | {}", "validation=a ".repeat(long / 13)),
        format!("string | {}", "|".repeat(long)),
        format!("string | {}", "| ".repeat(long / 2)),
        format!("string | enum={}", "a,".repeat(long / 2)),
        format!("string | pattern=\"{}\"", "(".repeat(long)),
        format!("string | pattern=\"[{}\"", "[:".repeat(long / 2)),
        format!("[]object | listType=map {}", keys.concat()),
        format!("string | default={}", "\"".repeat(long)),
    ] {
        let made = field(&text);
        if let Err(error) = made {
            assert!(error.to_string().len() < 1000, "{error}");
        }
    }
}

proptest! {
    #[test]
    fn never_panics(text in r#"(\[\]|map\[string\])?(string|integer|boolean|float|object|A|int) ?\|? ?([a-zA-Z]{0,8}=?[a-z0-9",\[\]{}\\| ]{0,12} ?){0,3}"#) {
        let _ = with_types(&json!({"f": text}), &json!({"A": text}));
    }

    #[test]
    fn what_is_made_is_structural(text in r"(\[\]|map\[string\]){0,3}(string|integer|boolean|float|object)") {
        let mut schema = &field(&text).unwrap();
        loop {
            prop_assert!(schema["type"].is_string());
            schema = match (schema.get("items"), schema.get("additionalProperties")) {
                (Some(inner), None) | (None, Some(inner)) => inner,
                _ => break,
            };
        }
    }
}
