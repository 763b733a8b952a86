//! What is pending, and what is wrong.

use std::sync::Arc;

use runtime_cel::{
    expression::ExpressionError,
    graph::{ValueType, Variable},
};
use serde_json::{Value, json};

use super::{patient, value_of};

fn node() -> Value {
    json!({"n": {"s": "text", "i": 1, "nil": null, "l": [1], "m": {"a": 1}, "b": true}})
}

#[test]
fn what_may_come_is_pending() {
    let evaluator = patient();
    for source in [
        "n.x",
        "n.x.y",
        "n['x']",
        "n.l[1]",
        "n.l[-1]",
        "n.l[5u]",
        "n.s.x",
        "n.i.x",
        "n.b[0]",
        "n.nil.x",
        "n.nil[0]",
        "has(n.x.y)",
        "[n.x]",
        "{'a': n.x}",
        "{n.x: 1}",
        "n.x + n.y",
        "n.x ? 1 : 2",
        "n.l.map(e, n.x)",
        "n.l.map(e, e.x)",
        "n.l.filter(e, n.x)",
        "n.l.sortBy(e, n.x)",
        "n.l.transformMap(i, e, n.x)",
        "n.x.startsWith('a')",
        "'a'.startsWith(n.x)",
        "n.x.startsWith(1 / 0)",
        "string(n.x)",
        "cel.bind(v, n.x, v)",
        "n.x || n.y",
        "n.x || 1 / 0 == 1",
        "other.status",
        "other",
        "lists.range(2)[2]",
        "'a.b'.split('.')[2]",
        "json.unmarshal('{}').a",
        "n.?m.orValue({}).x",
        "optional.none().orValue(n.x)",
        "n.m.merge({'b': 1}).c",
        "{1: 2}[3]",
        "{true: 2}[false]",
        "n.m[1]",
    ] {
        let error = value_of(&evaluator, source, &node()).unwrap_err();
        assert!(error.is_pending(), "{source}: {error}");
        assert!(matches!(error, ExpressionError::Pending { .. }));
    }
}

#[test]
fn what_will_never_do_is_an_error() {
    let evaluator = patient();
    for source in [
        "1 / 0 == 1 || n.x",
        "(1 / 0).x",
        "n.l['x']",
        "n.l.x",
        "n.l[0.5]",
        "n.m[null]",
        "n.m[[1]]",
        "has(n.l.x)",
        "n.l.?x",
        "[1].slice(0, 2)",
        "'a'.charAt(2)",
        "'a'.substring(2)",
        "lists.removeAtIndex([1], 1)",
        "optional.none().value()",
        "n.?x.value()",
        "[].min()",
        "n.s + n.i",
        "n.i()",
        "n.s ? 1 : 2",
        "n.l.exists(e, e)",
        "n.s.map(e, e)",
        "n.i.all(e, true)",
        "{?'a': n.m.a}",
        "[?n.i]",
        "{1.5: 1}",
        "{'a': 1}.transformMapEntry(k, v, {'b': v, 'c': 1 / 0})",
        "omit() == 1",
        "[omit()] == [1]",
        "url('http://a/').x",
        "bytes('x')",
        "1.0 / 0.0",
        "18446744073709551615u",
        "{1: 2}",
        "type(1)",
        "quantity('1')",
        "runtime.newCondition({type: '', status: 'True'})",
        "runtime.newCondition({type: 'A', status: 'Yes'})",
        "runtime.newCondition({type: 'A', status: true})",
        "runtime.condition(n.s, 'A')",
    ] {
        match value_of(&evaluator, source, &node()) {
            Err(error) => assert!(!error.is_pending(), "{source}: {error}"),
            Ok(value) => panic!("{source} is {value}"),
        }
    }
}

#[test]
fn what_is_not_needed_is_not_missed() {
    let evaluator = patient();
    for (source, expected) in [
        ("true || n.x", json!(true)),
        ("n.x || true", json!(true)),
        ("false && n.x", json!(false)),
        ("n.x && false", json!(false)),
        ("true ? 1 : n.x", json!(1)),
        ("n.l.exists(e, e == 1 || n.x)", json!(true)),
        ("[n.i, 2].exists(e, e == 2 ? true : n.x)", json!(true)),
        ("[1, 2].all(e, e == 1 ? n.x : false)", json!(false)),
        ("cel.bind(v, n.x, 1)", json!(1)),
        ("cel.bind(v, n.x, cel.bind(w, v, 2))", json!(2)),
        ("cel.bind(a, 1, cel.bind(b, a + 1, cel.bind(a, 5, b + a)))", json!(7)),
        ("[1, 2].map(x, cel.bind(y, x * 2, y + x))", json!([3, 6])),
        ("optional.of(1).orValue(n.x)", json!(1)),
        ("optional.of(1).or(n.x)", json!(1)),
        ("n.?x.?y.z.orValue('d')", json!("d")),
        ("has(n.x)", json!(false)),
        ("has(n.nil)", json!(true)),
        ("has(n.nil.x) || has(n.s.x) || has(n.i.x)", json!(false)),
        ("has(n.?x.y)", json!(false)),
        ("has(n.?m.a)", json!(true)),
        ("n.?nil.x", json!(null)),
        ("n.?l[?7]", json!(null)),
        ("n.?i.x.orValue(3)", json!(3)),
    ] {
        assert_eq!(value_of(&evaluator, source, &node()), Ok(expected), "{source}");
    }
}

#[test]
fn what_a_whole_variable_lacks_is_an_error_that_names_it() {
    let evaluator = patient();
    let schema = Arc::new(json!({"spec": {"name": "x", "ports": [{"port": 1}], "labels": {}, "none": null}}));
    for (source, says) in [
        ("schema.spec.x", "schema.spec.x is not set"),
        ("schema.spec.x.y.z", "schema.spec.x is not set"),
        ("has(schema.spec.x.y)", "schema.spec.x is not set"),
        ("schema.spec.labels['a/b']", "schema.spec.labels[\"a/b\"] is not set"),
        ("schema.spec.ports[1].port", "schema.spec.ports[1] is not set"),
        ("schema.spec.ports[0].name", "schema.spec.ports[0].name is not set"),
        ("schema.spec.ports.map(p, p.name)", "p.name (of schema) is not set"),
        ("cel.bind(s, schema.spec, s.x)", "s.x (of schema) is not set"),
        ("schema.spec.none.x", "schema.spec.none.x is not set"),
        ("schema.spec.name.x", "schema.spec.name.x is not set"),
        ("schema.x", "schema.x is not set"),
        // A list that a loop's variable is; a field of what has none.
        ("[schema.spec.ports].map(l, l[5])", "l[5] (of schema) is not set"),
        ("schema.spec.ports[0].port.x", "schema.spec.ports[0].port.x is not set"),
        // What the place begins with is no name.
        ("dyn(schema.spec).x", "(…).x (of schema) is not set"),
        ("schema.spec.ports.slice(0, 1)[0].x", "(…)[0].x (of schema) is not set"),
    ] {
        let program = evaluator.compile("", source).unwrap();
        for of in [
            ValueType::Dyn,
            ValueType::of_schema(&json!({"properties": {"spec": {"properties": {
                "name": {"type": "string"}, "none": {"type": "string"},
                "ports": {"type": "array", "items": {"properties": {"port": {"type": "integer"}}}},
            }}}})),
        ] {
            let variable = |whole| Variable { name: "schema", value: Arc::clone(&schema), of: of.clone(), whole };
            let error = evaluator.evaluate(&program, &[variable(true)]).unwrap_err();
            assert!(!error.is_pending() && error.to_string().contains(says), "{source}: {error}");
            let error = evaluator.evaluate(&program, &[variable(false)]).unwrap_err();
            assert!(error.is_pending(), "{source}: {error}");
        }
    }
}

#[test]
fn what_only_looks_like_a_field_of_a_whole_variable_is_pending() {
    let evaluator = patient();
    let schema = Variable { name: "schema", value: Arc::new(json!({"name": "x"})), of: ValueType::Dyn, whole: true };
    for source in [
        // The loop's variable hides the other.
        "[{'a': 1}].map(schema, schema.x)",
        // What is made of a field is no field.
        "(schema.name + 'y').x",
        "string(schema.name).x",
        "[schema.name][1]",
    ] {
        let program = evaluator.compile("", source).unwrap();
        let error = evaluator.evaluate(&program, std::slice::from_ref(&schema)).unwrap_err();
        assert!(error.is_pending(), "{source}: {error}");
    }
}

#[test]
fn what_is_pending_says_what_there_is_not() {
    let evaluator = patient();
    for (source, says) in [
        ("n.x", "no such key: x"),
        ("n['x']", "no such key: x"),
        ("n.l[1]", "index out of bounds: 1"),
        ("n.l[-1]", "index out of bounds: -1"),
        ("n.l[5u]", "index out of bounds: 5"),
        ("{true: 2}[false]", "no such key"),
        ("other.status", "there is no \"other\" yet"),
        // Of several that fail in a loop the first is told.
        ("[1, 2].all(e, e == 1 ? n.x : 1 / 0 == 1)", "no such key: x"),
        ("[1, 2].exists(e, e == 1 ? n.x : n.y)", "no such key: x"),
    ] {
        let error = value_of(&evaluator, source, &node()).unwrap_err();
        assert!(error.is_pending() && error.to_string().contains(says), "{source}: {error}");
    }
    let error = value_of(&evaluator, "[1, 2].all(e, e == 1 ? 1 / 0 == 1 : n.x)", &node()).unwrap_err();
    assert!(!error.is_pending() && error.to_string().contains("division by zero"), "{error}");
}
