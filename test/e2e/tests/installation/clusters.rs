//! What real API servers say to it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use harness::{Cluster, ClusterOptions, Lab, LabOptions};

use crate::rendered::kustomized;
use crate::tool;

/// A cluster of its own for one test, with the kubeconfig of somebody who may do everything.
struct Target {
    kubeconfig: PathBuf,
    _cluster: Cluster,
    _lab: Lab,
}

impl Target {
    async fn new() -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let options = ClusterOptions { workloads: vec!["apps/v1", "policy/v1"], ..ClusterOptions::default() };
        let cluster = lab.cluster_with("hub", &options).await.unwrap();
        let kubeconfig = lab.directory().join("admin.kubeconfig");
        cluster.write_kubeconfig("admin", &kubeconfig).unwrap();
        Self { kubeconfig, _cluster: cluster, _lab: lab }
    }

    fn run(&self, program: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Result<String, String> {
        let kubectl = tool::kubectl();
        let mut environment =
            vec![("KUBECONFIG", self.kubeconfig.to_str().unwrap()), ("KUBECTL", kubectl.to_str().unwrap())];
        environment.extend(more);
        tool::attempt(program, arguments, &environment)
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        self.run(&tool::kubectl(), arguments, &[]).unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    /// Fields that the API server does not know are errors.
    fn apply_strictly(&self, files: &[String]) {
        let files = files.iter().flat_map(|file| ["-f", file]);
        let apply = ["apply", "--validate=strict", "--server-side", "--force-conflicts"];
        self.kubectl(&apply.into_iter().chain(files).collect::<Vec<_>>());
    }

    fn helm(&self, arguments: &[&str]) -> String {
        self.run(&tool::helm(), arguments, &[]).unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    fn script(&self, path: &str, more: &[(&str, &str)]) -> String {
        self.run(&tool::root().join(path), &[], more).unwrap_or_else(|complaint| panic!("{complaint}"))
    }

    /// The objects of config/default that are there, by kind, namespace and name, and those that are not.
    fn present_and_absent(&self) -> (Vec<String>, Vec<String>) {
        let each = "{range .items[*]}{.apiVersion} {.kind} {.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}";
        let output = format!("--output=jsonpath={each}");
        let there = self.kubectl(&["get", "-k", "config/default", "--ignore-not-found", &output]);
        let there: HashSet<_> = there.lines().collect();
        kustomized("config/default").keys().map(str::to_owned).partition(|key| there.contains(key.as_str()))
    }

    fn assert_all_present(&self) {
        let (_, absent) = self.present_and_absent();
        assert!(absent.is_empty(), "{absent:?}");
    }

    /// What is left is exactly what may not be lost.
    fn assert_only_kept_things_present(&self) {
        let (present, absent) = self.present_and_absent();
        let kept = |key: &String| key.contains(" Namespace ") || key.contains(" CustomResourceDefinition ");
        assert!(present.iter().all(kept), "{present:?}");
        assert!(!absent.iter().any(kept), "{absent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_apply_deploys_and_undeploys_and_every_file_is_accepted() {
    let hub = Target::new().await;
    hub.kubectl(&["apply", "-k", "config/default"]);
    hub.assert_all_present();

    // The second time says that there was nothing to do.
    let again = hub.kubectl(&["apply", "-k", "config/default"]);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");

    hub.script("config/default/deploy.sh", &[("REGISTRY", "registry.example.com/you/")]);
    let deployed = hub.kubectl(&["get", "deployment", "-n", "resource-broker-system", "-o", "yaml"]);
    for image in ["resource-broker-operator", "resource-broker", "resource-graphs"] {
        let image = format!(": registry.example.com/you/{image}:{}\n", env!("CARGO_PKG_VERSION"));
        assert!(deployed.contains(&image), "{image} in {deployed}");
    }

    hub.kubectl(&["apply", "-k", "config/samples"]);
    let told = hub.script("config/default/undeploy.sh", &[]);
    assert!(told.contains("\"broker\" deleted"), "{told}");
    assert!(told.contains("kubectl delete namespace resource-broker-system resource-broker-clusters"), "{told}");
    hub.assert_only_kept_things_present();
    // Again, and where nothing was ever installed, there is nothing to complain about.
    hub.script("config/default/undeploy.sh", &[]);

    an_api_server_accepts_every_file(&hub);
}

#[tokio::test(flavor = "multi_thread")]
async fn helm_installs_upgrades_and_uninstalls() {
    let hub = Target::new().await;
    let told = hub.helm(&["install", "resource-broker", "config/chart"]);
    assert!(told.contains("kubectl apply -f config/samples/broker.yaml"), "{told}");
    hub.assert_all_present();

    hub.helm(&["upgrade", "resource-broker", "config/chart", "--set", "image.registry=registry.example.com/you"]);
    let image = "jsonpath={.items[*].spec.template.spec.containers[*].image}";
    let image = hub.kubectl(&["get", "deployment", "-n", "resource-broker-system", "-o", image]);
    assert_eq!(image, format!("registry.example.com/you/resource-broker-operator:{}", env!("CARGO_PKG_VERSION")));

    hub.helm(&["uninstall", "resource-broker"]);
    hub.assert_only_kept_things_present();
    // What was kept is not in the way of the next one.
    hub.helm(&["install", "resource-broker", "config/chart"]);
    hub.assert_all_present();
}

fn an_api_server_accepts_every_file(hub: &Target) {
    hub.kubectl(&["apply", "-k", "config/default"]);
    hub.apply_strictly(&[yaml_files("config/crd"), yaml_files("config/crd-graphs")].concat());
    hub.kubectl(&["wait", "--for=condition=Established", "customresourcedefinition", "--all", "--timeout=30s"]);
    hub.kubectl(&["apply", "--validate=strict", "-k", "config/samples"]);
    hub.apply_strictly(&[yaml_files("config/samples"), yaml_files("config/rbac")].concat());
}

/// The YAML files of a folder but the kustomization, by name.
fn yaml_files(folder: &str) -> Vec<String> {
    let mut files: Vec<_> = fs::read_dir(tool::root().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .filter(|path| path.file_name().is_some_and(|name| name != "kustomization.yaml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert!(files.len() > 1, "{folder}: {files:?}");
    files
}
