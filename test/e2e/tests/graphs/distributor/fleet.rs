//! `Fleet`: a hub with the controller, and three API servers that may be its spokes.

use e2e::{
    Object, Place,
    kind::{CRD, NAMESPACE, SECRET},
};
use harness::{ClusterOptions, Lab, LabOptions};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    controller::{Controller, GRAPHS},
    kinds::{RGD, is_served, kind},
    rgd::Rgd,
    rights,
    stage::CRDS,
};

/// Namespace of the Secrets of spokes.
pub(crate) const SECRETS: &str = "clusters";

/// Names of the spokes.
pub(crate) const SPOKES: [&str; 3] = ["lima", "paris", "tokyo"];

/// See the module.
pub(crate) struct Fleet {
    pub(crate) lab: Lab,
    pub(crate) hub: Place,
    spokes: Vec<Place>,
    controller: Mutex<Controller>,
}

async fn cluster(lab: &Lab, name: &str) -> Place {
    let users = vec![(GRAPHS.to_owned(), Vec::new())];
    let options = ClusterOptions { users, ..ClusterOptions::default() };
    let cluster = lab.cluster_with(name, &options).await.unwrap_or_else(|error| panic!("{error:#}"));
    let place = Place::new(name, cluster).await;
    rights::install(&place).await;
    rights::grant(&place, "graphs-identity", vec![rights::rule("", &["namespaces"], &["get"])]).await;
    place
}

impl Fleet {
    /// Starts all. No spoke is configured.
    pub(crate) async fn start() -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap_or_else(|error| panic!("{error:#}"));
        let (hub, one, two, three) = tokio::join!(
            cluster(&lab, "hub"),
            cluster(&lab, SPOKES[0]),
            cluster(&lab, SPOKES[1]),
            cluster(&lab, SPOKES[2])
        );
        hub.apply(&CRDS.join("\n---\n")).await;
        hub.make_namespace(SECRETS).await;
        let rollouts = ["resourcegraphrollouts", "resourcegraphrollouts/status"];
        let verbs = ["get", "list", "watch", "patch"];
        rights::grant(&hub, "graphs-rollouts", vec![rights::rule("broker.platform-mesh.io", &rollouts, &verbs)]).await;
        let args = ["--enable-multicluster", "--cluster-secrets-namespace", SECRETS];
        let controller = Mutex::new(Controller::start(&lab, &hub, &args).await);
        Self { lab, hub, spokes: vec![one, two, three], controller }
    }

    /// A spoke by its name.
    pub(crate) fn spoke(&self, name: &str) -> &Place {
        self.spokes.iter().find(|spoke| spoke.name() == name).unwrap()
    }

    /// The controller. Others wait while it is held.
    pub(crate) async fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().await
    }

    /// Configures a spoke with these labels.
    pub(crate) async fn join(&self, name: &str, labels: Value) -> Object {
        let mut all = json!({"broker.platform-mesh.io/role": "spoke"});
        for (key, value) in labels.as_object().into_iter().flatten() {
            all[key] = value.clone();
        }
        let kubeconfig = self.spoke(name).cluster.kubeconfig(GRAPHS).unwrap();
        let body = json!({"metadata": {"labels": all}, "stringData": {"kubeconfig": kubeconfig}});
        let secret = SECRET.object(SECRETS, name, &body);
        self.hub.apply(&secret.to_string()).await.remove(0)
    }

    /// Applies an RGD in the hub, grants what its kind needs everywhere, and waits until the hub serves it.
    pub(crate) async fn define(&self, name: &str, rgd: &Rgd) -> e2e::Kind {
        let group = format!("{name}.fleet.test");
        let mut spec = rgd.spec.clone();
        spec["schema"]["group"] = json!(group);
        let kind = kind(&group, rgd.kind(), &format!("{}s", rgd.kind().to_lowercase()));
        for place in self.spokes.iter().chain([&self.hub]) {
            rights::grant(place, &format!("{name}-instances"), vec![rights::instances(&kind)]).await;
        }
        self.hub.apply(&RGD.object("", name, &json!({"metadata": rgd.metadata, "spec": spec})).to_string()).await;
        self.hub.until(&RGD, "", name, "to be Active", is_served).await;
        kind
    }

    /// Waits until a spoke's CRD of a kind satisfies `test`.
    pub(crate) async fn crd_until(
        &self,
        spoke: &str,
        kind: &e2e::Kind,
        what: &str,
        test: impl Fn(&Object) -> bool,
    ) -> Object {
        let name = format!("{}.{}", kind.plural, kind.group);
        self.spoke(spoke).until(&CRD, "", &name, what, test).await
    }

    /// Waits until a spoke runs this revision of a kind.
    pub(crate) async fn runs(&self, spoke: &str, kind: &e2e::Kind, revision: &str) -> Object {
        let runs = |seen: &Object| {
            seen.annotation("broker.platform-mesh.io/graph-revision") == Some(revision)
                && seen.has("Established", "True", "InitialNamesAccepted")
        };
        self.crd_until(spoke, kind, &format!("to run revision {revision}"), runs).await
    }

    /// Makes a namespace in a cluster.
    pub(crate) async fn namespace(&self, place: &Place, name: &str) {
        place.apply(&NAMESPACE.object("", name, &json!({})).to_string()).await;
    }
}
