//! Kubernetes' own controllers, for clusters that are only API servers.
//!
//! Start them once the kinds are there: the garbage collector looks for new ones only every 30 s, and nobody wants to
//! watch that; which is why this does not use the controller manager that a lab can start with a cluster. Nothing has to
//! wait for them: they look at what is there when they come.

use harness::{Cluster, Lab, Program};

/// A cluster deletes objects whose owner is gone, and namespaces with all that is in them.
pub const GARBAGE: [&str; 2] = ["garbage-collector-controller", "namespace-controller"];
/// Beyond [`GARBAGE`]: Secrets get the tokens of ServiceAccounts, which `kubectl broker join` waits for.
pub const TOKENS: [&str; 3] = ["garbage-collector-controller", "namespace-controller", TOKEN_CONTROLLER];
const TOKEN_CONTROLLER: &str = "serviceaccount-token-controller";
/// Beyond [`GARBAGE`]: ClusterRoles take in the rules of those with a label.
pub const ROLES: [&str; 3] =
    ["garbage-collector-controller", "namespace-controller", "clusterrole-aggregation-controller"];
/// Beyond [`ROLES`]: Deployments and Jobs get their pods. Which nobody runs unless `pod-runner` does.
pub const WORKLOADS: [&str; 6] = [
    "garbage-collector-controller",
    "namespace-controller",
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "replicaset-controller",
    "job-controller",
];

/// What these controllers, and an operator that deploys the broker, need of [`harness::ClusterOptions::workloads`].
pub const GROUPS: [&str; 3] = ["apps/v1", "batch/v1", "policy/v1"];

/// The program that runs these controllers in a cluster.
pub fn program(lab: &Lab, cluster: &Cluster, controllers: &[&str]) -> anyhow::Result<Program> {
    let name = format!("{}-controller-manager", cluster.name());
    let directory = lab.directory().join(cluster.name());
    let kubeconfig = directory.join("controller-manager.kubeconfig");
    cluster.write_kubeconfig("controller-manager", &kubeconfig)?;
    let path = harness::kubectl_binary()?.with_file_name("kube-controller-manager");
    let program = Program::new(name, path)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg(format!("--controllers={}", controllers.join(",")))
        .args([
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--secure-port=0",
            "--kube-api-qps=200",
            "--kube-api-burst=400",
        ]);
    if !controllers.contains(&TOKEN_CONTROLLER) {
        return Ok(program);
    }
    // By which key the API server knows tokens, and what a kubeconfig with one has to trust. Whoever has the key runs that
    // controller, whatever `--controllers` says, and it removes Secrets of ServiceAccounts that are not there.
    Ok(program.args([
        format!("--service-account-private-key-file={}", directory.join("service-account.key").display()),
        format!("--root-ca-file={}", directory.join("ca.crt").display()),
    ]))
}
