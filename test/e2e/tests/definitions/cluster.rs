//! One API server with both CRDs, and words to try objects on it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use harness::{Cluster, Lab, LabOptions, wait_for};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

pub(crate) const RGD: &str = "ResourceGraphDefinition";
pub(crate) const REVISION: &str = "GraphRevision";

/// The API server.
pub(crate) struct Hub {
    client: Client,
    cluster: Cluster,
    lab: Lab,
}

fn resource(kind: &str) -> ApiResource {
    let group = if kind == RGD { "kro.run" } else { "internal.kro.run" };
    ApiResource {
        group: group.to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: format!("{group}/v1alpha1"),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    }
}

impl Hub {
    /// Applies the files as they are in the repository, and waits until both kinds are served.
    pub(crate) async fn start() -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap();
        let cluster = lab.cluster("hub").await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/crd-graphs");
        for name in ["kro.run_resourcegraphdefinitions.yaml", "internal.kro.run_graphrevisions.yaml"] {
            // An API server refuses a CRD whose rules may cost too much.
            cluster.apply("person", &fs::read_to_string(folder.join(name)).unwrap()).await.unwrap();
        }
        let client = cluster.client("person").await.unwrap();
        let hub = Self { client, cluster, lab };
        for kind in [RGD, REVISION] {
            let served = wait_for(e2e::DEADLINE, kind, async || hub.api(kind).list(&ListParams::default()).await);
            served.await.unwrap();
        }
        hub
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(kind))
    }

    fn kubeconfig(&self) -> PathBuf {
        let path = self.lab.directory().join("person.kubeconfig");
        self.cluster.write_kubeconfig("person", &path).unwrap();
        path
    }

    /// Creates an object; the API server's words where it refuses. With `dry`, only asks.
    async fn make(&self, kind: &str, name: &str, spec: &Value, dry: bool) -> Result<Value, String> {
        let ApiResource { api_version, kind: word, .. } = resource(kind);
        let body = json!({"apiVersion": api_version, "kind": word, "metadata": {"name": name}, "spec": spec});
        let params = PostParams { dry_run: dry, ..PostParams::default() };
        let made = self.api(kind).create(&params, &serde_json::from_value(body).unwrap()).await;
        made.map(|object| serde_json::to_value(object).unwrap()).map_err(|error| error.to_string())
    }

    pub(crate) async fn create(&self, kind: &str, name: &str, spec: &Value) -> Value {
        self.make(kind, name, spec, false).await.unwrap()
    }

    pub(crate) async fn takes(&self, kind: &str, spec: &Value) -> Value {
        self.make(kind, "tried", spec, true).await.unwrap_or_else(|told| panic!("{spec}: {told}"))
    }

    /// What it says against a spec.
    pub(crate) async fn refuses(&self, kind: &str, spec: &Value) -> String {
        self.make(kind, "tried", spec, true).await.expect_err(&spec.to_string())
    }

    /// Merges a patch into an object.
    pub(crate) async fn edit(&self, kind: &str, name: &str, patch: Value) -> Result<Value, String> {
        let edited = self.api(kind).patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
        edited.map(|object| serde_json::to_value(object).unwrap()).map_err(|error| error.to_string())
    }

    /// `kubectl get`, the table.
    pub(crate) fn table(&self, arguments: &[&str]) -> String {
        let mut kubectl = Command::new(harness::kubectl_binary().unwrap());
        kubectl.arg("--kubeconfig").arg(self.kubeconfig()).arg("get").args(arguments);
        let output = kubectl.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}
