//! `Stage`: one API server with the CRDs of graphs, and the controller that serves it.

use e2e::Place;
use harness::{AuditEvents, ClusterOptions, Lab, LabOptions, Mark};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    CRDS,
    controller::{Controller, GRAPHS},
    rights,
};

/// API group of kinds that no role of the controller names, on purpose.
pub(crate) const FORBIDDEN: &str = "forbidden.kro.test";

/// A stage. Its clients belong to the runtime in which it was started.
pub(crate) struct Stage {
    /// The lab.
    pub(crate) lab: Lab,
    /// The cluster.
    pub(crate) place: Place,
    controller: Mutex<Controller>,
}

impl Stage {
    /// Starts all. With a controller manager, namespaces and owned objects go as in real clusters.
    pub(crate) async fn start(name: &str, controller_manager: bool) -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap_or_else(|error| panic!("{error:#}"));
        // In no group: RBAC alone says what it may.
        let users = vec![(GRAPHS.to_owned(), Vec::new())];
        let workloads = vec!["apps/v1", "autoscaling/v2", "scheduling.k8s.io/v1"];
        let options = ClusterOptions { controller_manager, users, workloads, ..ClusterOptions::default() };
        let cluster = lab.cluster_with(name, &options).await.unwrap_or_else(|error| panic!("{error:#}"));
        let place = Place::new(name, cluster).await;
        let crds = CRDS.join("\n---\n");
        tokio::join!(place.apply(&crds), rights::install(&place));
        let controller = Mutex::new(Controller::start(&lab, &place, &[]).await);
        Self { lab, place, controller }
    }

    /// The controller. Others wait while it is held.
    pub(crate) async fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().await
    }

    /// The lines of the controller's log that hold one of `words`, for a test that failed.
    pub(crate) fn lines(&self, words: &[&str]) -> String {
        self.controller
            .try_lock()
            .map_or_else(|_| "the controller is in use".to_owned(), |controller| controller.lines(words))
    }

    /// Makes a namespace.
    pub(crate) async fn namespace(&self, name: &str) {
        self.place.make_namespace(name).await;
    }

    /// The end of the audit log, with all requests in it that were answered before.
    pub(crate) async fn mark(&self) -> Mark {
        self.place.cluster.audit().settle().await.unwrap()
    }

    /// What the controller has asked for since.
    pub(crate) async fn requests(&self, since: Mark) -> AuditEvents {
        self.place.cluster.audit().settled_since(since).await.unwrap().of(GRAPHS)
    }

    /// Panics if the controller has ever asked for what its roles do not grant.
    pub(crate) async fn nothing_was_denied(&self) {
        let denied = self.requests(Mark::START).await;
        // What admission forbids is no matter of roles, and neither is a namespace that is being deleted.
        let denied = denied.only(|event| {
            let by_role = event.message.contains(&format!("User \"{GRAPHS}\" cannot"));
            // Which API server this is: it goes on without an answer.
            event.code == 403 && by_role && event.group != FORBIDDEN && event.name != "kube-system"
        });
        let mut denied: Vec<String> = denied.iter().map(|event| event.message.clone()).collect();
        denied.sort();
        denied.dedup();
        assert!(denied.is_empty(), "\n{}", denied.join("\n"));
    }
}
