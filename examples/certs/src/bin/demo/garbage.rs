//! The garbage collectors: a cluster deletes objects whose owner is gone, and namespaces with all that is in them.
//!
//! They are started once the kinds are there. Kubernetes' collector looks for new kinds only every 30 s, and nobody
//! wants to watch that; which is why this does not use the controller manager that a lab can start with a cluster.

use harness::{Lab, Process, Program};

use crate::place::Place;

/// Starts the collector of a cluster. Nothing has to wait for it: it looks at what is there when it comes.
pub(crate) fn collect(lab: &Lab, place: &Place) -> anyhow::Result<Process> {
    let name = format!("{}-controller-manager", place.name());
    let kubeconfig = lab.directory().join(place.name()).join("controller-manager.kubeconfig");
    place.cluster.write_kubeconfig("controller-manager", &kubeconfig)?;
    let path = harness::kubectl_binary()?.with_file_name("kube-controller-manager");
    let program = Program::new(name, path).arg("--kubeconfig").arg(kubeconfig).args([
        "--controllers=garbage-collector-controller,namespace-controller",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--secure-port=0",
    ]);
    lab.start_process(&program)
}
