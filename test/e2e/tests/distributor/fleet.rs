//! `Fleet`: a hub with the controller, and three API servers that may be its spokes.

use std::time::Duration;

use e2e::{
    DEADLINE, Object, Place,
    kind::{CONFIG_MAP, CRD, SECRET},
};
use futures::future::join_all;
use harness::{ClusterOptions, Lab, LabOptions, Servers, WallClock, wait_for};
use kube::api::{Patch, PatchParams};
use manifests::permissions::{
    Grant,
    graphs::{DISTRIBUTION, GRAPHS, SPOKE},
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, RwLock};

use crate::{
    CRDS,
    controller::{Controller, GRAPHS as USER},
    kinds::{RGD, is_active, is_served, kind},
    rgd::{Node, Rgd},
    rights,
};

/// Namespace of the Secrets of spokes.
pub(crate) const SECRETS: &str = "clusters";

/// How a hub's controller is started.
pub(super) const ARGS: [&str; 4] =
    ["--enable-multicluster", "--cluster-secrets-namespace", SECRETS, "--restrict-namespaces"];

/// Names of the spokes.
pub(crate) const SPOKES: [&str; 3] = ["lima", "paris", "tokyo"];

/// `ResourceGraphRollout`.
pub(crate) const ROLLOUT: e2e::Kind = e2e::Kind {
    group: "broker.platform-mesh.io",
    version: "v1alpha1",
    kind: "ResourceGraphRollout",
    plural: "resourcegraphrollouts",
};

/// An RGD of a kind with one text, which its ConfigMap holds behind `prefix`.
pub(crate) fn note(prefix: &str) -> Rgd {
    Rgd::new("Note").spec(json!({"text": "string"})).status(json!({"config": "${config.metadata.name}"})).node(
        Node::config(
            "config",
            "${schema.metadata.name}-config",
            json!({"text": format!("{prefix}${{schema.spec.text}}")}),
        ),
    )
}

/// A kind of this RGD's parts that only some clusters have.
pub(crate) fn widget(name: &str) -> e2e::Kind {
    kind(&format!("parts.{name}.test"), "Widget", "widgets")
}

/// Waits until the ConfigMap of an instance `one` says this.
pub(super) async fn text_is(place: &Place, namespace: &str, text: &str) {
    let says = |seen: &Object| seen.at("/data")["text"] == text;
    place.until(&CONFIG_MAP, namespace, "one-config", &format!("to say {text:?}"), says).await;
}

/// Held for writing by tests that break spokes or the controller.
pub(crate) static PEACE: RwLock<()> = RwLock::const_new(());

/// See the module.
pub(crate) struct Fleet {
    pub(crate) lab: Lab,
    pub(crate) hub: Place,
    spokes: Vec<Place>,
    controller: Mutex<Controller>,
    /// Of the controller.
    pub(crate) clock: WallClock,
}

/// An API server.
pub(super) async fn cluster(lab: &Lab, name: &str) -> Place {
    let users = vec![(USER.to_owned(), Vec::new())];
    // In one of them tests have webhooks, policies, and kinds that take each other's names.
    let options = ClusterOptions { users, real: name == SPOKES[1], ..ClusterOptions::default() };
    let cluster = lab.cluster_with(name, &options).await.unwrap_or_else(|error| panic!("{error:#}"));
    Place::new(name, cluster).await
}

/// What the installation grants, everywhere in a cluster.
fn rules(grants: &[Grant]) -> Vec<Value> {
    let rules = grants.iter().flat_map(|grant| grant.role.rules);
    let written = rules.map(|rule| {
        let mut written = rights::rule(rule.groups[0], rule.resources, rule.verbs);
        if !rule.names.is_empty() {
            written["resourceNames"] = json!(rule.names);
        }
        written
    });
    written.collect()
}

/// What a hub needs before its controller starts.
async fn make_hub(hub: &Place) {
    rights::install(hub).await;
    rights::grant(hub, "graphs-own", rules(GRAPHS)).await;
    rights::grant(hub, "graphs-distribution", rules(DISTRIBUTION)).await;
    hub.apply(&CRDS.join("\n---\n")).await;
    hub.make_namespace(SECRETS).await;
}

/// What is granted in a spoke.
pub(super) async fn make_spoke(spoke: &Place) {
    rights::grant(spoke, "graphs-spoke", rules(SPOKE)).await;
    rights::grant(spoke, "graphs-children", vec![rights::rule("", &["configmaps"], &rights::CHILD)]).await;
}

/// The Secret that makes an API server a spoke of a hub: paris is of tier `canary`, all others of tier `prod`, and tokyo is a
/// provider of a broker's as well.
pub(super) fn membership(spoke: &Place) -> Value {
    let tier = if spoke.name() == "paris" { "canary" } else { "prod" };
    let mut all = json!({"broker.platform-mesh.io/role": "spoke", "tier": tier});
    if spoke.name() == "tokyo" {
        all["broker.platform-mesh.io/role"] = json!("provider");
        all["kro.run/cluster"] = json!("true");
    }
    let kubeconfig = spoke.cluster.kubeconfig(USER).unwrap();
    let body = json!({"metadata": {"labels": all}, "stringData": {"kubeconfig": kubeconfig}});
    SECRET.object(SECRETS, spoke.name(), &body)
}

impl Fleet {
    /// Starts all. No spoke is configured.
    pub(crate) async fn start() -> Self {
        let lab = Lab::start(LabOptions { servers: Servers::modelled().unwrap(), ..LabOptions::default() }).await;
        let lab = lab.unwrap_or_else(|error| panic!("{error:#}"));
        let (hub, one, two, three) = tokio::join!(
            cluster(&lab, "hub"),
            cluster(&lab, SPOKES[0]),
            cluster(&lab, SPOKES[1]),
            cluster(&lab, SPOKES[2])
        );
        tokio::join!(make_spoke(&one), make_spoke(&two), make_spoke(&three), make_hub(&hub));
        let clock = WallClock::make(lab.directory()).unwrap();
        let controller = Controller::start_as(&lab, &hub, &ARGS, |program| clock.of(program)).await;
        Self { lab, hub, spokes: vec![one, two, three], controller: Mutex::new(controller), clock }
    }

    /// A spoke by its name.
    pub(crate) fn spoke(&self, name: &str) -> &Place {
        self.spokes.iter().find(|spoke| spoke.name() == name).unwrap()
    }

    /// The controller. Others wait while it is held.
    pub(crate) async fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().await
    }

    /// Configures all spokes, and no others: what a test that failed has left is taken away.
    pub(crate) async fn join_all(&self) {
        for secret in self.hub.list(&SECRET, SECRETS).await {
            if !SPOKES.contains(&secret.name()) {
                self.hub.delete(&SECRET, SECRETS, secret.name()).await;
            }
        }
        join_all(SPOKES.map(|name| self.join(name))).await;
    }

    /// Configures a spoke: see [`membership`].
    pub(crate) async fn join(&self, name: &str) -> Object {
        self.hub.put(&SECRET, &membership(self.spoke(name))).await
    }

    /// The kind of an RGD of this name.
    pub(crate) fn kind(name: &str, rgd: &Rgd) -> e2e::Kind {
        kind(&format!("{name}.fleet.test"), rgd.kind(), &format!("{}s", rgd.kind().to_lowercase()))
    }

    /// An RGD of this name, with a group of its own.
    pub(crate) fn rgd(name: &str, rgd: &Rgd) -> Value {
        let mut spec = rgd.spec.clone();
        spec["schema"]["group"] = json!(Self::kind(name, rgd).group);
        RGD.object("", name, &json!({"metadata": rgd.metadata, "spec": spec}))
    }

    /// Applies an RGD in the hub, grants what its kind needs everywhere, and waits until the hub serves it.
    pub(crate) async fn define(&self, name: &str, rgd: &Rgd) -> e2e::Kind {
        let kind = Self::kind(name, rgd);
        self.grant(&format!("{name}-instances"), rights::instances(&kind)).await;
        self.edit(name, rgd).await;
        kind
    }

    /// Grants this everywhere.
    pub(crate) async fn grant(&self, role: &str, rights: Value) {
        let granted =
            self.spokes.iter().chain([&self.hub]).map(|place| rights::grant(place, role, vec![rights.clone()]));
        join_all(granted).await;
    }

    /// Edits an RGD, and waits until the hub serves it as it is now.
    pub(crate) async fn edit(&self, name: &str, rgd: &Rgd) {
        self.apply(name, rgd).await;
        self.hub.until(&RGD, "", name, "to be Active", is_served).await;
    }

    /// Edits an RGD.
    pub(crate) async fn apply(&self, name: &str, rgd: &Rgd) {
        self.hub.put(&RGD, &Self::rgd(name, rgd)).await;
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

    /// Waits until all spokes run this revision of a kind.
    pub(crate) async fn all_run(&self, kind: &e2e::Kind, revision: &str) {
        for spoke in SPOKES {
            self.runs(spoke, kind, revision).await;
        }
    }

    /// The revision that a spoke runs of a kind.
    pub(crate) async fn revision(&self, spoke: &str, kind: &e2e::Kind) -> Option<String> {
        let name = format!("{}.{}", kind.plural, kind.group);
        let crd = self.spoke(spoke).find(&CRD, "", &name).await?;
        crd.annotation("broker.platform-mesh.io/graph-revision").map(str::to_owned)
    }

    /// Creates an instance in a spoke, in a namespace that is made, and waits until it is active.
    pub(crate) async fn bring_up(&self, spoke: &str, kind: &e2e::Kind, namespace: &str, name: &str) -> Object {
        self.bring_up_in(self.spoke(spoke), kind, namespace, name).await
    }

    /// The same in any cluster.
    pub(crate) async fn bring_up_in(&self, place: &Place, kind: &e2e::Kind, namespace: &str, name: &str) -> Object {
        let spoke = place.name();
        self.namespace(place, namespace).await;
        let object = kind.object(namespace, name, &json!({"spec": {"text": spoke}}));
        let author = PatchParams::apply("author");
        let (instances, what) = (place.api(kind, namespace), format!("{} to be served in {spoke}", kind.plural));
        // A CRD says that it is established a moment before it is served.
        let applied = wait_for(DEADLINE, &what, async || instances.patch(name, &author, &Patch::Apply(&object)).await);
        applied.await.unwrap_or_else(|error| panic!("{error:#}"));
        place.until(kind, namespace, name, "to be ACTIVE", is_active).await
    }

    /// Applies a rollout.
    pub(crate) async fn roll_out(&self, name: &str, spec: Value) {
        let body = json!({"metadata": {"name": name}, "spec": spec});
        self.hub.put(&ROLLOUT, &ROLLOUT.object("", name, &body)).await;
    }

    /// Waits until `test` holds for a rollout.
    pub(crate) async fn rollout_until(&self, name: &str, what: &str, test: impl Fn(&Object) -> bool) -> Object {
        self.hub.until(&ROLLOUT, "", name, what, test).await
    }

    /// Waits until an RGD says this of its clusters.
    pub(crate) async fn distributed(&self, name: &str, reason: &str, words: &str) -> Object {
        let says = |seen: &Object| {
            let told = seen.condition("Distributed");
            told.is_some_and(|told| told.reason == reason && told.message.contains(words))
        };
        self.hub.until(&RGD, "", name, &format!("to be {reason} with {words:?}"), says).await
    }

    /// Waits until the controller has asked no cluster for anything for as long as `quiet`.
    pub(crate) async fn until_quiet(&self, quiet: Duration) {
        let what = format!("no request to any cluster for {quiet:?}");
        let places = || self.spokes.iter().chain([&self.hub]);
        let waited = wait_for(e2e::DEADLINE, &what, async || {
            let marks = join_all(places().map(async |place| place.cluster.audit().settle().await.unwrap())).await;
            // The span of time is what is asked about: nothing else could tell that nothing comes.
            tokio::time::sleep(quiet).await;
            let since = places().zip(marks).map(async |(place, mark)| {
                let events = place.cluster.audit().settled_since(mark).await.unwrap().into_iter();
                events.filter(|event| event.user == USER).map(|event| event.uri).collect::<Vec<_>>()
            });
            let asked = join_all(since).await.concat();
            if asked.is_empty() { Ok(()) } else { Err(format!("{asked:?}")) }
        });
        waited.await.unwrap_or_else(|error| panic!("{error:#}"));
    }

    /// Makes a namespace in a cluster.
    pub(crate) async fn namespace(&self, place: &Place, name: &str) {
        place.make_namespace(name).await;
    }
}
