//! The configuration as the broker reads it: its templates are rendered, its conditions are evaluated.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{sync::Arc, time::Duration};

use broker_api::MigrationConfiguration;
use broker_core::migration::configuration::{Configuration, Stage};
use example_stage::{
    pod::{self, Variable},
    program,
};
use k8s_openapi::api::{batch::v1::Job, core::v1::Pod};
use runtime_cel::expression::{Evaluator, Limits, Program};
use serde_json::{Value, json};

fn evaluator() -> Evaluator {
    let minute = Duration::from_mins(1);
    Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() })
}

fn configuration() -> Configuration {
    let text = include_str!("../hub/migrationconfiguration.yaml");
    let read: MigrationConfiguration = serde_saphyr::from_str(text).unwrap();
    Configuration::compile("default", "keyvalues", 1, &read.spec.stages, &evaluator()).unwrap()
}

fn copy(name: &str) -> Arc<Value> {
    let related = json!({ "access": { "name": format!("{name}-access") } });
    Arc::new(json!({ "metadata": { "name": name }, "status": { "relatedResources": related } }))
}

fn environment() -> [(&'static str, Arc<Value>); 4] {
    let migration = Arc::new(json!({ "status": { "id": "m0123456789ab" } }));
    [("from", copy("a1-cart")), ("to", copy("b2-cart")), ("migration", migration), ("stage", Arc::new(json!({})))]
}

#[test]
fn jobs_get_the_secrets_of_both_sides() {
    let stages = configuration().stages;
    let progress: Vec<_> = stages.iter().map(|stage| (stage.name.as_str(), stage.progress)).collect();
    assert_eq!(progress, [("copy", false), ("verify", true), ("seal", false)]);
    for stage in stages {
        let rendered = stage.templates[&stage.name].render(&environment(), &evaluator()).unwrap();
        let job: Job = serde_json::from_value(rendered).unwrap();
        let pod = Pod { spec: job.spec.unwrap().template.spec, ..Pod::default() };
        let work = pod::work(&pod).unwrap();
        assert_eq!(work.program, program::BINARY);
        assert_eq!(work.args, ["keyvalue-migrate", &stage.name]);
        let secret = |name: &str, secret: &str, key: &str| Variable::Secret {
            name: name.to_owned(),
            secret: format!("m0123456789ab-{secret}-cart-access"),
            key: key.to_owned(),
        };
        assert_eq!(
            work.environment,
            [
                secret("FROM_URL", "from-a1", "url"),
                secret("FROM_TOKEN", "from-a1", "token"),
                secret("TO_URL", "to-b2", "url"),
                secret("TO_TOKEN", "to-b2", "token"),
            ]
        );
    }
}

#[test]
fn a_stage_ends_as_its_job_ends() {
    let holds = |programs: &[Program], stage: &Stage, status: &Value| {
        let job = Arc::new(json!({ "status": status }));
        let mut variables = environment().to_vec();
        variables.push((stage.name.as_str(), job));
        programs.iter().all(|program| evaluator().evaluate_bool(program, &variables).unwrap())
    };
    // As the job controller writes it.
    let condition = |kind: &str| json!({ "type": kind, "status": "True", "reason": "x", "message": "" });
    let running = json!({ "startTime": "2026-01-01T00:00:00Z", "active": 1, "ready": 0, "terminating": 0 });
    let complete = json!({ "succeeded": 1, "conditions": [condition("SuccessCriteriaMet"), condition("Complete")] });
    let failed = json!({ "failed": 1, "conditions": [condition("FailureTarget"), condition("Failed")] });
    for stage in configuration().stages {
        // Success and failure after each status that a Job may have, the empty one first.
        let seen = [json!({}), running.clone(), complete.clone(), failed.clone()]
            .map(|status| (holds(&stage.success, &stage, &status), holds(&stage.failure, &stage, &status)));
        assert_eq!(seen, [(false, false), (false, false), (true, false), (false, true)], "{}", stage.name);
    }
}
