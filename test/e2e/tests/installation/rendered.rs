//! What kustomize and Helm make of the files.

use std::fs;

use crate::objects::Objects;
use crate::tool;

/// A registry that nobody has.
const REGISTRY: &str = "registry.example.com/you";

pub(crate) fn kustomized(folder: &str) -> Objects {
    Objects::parse(&tool::output(&tool::kubectl(), &["kustomize", folder], &[]))
}

fn charted(more: &[&str]) -> Objects {
    let arguments = [&["template", "resource-broker", "config/chart", "--include-crds"], more].concat();
    Objects::parse(&tool::output(&tool::helm(), &arguments, &[])).without_helm()
}

fn same(left: &Objects, right: &Objects) {
    let differences = left.differences(right);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The operator's own image, and those that it gives to Brokers.
fn images(objects: &Objects) -> [&str; 3] {
    let container = &objects.get("Deployment", "resource-broker-operator")["spec"]["template"]["spec"]["containers"][0];
    let [broker, graphs] = [0, 1].map(|index| &container["env"][index]);
    assert_eq!(broker["name"], "RESOURCE_BROKER_OPERATOR_BROKER_IMAGE");
    assert_eq!(graphs["name"], "RESOURCE_BROKER_OPERATOR_GRAPHS_IMAGE");
    [&container["image"], &broker["value"], &graphs["value"]].map(|image| image.as_str().unwrap())
}

/// The names of all images, operator first.
fn named(registry: &str, tag: &str) -> [String; 3] {
    ["resource-broker-operator", "resource-broker", "resource-graphs"].map(|name| format!("{registry}/{name}:{tag}"))
}

#[test]
fn the_chart_makes_exactly_the_objects_of_config_default() {
    let default = kustomized("config/default");
    assert!(default.keys().count() > 15, "{default}");
    same(&default, &charted(&[]));
}

#[test]
fn the_chart_passes_helm_lint() {
    tool::output(&tool::helm(), &["lint", "--strict", "config/chart"], &[]);
}

#[test]
fn the_chart_refuses_a_wrong_value_and_names_it() {
    for (wrong, name) in
        [("replicas=some", "/replicas"), ("image.registri=x", "registri"), ("image.registry=", "/registry")]
    {
        let arguments = ["template", "resource-broker", "config/chart", "--set", wrong];
        let complaint = tool::attempt(&tool::helm(), &arguments, &[]).expect_err(wrong);
        assert!(complaint.contains(name), "{wrong}: {complaint}");
    }
}

#[test]
fn every_value_of_the_chart_arrives() {
    let values = [
        "image.registry=registry.example.com/you/,image.tag=1.2.3,image.pullPolicy=Always,image.pullSecrets={registry}",
        "replicas=2,resources.limits.memory=1Gi,extraArgs={--log-format=text},createNamespaces=false",
        "nodeSelector.disk=ssd,tolerations[0].key=dedicated,priorityClassName=system-cluster-critical",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].key=x",
    ];
    let objects = charted(&values.iter().flat_map(|value| ["--set", value]).collect::<Vec<_>>());
    let spec = &objects.get("Deployment", "resource-broker-operator")["spec"];
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(images(&objects), named(REGISTRY, "1.2.3"));
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(pod["imagePullSecrets"][0]["name"], "registry");
    assert_eq!(spec["replicas"], 2);
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert_eq!(container["args"].as_array().unwrap().last().unwrap(), "--log-format=text");
    assert_eq!(pod["nodeSelector"]["disk"], "ssd");
    assert_eq!(pod["tolerations"][0]["key"], "dedicated");
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert!(pod["affinity"]["nodeAffinity"].is_object());
    assert!(!objects.keys().any(|key| key.contains(" Namespace ")), "{objects}");
}

#[test]
fn a_release_in_the_operators_namespace_does_not_make_that_namespace_again() {
    let objects = charted(&["--namespace", "resource-broker-system"]);
    let namespaces: Vec<_> = objects.keys().filter(|key| key.contains(" Namespace ")).collect();
    assert_eq!(namespaces, ["v1 Namespace /resource-broker-clusters"]);
}

/// As people do it who keep their changes in a folder of their own: the variable needs `configurations` there, too.
#[test]
fn an_overlay_names_other_images() {
    let scratch = std::env::temp_dir().join(format!("installation-overlay-{}", std::process::id()));
    fs::create_dir_all(&scratch).unwrap();
    // kustomize wants relative paths.
    let up = "../".repeat(scratch.canonicalize().unwrap().components().count() - 1);
    let default = format!("{up}{}/config/default", tool::root().display().to_string().trim_start_matches('/'));
    let overlay = format!(
        "resources: [{default}]
images:
- {{name: localhost/resource-broker, newName: {REGISTRY}/resource-broker, newTag: v2}}
- {{name: localhost/resource-broker-operator, newName: {REGISTRY}/resource-broker-operator, newTag: v2}}
- {{name: localhost/resource-graphs, newName: {REGISTRY}/resource-graphs, newTag: v2}}
configurations: [images.yaml]
"
    );
    fs::write(scratch.join("kustomization.yaml"), overlay).unwrap();
    fs::copy(tool::root().join("config/default/images.yaml"), scratch.join("images.yaml")).unwrap();
    let objects = kustomized(scratch.to_str().unwrap());
    fs::remove_dir_all(&scratch).unwrap();
    assert_eq!(images(&objects), named(REGISTRY, "v2"));
    same(&objects, &charted(&["--set", "image.registry=registry.example.com/you,image.tag=v2"]));
}

#[test]
fn images_and_chart_are_of_this_release() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(images(&kustomized("config/default")), named("localhost", version));
    let chart = fs::read_to_string(tool::root().join("config/chart/Chart.yaml")).unwrap();
    for field in ["version", "appVersion"] {
        assert!(chart.contains(&format!("\n{field}: {version}\n")), "{field} is not {version} in {chart}");
    }
}

/// What the Deployment says to the operator is what the operator understands.
#[test]
fn the_operator_knows_its_flags_and_its_variables() {
    let help = tool::output(&harness::binary("resource-broker-operator").unwrap(), &["--help"], &[]);
    let objects = kustomized("config/default");
    let container = &objects.get("Deployment", "resource-broker-operator")["spec"]["template"]["spec"]["containers"][0];
    let words = container["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
    let variables = container["env"].as_array().unwrap().iter().map(|variable| variable["name"].as_str().unwrap());
    for word in words.chain(variables) {
        let flag = word.split('=').next().unwrap();
        assert!(help.contains(flag), "{flag} is not in the operator's --help:\n{help}");
    }
}
