//! MigrationConfigurations: what makes one ready to run, and all that is wrong with one, each with its place.

use std::{
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use broker_api::{MigrationStage, migration_configuration::OnFailure};
use broker_core::migration::configuration::{Configuration, variable};
use runtime_cel::expression::{Evaluator, Limits};
use serde_json::{Value, json};

fn patient() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() })
}

fn compile(stages: &Value) -> Result<Configuration, Vec<String>> {
    let stages: Vec<MigrationStage> = serde_json::from_value(stages.clone()).unwrap();
    Configuration::compile("system", "databases", 3, &stages, &patient()).map_err(|flaws| flaws.to_vec())
}

fn errors(stages: &Value) -> Vec<String> {
    compile(stages).map(|_| ()).unwrap_err()
}

fn job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"from": "${from.metadata.name}", "to": "${to.metadata.name}"}})
}

#[test]
fn compiles_what_people_write() {
    let stages = json!([
        {
            "name": "Export_1.a",
            "templates": {"export-job": job(), "data": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "successConditions": ["export_job.status.succeeded > 0 && data.data != {}", "from.status == to.status"],
            "failureConditions": ["has(export_job.status.failed)", "stage.name == migration.metadata.name"],
            "progress": true,
            "timeoutSeconds": 60,
            "onFailure": "Hold",
        },
        {"name": "wait", "successConditions": ["true", "[1].all(x, x == 1)"]},
        {"name": "empty"},
    ]);
    let configuration = compile(&stages).unwrap();
    assert_eq!((configuration.namespace.as_str(), configuration.name.as_str()), ("system", "databases"));
    assert_eq!(configuration.generation, 3);
    assert_eq!(
        serde_json::to_value(&configuration.source).unwrap()[0]["successConditions"][1],
        "from.status == to.status"
    );
    let [first, second, third] = configuration.stages.as_slice() else { panic!("{:?}", configuration.stages) };
    assert_eq!(first.templates.keys().collect::<Vec<_>>(), ["data", "export-job"]);
    assert_eq!(first.templates["export-job"].kind().kind, "Job");
    assert_eq!((first.success.len(), first.failure.len()), (2, 2));
    assert!(first.progress && !second.progress);
    assert_eq!((first.timeout_millis, second.timeout_millis), (Some(60_000), None));
    assert_eq!((first.on_failure, second.on_failure), (OnFailure::Hold, OnFailure::Rollback));
    assert!(third.success.is_empty() && third.failure.is_empty() && third.templates.is_empty());

    let evaluator = patient();
    let variables = [
        (variable("export-job"), Arc::new(json!({"status": {"succeeded": 1}}))),
        (variable("data"), Arc::new(json!({"data": {"a": "b"}}))),
    ];
    let variables: Vec<(&str, Arc<Value>)> =
        variables.iter().map(|(name, value)| (name.as_str(), Arc::clone(value))).collect();
    assert_eq!(evaluator.evaluate_bool(&first.success[0], &variables), Ok(true));
    assert!(compile(&json!([])).unwrap().stages.is_empty());
}

#[test]
fn all_errors_are_told_with_their_places() {
    let stages = json!([
        {
            "name": "one",
            "templates": {"job": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"foo": "${job.spec}", "bar": ["${("]}}},
            "successConditions": ["true", "job.status.succeeded ==", ""],
            "failureConditions": ["other.status", "self.a && slf.b"],
            "timeoutSeconds": 0,
        },
        {"name": "one", "templates": {"a": {"kind": "Job"}}, "successConditions": ["job.status == 1"]},
        {"name": "-", "timeoutSeconds": -1},
    ]);
    let errors = errors(&stages);
    let expected = [
        "spec.stages[0].templates.job.spec.bar[0]: the expression that begins at character 1 has no end",
        "spec.stages[0].templates.job.spec.foo: line 1, column 1: unknown name \"job\"; known here: from, to, migration, stage",
        "spec.stages[0].successConditions[1]: line 1, column ",
        "spec.stages[0].successConditions[2]: the expression is empty",
        "spec.stages[0].failureConditions[0]: line 1, column 1: unknown name \"other\"; known here: from, to, migration, stage, job",
        "spec.stages[0].failureConditions[1]: line 1, column 1: unknown name \"self\"",
        "spec.stages[0].timeoutSeconds: is less than 1",
        "spec.stages[1].name: another stage is called \"one\"",
        "spec.stages[1].templates.a.apiVersion: is missing",
        // The template of another stage.
        "spec.stages[1].successConditions[0]: line 1, column 1: unknown name \"job\"",
        "spec.stages[2].name: \"-\" is no value of a label",
        "spec.stages[2].timeoutSeconds: is less than 1",
    ];
    assert_eq!(errors.len(), expected.len(), "{errors:#?}");
    for (error, expected) in errors.iter().zip(expected) {
        assert!(error.starts_with(expected), "{error}\n{expected}");
        assert!(!error.contains('\n'), "{error}");
    }
    assert!(errors[5].contains("line 1, column 11: unknown name \"slf\""), "{}", errors[5]);
}

#[test]
fn keys_are_names() {
    for (key, says) in [
        ("from", "\"from\" is what conditions call something else by"),
        ("to", "something else"),
        ("migration", "something else"),
        ("stage", "something else"),
        ("true", "is a word of CEL"),
        ("in", "is a word of CEL"),
        ("namespace", "is a word of CEL"),
        ("map", "is a word of CEL"),
        ("Job", "lower case letters"),
        ("a_b", "lower case letters"),
        ("1a", "a letter first"),
        ("a-", "no '-' last"),
        ("", "1 to 63"),
        ("a.b", "lower case letters"),
        (&"a".repeat(64), "1 to 63"),
    ] {
        let errors = errors(&json!([{"name": "x", "templates": {key: job()}}]));
        assert!(errors.len() == 1 && errors[0].contains(says), "{key}: {errors:?}");
        assert!(errors[0].starts_with(&format!("spec.stages[0].templates.{key}: ")), "{errors:?}");
    }
    let long = "a".repeat(63);
    assert!(compile(&json!([{"name": long.clone(), "templates": {long: job(), "a1-b": job()}}])).is_ok());
    // Only in another stage may a key come again.
    assert!(
        compile(&json!([{"name": "x", "templates": {"a": job()}}, {"name": "y", "templates": {"a": job()}}])).is_ok()
    );
    assert_eq!(variable("a-b-c"), "a_b_c");
}

/// It would be told that its key is a word of CEL, and would not be looked at again.
#[test]
fn a_key_that_no_thread_was_free_for_is_looked_at_later() {
    let (compile, evaluate) = (Duration::from_millis(100), Duration::from_secs(5));
    let limits = Limits { compile, evaluate, steps: u64::MAX, ..Limits::default() };
    let evaluator = Arc::new(Evaluator::with_limits(limits));
    let slow = evaluator.compile("self.all(a, self.all(b, a + b >= 0))").unwrap();
    let numbers = Arc::new(json!((0..1000).collect::<Vec<_>>()));
    let run = || {
        let (evaluator, slow, numbers) = (Arc::clone(&evaluator), slow.clone(), Arc::clone(&numbers));
        thread::spawn(move || evaluator.evaluate_bool(&slow, &[("self", numbers)]))
    };
    let running = [run(), run()];
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    let stages: Vec<MigrationStage> = serde_json::from_value(json!([{"name": "x", "templates": {"a": map}}])).unwrap();
    let flaws = loop {
        match Configuration::compile("system", "databases", 3, &stages, &evaluator) {
            Err(flaws) => break flaws,
            Ok(_) => assert!(!running.iter().all(JoinHandle::is_finished), "the slow ones ended before"),
        }
    };
    assert!(flaws.is_transient() && flaws.len() == 1, "{flaws}");
}

#[test]
fn no_template_may_name_a_namespace_of_the_system() {
    let within = |namespace: &str| {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace}});
        compile(&json!([{"name": "x", "templates": {"a": map}}]))
    };
    assert!(within("kube-system").is_err() && within("elsewhere").is_ok());
}

#[test]
fn names_of_stages_are_values_of_labels() {
    for name in ["", "a b", ".a", "a-", "ä", &"a".repeat(64)] {
        let errors = errors(&json!([{"name": name}]));
        assert!(errors.len() == 1 && errors[0].starts_with("spec.stages[0].name: "), "{name}: {errors:?}");
    }
    for name in ["a", "A-b_c.d", "0", &"a".repeat(63)] {
        assert!(compile(&json!([{"name": name}])).is_ok(), "{name}");
    }
}

/// What an API server takes for an expression, the evaluator takes as well.
#[test]
fn crds_say_how_long_an_expression_may_be() {
    let crds: Vec<Value> = broker_api::crds().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    for (kind, path) in [
        ("AcceptAPI", "/expression"),
        ("MigrationConfiguration", "/stages/items/properties/successConditions/items"),
        ("MigrationConfiguration", "/stages/items/properties/failureConditions/items"),
    ] {
        let crd = crds.iter().find(|crd| crd["spec"]["names"]["kind"] == kind).unwrap();
        let spec = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        let most = &spec.pointer(path).unwrap()["maxLength"];
        assert_eq!(most, &json!(Limits::default().shape.bytes), "{kind}: {path}");
    }
}
