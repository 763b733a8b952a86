//! `Program`: one of the programs as the coordination cluster has it. Whether it runs anywhere is another matter.

use e2e::{Kind, Place};
use serde_json::json;

use crate::installation::SYSTEM;

/// `Deployment`.
pub(crate) const DEPLOYMENT: Kind = Kind { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" };

/// `Lease`.
pub(crate) const LEASE: Kind = Kind { group: "coordination.k8s.io", version: "v1", kind: "Lease", plural: "leases" };

/// A program that is deployed in the namespace of the broker's own objects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Program {
    /// What it is, as its label and its image say.
    pub(crate) label: &'static str,
    /// Name of its Deployment.
    pub(crate) name: &'static str,
    /// Its ServiceAccount.
    pub(crate) account: &'static str,
}

impl Program {
    /// Applies its Deployment; `tag` is that of its image.
    pub(crate) async fn deploy(&self, hub: &Place, tag: &str, args: &[String]) {
        let labels = json!({"app.kubernetes.io/name": self.label});
        let container = json!({"name": self.label, "image": format!("localhost/{}:{tag}", self.label), "args": args});
        let template = json!({"metadata": {"labels": labels}, "spec": {"serviceAccountName": self.account, "containers": [container]}});
        let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": template});
        let object = json!({"metadata": {"labels": labels}, "spec": spec});
        hub.apply(&DEPLOYMENT.object(SYSTEM, self.name, &object).to_string()).await;
    }

    /// So many of its instances work.
    pub(crate) async fn work(&self, hub: &Place, count: u32) {
        let status = json!({"replicas": 1, "updatedReplicas": 1, "readyReplicas": count, "availableReplicas": count});
        hub.set_status(&DEPLOYMENT, SYSTEM, self.name, status).await;
    }

    /// It is deployed no more.
    pub(crate) async fn remove(&self, hub: &Place) {
        hub.delete(&DEPLOYMENT, SYSTEM, self.name).await;
    }
}
