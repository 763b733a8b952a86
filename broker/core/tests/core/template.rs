//! Templates of stage objects: what is fixed in them, and what is wrong with them, with its place. What comes out of
//! `${…}` is tested in `runtime/cel`.

use std::{sync::Arc, time::Duration};

use broker_core::migration::template::{LIMITS, Namespace, Template};
use runtime_cel::{
    expression::{Evaluator, Limits},
    template::TemplateError,
};
use serde_json::{Value, json};

const NAMES: [&str; 4] = ["from", "to", "migration", "stage"];

fn patient() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() })
}

/// A Job with this spec.
fn job(spec: &Value) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec})
}

fn compile(template: &Value) -> Result<Template, Vec<String>> {
    Template::compile(template.as_object().unwrap(), &NAMES, &patient()).map_err(|flaws| flaws.to_vec())
}

fn from() -> Value {
    json!({
        "metadata": {"name": "db", "namespace": "prod"},
        "spec": {"replicas": 3, "engine": "pg"},
    })
}

fn render(template: &Value) -> Result<Value, TemplateError> {
    let template = compile(template).unwrap_or_else(|errors| panic!("{errors:?}"));
    let side = Arc::new(from());
    let stage = Arc::new(json!({"name": "export"}));
    let variables = [("from", Arc::clone(&side)), ("to", Arc::clone(&side)), ("migration", side), ("stage", stage)];
    template.render(&variables, &patient())
}

#[test]
fn an_object_is_made() {
    let object = render(&job(&json!({"${from.spec.engine}-${stage.name}": "${from.spec.replicas}"}))).unwrap();
    assert_eq!(object, job(&json!({"pg-export": 3})));
}

#[test]
fn all_that_is_wrong_is_told_in_one_go() {
    let errors = compile(&json!({"kind": "${from.kind}", "spec": ["${a}", {"${b}": "${c"}]})).map(|_| ()).unwrap_err();
    let places: Vec<&str> = errors.iter().map(|error| error.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["apiVersion", "kind", "spec[0]", "spec[1][\"${b}\"]", "spec[1][\"${b}\"]"], "{errors:?}");
}

#[test]
fn kind_and_shape_are_fixed() {
    let template = compile(&json!({"apiVersion": "batch/v1", "kind": "Job"})).unwrap();
    assert_eq!((template.kind().group.as_str(), template.kind().version.as_str()), ("batch", "v1"));
    let template = compile(&json!({"apiVersion": "v1", "kind": "Secret"})).unwrap();
    assert_eq!((template.kind().group.as_str(), template.kind().kind.as_str()), ("", "Secret"));
    for (template, says) in [
        (json!({"kind": "Job"}), "apiVersion: is missing"),
        (json!({"apiVersion": "batch/v1"}), "kind: is missing"),
        (json!({"apiVersion": "batch/${'v1'}", "kind": "Job"}), "apiVersion: is fixed text"),
        (json!({"apiVersion": "batch/v1", "kind": "${'Job'}"}), "kind: is fixed text"),
        (json!({"apiVersion": "batch/v1", "kind": 1}), "kind: is not a text"),
        (json!({"apiVersion": "a/b/v1", "kind": "Job"}), "apiVersion: \"a/b/v1\" is neither"),
        (json!({"apiVersion": "batch/", "kind": "Job"}), "apiVersion: \"batch/\" is neither"),
        (json!({"apiVersion": "/v1", "kind": "Job"}), "apiVersion: \"/v1\" is neither"),
        // These could turn out to be the kind, or the namespace.
        (json!({"apiVersion": "v1", "kind": "Job", "${'kind'}": "Pod"}), "[\"${'kind'}\"]: names of fields are fixed"),
        (
            json!({"apiVersion": "v1", "kind": "Job", "metadata": {"${'namespace'}": "x"}}),
            "metadata[\"${'namespace'}\"]: names of fields are fixed",
        ),
        (json!({"apiVersion": "v1", "kind": "Job", "metadata": "${from.metadata}"}), "metadata: is not a map"),
        (json!({"apiVersion": "v1", "kind": "Job", "metadata": {"namespace": 1}}), "metadata.namespace: is not a text"),
    ] {
        let errors = compile(&template).map(|_| ()).unwrap_err();
        assert!(errors.len() == 1 && errors[0].contains(says), "{template}: {errors:?}");
    }
}

#[test]
fn the_namespace_is_own_fixed_or_computed() {
    for (metadata, expected) in [
        (json!({}), Namespace::Own),
        (json!({"namespace": null}), Namespace::Own),
        (json!({"namespace": ""}), Namespace::Own),
        (json!({"namespace": "jobs"}), Namespace::Fixed("jobs".into())),
        (json!({"namespace": "${from.metadata.namespace}"}), Namespace::Computed),
        (json!({"namespace": "x-${'kube'}"}), Namespace::Computed),
    ] {
        let template = json!({"apiVersion": "v1", "kind": "Job", "metadata": metadata});
        assert_eq!(compile(&template).unwrap().namespace(), &expected, "{metadata}");
    }
    let template = json!({"apiVersion": "v1", "kind": "Job", "metadata": {"namespace": "${from.metadata.namespace}"}});
    assert_eq!(render(&template).unwrap()["metadata"]["namespace"], "prod");
}

#[test]
fn a_template_is_bounded() {
    let expressions = |count: usize| job(&json!(vec!["${1}"; count]));
    assert!(compile(&expressions(LIMITS.expressions)).is_ok());
    let errors = compile(&expressions(LIMITS.expressions + 9)).map(|_| ()).unwrap_err();
    assert_eq!(errors, ["spec[64]: a template has at most 64 expressions, and this is one more"]);
    let empty = render(&job(&json!(""))).unwrap().to_string().len();
    assert!(render(&job(&json!("x".repeat(LIMITS.bytes - empty)))).is_ok());
    let error = render(&job(&json!("x".repeat(LIMITS.bytes - empty + 1)))).unwrap_err();
    assert!(error.what.contains("at most 262144 are allowed"), "{error}");
}
