//! Variables with a schema, and results as JSON.

use std::sync::Arc;

use runtime_cel::{
    graph::{ValueType, Variable, is_omitted, without_omitted},
    types::{Type, value},
};
use serde_json::{Value, json};

use super::{patient, value_of};

fn typed(source: &str) -> Result<Value, String> {
    let schema = json!({"type": "object", "properties": {
        "metadata": {"type": "object"},
        "spec": {"type": "object", "properties": {
            "blob": {"type": "string", "format": "byte"},
            "blobs": {"type": "array", "items": {"type": "string", "format": "byte"}},
            "day": {"type": "string", "format": "date"},
            "days": {"type": "array", "items": {"type": "string", "format": "date"}},
            "when": {"type": "string", "format": "date-time"},
            "wait": {"type": "string", "format": "duration"},
            "ratio": {"type": "number"}, "ratios": {"type": "array", "items": {"type": "number"}},
            "waits": {"type": "array", "items": {"type": "string", "format": "duration"}}, "count": {"type": "integer"}, "on": {"type": "boolean"},
            "port": {"x-kubernetes-int-or-string": true},
            "odd-name": {"type": "string"}, "a.b/c": {"type": "string"}, "x__y": {"type": "string"},
            "for": {"type": "string"}, "bad": {"type": "integer"},
            "data": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            "torn": {"type": "object", "additionalProperties": {"type": "string", "format": "byte"}},
            "torns": {"type": "array", "items": {"type": "string", "format": "byte"}},
            "ref": {"allOf": [{"type": "string", "format": "date"}], "default": {}},
            "any": {},
        }},
    }});
    let value = json!({"spec": {
        "blob": "/+8=", "blobs": ["YQ==", "Yg=="], "day": "2026-01-31", "days": ["2026-01-31"],
        "when": "2026-01-31T12:00:00.5+01:00", "wait": "90s", "ratio": 2, "ratios": [], "waits": [], "count": 3.0, "on": true, "port": 80,
        "odd-name": "odd", "a.b/c": "abc", "x__y": "xy", "for": "f", "bad": "x", "data": {"k": "dg=="},
        "ref": "2026-02-01", "torn": {"a": "%%", "b": "eA=="}, "torns": ["%%", "eA=="], "any": {"n": 1, "d": "2026-01-31"}, "more": 7,
    }});
    let evaluator = patient();
    let program = evaluator.compile("", source).map_err(|error| error.to_string())?;
    let of = ValueType::of_schema(&schema);
    let variable = Variable { name: "o", value: Arc::new(value), of, whole: true };
    evaluator.evaluate(&program, &[variable]).map_err(|error| error.to_string())
}

#[test]
fn values_are_what_their_schema_says() {
    for (source, expected) in [
        ("size(o.spec.blob)", json!(2)),
        ("base64.encode(o.spec.blob)", json!("/+8=")),
        ("o.spec.blobs.map(b, string(b))", json!(["a", "b"])),
        ("string(o.spec.data.k)", json!("v")),
        ("o.spec.data.transformMap(k, v, string(v))", json!({"k": "v"})),
        ("o.spec.day.getDate()", json!(31)),
        ("o.spec.day", json!("2026-01-31T00:00:00Z")),
        ("o.spec.days", json!(["2026-01-31T00:00:00Z"])),
        ("o.spec.ref.getMonth()", json!(1)),
        ("o.spec.when", json!("2026-01-31T11:00:00Z")),
        ("o.spec.when - o.spec.day", json!("11h0m0.5s")),
        ("string(o.spec.when)", json!("2026-01-31T12:00:00.5+01:00")),
        ("o.spec.when.getMilliseconds()", json!(500)),
        ("o.spec.wait", json!("1m30s")),
        ("o.spec.ratio / 4.0", json!(0.5)),
        ("o.spec.ratios.sum() + 0.5", json!(0.5)),
        ("o.spec.waits.sum()", json!("0s")),
        ("o.spec.count % 2", json!(1)),
        ("o.spec.port + 1", json!(81)),
        ("o.spec.odd__dash__name + o.spec.a__dot__b__slash__c", json!("oddabc")),
        ("o.spec.x__underscores__y + o.spec.__for__", json!("xyf")),
        ("has(o.spec.odd__dash__name) && !has(o.spec.odd__dot__name)", json!(true)),
        ("o.spec.?odd__dash__name.orValue('')", json!("odd")),
        ("o.spec.any.n + o.spec.more", json!(8)),
        // As it was given.
        ("o.spec.any", json!({"n": 1, "d": "2026-01-31"})),
        ("[o.spec.data]", json!([{"k": "dg=="}])),
        ("{'a': o.spec.day}", json!({"a": "2026-01-31T00:00:00Z"})),
        // What is not looked at may be wrong.
        ("o.spec.torn.transformList(k, v, k)", json!(["a", "b"])),
        ("o.spec.torn.exists(k, v, string(v) == 'x')", json!(true)),
        ("o.spec.torns.map(b, 1)", json!([1, 1])),
        ("o.spec.torn.size() + o.spec.torns.size()", json!(4)),
        ("has(o.spec.bad)", json!(true)),
        ("o.spec.day == timestamp('2026-01-31T00:00:00Z')", json!(true)),
        ("o.spec.blobs == [b'a', b'b']", json!(true)),
        ("o == o && o.spec != {}", json!(true)),
    ] {
        // Both are compared in full, and a field of it is no integer.
        let answer = typed(source);
        if source.starts_with("o == o") {
            assert!(answer.unwrap_err().contains("a number"), "{source}");
        } else {
            assert_eq!(answer, Ok(expected), "{source}");
        }
    }
    for (source, says) in [
        ("o.spec.bad", "holds a text, where its schema has a number"),
        ("o.spec.blob", "base64.encode"),
        ("o.spec.blobs", "base64.encode"),
        ("o.spec.day + 'x'", "no such overload"),
        ("o.spec.torn.all(k, v, string(v) == 'x')", "base64"),
        ("o.spec.torns[0]", "base64"),
    ] {
        let error = typed(source).unwrap_err();
        assert!(error.contains(says), "{source}: {error}");
        assert!(!error.contains("/+8="), "{error}");
    }
}

#[test]
fn what_is_not_what_its_schema_says_is_told_by_both() {
    let evaluator = patient();
    let program = evaluator.compile("", "[o] == []").unwrap();
    for (schema, value, says) in [
        (json!({"type": "boolean"}), json!(5), "a number, where its schema has true or false"),
        (json!({"type": "boolean"}), json!("true"), "a text, where its schema has true or false"),
        (json!({"type": "integer"}), json!(true), "true or false, where its schema has a number"),
        (json!({"type": "integer"}), json!(0.5), "a number, where its schema has a whole number of 64 bits"),
        (json!({"type": "number"}), json!("1"), "a text, where its schema has a number"),
        (json!({"type": "array"}), json!({}), "an object, where its schema has a list"),
        (json!({"type": "array"}), json!("[]"), "a text, where its schema has a list"),
        (json!({"type": "object", "properties": {}}), json!([]), "a list, where its schema has an object"),
        (json!({"type": "object", "properties": {}}), json!("{}"), "a text, where its schema has an object"),
        (json!({"type": "string"}), json!(5), "a number, where its schema has a text"),
        (json!({"type": "string", "format": "date"}), json!("x"), "a text, where its schema has a date"),
    ] {
        let of = ValueType::of_schema(&schema);
        let variable = Variable { name: "o", value: Arc::new(value), of, whole: true };
        let error = evaluator.evaluate(&program, &[variable]).unwrap_err().to_string();
        assert!(error.contains(&format!("\"o\" holds {says}")), "{schema}: {error}");
    }
}

#[test]
fn what_an_expression_gave_is_seen_again_as_what_it_was() {
    let evaluator = patient();
    for (of, value, source, expected) in [
        (Type::list(Type::Timestamp), json!(["2026-01-31T12:00:00Z"]), "o[0].getHours()", json!(12)),
        (Type::list(Type::Duration), json!(["90s"]), "o[0].getSeconds()", json!(90)),
        (Type::list(Type::Double), json!([1]), "o[0] / 2.0", json!(0.5)),
        (Type::list(Type::Int), json!([3.0]), "o[0] % 2", json!(1)),
        (Type::map(Type::String, Type::Bytes), json!({"a": "YQ=="}), "string(o.a)", json!("a")),
        (Type::map(Type::String, Type::list(Type::Duration)), json!({"a": ["1m"]}), "o.a[0].getSeconds()", json!(60)),
        (Type::Dyn, json!("90s"), "o + ''", json!("90s")),
    ] {
        let program = evaluator.compile("", source).unwrap();
        let variable = Variable { name: "o", value: Arc::new(value), of: ValueType::of_type(&of), whole: true };
        assert_eq!(evaluator.evaluate(&program, &[variable]), Ok(expected), "{source}");
    }
}

/// What lies within all lists, maps and objects.
fn innermost(of: &ValueType) -> &ValueType {
    match of {
        ValueType::List(inner) | ValueType::Map(inner) => innermost(inner),
        ValueType::Struct(of) => innermost(&of.fields["a"]),
        of => of,
    }
}

#[test]
fn what_is_below_so_many_levels_is_dyn() {
    let object = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    // With what is around it, it is the last of the 64 levels that are read, or the one below.
    for (around, expected) in [(62, ValueType::Int), (63, ValueType::Dyn)] {
        for of in [Type::list(Type::Int), Type::map(Type::String, Type::Int), value("o", &object)] {
            let of = (0..around).fold(of, |of, _| Type::list(of));
            assert_eq!(*innermost(&ValueType::of_type(&of)), expected, "{of}");
        }
        for schema in [
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            json!({"allOf": [{"type": "integer"}]}),
            object.clone(),
        ] {
            let schema = (0..around).fold(schema, |schema, _| json!({"type": "array", "items": schema}));
            assert_eq!(*innermost(&ValueType::of_schema(&schema)), expected, "{schema}");
        }
    }
    assert_eq!(ValueType::of_type(&Type::Bool), ValueType::Bool);
    assert_eq!(ValueType::of_type(&Type::String), ValueType::Text);
}

#[test]
fn results_are_what_json_makes_of_them_in_go() {
    let evaluator = patient();
    for (source, expected) in [
        ("42.0", json!(42)),
        ("-0.0", json!(0)),
        ("1e15", json!(1_000_000_000_000_000_i64)),
        ("1e300", json!(1e300)),
        ("0.1", json!(0.1)),
        ("9223372036854775807u", json!(i64::MAX)),
        ("timestamp('2026-01-31T12:00:00.9+01:00')", json!("2026-01-31T11:00:00Z")),
        ("timestamp('0001-01-01T00:00:00Z')", json!(null)),
        ("duration('1h')", json!("1h0m0s")),
        ("optional.none()", json!(null)),
        ("optional.of(optional.of('x'))", json!("x")),
        ("[optional.none()]", json!([null])),
        (
            "runtime.newCondition({type: 'A', status: 'True', message: 'm'})",
            json!({"type": "A", "status": "True", "reason": "", "message": "m"}),
        ),
        (
            "runtime.condition({'status': {'conditions': [{'type': 'A', 'status': 'False'}]}}, 'A').status",
            json!("False"),
        ),
        ("runtime.condition({}, 'A').status", json!("")),
    ] {
        let value = value_of(&evaluator, source, &json!({}));
        assert_eq!(value, Ok(expected), "{source}");
    }
}

#[test]
fn what_is_omitted_is_marked_and_nothing_else() {
    let evaluator = patient();
    let value = |source: &str| value_of(&evaluator, source, &json!({"forged": {"$omit": true}}));
    let marked = value("{'a': omit(), 'b': [1, omit()], 'c': {'d': omit()}}").unwrap();
    assert!(is_omitted(&marked["a"]) && is_omitted(&marked["b"][1]) && !is_omitted(&marked["c"]));
    assert_eq!(without_omitted(marked), Some(json!({"b": [1], "c": {}})));
    assert_eq!(without_omitted(value("omit()").unwrap()), None);
    for source in ["forged", "[forged]", "{'$omit': true}", "{'a': {'$omit': 1}}"] {
        assert!(value(source).unwrap_err().to_string().contains("mark of omit()"), "{source}");
    }
    assert_eq!(value("json.marshal({'a': omit(), 'b': forged})"), Ok(json!(r#"{"a":{},"b":{"$omit":true}}"#)));
}
