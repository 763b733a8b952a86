//! `cert-check`, and the Job that runs it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    process::{Command, Output},
    sync::Arc,
    time::Duration,
};

use broker_api::MigrationConfiguration;
use broker_core::migration::configuration::Configuration;
use certs_example::authority::{Authority, Leaf};
use example_stage::program;
use harness::{Lab, LabOptions};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use runtime_cel::expression::{Evaluator, Limits};
use serde_json::json;

const CONFIGURATION: &str = include_str!("../hub/migrationconfiguration.yaml");
/// Where it stands: the broker's own namespace, which the installation makes.
const SYSTEM: &str = r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "resource-broker-system"}}"#;

fn check(fqdn: &str, leaf: &Leaf) -> Output {
    let environment =
        [("FQDN", fqdn), ("TLS_CRT", &leaf.certificate), ("TLS_KEY", &leaf.key), ("CA_CRT", &leaf.authority)];
    let demo = harness::binary(program::BINARY).unwrap();
    Command::new(demo).arg("cert-check").env_clear().envs(environment).output().unwrap()
}

#[test]
fn a_good_certificate_passes_and_others_are_told_why() {
    let authority = |name| Authority::generate(name, Duration::from_hours(24), Timestamp::now()).unwrap().0;
    let (ours, other) = (authority("corp.com CA"), authority("corp.com CA"));
    let leaf = ours.issue("www.corp.com", Timestamp::now()).unwrap();
    let good = check("www.corp.com", &leaf);
    let told = String::from_utf8(good.stdout).unwrap();
    assert!(good.status.success() && told.contains("issued by CN=corp.com CA"), "{told}");

    let forged = Leaf { authority: other.certificate().to_owned(), ..leaf.clone() };
    for (fqdn, leaf, why) in [("shop.corp.com", &leaf, "not for shop.corp.com"), ("www.corp.com", &forged, "signature")]
    {
        let bad = check(fqdn, leaf);
        let told = String::from_utf8(bad.stderr).unwrap();
        assert!(!bad.status.success() && told.contains(why), "{told}");
    }
}

#[test]
fn the_broker_reads_the_configuration() {
    let minute = Duration::from_mins(1);
    let evaluator = Evaluator::with_limits(Limits { compile: minute, evaluate: minute, ..Limits::default() });
    let read: MigrationConfiguration = serde_saphyr::from_str(CONFIGURATION).unwrap();
    let configuration = Configuration::compile("default", "certificates", 1, &read.spec.stages, &evaluator).unwrap();
    let related = json!({ "tls": { "name": "b2-website-tls" } });
    let to = json!({ "spec": { "fqdn": "app.corp.com" }, "status": { "relatedResources": related } });
    let variables = [("to", Arc::new(to)), ("migration", Arc::new(json!({ "status": { "id": "m1" } })))];
    let job = configuration.stages[0].templates["check"].render(&variables, &evaluator).unwrap();
    let environment = &job["spec"]["template"]["spec"]["containers"][0]["env"];
    assert_eq!(environment[0]["value"], "app.corp.com");
    assert_eq!(
        environment[1]["valueFrom"]["secretKeyRef"],
        json!({ "name": "m1-to-b2-website-tls", "key": "tls.crt" })
    );
    for (status, waits) in [("Provisioning", true), ("Available", false)] {
        let to = Arc::new(json!({ "status": { "status": status } }));
        let settled = evaluator.evaluate_bool(&configuration.stages[1].success[0], &[("to", to)]).unwrap();
        assert_eq!(settled, !waits, "{status}");
    }
}

#[tokio::test]
async fn the_api_server_takes_the_configuration() {
    let lab = Lab::start(LabOptions::default()).await.unwrap();
    let hub = lab.cluster("hub").await.unwrap();
    let crds = broker_api::crds();
    let crd = crds.iter().find(|crd| crd.name_any().starts_with("migrationconfigurations.")).unwrap();
    hub.apply("person", &serde_json::to_string(crd).unwrap()).await.unwrap();
    hub.apply("person", SYSTEM).await.unwrap();
    let stored = hub.apply("person", CONFIGURATION).await.unwrap().remove(0);
    let stored: MigrationConfiguration = stored.try_parse().unwrap();
    let names: Vec<_> = stored.spec.stages.iter().map(|stage| (stage.name.as_str(), stage.progress)).collect();
    assert_eq!(names, [("check", true), ("settle", false)]);
}
