//! Expressions: right on what people write, closed on errors, unharmed by attacks (A9, A10).

mod costs;
mod functions;
mod limits;
mod views;

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use runtime_cel::expression::{Evaluator, ExpressionError, Limits};
use serde_json::{Value, json};

/// Steps bound these tests, time does not: a loaded machine must not fail them.
fn patient() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() })
}

fn ask(evaluator: &Evaluator, source: &str, object: &Value) -> Result<bool, ExpressionError> {
    let program = evaluator.compile(source)?;
    evaluator.evaluate_bool(&program, &[("self", Arc::new(object.clone()))])
}

/// The value of an expression.
fn value_of(evaluator: &Evaluator, source: &str, object: &Value) -> Result<Value, ExpressionError> {
    let program = evaluator.compile(source)?;
    evaluator.evaluate(&program, &[("self", Arc::new(object.clone()))])
}

fn object() -> Value {
    json!({
        "apiVersion": "example.org/v1",
        "metadata": {"name": "web", "labels": {"tier": "gold", "a/b": "c"}},
        "spec": {
            "fqdn": "a.internal.corp", "count": 3, "big": u64::MAX, "ratio": 0.5, "on": true, "none": null,
            "zones": ["a", "b"], "hosts": [{"name": "x", "ports": [80, 443]}, {"name": "y", "ports": []}],
        },
    })
}

#[test]
fn evaluates_what_people_write() {
    let evaluator = patient();
    for source in [
        "self.spec.fqdn.endsWith('.internal.corp') && self.spec.count <= 8",
        "self.spec.count + 1 == 4",
        "self.spec.count < 3.5 && self.spec.ratio * 2.0 == 1.0",
        "self.spec.big == 18446744073709551615u",
        "has(self.spec.fqdn) && !has(self.spec.nope) && !has(self.spec.hosts[1].nope)",
        "self.spec.none == null && has(self.spec.none)",
        "self.spec.zones == ['a', 'b'] && ['a', 'b'] == self.spec.zones",
        "self.metadata.labels == {'tier': 'gold', 'a/b': 'c'} && {'a/b': 'c', 'tier': 'gold'} == self.metadata.labels",
        "'a' in self.spec.zones && !('z' in self.spec.zones) && 'tier' in self.metadata.labels",
        "self.metadata.labels['a/b'] == 'c'",
        "size(self.spec.zones) == 2 && self.spec.hosts.size() == 2 && size(self.metadata.labels) == 2",
        "self.spec.zones + ['c'] == ['a', 'b', 'c'] && ['c'] + self.spec.zones == ['c', 'a', 'b']",
        "self.spec.hosts.exists(h, h.ports.all(p, p in [80, 443])) && self.spec.hosts[0].ports[1] == 443",
        "self.spec.hosts.map(h, h.name) == ['x', 'y']",
        "self.spec.hosts.filter(h, h.ports.size() > 0).map(h, h.name) == ['x']",
        "self.spec.hosts.map(h, h.ports.size() > 0, h.name) == ['x']",
        "self.spec.zones.exists_one(z, z == 'a') && self.metadata.labels.all(k, k != '')",
        "(self.spec.on ? self.spec.hosts : []).size() == 2",
        "self.spec.fqdn.matches('^[a-z.]+$') && matches(self.spec.fqdn, 'corp')",
        "type(self.spec) == map && type(self.spec.zones) == list && type(self.spec.count) == int",
        "self.spec.?nope.orValue('x') == 'x' && self.spec.?count.orValue(0) == 3",
        "self == self && self.spec.hosts == self.spec.hosts && self.spec != self.metadata",
        "duration('1h') > duration('1m') && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
        "[1, 2, 3].all(x, [4, 5].all(y, x < y))",
    ] {
        assert_eq!(ask(&evaluator, source, &object()), Ok(true), "{source}");
    }
}

#[test]
fn any_value_as_json() {
    let evaluator = patient();
    for (source, expected) in [
        ("self.spec.count + 1", json!(4)),
        ("self.spec.ratio * 3.0", json!(1.5)),
        ("self.spec.big", json!(u64::MAX)),
        ("self.spec.on && false", json!(false)),
        ("self.spec.none", Value::Null),
        ("self.spec.fqdn + '\"\\n'", json!("a.internal.corp\"\n")),
        ("self", object()),
        ("{'a': [1, null, {'b': self.spec.zones}]}", json!({"a": [1, null, {"b": ["a", "b"]}]})),
        ("self.spec.hosts.map(h, h.name)", json!(["x", "y"])),
        ("b'\\x00\\xff'", json!("AP8=")),
        ("timestamp('2026-01-01T01:00:00+01:00')", json!("2026-01-01T00:00:00Z")),
        ("duration('1h30m')", json!("5400s")),
    ] {
        assert_eq!(value_of(&evaluator, source, &object()), Ok(expected), "{source}");
    }
    for (source, says) in [
        ("{1: 'a'}", "a map with a key that is a int"),
        ("type(1)", "is a type, which JSON cannot hold"),
        ("quantity('1')", "is a kubernetes.Quantity"),
        ("[self.?nope]", "orValue"),
        ("1.0 / 0.0", "the number inf"),
        ("self.nope", r#"no field "nope""#),
    ] {
        let error = value_of(&evaluator, source, &object()).unwrap_err().to_string();
        assert!(error.contains(says), "{source}: {error}");
    }
}

#[test]
fn a_result_is_bounded() {
    let evaluator = patient();
    let most = Limits::default().values.json;
    let fits = "x".repeat(most - 2);
    assert_eq!(value_of(&evaluator, "self", &json!(fits)), Ok(json!(fits)));
    for (source, object) in [
        ("self", json!("x".repeat(most - 1))),
        // Escapes count.
        ("self", json!("\n".repeat(most / 2))),
        ("self", json!("\u{1}".repeat(most / 6 + 1))),
        ("[self, self]", json!("x".repeat(most / 2))),
        ("{self: 1}", json!("x".repeat(most))),
        ("self", json!(vec![0; most])),
        ("self.map(x, self.map(y, y))", json!(vec![0; 500])),
        // The result is refused, not only what came before it.
        ("[self, self, self, self, self, self, self, self]", json!(vec!["x"; 4000])),
        ("self", json!({"x".repeat(most): 1})),
    ] {
        let result = value_of(&evaluator, source, &object);
        assert!(matches!(result, Err(ExpressionError::TooCostly { .. })), "{source}: {:.80}", format!("{result:?}"));
    }
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(value_of(&evaluator, "self", &deep(32)), Ok(deep(32)));
    let error = value_of(&evaluator, "self", &deep(33)).unwrap_err();
    assert!(matches!(error, ExpressionError::NotJson { .. }), "{error:?}");
    // Under a list of its own, the same is a level deeper.
    assert!(value_of(&evaluator, "[self]", &deep(32)).is_err());
}

#[test]
fn other_variables_than_self() {
    let evaluator = patient();
    let program = evaluator.compile("from.spec.a == to.spec.a && [1].all(x, x == n)").unwrap();
    assert_eq!(program.variables(), ["from", "n", "to"]);
    let side = Arc::new(json!({"spec": {"a": 1}}));
    let vars = [("from", Arc::clone(&side)), ("to", side), ("n", Arc::new(json!(1)))];
    assert_eq!(evaluator.evaluate_bool(&program, &vars), Ok(true));
    assert!(matches!(evaluator.evaluate_bool(&program, &vars[..1]), Err(ExpressionError::Failed { .. })));
}

/// By default as by `new`; not by what it is made of, which fills a screen.
#[test]
fn programs_and_evaluators_are_shown_in_short() {
    let evaluator = Evaluator::default();
    let shown = format!("{evaluator:?}");
    assert!(shown.starts_with("Evaluator { limits: Limits {") && shown.len() < 500, "{shown}");
    let program = patient().compile("self.a").unwrap();
    assert_eq!(format!("{program:?}"), "Program(\"self.a\")");
}

#[test]
fn errors_are_closed_and_say_what() {
    let evaluator = patient();
    for (source, says) in [
        ("", "is empty"),
        ("  \n", "is empty"),
        ("self.spec.nope == 1", r#"no field "nope""#),
        ("self.nope.deeper == 1", r#"no field "nope""#),
        ("slf.spec == 1", r#"unknown name "slf""#),
        ("self.spec.frobnicate()", "frobnicate"),
        ("self.spec.count", "is a int, not true or false"),
        ("self.spec", "is a map"),
        ("'true'", "is a string"),
        ("null", "is a null_type"),
        ("self.spec.count + 'x' == 'x'", "does not take these two values"),
        ("self.spec.count / 0 == 1", "ivision by zero"),
        ("self.spec.zones[7] == 'a'", "out of bounds"),
        ("9223372036854775807 + self.spec.count > 0", "verflow"),
        ("self.spec.fqdn.matches('(')", "not an RE2 expression"),
        ("self.spec.fqdn.matches(self.spec.count)", "matches"),
        ("self.spec.count ==", "line 1"),
        ("true &&\n  ) ", "line 2, column 3"),
        ("'unclosed", "not closed"),
        ("Foo{a: 1}.a == 1", "not known here"),
        ("self.spec.count > 'x'", "no matching overload"),
    ] {
        let error = ask(&evaluator, source, &object()).unwrap_err().to_string();
        assert!(error.contains(says), "{source}: {error}");
        assert!(!error.contains('\n') && error.len() < 600, "{source}: {error}");
    }
}

#[test]
fn hostile_texts_are_refused_before_the_parser() {
    let evaluator = patient();
    for source in [
        vec!["1"; 2000].join("+"),
        ["1"; 1000].join("+"),
        format!("{}1{}", "(".repeat(500), ")".repeat(500)),
        format!("{}1{}", "[".repeat(500), "]".repeat(500)),
        format!("{}1{}", "{1:".repeat(300), "}".repeat(300)),
        "!".repeat(2000),
        "-".repeat(2000),
        format!("self{}", ".a".repeat(900)),
        format!("self{}", "[0]".repeat(600)) + ".a.b" + &".a".repeat(300),
        format!("true{}", "?true:true".repeat(150)),
        "a.all(x,a.all(y,a.all(z,a.all(w,true))))".to_owned(),
        format!("''{}", ".map(x,x)".repeat(200)),
        format!("rb'\\' {}", "(".repeat(1000)),
        "\u{0}".repeat(3000),
    ] {
        let error = evaluator.compile(&source).unwrap_err();
        assert!(
            matches!(error, ExpressionError::TooLong { .. } | ExpressionError::TooComplex { .. }),
            "{}: {error:?}",
            &source[..20]
        );
    }
}

/// As large as the first gate lets through: the others must hold.
#[test]
fn the_largest_allowed_texts_do_no_harm() {
    let evaluator = patient();
    for (source, expected) in [
        (["1"; 129].join("+") + "==129", None),
        (["1"; 128].join("+") + "==128", Some(true)),
        (format!("{}true{}", "(".repeat(16), ")".repeat(16)), Some(true)),
        (format!("{}1{} != []", "[".repeat(16), "]".repeat(16)), Some(true)),
        (format!("{}true", "!".repeat(128)), Some(true)),
        (format!("{}true", "true?true:".repeat(40)), Some(true)),
        // The parser's own limit.
        (format!("{}true", "true?true:".repeat(120)), None),
        (format!("{}true{}", "(true?".repeat(16), ":true)".repeat(16)), Some(true)),
        (format!("[{}].size() == 900", ["1"; 900].join(",")), Some(true)),
        (format!("self{} == 1", "[0]".repeat(500)), None),
        (["true"; 128].join("&&"), Some(true)),
        (["[]"; 400].join(","), None),
        ("([{".repeat(5), None),
        (")]}".repeat(600), None),
        ("a b ".repeat(500), None),
        (". ".repeat(256), None),
    ] {
        assert_eq!(ask(&evaluator, &source, &object()).ok(), expected, "{}", &source[..20]);
    }
}

/// An object whose lists are as long as a loop may be.
fn wide() -> Value {
    json!({"l": (0..1000).collect::<Vec<_>>(), "long": (0..1001).collect::<Vec<_>>(), "longer": vec![1; 30_000], "text": "a".repeat(100_000)})
}

#[test]
fn costly_expressions_end_after_so_many_steps() {
    let evaluator = patient();
    let nines = ["9"; 400].join(",");
    for source in [
        // Loops over loops.
        "self.l.all(x, self.l.all(y, true))".to_owned(),
        "self.l.map(x, self.l.map(y, x)).size() > 0".to_owned(),
        "self.l.filter(x, self.l.filter(y, x == y).size() == 1).size() > 0".to_owned(),
        "self.l.exists_one(x, self.l.exists_one(y, x == y))".to_owned(),
        format!("[{nines}].all(x, [{nines}].all(y, x == y))"),
        // An error in a loop is not the end of it, and `|| true` does not save it.
        "self.l.all(x, self.l.exists(y, y.nope))".to_owned(),
        "self.l.all(x, self.l.all(y, true)) || true".to_owned(),
        "true ? !self.l.all(x, self.l.exists(y, y.nope)) || true : false".to_owned(),
        // A list too long to loop over.
        "self.long.all(x, x >= 0)".to_owned(),
        "self.long.all(x, x >= 0) || true".to_owned(),
        "self.?long.orValue([]).all(x, x >= 0)".to_owned(),
        // Doubling of texts and lists.
        format!("['aaaaaaaaaaaaaaaa']{}.size() > 0", ".map(x, x+x+x+x+x+x+x+x+x+x+x+x+x+x)".repeat(8)),
        format!("[b'aaaaaaaaaaaaaaaa']{}.size() > 0", ".map(x, x+x+x+x+x+x+x+x+x+x+x+x+x+x)".repeat(8)),
        format!("[[1,1,1,1,1,1,1,1]]{}.size() > 0", ".map(x, x+x+x+x+x+x+x+x+x+x+x+x+x+x)".repeat(8)),
        format!("[[1,1,1,1,1,1,1,1]]{}.size() > 0", ".map(x, [x,x,x,x,x,x,x,x,x,x,x,x])".repeat(8)),
        format!("[{{1:1}}]{}.size() > 0", ".map(x, {1:x,2:x,3:x,4:x,5:x,6:x,7:x,8:x,9:x})".repeat(8)),
        format!("[optional.of(1)]{}.size() > 0", ".map(x, optional.of([x,x,x,x,x,x,x,x,x,x,x]))".repeat(8)),
        format!("[[{}]]{}.size() > 0", ["1"; 50].join(","), ".map(w, w.map(v, w))".repeat(4)),
        format!("[self.text]{}.size() > 0", ".map(x, x+x)".repeat(8)),
        // Functions that make texts and lists.
        format!("['aaaaaaaaaaaaaaaa']{}.size() > 0", ".map(x, x.replace('a', 'aaaaaaaaaaaaaaaa'))".repeat(4)),
        format!("['aaaaaaaaaaaaaaaa']{}.size() > 0", ".map(x, x.replace('', x))".repeat(8)),
        format!("['aaaaaaaaaaaaaaaa']{}.size() > 0", ".map(x, [x,x,x,x,x,x,x,x].join(x))".repeat(8)),
        "self.text.replace('a', self.text) == ''".to_owned(),
        "self.l.map(x, self.text).join(self.text) == ''".to_owned(),
        "self.text.split('').size() > 0".to_owned(),
        "self.l.map(x, self.text.split('a', 100)).size() > 0".to_owned(),
        "self.l.map(x, self.text.trim()).size() > 0".to_owned(),
        "self.l.map(x, self.text.lowerAscii()).size() > 0".to_owned(),
        "self.l.all(x, self.text.indexOf('b') == -1)".to_owned(),
        "self.l.map(x, [self.text.trim(), 'a'].max()).size() > 0".to_owned(),
        "[[self.text.trim(), 'a']].all(l, self.l.all(x, l.max() != 'b'))".to_owned(),
        // Functions that read lists.
        "self.l.all(x, self.l.sum() > 0)".to_owned(),
        "self.l.all(x, self.l.max() > 0) || true".to_owned(),
        "self.l.all(x, self.l.indexOf(-1) == -1)".to_owned(),
        "self.longer.sum() > 0".to_owned(),
        "self.l.all(x, [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20].isSorted())".to_owned(),
        "self.l.all(x, [1,2,3].all(y, quantity(x) >= quantity(y) || true))".to_owned(),
        // Patterns.
        "self.l.all(x, 'a'.matches('a{' + string(x % 1000) + '}') || true)".to_owned(),
    ] {
        let result = ask(&evaluator, &source, &wide());
        assert!(matches!(result, Err(ExpressionError::TooCostly { .. })), "{source:.60}: {result:?}");
        let result = value_of(&evaluator, &source, &wide());
        assert!(matches!(result, Err(ExpressionError::TooCostly { .. })), "{source:.60} as a value");
    }
    assert_eq!(ask(&evaluator, "self.l.all(x, x < 1000)", &wide()), Ok(true), "one loop is affordable");
    assert_eq!(ask(&evaluator, "[1,2].all(x, self.l.exists(y, x == y))", &wide()), Ok(true));
    assert_eq!(ask(&evaluator, "self.long.sum() == 500500 && self.long.max() == 1000", &wide()), Ok(true));
    assert_eq!(ask(&evaluator, "self.text.replace('a', 'b').indexOf('a') == -1", &wide()), Ok(true));
}

#[test]
fn texts_do_not_grow_without_bound() {
    let evaluator = patient();
    let object = json!({"k": "a".repeat(1024), "nine": "a".repeat(9000), "nines": ["a".repeat(9000)]});
    for (source, fits) in [
        ("self.k.replace('a', 'aaaaaaaa').size() == 8192", true),
        ("self.k.replace('a', 'aaaaaaaaa').size() == 9216", false),
        ("self.k.replace('', 'aaaaaaaa').size() > 0", false),
        ("[self.k, self.k, self.k, self.k, self.k, self.k, self.k].join(self.k).size() > 0", false),
        ("[self.k, self.k, self.k, self.k, self.k, self.k, self.k, self.k].join().size() == 8192", true),
        ("[self.k, self.k, self.k, self.k, self.k, self.k, self.k, self.k].join('-').size() > 0", false),
        // A text of the object may be longer, and what is no longer than it.
        ("self.nine.replace('a', 'b').trim().upperAscii().size() == 9000", true),
        ("self.nine.replace('a', 'bb', 1).size() > 0", false),
        ("self.nines.join().size() > 0", false),
    ] {
        let result = ask(&evaluator, source, &object);
        if fits {
            assert_eq!(result, Ok(true), "{source}");
        } else {
            let error = result.unwrap_err().to_string();
            assert!(error.contains("too costly: it makes a text of"), "{source}: {error}");
        }
    }
}

#[test]
fn patterns_are_bounded() {
    let evaluator = patient();
    for pattern in [
        r"(\\w{100}){100}",
        r"((a{100}){100}){100}",
        "(((((((((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))))))))",
    ] {
        let error = ask(&evaluator, &format!("'aaaa'.matches('{pattern}')"), &object()).unwrap_err();
        assert!(matches!(error, ExpressionError::Failed { .. }), "{pattern}: {error:?}");
    }
    assert_eq!(
        ask(&evaluator, "('a' + 'a' + 'a').matches('(a+)+$') && 'aab'.matches('^(a|a?)+b$')", &object()),
        Ok(true)
    );
    let error = ask(&evaluator, "self.text.matches('a$')", &wide()).unwrap_err().to_string();
    assert!(error.contains("too long for a pattern"), "{error}");
}

#[test]
fn what_runs_out_of_time_rests_for_a_while() {
    let evaluator = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() });
    let program = evaluator.compile("self.a == 1").unwrap();
    let vars = [("self", Arc::new(json!({"a": 1})))];
    for strike in 1..=3 {
        assert_eq!(program.slow_for(), 0, "{strike}");
        let error = evaluator.evaluate_bool(&program, &vars).unwrap_err();
        assert!(matches!(error, ExpressionError::TimedOut { .. }) && error.is_transient(), "{strike}: {error:?}");
    }
    let error = evaluator.evaluate_bool(&program, &vars).unwrap_err();
    assert!(error.is_resting() && !error.is_transient(), "{error:?}");
    assert_eq!(program.slow_for(), 1);
    // For others it is run.
    let error = evaluator.evaluate_bool_for("bart", &mut 100, &program, &vars).unwrap_err();
    assert!(error.is_transient(), "{error:?}");
}

#[test]
fn time_is_the_threads_own_however_busy_the_machine_is() {
    let evaluator = Evaluator::new();
    let program = evaluator.compile("self.l.all(x, self.m.all(y, x + y >= 0))").unwrap();
    let list = |length: u32| (0..length).collect::<Vec<_>>();
    let object = Arc::new(json!({"l": list(100), "m": list(50)}));
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let results: Vec<_> =
            (0..5).map(|_| evaluator.evaluate_bool(&program, &[("self", Arc::clone(&object))])).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(results, vec![Ok(true); 5]);
    });
}

#[test]
fn steps_are_taken_from_what_is_given() {
    let evaluator = patient();
    let program = evaluator.compile("self.l.all(x, x >= 0)").unwrap();
    let vars = [("self", Arc::new(json!({"l": (0..500).collect::<Vec<_>>()})))];
    let mut steps = 1200;
    assert_eq!(evaluator.evaluate_bool_for("homer", &mut steps, &program, &vars), Ok(true));
    let taken = 1200 - steps;
    assert!((500..700).contains(&taken), "{taken}");
    assert_eq!(evaluator.evaluate_bool_for("homer", &mut steps, &program, &vars).is_ok(), taken <= 600);
    steps = 100;
    let error = evaluator.evaluate_bool_for("homer", &mut steps, &program, &vars).unwrap_err();
    assert!(matches!(error, ExpressionError::TooCostly { .. }), "{error:?}");
    assert_eq!(steps, 0);
    // What had no time takes none: how far it came is chance.
    let hasty = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() });
    steps = 1000;
    assert!(hasty.evaluate_bool_for("homer", &mut steps, &program, &vars).is_err_and(|error| error.is_transient()));
    assert_eq!(steps, 1000);
}

#[test]
fn patterns_are_charged_by_their_size_and_the_texts_length() {
    let evaluator = patient();
    let object = |length: usize| json!({"text": "a".repeat(length), "l": (0..40).collect::<Vec<_>>()});
    let costly = "self.l.exists(x, self.text.matches('(a{0,500}){2}b'))";
    assert_eq!(ask(&evaluator, costly, &object(16)), Ok(false));
    let error = ask(&evaluator, costly, &object(4096)).unwrap_err();
    assert!(matches!(error, ExpressionError::TooCostly { .. }), "{error:?}");
    assert_eq!(ask(&evaluator, "self.l.exists(x, self.text.matches('ab'))", &object(4096)), Ok(false));
}

#[test]
fn one_evaluator_serves_many_threads() {
    let evaluator = patient();
    let program = evaluator.compile("self.n % 2 == 0").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (evaluator, program) = (&evaluator, &program);
            scope.spawn(move || {
                for n in 0..200 {
                    let object = Arc::new(json!({"n": n + thread}));
                    assert_eq!(evaluator.evaluate_bool(program, &[("self", object)]), Ok((n + thread) % 2 == 0));
                }
            });
        }
    });
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_value_equals_itself_and_is_found(value in any_json()) {
        let evaluator = patient();
        let object = json!({"a": value, "b": [value.clone()], "c": value});
        prop_assert_eq!(ask(&evaluator, "self.a == self.c && self.c == self.a && self.b == [self.a]", &object), Ok(true));
        prop_assert_eq!(ask(&evaluator, "self.a in self.b && self.b.exists(x, x == self.c)", &object), Ok(true));
    }

    #[test]
    fn any_tokens_have_an_answer(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "self", ".a", "[0]", "[", "]", "(", ")", "{", "}", ":", ",", "1", "'a'", "1u", "1.5", "+", "-", "!", "&&", "||", "==",
                "in", "?", ".all(x,", ".map(x,", "x", "has(", "b'a'", "r'", "\"", "`a`", "@", "\n", "//", "null", ".?a", "[?0]", "\\",
                "quantity(", ".split(", ".join(", ".replace(x,", ".sum()", ".max()", ".indexOf(", ".substring(", "dyn(", "type(", ".matches(", "é", "\u{0}",
            ]),
            0..24,
        ),
        value in any_json(),
    ) {
        let evaluator = patient();
        let result = value_of(&evaluator, &tokens.concat(), &json!({"a": value}));
        if let Err(error) = result {
            prop_assert!(!error.to_string().contains("panicked"), "{:?}: {}", tokens.concat(), error);
        }
    }
}
