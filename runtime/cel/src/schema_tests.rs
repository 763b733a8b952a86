//! Tests of [`super::Schema`].

use proptest::prelude::*;
use serde_json::json;

use super::{place::NAME, *};

fn schema() -> Schema {
    Schema::compile(&json!({
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"},
                "n": {"type": "number"},
                "size": {"type": "integer", "default": 3},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"},
                        "protocol": {"type": "string", "default": "TCP"}}}},
                "plain": {"type": "array", "items": {"type": "object", "properties": {
                    "x": {"type": "integer"}, "y": {"type": "integer"}, "d": {"type": "integer", "default": 0}}}},
                "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                    "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}}}
            }},
            "status": {"type": "object", "properties": {"phase": {"type": "string"}, "count": {"type": "integer", "default": 0}}}
        }
    }))
}

#[track_caller]
fn same(desired: &Value, observed: &Value) {
    assert_eq!(schema().difference(&json!({"spec": desired}), &json!({"spec": observed})), None);
}

#[track_caller]
fn differs(path: &str, desired: &Value, observed: &Value) {
    let found = schema().difference(&json!({"spec": desired}), &json!({"spec": observed}));
    assert_eq!(found.as_deref(), Some(path));
}

#[test]
fn what_is_not_in_the_schema_is_pruned_and_named() {
    let mut lost = Vec::new();
    let fitted = schema().fit(
        json!({"spec": {"a": "x", "zz": 1, "free": {"any": 1}, "map": {"k": "v"}, "plain": [{"x": 1, "q": 2}]}}),
        &mut lost,
    );
    assert_eq!(fitted, json!({"spec": {"a": "x", "free": {"any": 1}, "map": {"k": "v"}, "plain": [{"x": 1}]}}));
    assert_eq!(lost, ["spec.plain[0].q", "spec.zz"]);
}

#[test]
fn a_null_where_none_can_be_is_dropped() {
    let fitted = schema().fit(json!({"spec": {"a": null}}), &mut Vec::new());
    assert_eq!(fitted, json!({"spec": {}}));
}

#[test]
fn defaults_and_fields_of_others_are_no_difference() {
    same(&json!({"a": "x"}), &json!({"a": "x", "size": 3, "map": {"theirs": "y"}}));
    same(&json!({"n": 1}), &json!({"n": 1.0}));
    same(
        &json!({"ports": [{"name": "web"}]}),
        &json!({"ports": [{"name": "theirs"}, {"name": "web", "protocol": "TCP"}]}),
    );
    same(&json!({"tags": ["b"]}), &json!({"tags": ["a", "b"]}));
    same(&json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1, "d": 0}]}));
}

#[test]
fn changed_or_missing_values_are_differences() {
    differs("spec.a", &json!({"a": "x"}), &json!({"a": "y"}));
    differs("spec.a", &json!({"a": "x"}), &json!({}));
    differs(
        "spec.ports[0].port",
        &json!({"ports": [{"name": "web", "port": 1}]}),
        &json!({"ports": [{"name": "web", "port": 2}]}),
    );
    differs("spec.tags[0]", &json!({"tags": ["c"]}), &json!({"tags": ["a", "b"]}));
}

#[test]
fn an_atomic_list_is_compared_as_a_whole() {
    differs("spec.plain", &json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1}, {"x": 2}]}));
    differs("spec.plain[0].y", &json!({"plain": [{"x": 1}]}), &json!({"plain": [{"x": 1, "y": 2}]}));
}

#[test]
fn a_stored_status_is_pruned_and_defaulted() {
    assert_eq!(schema().stored_status(json!({"phase": "Up", "gone": 1})), json!({"phase": "Up", "count": 0}));
    assert_eq!(schema().status_has("phase"), Some(true));
    assert_eq!(schema().status_has("conditions"), Some(false));
    assert_eq!(Schema::any().status_has("conditions"), None);
}

/// A field that has no `type` is an object if it has properties, and may be anything if not.
#[test]
fn what_a_schema_says_little_of() {
    let schema = Schema::compile(&json!({"properties": {"a": {"properties": {"x": {}}}, "b": {}}}));
    let mut lost = Vec::new();
    let fitted = schema.fit(json!({"a": {"x": 1, "y": 1}, "b": {"y": 1}, "c": 1}), &mut lost);
    assert_eq!(fitted, json!({"a": {"x": 1}, "b": {"y": 1}}));
    assert_eq!(lost, ["a.y", "c"]);
    // A status that is no object has no place for anything.
    for (status, has) in [
        (json!({}), None),
        (json!({"properties": {}}), Some(false)),
        (json!({"type": "string"}), Some(false)),
        (json!({"type": "boolean"}), Some(false)),
        (json!({"x-kubernetes-int-or-string": true}), Some(false)),
        (json!({"type": "array", "items": {}}), Some(false)),
        (json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), Some(true)),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), Some(true)),
    ] {
        let schema = Schema::compile(&json!({"properties": {"status": status}}));
        assert_eq!(schema.status_has("phase"), has, "{status}");
    }
}

#[test]
fn defaults_are_filled_in_wherever_an_object_is() {
    let inner = json!({"properties": {"d": {"default": 1}}});
    let schema = Schema::compile(&json!({"properties": {"status": {"properties": {
        "list": {"type": "array", "items": inner},
        "map": {"type": "object", "additionalProperties": inner},
        "mixed": {"properties": {"named": {}}, "additionalProperties": inner},
        "deep": {"properties": {"d": {"default": {}}, "e": inner}, "default": {}},
    }}}}));
    let stored =
        schema.stored_status(json!({"list": [{}, {"d": 2}], "map": {"a": {}}, "mixed": {"named": {}, "other": {}}}));
    let expected = json!({"list": [{"d": 1}, {"d": 2}], "map": {"a": {"d": 1}},
        "mixed": {"named": {}, "other": {"d": 1}}, "deep": {"d": {}}});
    assert_eq!(stored, expected);
}

#[test]
fn within_what_is_replaced_as_a_whole_sets_and_maps_have_an_order_and_an_end() {
    same(&json!({"whole": {"tags": ["a", "b"]}}), &json!({"whole": {"tags": ["a", "b"]}}));
    differs("spec.whole.tags[0]", &json!({"whole": {"tags": ["a", "b"]}}), &json!({"whole": {"tags": ["b", "a"]}}));
    differs("spec.whole.tags", &json!({"whole": {"tags": ["a"]}}), &json!({"whole": {"tags": ["a", "b"]}}));
    let ports = |names: &[&str]| json!({"whole": {"ports": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}});
    same(&ports(&["a", "b"]), &ports(&["a", "b"]));
    differs("spec.whole.ports[0].name", &ports(&["a", "b"]), &ports(&["b", "a"]));
    differs("spec.whole.ports", &ports(&["a"]), &ports(&["a", "b"]));
}

#[test]
fn numbers_tell_elements_apart_by_value() {
    let list = Schema::compile(&json!({"type": "array", "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port"]}));
    assert_eq!(list.difference(&json!([{"port": 1}, {"port": -0.0}]), &json!([{"port": 0}, {"port": 1.0}])), None);
    assert_eq!(list.difference(&json!([{"port": 1}]), &json!([{"port": "1"}])).as_deref(), Some("[0]"));
    let set = Schema::compile(&json!({"type": "array", "x-kubernetes-list-type": "set"}));
    assert_eq!(set.difference(&json!([1, 2.0]), &json!([2, 3, 1.0])), None);
}

#[test]
fn long_lists_are_not_searched_for_each_of_their_elements() {
    // Where they were, this took minutes.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let tags: Vec<String> = (0..40_000).map(|n| format!("t{n}")).collect();
        let ports: Vec<Value> = tags.iter().map(|name| json!({ "name": name })).collect();
        let turned = |list: &[Value]| list.iter().rev().cloned().collect::<Vec<_>>();
        let all = json!({"tags": tags, "ports": ports});
        let tags: Vec<Value> = tags.into_iter().map(Value::from).collect();
        same(&all, &json!({"tags": turned(&tags), "ports": turned(&ports)}));
        // Elements that leave their keys out, each in another way.
        let keys: Vec<String> = (0..16).map(|n| format!("k{n}")).collect();
        let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys});
        let with = |n: usize| {
            let present = keys.iter().enumerate().filter(|(at, _)| n >> at & 1 == 1);
            Value::Object(present.map(|(_, key)| (key.clone(), json!(1))).collect())
        };
        let sparse: Vec<Value> = (0..5_000).map(with).collect();
        let full: Vec<Value> = (0..5_000).map(|n| keys.iter().map(|key| (key.clone(), json!(n))).collect()).collect();
        let _ = Schema::compile(&list).difference(&json!(sparse), &json!(full));
        // Elements that differ in nothing but what has a default.
        let list = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object",
            "properties": {"d": {"type": "integer", "default": 0}}}});
        let of = |from: usize| (from..from + 20_000).map(|n| json!({ "d": n })).collect::<Vec<_>>();
        let _ = Schema::compile(&list).difference(&json!(of(0)), &json!(of(20_000)));
        sender.send(()).unwrap();
    });
    receiver.recv_timeout(std::time::Duration::from_mins(1)).expect("it takes too long, or it failed");
}

/// What is desired is not sought for ever among elements that differ in nothing but what has a default.
#[test]
fn so_many_elements_that_are_alike_are_looked_at() {
    let schema = Schema::compile(&json!({"type": "array", "x-kubernetes-list-type": "set",
        "items": {"type": "object", "properties": {"d": {"type": "integer", "default": 0}}}}));
    let observed: Value = (0..9).map(|d| json!({ "d": d })).collect();
    assert_eq!(schema.difference(&json!([{"d": 7}]), &observed), None);
    assert_eq!(schema.difference(&json!([{"d": 8}]), &observed).as_deref(), Some("[0]"));
}

#[test]
fn what_is_told_of_fields_is_bounded() {
    let name = "n".repeat(100_000);
    let fields: Map<String, Value> = (0..10_000).map(|n| (format!("f{n}"), json!(1))).collect();
    let schema =
        Schema::compile(&json!({"type": "object", "additionalProperties": {"type": "object", "properties": {}}}));
    let mut lost = Vec::new();
    let fitted = schema.fit(json!({ name.as_str(): fields }), &mut lost);
    assert_eq!(fitted, json!({ name.as_str(): {} }));
    assert_eq!(lost.len(), MOST_LOST);
    assert!(lost.iter().all(|path| path.len() < 200), "{}", lost[0].len());
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({ name.as_str(): deep });
    }
    let path = Schema::any().difference(&deep, &json!({ name.as_str(): 1 })).unwrap();
    assert!(path.len() <= PATH + 3, "{}", path.len());
    let path = Schema::any().difference(&deep, &json!({})).unwrap();
    assert!(path.len() <= NAME + 3, "{}", path.len());
    let path =
        Schema::compile(&json!({"type": "object", "x-kubernetes-map-type": "atomic"})).difference(&json!({}), &deep);
    assert!(path.is_some_and(|path| path.len() <= NAME + 3));
}

/// As it was before elements were found by hash: what it says is right, and takes the square of the list's length.
fn plain_difference(shape: &Shape, desired: &[Value], observed: &[Value]) -> Option<String> {
    let Shape::List { items, kind } = shape else { panic!("no list") };
    match kind {
        ListKind::Set => desired
            .iter()
            .position(|value| !observed.iter().any(|held| difference(items, value, held, true).is_none()))
            .map(|index| format!("[{index}]")),
        ListKind::Map(keys) => desired.iter().enumerate().find_map(|(index, value)| {
            let same_key = |held: &&Value| {
                keys.iter().all(|key| match (held.get(key), value.get(key)) {
                    (_, None) => true,
                    (Some(held), Some(value)) => same_scalar(held, value),
                    (None, Some(_)) => false,
                })
            };
            match observed.iter().find(same_key) {
                Some(held) => difference(items, value, held, false).map(|path| format!("[{index}]{path}")),
                None => Some(format!("[{index}]")),
            }
        }),
        ListKind::Atomic => panic!("neither a set nor a map"),
    }
}

#[test]
fn a_quantity_is_the_same_however_it_is_written() {
    let quantity = json!({"oneOf": [{"type": "string"}, {"type": "number"}]});
    let limits = json!({"type": "object", "additionalProperties": {"allOf": [quantity], "default": {}}});
    let schema =
        Schema::compile(&json!({"type": "object", "properties": {"limits": limits, "text": {"type": "string"}}}));
    let difference = |desired: Value, observed: Value| schema.difference(&desired, &observed);
    for (desired, observed) in [("1000m", json!("1")), ("1024Mi", json!("1Gi")), ("2", json!(2)), ("x", json!("x"))] {
        assert_eq!(difference(json!({"limits": {"cpu": desired}}), json!({"limits": {"cpu": observed}})), None);
    }
    assert_eq!(
        difference(json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "1m"}})).as_deref(),
        Some("limits.cpu")
    );
    assert!(difference(json!({"limits": {"cpu": "x"}}), json!({"limits": {"cpu": "y"}})).is_some());
    assert!(difference(json!({"text": "1000m"}), json!({"text": "1"})).is_some());
    // What is a text or anything else is none.
    for other in ["integer", "boolean"] {
        let port = Schema::compile(&json!({"oneOf": [{"type": "string"}, {"type": other}]}));
        assert!(port.difference(&json!("1000m"), &json!("1")).is_some(), "{other}");
        let port = Schema::compile(&json!({"oneOf": [{"type": other}, {"type": "number"}]}));
        assert!(port.difference(&json!("1000m"), &json!("1")).is_some(), "{other}");
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_i64..3).prop_map(Value::from),
        (-1_i64..3).prop_map(|n| json!(f64::from(i32::try_from(n).unwrap()))),
        "[01a:]{0,2}".prop_map(Value::from),
    ]
}

fn element() -> impl Strategy<Value = Value> {
    let field = prop_oneof![scalar(), prop::collection::vec(scalar(), 0..3).prop_map(Value::from)];
    // What makes an element's key is a scalar: API servers refuse CRDs that say anything else.
    let keys = prop::collection::btree_map("[km]", scalar(), 0..3);
    let object = (keys, prop::collection::btree_map("[vd]", field, 0..3)).prop_map(|(mut keys, more)| {
        keys.extend(more);
        json!(keys)
    });
    prop_oneof![2 => object, 1 => scalar()]
}

proptest! {
    #[test]
    fn sets_and_maps_are_compared_as_if_each_element_were_looked_for(
        keys in prop::sample::subsequence(vec!["k", "m"], 0..=2),
        is_set in any::<bool>(),
        desired in prop::collection::vec(element(), 0..5),
        observed in prop::collection::vec(element(), 0..5),
    ) {
        let kind = if is_set { "set" } else { "map" };
        let shape = compile(&json!({"type": "array", "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": keys,
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"d": {"default": 1}, "k": {}}}}));
        let plain = plain_difference(&shape, &desired, &observed);
        prop_assert_eq!(difference::list_difference(&shape, &desired, &observed, false), plain);
    }
}

/// What is applied first.
fn first(desired: &Value, observed: &Value) -> Option<Value> {
    let (desired, observed) = (json!({"spec": desired}), json!({"spec": observed}));
    schema().without_emptied(&desired, &observed).map(|mut first| first["spec"].take())
}

#[test]
fn a_map_that_has_just_become_empty_is_taken_away_first() {
    let desired = json!({"a": "x", "map": {}, "free": {"deep": {}, "kept": 1}});
    let observed = json!({"a": "y", "map": {"k": "v"}, "free": {"deep": {"k": "v"}, "kept": 1}});
    assert_eq!(first(&desired, &observed), Some(json!({"a": "x", "free": {"kept": 1}})));
    assert_eq!(first(&desired, &json!({"a": "x", "free": {"kept": 1}})), None, "it is gone");
    assert_eq!(first(&desired, &json!({"map": {}, "free": {"deep": {}}})), None, "it is empty already");
    assert_eq!(first(&json!({"a": "x"}), &observed), None, "it is not to be there at all");
    assert_eq!(first(&json!({"map": {"k": "w"}}), &observed), None, "something is left in it");
    assert_eq!(first(&json!({"map": {}}), &json!({"map": 1})), None, "it is no map");
    assert_eq!(first(&json!({"map": "x"}), &observed), None, "it is to be no map");
}

#[test]
fn what_is_in_a_map_by_default_and_what_is_replaced_as_a_whole_does_not_count() {
    assert_eq!(schema().without_emptied(&json!({"spec": {}}), &json!({"spec": {"size": 3}})), None);
    let spec = |held: Value| schema().without_emptied(&json!({"spec": {}, "x": 1}), &json!({"spec": held}));
    assert_eq!(spec(json!({"size": 3, "a": "x"})), Some(json!({"x": 1})));
    assert_eq!(spec(json!({"size": 4})), Some(json!({"x": 1})), "somebody has said so");
    assert_eq!(first(&json!({"whole": {}}), &json!({"whole": {"tags": ["a"]}})), None);
    let plain = |x: Value| json!({"plain": [x]});
    assert_eq!(first(&plain(json!({})), &plain(json!({"x": 1}))), None, "lists are replaced");
    assert_eq!(first(&json!({"whole": {"ports": [{}]}}), &json!({"whole": {"ports": [{"name": "a"}]}})), None);
}

/// It would be refused in the place of what it held.
#[test]
fn what_nothing_else_is_left_in_is_taken_away_too() {
    let first = |desired: Value, observed: Value| schema().without_emptied(&desired, &observed);
    let held = |map: Value| json!({"x": 1, "spec": {"map": map, "size": 3}});
    assert_eq!(first(json!({"x": 1, "spec": {"map": {}}}), held(json!({"k": "v"}))), Some(json!({"x": 1})));
    let deep = |inner: Value| json!({"x": 1, "spec": {"free": {"a": {"b": inner}}}});
    assert_eq!(first(deep(json!({})), deep(json!({"k": "v"}))), Some(json!({"x": 1})));
    assert_eq!(first(deep(json!({})), deep(json!({}))), None);
}

#[test]
fn elements_are_found_by_their_keys() {
    let schema = Schema::compile(&json!({"type": "object", "properties": {"ports": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "properties": {"name": {"type": "string"},
            "options": {"type": "object", "additionalProperties": {"type": "string"}}}}}}}));
    let port = |name: &str, options: Value| json!({"name": name, "options": options});
    let desired = json!({"ports": [port("a", json!({})), port("b", json!({})), port("c", json!({}))]});
    let observed = json!({"ports": [port("b", json!({"k": "v"})), port("a", json!({}))]});
    let first = json!({"ports": [port("a", json!({})), {"name": "b"}, port("c", json!({}))]});
    assert_eq!(schema.without_emptied(&desired, &observed), Some(first));
    assert_eq!(schema.without_emptied(&observed, &observed), None); // And within each other.
    let keyed = |items: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": items});
    let schema = Schema::compile(&keyed(json!({"properties": {"name": {}, "inner": keyed(json!({}))}})));
    let held = |options: Value| json!([{"name": "a", "inner": [{"name": "b", "options": options}]}]);
    let first = json!([{"name": "a", "inner": [{"name": "b"}]}]);
    assert_eq!(schema.without_emptied(&held(json!({})), &held(json!({"k": "v"}))), Some(first));
}
