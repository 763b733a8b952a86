//! What an expression may not do, however it is written: everything that grows or loops is counted.

use std::sync::Arc;

use proptest::prelude::*;
use runtime_cel::{
    expression::ExpressionError,
    graph::{Evaluator, Variable, functions},
};
use serde_json::{Value, json};

use super::{patient, value_of, wide};

fn is_too_costly(source: &str, variables: &Value) {
    let answer = value_of(&patient(), source, variables);
    assert!(matches!(answer, Err(ExpressionError::TooCostly { .. })), "{source}: {:.200}", format!("{answer:?}"));
}

#[test]
fn what_takes_too_many_steps_ends() {
    let long = json!({"l": vec![1; 5000], "s": "x".repeat(200_000), "m": {"k": vec![json!({"a": 1}); 4000]}});
    for source in [
        "l.map(a, l.exists(b, b == 2))",
        "l.all(a, l.all(b, b == 1))",
        "l.transformList(i, a, l.transformMap(j, b, b))",
        "l.transformMapEntry(i, a, {i: l.map(b, b)})",
        "l.filter(a, l.exists_one(b, true))",
        "l.filter(a, l.existsOne(i, b, true))",
        "l.sortBy(a, l.map(b, b).size())",
        "l.map(a, l.sort())",
        "l.map(a, l.distinct().size())",
        "l.map(a, l.flatten())",
        "l.map(a, l.sum())",
        "l.map(a, l == l)",
        "l.map(a, 2 in l)",
        "l.map(a, l.slice(0, 5000).size())",
        "l.map(a, l.indexOf(2))",
        "l.map(a, l.lastIndexOf(2))",
        "l.map(a, l.isSorted())",
        "l.map(a, l.min())",
        "l.map(a, l + l)",
        "l.map(a, lists.range(1000))",
        "l.map(a, lists.setAtIndex(l, 0, 1))",
        "l.map(a, m.merge(m).k == m.k)",
        "l.map(a, m.k.distinct().size())",
        "l.map(a, s.size())",
        "l.map(a, s.contains('y'))",
        "l.map(a, s.split('').size())",
        "l.map(a, s.matches('a.*b'))",
        "l.map(a, s.findAll('x').size())",
        "l.map(a, hash.sha256(s))",
        "l.map(a, base64.encode(bytes(s)))",
        "l.map(a, s == s + '')",
        "l.map(a, json.marshal(m))",
        "l.map(a, json.unmarshal(json.marshal(l)))",
        "l.map(a, '%s'.format([l]))",
        "l.map(a, '%s'.format([m]))",
        "l.map(a, random.seededString(10000, 'x'))",
        "l.map(a, url('http://a/' + s).getQuery())",
        "l.map(a, m.k.map(e, e.a))",
        "l.map(a, m.deepMerge(m).k.size() + m.k.map(e, e).size())",
        "lists.range(1000000)",
        "lists.range(9223372036854775807)",
        "cel.bind(a, lists.range(1000), a.map(x, a.map(y, a)))",
        "cel.bind(a, [l, l], cel.bind(b, [a, a], cel.bind(c, [b, b], cel.bind(d, [c, c], cel.bind(e, [d, d], \
         cel.bind(f, [e, e], [f, f] == [f, f]))))))",
        // Nothing makes up for it.
        "l.all(a, l.all(b, b == 1)) || true",
        "true || l.all(a, l.all(b, b == 1)) ? l.map(a, l) : []",
        "{'a': l.map(a, l.map(b, b))}.?b.orValue('x')",
        "optional.of(l.map(a, l.map(b, b))).hasValue()",
    ] {
        is_too_costly(source, &long);
    }
}

#[test]
fn texts_and_results_are_bounded() {
    let most = wide().values.text;
    let long = json!({"s": "x".repeat(most), "l": vec!["x"; 5000]});
    for source in [
        "s + 'x'",
        "bytes(s) + b'x'",
        "s.replace('x', 'xy')",
        "s.replace('', 'xy')",
        "[s, 'x'].join()",
        "[s].join(s) + s",
        "'%s%s'.format([s, 'x'])",
        "'%x'.format([s])",
        "'%s'.format([[s, s]])",
        "'%s'.format([{'a': s, 'b': s}])",
        "base64.encode(bytes(s))",
        "json.marshal([s])",
        "random.seededString(10000000, 'x')",
        "[s]",
        "{'a': s}",
        "l.map(x, 'x'.replace('x', '0123456789012345678901234567890123456789012345678901234567890123456789'))",
        "lists.range(60000).map(i, 123456)",
    ] {
        is_too_costly(source, &long);
    }
    let evaluator = patient();
    assert_eq!(value_of(&evaluator, "s.size()", &long), Ok(json!(most)));
    assert_eq!(value_of(&evaluator, "s.upperAscii().size()", &long), Ok(json!(most)));
    // Escapes count.
    is_too_costly("s", &json!({"s": "\u{1}".repeat(most / 6 + 1)}));
}

#[test]
fn lists_and_objects_are_looped_over_up_to_a_length() {
    let evaluator = patient();
    let list = |length: usize| json!({"l": vec![1; length]});
    assert_eq!(value_of(&evaluator, "l.all(x, x == 1)", &list(5000)), Ok(json!(true)));
    is_too_costly("l.all(x, x == 1)", &list(5001));
    is_too_costly("l.transformList(i, x, x).size()", &list(5001));
    // Not looped over.
    assert_eq!(value_of(&evaluator, "l.size() + l[5000]", &list(5001)), Ok(json!(5002)));
    let object: serde_json::Map<String, Value> = (0..5001).map(|key| (key.to_string(), json!(1))).collect();
    is_too_costly("m.transformMap(k, v, v).size()", &json!({"m": object}));
}

#[test]
fn deep_values_end_an_evaluation_and_no_process() {
    // Without `json!`, which writes out whatever it is given once more, for each level.
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let evaluator = patient();
    assert_eq!(value_of(&evaluator, "d", &json!({"d": deep(100)})), Ok(deep(100)));
    for source in ["d", "d == d", "[d, d].distinct()", "d.flatten(10000000)", "json.marshal(d)", "'%s'.format([d])"] {
        is_too_costly(source, &json!({"d": deep(5000)}));
    }
    let maps = (0..5000).fold(json!(1), |inner, _| Value::Object([("a".to_owned(), inner)].into_iter().collect()));
    is_too_costly("d.deepMerge(d)", &json!({"d": maps}));
    let text = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    assert!(value_of(&evaluator, "json.unmarshal(t)", &json!({"t": text})).is_err());
}

#[test]
fn what_may_be_written_is_bounded() {
    let evaluator = patient();
    for (source, says) in [
        (" ".repeat(8193), "8193 bytes"),
        ("[".repeat(33), "more than 32 brackets"),
        (vec!["1"; 514].join("+"), "more than 512 operators"),
        (format!("[]{}", ".map(x, x)".repeat(17)), "more than 16 loops"),
        (format!("[]{}", ".transformList(i, x, x)".repeat(17)), "more than 16 loops"),
        (format!("[]{}", ".sortBy(x, x)".repeat(17)), "more than 16 loops"),
        ("l.map(a, l.all(b, l.exists(c, l.filter(d, d).size() > c)))".to_owned(), "more than 3 loops within loops"),
        ("l.transformMap(a, x, l.all(b, l.transformList(i, c, l.sortBy(d, d))))".to_owned(), "more than 3 loops"),
    ] {
        let error = evaluator.compile("", &source).unwrap_err().to_string();
        assert!(error.contains(says), "{source:.80}: {error}");
    }
    for source in [vec!["1"; 513].join("+"), format!("a{}", ".b".repeat(400)), "-".repeat(512) + "1"] {
        let program = evaluator.compile("", &source).unwrap();
        let _ = evaluator.evaluate(&program, &[]);
    }
}

#[test]
fn steps_are_taken_from_a_budget() {
    let evaluator = patient();
    let program = evaluator.compile("", "l.map(x, x + 1)").unwrap();
    let variables = [Variable::dynamic("l", Arc::new(json!(vec![1; 100])))];
    let mut steps = 1000;
    assert!(evaluator.evaluate_for("", &mut steps, &program, &variables).is_ok());
    assert!((500..900).contains(&steps), "{steps}");
    let mut steps = 50;
    let answer = evaluator.evaluate_for("", &mut steps, &program, &variables);
    assert!(matches!(answer, Err(ExpressionError::TooCostly { .. })), "{answer:?}");
    assert_eq!(steps, 0);
}

/// A call of every function there is, with these as its arguments.
fn calls(args: &[&str]) -> Vec<String> {
    let call = |(name, style, count): (&'static str, runtime_cel::graph::Style, usize)| {
        let is_method = style == runtime_cel::graph::Style::Method;
        let mut args = args.iter().cycle();
        let target = if is_method { format!("({}).", args.next()?) } else { String::new() };
        let args: Vec<&str> = args.take(count).copied().collect();
        (!name.starts_with('@')).then(|| format!("{target}{name}({})", args.join(", ")))
    };
    functions().into_iter().filter_map(call).collect()
}

#[test]
fn every_function_takes_whatever_it_is_given() {
    let evaluator = patient();
    let values = [
        "null",
        "true",
        "0",
        "-1",
        "9223372036854775807",
        "18446744073709551615u",
        "0.5",
        "-1.0 / 0.0",
        "''",
        "'é☃'",
        "b'\\xff'",
        "[]",
        "[1, 'a', null]",
        "{}",
        "{'a': [1]}",
        "{1: 2}",
        "optional.none()",
        "optional.of(1)",
        "omit()",
        "timestamp(0)",
        "duration('1h')",
        "type(1)",
        "url('http://a/')",
        "ip('::1')",
        "cidr('::1/64')",
        "quantity('1.5Gi')",
        "semver('1.2.3')",
        "d",
        "d.a",
        "d.l",
        "lists.range(3)",
    ];
    let variables = json!({"d": {"a": "x", "l": [1, {"b": null}]}});
    for first in values {
        for second in values.iter().step_by(3) {
            for source in calls(&[first, second, "1"]) {
                // An error or a value, and no panic.
                if let Err(error) = value_of(&evaluator, &source, &variables) {
                    let error = error.to_string();
                    assert!(!error.contains("panicked"), "{source}: {error}");
                    assert!(!error.contains('\n') && error.chars().count() < 400, "{source}: {error}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn never_panics(source in "[a-z0-9.?()\\[\\]{}'\":, +*/<>=!&|-]{0,40}") {
        if let Err(error) = value_of(&patient(), &source, &json!({"a": {"b": [1, "x"]}})) {
            prop_assert!(!error.to_string().contains("panicked"), "{}", error);
        }
    }
}

#[test]
fn what_comes_of_an_expression_is_counted_to_the_byte() {
    let fits = |source: &str, json: usize| {
        let mut limits = wide();
        limits.values.json = json;
        value_of(&Evaluator::with_limits(limits), source, &Value::Null)
    };
    for (source, bytes) in [
        ("null", 4),
        ("[true]", 7),
        ("12", 2),
        ("'ab'", 4),
        ("'\"\\n'", 6),
        ("'\\u0001'", 8),
        ("[1, 2, 3]", 8),
        ("{'a': 1, 'b': 2, 'c': 3}", 20),
    ] {
        assert!(fits(source, bytes).is_ok(), "{source}: {:?}", fits(source, bytes));
        let more = fits(source, bytes - 1);
        assert!(matches!(more, Err(ExpressionError::TooCostly { .. })), "{source}: {more:?}");
    }
}

#[test]
fn what_comes_of_an_expression_is_no_deeper_than_it_may_be() {
    let deep = |open: &str, close: &str, levels: usize| {
        let mut limits = wide();
        limits.values.depth = 3;
        let source = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        value_of(&Evaluator::with_limits(limits), &source, &Value::Null).is_ok()
    };
    for (open, close) in [("[", "]"), ("{'a': ", "}")] {
        assert!(deep(open, close, 3) && !deep(open, close, 4), "{open}");
    }
}

#[test]
fn values_are_compared_read_and_shown_no_deeper_than_twice_what_a_result_may_be() {
    let answer = |source: &str| {
        let mut limits = wide();
        limits.values.depth = 3;
        value_of(&Evaluator::with_limits(limits), source, &Value::Null)
    };
    let nested = |open: &str, close: &str, levels: usize| format!("{}1{}", open.repeat(levels), close.repeat(levels));
    let list = |levels| nested("[", "]", levels);
    let map = |levels| nested("{\"a\": ", "}", levels);
    for levels in [6, 7] {
        let optional = nested("optional.of(", ")", levels);
        let (list, map) = (list(levels), map(levels));
        for source in [
            format!("{list} == {list}"),
            format!("{map} == {map}"),
            format!("{optional} == {optional}"),
            format!("[{list}].distinct() != []"),
            format!("[{map}].distinct() != []"),
            format!("[{optional}].distinct() != []"),
            format!("'%s'.format([{list}]) != ''"),
            format!("'%s'.format([{map}]) != ''"),
            format!("json.unmarshal('{list}') != null"),
            format!("json.unmarshal('{map}') != null"),
            // Of these the innermost is not looked into.
            format!("[{list}].flatten(100) != []"),
            format!("{{'a': {map}}}.deepMerge({{'a': {map}}}) != {{}}"),
        ] {
            let answer = answer(&source);
            let refused = matches!(answer, Err(ExpressionError::TooCostly { .. }));
            assert!(if levels == 6 { answer == Ok(json!(true)) } else { refused }, "{source}: {answer:?}");
        }
    }
}

#[test]
fn a_text_that_is_made_is_as_long_as_it_may_be_and_no_byte_longer() {
    let answer = |source: &str, text: usize| {
        let mut limits = wide();
        limits.values.text = text;
        value_of(&Evaluator::with_limits(limits), source, &json!({"s": "xxxxx"}))
    };
    for (source, bytes) in [
        ("('ab' + 'cde').size()", 5),
        ("(b'ab' + b'cde').size()", 5),
        ("base64.encode(b'123456789').size()", 12),
        ("base64.encode(b'1').size()", 4),
        ("json.marshal(b'123456789').size()", 12),
        ("'aaaa'.replace('aa', 'bbb').size()", 6),
        ("'aaaa'.replace('aa', 'bbb', 1).size()", 5),
        ("['aa', 'bbb'].join('-').size()", 6),
        ("'%x'.format(['abc']).size()", 6),
        ("'-%s'.format(['abc']).size()", 4),
        ("random.seededString(9, 'a').size()", 9),
        // Not made, but tried, which takes as long.
        ("'abc'.matches('b')", 3),
    ] {
        assert!(answer(source, bytes).is_ok(), "{source}: {:?}", answer(source, bytes));
        let more = answer(source, bytes - 1);
        assert!(matches!(more, Err(ExpressionError::TooCostly { .. })), "{source}: {more:?}");
    }
    // A text of the object may be longer, and what is made of it, as long as it does not grow.
    assert_eq!(answer("s.replace('x', 'y').size()", 3), Ok(json!(5)));
    assert_eq!(answer("s.replace('x', '').size()", 3), Ok(json!(0)));
}

#[test]
fn what_is_given_is_no_deeper_in_a_result_than_what_is_made() {
    let deep = |given: Value| {
        let mut limits = wide();
        limits.values.depth = 3;
        value_of(&Evaluator::with_limits(limits), "d", &json!({"d": given})).is_ok()
    };
    assert!(deep(json!([[[1]]])) && !deep(json!([[[[1]]]])));
    assert!(deep(json!({"a": {"a": {"a": 1}}})) && !deep(json!({"a": {"a": {"a": {"a": 1}}}})));
    assert!(deep(json!({"a": [{"a": 1}]})) && !deep(json!({"a": [{"a": [1]}]})));
}
