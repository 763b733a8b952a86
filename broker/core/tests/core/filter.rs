//! Filters and acceptances: every sentence of the contract on what is accepted.

use std::{sync::Arc, time::Duration};

use broker_api::{AcceptApiSpec, ClusterName, Filter};
use broker_core::{
    acceptance::{AcceptId, Acceptance, Applicant, Verdict},
    allowance::Allowance,
    filter::{FilterSet, Refusal},
};
use proptest::prelude::*;
use runtime_cel::{
    expression::{Evaluator, Limits},
    pattern::Pattern,
};
use runtime_effect::kind::Kind;
use serde_json::{Value, json};

fn filters(filters: Value) -> Vec<Filter> {
    serde_json::from_value(filters).unwrap()
}

fn set(text: Value) -> FilterSet {
    FilterSet::compile(&filters(text)).unwrap()
}

fn accepts(filter: Value, value: Value) -> bool {
    set(json!([filter])).refusals("t/n/a", &json!({ "f": value }), &mut Allowance::default()).is_empty()
}

fn errors(text: Value) -> Vec<String> {
    FilterSet::compile(&filters(text)).unwrap_err()
}

#[test]
fn value_in_compares_by_value() {
    for (accepted, value, accepts_it) in [
        ("1", json!(1), true),
        ("1", json!("1"), true),
        ("1", json!(1.0), true),
        ("1.0", json!(1), true),
        ("1.0", json!("1"), false),
        ("1e3", json!(1000), true),
        ("0.5", json!(0.50), true),
        ("-2", json!(-2), true),
        ("1", json!(2), false),
        ("1k", json!(1000), false),
        ("1E", json!(1_000_000_000_000_000_000_i64), false),
        ("18446744073709551615", json!(u64::MAX), true),
        ("true", json!(true), true),
        ("true", json!("true"), true),
        ("1", json!(true), false),
        ("x86_64", json!("x86_64"), true),
        ("x86_64", json!("X86_64"), false),
    ] {
        assert_eq!(
            accepts(json!({"key": "f", "valueIn": ["other", accepted]}), value.clone()),
            accepts_it,
            "{accepted} {value}"
        );
    }
}

#[test]
fn boundaries_take_numbers_and_quantities() {
    for (boundary, value, accepts_it) in [
        (json!({"min": 2}), json!(2), true),
        (json!({"min": 2}), json!(1), false),
        (json!({"max": 2}), json!(2.000_001), false),
        (json!({"min": "-1.5", "max": "-0.5"}), json!(-1), true),
        (json!({"min": "4Gi", "max": "8Gi"}), json!("8Gi"), true),
        (json!({"min": "4Gi", "max": "8Gi"}), json!("8589934593"), false),
        (json!({"max": "8Gi"}), json!(8_589_934_592_u64), true),
        (json!({"max": "500m"}), json!(0.5), true),
        (json!({"max": "500m"}), json!("0.5001"), false),
        (json!({"min": 1}), json!("1e3"), true),
        (json!({"min": 0}), json!(true), false),
        (json!({"min": 0}), json!("many"), false),
        (json!({"min": 0}), json!(""), false),
        (json!({"max": "9223372036854775808"}), json!(i64::MAX), true),
    ] {
        assert_eq!(
            accepts(json!({"key": "f", "boundary": boundary.clone()}), value.clone()),
            accepts_it,
            "{boundary} {value}"
        );
    }
}

#[test]
fn texts_and_patterns() {
    assert!(accepts(json!({"key": "f", "suffix": ".corp", "prefix": "a"}), json!("a.corp")));
    assert!(!accepts(json!({"key": "f", "suffix": ".corp", "prefix": "b"}), json!("a.corp")), "all checks must hold");
    assert!(accepts(json!({"key": "f", "suffix": "4"}), json!(1024)), "numbers are texts too");
    assert!(accepts(json!({"key": "f", "pattern": "corp"}), json!("a.corp.com")), "found anywhere");
    assert!(!accepts(json!({"key": "f", "pattern": "^corp$"}), json!("a.corp.com")));
    assert!(!accepts(json!({"key": "f", "pattern": "."}), json!("x".repeat(20_000))), "too long to try");
}

#[test]
fn missing_is_refused_unless_accepted() {
    let refuse = set(json!([{"key": "a.b", "valueIn": ["1"]}]));
    let accept = set(json!([{"key": "a.b", "valueIn": ["1"], "missing": "Accept"}]));
    for spec in [json!({}), json!({"a": null}), json!({"a": {"b": null}}), json!({"a": 1}), Value::Null] {
        assert_eq!(refuse.refusals("t/n/a", &spec, &mut Allowance::default())[0].reason, "is not set", "{spec}");
        assert_eq!(accept.refusals("t/n/a", &spec, &mut Allowance::default()), [], "{spec}");
    }
    assert_eq!(accept.refusals("t/n/a", &json!({"a": {"b": 2}}), &mut Allowance::default()).len(), 1, "set but wrong");
    assert!(
        !set(json!([{"key": "f", "prefix": "", "suffix": "a"}]))
            .refusals("", &json!({"f": ""}), &mut Allowance::default())
            .is_empty()
    );
}

#[test]
fn all_filters_must_hold_and_each_says_why() {
    let set = set(json!([
        {"key": "fqdn", "suffix": ".internal.corp"},
        {"key": "size", "boundary": {"min": 1, "max": "8Gi"}},
        {"key": "zones.0.name", "valueIn": ["a", "b"]},
        {"key": "labels", "valueIn": ["x"]},
        {"key": "zones", "pattern": "x"},
    ]));
    let spec = json!({"fqdn": "x.example.org\nand more", "size": "9Gi", "zones": [{"name": "c"}], "labels": {}});
    let refusals = set.refusals("theseus/default/certs", &spec, &mut Allowance::default());
    let lines: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
    assert_eq!(
        lines,
        [
            r#"theseus/default/certs: fqdn "x.example.org and more" does not end so (suffix: .internal.corp)"#,
            r#"theseus/default/certs: size "9Gi" is above the largest accepted value (boundary.max: 8Gi)"#,
            r#"theseus/default/certs: zones.0.name "c" is none of the accepted values (valueIn: a, b)"#,
            "theseus/default/certs: labels is an object; filters take a single value (valueIn: x)",
            "theseus/default/certs: zones is a list; filters take a single value (pattern: x)",
        ]
    );
    assert_eq!(
        serde_json::to_value(&refusals[1]).unwrap(),
        json!({"acceptAPI": "theseus/default/certs", "key": "size", "reason": "is above the largest accepted value",
               "rule": "boundary.max: 8Gi", "value": "9Gi"})
    );
}

#[test]
fn long_values_are_cut() {
    let refusals = set(json!([{"key": "f", "prefix": "x"}])).refusals(
        "t/n/a",
        &json!({"f": "é".repeat(1000)}),
        &mut Allowance::default(),
    );
    assert_eq!(refusals[0].value.chars().count(), 64);
    assert!(refusals[0].value.ends_with('…'));
    // One that fits is not, also where it is shown with fewer bytes than it has.
    let whole = format!("{}\u{85}", "é".repeat(63));
    let refusals =
        set(json!([{"key": "f", "prefix": "x"}])).refusals("t/n/a", &json!({"f": whole}), &mut Allowance::default());
    assert_eq!(refusals[0].value, format!("{} ", "é".repeat(63)));
}

#[test]
fn bad_filters_are_all_named_with_their_place() {
    let errors = errors(json!([
        {"key": "ok", "prefix": "x"},
        {"key": "empty"},
        {"key": "empty", "suffix": "", "boundary": {}, "missing": "Accept"},
        {"key": "spec.fqdn", "prefix": "x"},
        {"key": "a..b", "prefix": "x"},
        {"key": "p", "pattern": "("},
        {"key": "q", "boundary": {"min": "lots", "max": "8GB"}},
        {"key": "r", "boundary": {"min": "2Gi", "max": "2G"}},
        {"key": "", "pattern": "(?=x)"},
    ]));
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(
        places,
        [
            "spec.filters[1]",
            "spec.filters[2]",
            "spec.filters[3].key",
            "spec.filters[4].key",
            "spec.filters[5].pattern",
            "spec.filters[6].boundary.min",
            "spec.filters[6].boundary.max",
            "spec.filters[7].boundary",
            "spec.filters[8].key",
            "spec.filters[8].pattern",
        ],
        "{errors:#?}"
    );
    assert!(errors[0].contains("set valueIn, boundary, suffix, prefix or pattern"), "{}", errors[0]);
    assert!(errors[2].contains(r#"write "fqdn""#), "{}", errors[2]);
}

fn compile(spec: Value) -> Result<(Acceptance, Evaluator), Vec<String>> {
    let spec: AcceptApiSpec = serde_json::from_value(spec).unwrap();
    let id = AcceptId { provider: ClusterName::provider("theseus"), namespace: "default".into(), name: "certs".into() };
    let evaluator = Evaluator::new();
    Acceptance::compile(id, &spec, &evaluator).map(|acceptance| (acceptance, evaluator))
}

const GVR: fn() -> Value = || json!({"group": "g", "version": "v1", "resource": "certificates"});

#[test]
fn an_acceptance_takes_filters_and_expression() {
    let (acceptance, evaluator) = compile(json!({
        "gvr": GVR(), "filters": [{"key": "fqdn", "suffix": ".corp"}], "expression": "self.spec.size <= 8",
        "relatedKinds": ["Secret"], "priority": 3, "weight": 2, "capacity": 10, "cordoned": true,
    }))
    .unwrap();
    assert_eq!(
        (acceptance.priority, acceptance.weight, acceptance.capacity, acceptance.cordoned),
        (3, 2, Some(10), true)
    );
    let why = |spec: Value| -> Vec<String> {
        let refusals = refusals(&acceptance, json!({ "spec": spec }), &evaluator);
        refusals.iter().map(Refusal::to_string).collect()
    };
    assert_eq!(why(json!({"fqdn": "a.corp", "size": 8})), Vec::<String>::new());
    assert_eq!(
        why(json!({"fqdn": "a.corp", "size": 9})),
        ["theseus/default/certs: expression is false (self.spec.size <= 8)"]
    );
    let missing = why(json!({"fqdn": "a.corp"}));
    assert!(missing[0].contains(r#"no field "size""#), "{missing:?}");
    assert_eq!(why(json!({"fqdn": "a.com", "size": 9})).len(), 1, "the expression is not asked");
    assert!(acceptance.has_expression() && !compile(json!({"gvr": GVR()})).unwrap().0.has_expression());
    let no_spec = refusals(&acceptance, json!({"metadata": {}}), &evaluator);
    assert_eq!(no_spec[0].reason, "is not set");
}

#[test]
fn a_bad_acceptance_names_everything_at_once() {
    let errors = compile(json!({
        "gvr": {"version": "", "resource": ""}, "weight": 0, "filters": [{"key": "f"}], "expression": "slf.spec ==",
    }))
    .unwrap_err();
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["spec.gvr.version", "spec.gvr.resource", "spec.weight", "spec.filters[0]", "spec.expression"]);
    let errors = compile(json!({"gvr": GVR(), "expression": "slf.spec.size > 1 && self.spec.x"})).unwrap_err();
    assert!(errors[0].contains("slf"), "{errors:?}");
}

/// A pattern of the worst kind: large, and no text of `a`s decides it early.
const WORST: &str = "(a{0,250}){2}b";

#[test]
fn patterns_are_tried_on_texts_of_some_length_only() {
    let long = |length: usize| json!({"f": "a".repeat(length)});
    let set = set(json!([{"key": "f", "pattern": "^a+$"}]));
    assert_eq!(set.refusals("t/n/a", &long(4096), &mut Allowance::default()), []);
    let refusals = set.refusals("t/n/a", &long(4097), &mut Allowance::default());
    assert_eq!(refusals[0].reason, "is too long for a pattern");
}

#[test]
fn what_a_providers_patterns_may_cost_is_counted_over_all_its_accept_apis() {
    let worst = set(json!([{"key": "f", "pattern": WORST}, {"key": "f", "pattern": "^a"}]));
    let judge_all = |length: usize| -> Vec<Vec<String>> {
        let (spec, mut allowance) = (json!({"f": "a".repeat(length)}), Allowance::default());
        let all = (0..64).map(|_| worst.refusals("t/n/a", &spec, &mut allowance));
        all.map(|refusals| refusals.into_iter().map(|refusal| refusal.reason).collect()).collect()
    };
    let short = judge_all(4);
    assert!(short[..16].iter().all(|reasons| *reasons == ["does not match the pattern"]), "{short:?}");
    let long = judge_all(4096);
    assert_eq!(long, judge_all(4096), "it does not depend on time");
    assert_eq!(long.iter().filter(|reasons| **reasons == ["does not match the pattern"]).count(), 0);
    assert!(long[63].iter().all(|reason| reason.starts_with("is too costly to match")), "{:?}", long[63]);
    // One that is small is still tried.
    assert_eq!(long[0].len(), 1, "{:?}", long[0]);
}

#[test]
fn an_accept_api_has_no_more_patterns_than_fit() {
    let filter = json!({"key": "f", "pattern": WORST});
    let most = 256 * 1024 / Pattern::compile(WORST).unwrap().size();
    let of = |count: usize| FilterSet::compile(&filters(json!(vec![&filter; count])));
    assert!(of(most).is_ok());
    for more in [most + 1, 64] {
        let errors = of(more).unwrap_err();
        assert!(errors[0].starts_with("spec.filters: the patterns take") && errors.len() == 1, "{errors:?}");
    }
    // Nor are more compiled than it takes to say so.
    let bad: Vec<Value> =
        (0..64).map(|n| json!({"key": "f", "pattern": format!("(a{{0,999}}){{{}}}", n + 900)})).collect();
    assert_eq!(self::errors(json!(bad)).len(), 16);
    let values = |count: usize| json!([{"key": "f", "valueIn": (0..count).map(|n| n.to_string()).collect::<Vec<_>>()}]);
    assert!(FilterSet::compile(&filters(values(256))).is_ok());
    let errors = self::errors(values(257));
    assert!(errors[0].contains("at most 256"), "{errors:?}");
}

#[test]
fn an_expression_without_time_says_nothing_and_one_tenants_object_does_not_silence_it_for_others() {
    let (acceptance, patient) = compile(json!({"gvr": GVR(), "expression": "self.spec.size <= 8"})).unwrap();
    let hasty = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() });
    let (large, small) = (Arc::new(json!({"spec": {"size": 9}})), Arc::new(json!({"spec": {"size": 8}})));
    assert_eq!(acceptance.slow_for(), 0);
    for _ in 0..3 {
        assert!(matches!(judged_for("homer", &acceptance, &large, &hasty), Verdict::Unknown(_)));
    }
    assert!(matches!(judged_for("homer", &acceptance, &large, &patient), Verdict::Silent(_)));
    assert_eq!(judged_for("bart", &acceptance, &small, &patient), Verdict::Accepted);
    assert_eq!((acceptance.slow_for(), acceptance.silence()), (1, None));
}

#[test]
fn an_expression_that_no_thread_was_free_for_is_compiled_later() {
    let id = AcceptId { provider: ClusterName::provider("theseus"), namespace: "default".into(), name: "certs".into() };
    let spec: AcceptApiSpec =
        serde_json::from_value(json!({"gvr": GVR(), "filters": [{"key": "f", "prefix": "a"}], "expression": "true"}))
            .unwrap();
    let limits = Limits {
        compile: Duration::from_millis(200),
        evaluate: Duration::from_mins(2),
        steps: u64::MAX,
        ..Limits::default()
    };
    let evaluator = Evaluator::with_limits(limits);
    let slow = evaluator.compile_for("theseus", "self.all(a, self.all(b, a + b >= 0))").unwrap();
    let other = AcceptId { provider: ClusterName::provider("ariadne"), ..id.clone() };
    let numbers = Arc::new(json!((0..1000).collect::<Vec<_>>()));
    std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..2).map(|_| scope.spawn(|| evaluator.evaluate_bool(&slow, &[("self", Arc::clone(&numbers))]))).collect();
        let hasty = |id: &AcceptId| Acceptance::compile(id.clone(), &spec, &evaluator).unwrap();
        let pending = loop {
            let acceptance = hasty(&id);
            if acceptance.is_pending() || running.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                break acceptance;
            }
        };
        // Others' are compiled meanwhile.
        assert!(!hasty(&other).is_pending());
        if pending.is_pending() {
            let judge = |f: &str| judged(&pending, &Arc::new(json!({"spec": {"f": f}})), &evaluator);
            assert!(matches!(judge("a"), Verdict::Silent(_)) && matches!(judge("b"), Verdict::Refused(_)));
            assert!(pending.silence().is_some());
        } else {
            panic!("the slow ones ended before");
        }
        assert!(running.into_iter().all(|running| running.join().unwrap() == Ok(true)));
        let acceptance = hasty(&id);
        assert!(!acceptance.is_pending() && acceptance.has_expression());
    });
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!([1])),
        Just(json!({"a": 1})),
    ]
}

proptest! {
    #[test]
    fn a_value_is_in_the_list_of_its_own_text(number in any::<i64>(), text in "\\PC{1,12}", flag in any::<bool>()) {
        for value in [json!(number), json!(text), json!(flag)] {
            let own = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let accepted = accepts(json!({"key": "f", "valueIn": [own.as_str()]}), value);
            prop_assert!(accepted, "{}", own);
        }
    }

    #[test]
    fn bounds_agree_with_integers(min in -100_i64..100, max in -100_i64..100, value in -120_i64..120) {
        prop_assume!(min <= max);
        for value in [json!(value), json!(value.to_string())] {
            let number: i64 = value.as_i64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap());
            prop_assert_eq!(accepts(json!({"key": "f", "boundary": {"min": min, "max": max.to_string()}}), value), (min..=max).contains(&number));
        }
    }

    #[test]
    fn any_filter_on_any_value_has_an_answer(
        key in "[a-c.\\\\0]{0,6}", text in "\\PC{0,8}", pattern in "[a-c\\[\\](){}*+?\\\\d0-9,]{0,10}", bound in "[0-9.-]{0,4}(Gi|m|e3)?", value in leaf(),
    ) {
        let filter = json!({"key": key, "valueIn": [text], "prefix": text, "suffix": text, "pattern": pattern,
                            "boundary": {"min": bound}});
        match FilterSet::compile(&filters(json!([filter]))) {
            Ok(set) => {
                for refusal in set.refusals("t/n/a", &json!({"a": value, "b": [value], "c": {"a": value}}), &mut Allowance::default()) {
                    prop_assert!(!refusal.to_string().contains('\n') && refusal.value.chars().count() <= 64);
                }
            }
            Err(errors) => prop_assert!(errors.iter().all(|error| error.starts_with("spec.filters[0]"))),
        }
    }
}

fn judged(acceptance: &Acceptance, object: &Arc<Value>, evaluator: &Evaluator) -> Verdict {
    judged_for("homer", acceptance, object, evaluator)
}

fn judged_for(consumer: &str, acceptance: &Acceptance, object: &Arc<Value>, evaluator: &Evaluator) -> Verdict {
    let kind = Kind { group: "g".into(), version: "v1".into(), kind: "K".into() };
    let consumer = ClusterName::consumer(consumer);
    let applicant = Applicant { object, kind: &kind, namespace: "team", consumer: &consumer, labels: None };
    acceptance.judge(&applicant, evaluator, &mut Allowance::default())
}

fn refusals(acceptance: &Acceptance, object: Value, evaluator: &Evaluator) -> Vec<Refusal> {
    match judged(acceptance, &Arc::new(object), evaluator) {
        Verdict::Accepted => Vec::new(),
        Verdict::Refused(refusals) => refusals,
        Verdict::Unknown(why) | Verdict::Silent(why) => panic!("{why}"),
    }
}
