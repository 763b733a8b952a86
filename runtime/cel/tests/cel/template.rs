//! Templates: what comes out of `${…}`, and what is wrong with them, with its place.

use std::{sync::Arc, time::Duration};

use proptest::prelude::*;
use runtime_cel::{
    expression::{Evaluator, Limits},
    template::{Compiler, Template, TemplateError, TemplateLimits},
};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["from", "to", "migration", "stage"];

const LIMITS: TemplateLimits = TemplateLimits { expressions: 64, bytes: 256 * 1024 };

fn patient() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() })
}

/// An object with this spec.
fn object(spec: &Value) -> Value {
    json!({"version": 1, "spec": spec})
}

fn compile_within(limits: TemplateLimits, template: &Value) -> Result<Template, Vec<String>> {
    let evaluator = patient();
    let mut compiler = Compiler::new(&NAMES, limits, &evaluator);
    let root = compiler.node(template, "");
    compiler.finish(root).map_err(|flaws| flaws.to_vec())
}

fn compile(template: &Value) -> Result<Template, Vec<String>> {
    compile_within(LIMITS, template)
}

fn from() -> Value {
    json!({
        "metadata": {"name": "db", "namespace": "prod", "labels": {"tier": "gold"}},
        "spec": {"replicas": 3, "ratio": 0.5, "on": true, "none": null, "zones": ["a", "b"], "engine": "pg", "text": "a}b"},
    })
}

fn render(template: &Value) -> Result<Value, TemplateError> {
    let template = compile(template).unwrap_or_else(|errors| panic!("{errors:?}"));
    let side = Arc::new(from());
    let stage = Arc::new(json!({"name": "export"}));
    let variables = [("from", Arc::clone(&side)), ("to", Arc::clone(&side)), ("migration", side), ("stage", stage)];
    template.render(&variables, &patient())
}

/// What becomes of a value.
fn value(template: impl Into<Value>) -> Value {
    let rendered = render(&object(&json!({"x": template.into()}))).unwrap_or_else(|error| panic!("{error}"));
    rendered["spec"]["x"].clone()
}

/// What is wrong with a value when it is compiled.
fn wrong(template: &str) -> String {
    let errors = compile(&object(&json!({"x": template}))).map(|_| ()).unwrap_err();
    assert_eq!(errors.len(), 1, "{template}: {errors:?}");
    errors[0].clone()
}

#[test]
fn a_value_that_is_one_expression_keeps_its_type() {
    for (text, expected) in [
        ("${from.spec.replicas}", json!(3)),
        ("${ from.spec.replicas + 1 }", json!(4)),
        ("${from.spec.ratio}", json!(0.5)),
        ("${from.spec.on}", json!(true)),
        ("${from.spec.none}", Value::Null),
        ("${from.spec.zones}", json!(["a", "b"])),
        ("${to.metadata}", from()["metadata"].clone()),
        ("${from.spec.engine}", json!("pg")),
        ("${string(from.spec.replicas)}", json!("3")),
        ("${migration.metadata.namespace}", json!("prod")),
        ("${\n  from.spec.replicas // not }\n}", json!(3)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn within_a_text_it_becomes_text() {
    for (text, expected) in [
        ("${from.spec.engine}-${stage.name}", "pg-export"),
        ("n=${from.spec.replicas}, ${from.spec.ratio}, ${from.spec.on}", "n=3, 0.5, true"),
        (" ${from.spec.replicas}", " 3"),
        ("${from.spec.replicas}${from.spec.replicas}", "33"),
        ("", ""),
        ("plain", "plain"),
    ] {
        assert_eq!(value(text), json!(expected), "{text}");
    }
    for (text, says) in [
        ("a ${from.spec.zones}", "is a list, which cannot stand within a text: \"from.spec.zones\""),
        ("a ${from.metadata}", "is a map, which"),
        ("${from.spec.none} a", "is null, which"),
    ] {
        let error = render(&object(&json!({"x": text}))).unwrap_err();
        assert_eq!(error.path, "spec.x");
        assert!(error.what.contains(says) && !error.transient, "{text}: {error}");
    }
}

#[test]
fn a_literal_is_written_with_two_dollars() {
    for (text, expected) in [
        ("$${from.spec.engine}", "${from.spec.engine}"),
        ("$${a} ${from.spec.engine} $${b", "${a} pg ${b"),
        ("$$${a}", "$${a}"),
        ("$", "$"),
        ("$$", "$$"),
        ("$HOME $(date) {} }", "$HOME $(date) {} }"),
        ("${'$'}{", "${"),
        ("cost: 5$", "cost: 5$"),
    ] {
        assert_eq!(value(text), json!(expected), "{text}");
    }
}

#[test]
fn braces_and_quotes_inside_do_not_end_it() {
    for (text, expected) in [
        ("${'}'}", json!("}")),
        ("${'${'}", json!("${")),
        (r#"${"\"}"}"#, json!("\"}")),
        (r"${r'\'}", json!("\\")),
        ("${'''it's }'''}", json!("it's }")),
        ("${{'a': {'b': '}'}}}", json!({"a": {"b": "}"}})),
        ("<${{'a': 'b'}['a']}>", json!("<b>")),
        ("${from.spec.text.split('}')}", json!(["a", "b"])),
        ("${[1, 2].map(x, {'n': x})}", json!([{"n": 1}, {"n": 2}])),
        ("${1 // }\n}", json!(1)),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
    for (text, says) in [
        ("a ${from.spec", "spec.x: the expression that begins at character 3 has no end: a brace that is not closed"),
        ("ä${'}", "spec.x: the expression that begins at character 2 has no end: a text that is not closed"),
        ("${{'a': 1}", "character 1 has no end"),
        ("${a // }", "has no end"),
        ("${from.metadata.name} ${", "character 23 has no end"),
    ] {
        assert!(wrong(text).contains(says), "{text}: {}", wrong(text));
    }
}

#[test]
fn expressions_in_keys_lists_and_maps() {
    let spec = json!({
        "${from.spec.engine}": {"a-${stage.name}": ["x", ["${from.spec.replicas}", {"${'k' + string(1)}": ["${to.spec.on}"]}]]},
        "n${from.spec.replicas}": 1,
        "$${a}": "b",
    });
    let expected = json!({
        "pg": {"a-export": ["x", [3, {"k1": [true]}]]},
        "n3": 1,
        "${a}": "b",
    });
    assert_eq!(render(&object(&spec)).unwrap(), object(&expected));
    for (spec, path, says) in [
        (json!({"${from.spec.replicas}": 1}), "spec[\"${from.spec.replicas}\"]", "the key is a number, not a text"),
        (json!({"${from.nope}": 1}), "spec[\"${from.nope}\"]", "no field \"nope\""),
        (json!({"a": {"${'b'}": 1, "b": 2}}), "spec.a.b", "two keys become \"b\""),
        (json!({"a": {"${'b'}": 1, "${'b' + ''}": 2}}), "spec.a[\"${'b'}\"]", "two keys become \"b\""),
    ] {
        let error = render(&object(&spec)).unwrap_err();
        assert_eq!(error.path, path, "{error}");
        assert!(error.what.contains(says), "{error}");
    }
}

#[test]
fn a_missing_field_is_told_with_path_and_text() {
    let env = json!([{"name": "A", "value": "1"}, {"name": "B", "value": "v-${from.spec.nope}"}]);
    let error = render(&object(&json!({"template": {"spec": {"containers": [{"env": env}]}}}))).unwrap_err();
    assert_eq!(error.path, "spec.template.spec.containers[0].env[1].value");
    assert_eq!(error.what, "no field \"nope\" (ask with has() first) in \"from.spec.nope\"");
    assert!(!error.transient);
    let labels = json!({"metadata": {"labels": {"a.b/c": "${from.nope}"}}});
    assert_eq!(render(&labels).unwrap_err().path, "metadata.labels[\"a.b/c\"]");
}

#[test]
fn what_is_wrong_with_an_expression_is_told_when_it_is_compiled() {
    for (text, says) in [
        (
            "${form.spec}",
            "spec.x: line 1, column 1: unknown name \"form\"; known here: from, to, migration, stage, in \"form.spec\"",
        ),
        ("${self.spec}", "unknown name \"self\""),
        ("${job.status}", "unknown name \"job\""),
        ("${}", "spec.x: an expression is empty"),
        ("${ }", "an expression is empty"),
        ("${from.spec ==}", "spec.x: line 1, column "),
        ("a${from.spec[}", "line 1, column"),
    ] {
        assert!(wrong(text).contains(says), "{text}: {}", wrong(text));
    }
    let errors = compile(&json!({"spec": ["${a}", {"${b}": "${c"}]})).map(|_| ()).unwrap_err();
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["spec[0]", "spec[1][\"${b}\"]", "spec[1][\"${b}\"]"], "{errors:?}");
}

#[test]
fn any_json_is_a_template() {
    for (template, expected) in [
        (json!("${from.spec.replicas}"), json!(3)),
        (json!(["a", "${from.spec.engine}"]), json!(["a", "pg"])),
        (json!(null), json!(null)),
        (json!({"${from.spec.engine}": true}), json!({"pg": true})),
    ] {
        assert_eq!(render(&template), Ok(expected), "{template}");
    }
}

#[test]
fn what_its_owner_finds_wrong_is_told_with_the_rest() {
    let evaluator = patient();
    let mut compiler = Compiler::new(&NAMES, LIMITS, &evaluator);
    compiler.flaw("kind", "is missing");
    let root = compiler.node(&json!({"spec": "${a}"}), "");
    compiler.flaw("metadata", "is not a map");
    let flaws = compiler.finish(root).unwrap_err();
    let places: Vec<&str> = flaws.iter().map(|flaw| flaw.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["kind", "spec", "metadata"], "{flaws}");
    assert!(!flaws.is_transient());
}

#[test]
fn a_template_is_bounded_by_the_limits_that_it_is_given() {
    for most in [1, 64, 100] {
        let limits = TemplateLimits { expressions: most, ..LIMITS };
        let expressions = |count: usize| object(&json!(vec!["${1}"; count]));
        let full = compile_within(limits, &expressions(most)).unwrap();
        assert_eq!(full.render(&[], &patient()), Ok(object(&json!(vec![1; most]))));
        let errors = compile_within(limits, &expressions(most + 9)).map(|_| ()).unwrap_err();
        assert_eq!(errors, [format!("spec[{most}]: a template has at most {most} expressions, and this is one more")]);
        // Several in one text count one by one.
        assert!(compile_within(limits, &object(&json!("${1}".repeat(most + 1)))).is_err());
    }
    for bytes in [100, 256 * 1024] {
        let limits = TemplateLimits { bytes, ..LIMITS };
        let render = |spec: &Value| compile_within(limits, &object(spec)).unwrap().render(&[], &patient());
        let empty = render(&json!("")).unwrap().to_string().len();
        assert!(render(&json!("x".repeat(bytes - empty))).is_ok());
        let error = render(&json!("x".repeat(bytes - empty + 1))).unwrap_err();
        assert!(error.what.contains(&format!("at most {bytes} are allowed")), "{error}");
        // The bound is on what comes out.
        let error = render(&json!(vec![
            "${'aaaaaaaa'.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').split('').map(x, [x, x, x, x, x, x, x, x])}";
            64
        ]));
        assert!(error.unwrap_err().what.contains("are allowed"));
    }
}

#[test]
fn costly_expressions_end() {
    let doubling = ".map(x, x+x+x+x+x+x+x+x+x+x+x+x+x+x)".repeat(8);
    let growing = ".map(x, x.replace('', x))".repeat(8);
    for source in [
        format!("${{['aaaaaaaaaaaaaaaa']{doubling}}}"),
        format!("${{['aaaaaaaaaaaaaaaa']{growing}}}"),
        "a ${'aaaaaaaaaaaaaaaa'.split('').map(x, 'aaaaaaaaaaaaaaaa'.split('').map(y, ['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.replace('a', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')])).size()}".to_owned(),
    ] {
        let error = render(&object(&json!({"x": source}))).unwrap_err();
        assert!(error.path == "spec.x" && error.what.contains("too costly"), "{source:.60}: {error}");
        assert!(!error.transient && error.to_string().len() < 600);
    }
}

#[test]
fn too_busy_is_transient() {
    let template = compile(&object(&json!({"x": "${from.spec}"}))).unwrap();
    let hasty = Evaluator::with_limits(Limits { evaluate: Duration::ZERO, ..Limits::default() });
    let variables = [("from", Arc::new(from()))];
    let error = template.render(&variables, &hasty).unwrap_err();
    assert!(error.transient && error.path == "spec.x", "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Text without `${` is what it was, and so is any text whose `${` is written `$${`.
    #[test]
    fn text_is_kept(text in "[a{}$'\" ä]{0,12}") {
        let escaped = text.replace("${", "$${");
        prop_assume!(!text.contains("$${"));
        prop_assert_eq!(value(escaped), json!(text));
    }

    /// Whatever the text: compiled and rendered, or errors that begin with the place.
    #[test]
    fn any_text_has_an_answer(
        text in prop::collection::vec(
            prop::sample::select(vec!["${", "$", "{", "}", "'", "\"", "from", ".spec", "\\", "//", "\n", "'''", "r'", "1", "ä", "`"]),
            0..16,
        ),
    ) {
        match compile(&object(&json!({"x": text.concat()}))) {
            Ok(template) => {
                let rendered = template.render(&[("from", Arc::new(from()))], &patient());
                let computed = text.concat().contains("${");
                prop_assert!(computed || rendered.is_ok_and(|object| object["spec"].get("x").is_some()));
            }
            Err(errors) => prop_assert!(errors.iter().all(|error| error.starts_with("spec.x: ")), "{errors:?}"),
        }
    }
}
