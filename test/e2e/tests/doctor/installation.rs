//! `Installation`: a coordination cluster, a consumer and a provider that `kubectl broker join` has brought in, a broker, and
//! an object that it serves.

use std::{fs, path::PathBuf};

use e2e::{
    Broker, BrokerSetup, Object, Place, Said,
    kind::{ACCEPT_API, CERTIFICATE, MIGRATION, MIGRATION_CONFIGURATION},
    place::PERSON,
    scene::ACCEPT_NAMESPACE,
    traveller::base64,
    world::{edge, place},
};
use harness::{ClusterOptions, Lab, LabOptions, Mark, WallClock};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::{command::run, program::Program};

/// The consumer.
pub(crate) const HOMER: &str = "homer";
/// The provider.
pub(crate) const THESEUS: &str = "theseus";
/// Namespace of the broker's own objects.
pub(crate) const SYSTEM: &str = "resource-broker-system";
/// Namespace of the clusters' Secrets.
pub(crate) const CLUSTERS: &str = "resource-broker-clusters";
/// The broker's Deployment.
pub(crate) const DEPLOYED: &str = "broker";
/// The broker, as the coordination cluster has it.
pub(crate) const BROKER: Program = Program { label: "resource-broker", name: DEPLOYED, account: "resource-broker" };
/// Tag of images that say nothing of a release.
pub(crate) const TAG: &str = "e2e";

/// What the broker's ServiceAccount may do in the coordination cluster.
pub(crate) const RIGHTS: &str = include_str!("../../../../config/rbac/coordination.yaml");
/// The AcceptAPI of the provider: Certificates of a domain.
pub(crate) const ACCEPTS: &str = "certificates";
/// Namespace of the consumer's object.
pub(crate) const SHOP: &str = "shop";
/// Its name.
pub(crate) const WEB: &str = "web";
/// An address at which nobody answers.
pub(crate) const NOWHERE: &str = "https://127.0.0.1:1";
/// A user whom nobody has allowed anything.
const LIMITED: &str = "limited";

/// All of it.
pub(crate) struct Installation {
    /// The coordination cluster.
    pub(crate) hub: Place,
    /// The consumer.
    pub(crate) homer: Place,
    /// The provider.
    pub(crate) theseus: Place,
    /// What was said when the consumer and the provider joined, one after the other.
    pub(crate) joined: Vec<Said>,
    /// The clock by which `kubectl broker` goes, and nobody else.
    pub(crate) clock: WallClock,
    broker: Mutex<Option<Broker>>,
    lab: Lab,
}

/// A way to a cluster.
pub(crate) struct Way<'a> {
    /// What it is called.
    pub(crate) name: &'a str,
    /// The cluster.
    pub(crate) to: &'a Place,
    /// The address; its own unless it is given.
    pub(crate) server: Option<&'a str>,
    /// The token.
    pub(crate) token: &'a str,
}

/// A kubeconfig with a context for each; the first is the current one.
pub(crate) fn kubeconfig(ways: &[Way<'_>]) -> String {
    let of_each = |part: fn(&Way<'_>) -> Value| -> Value { ways.iter().map(part).collect() };
    let clusters = of_each(|way| {
        let own = way.to.cluster.server_url();
        let authority = base64(way.to.cluster.authority_pem());
        let server = way.server.unwrap_or(&own);
        json!({"name": way.name, "cluster": {"server": server, "certificate-authority-data": authority}})
    });
    let users = of_each(|way| json!({"name": way.name, "user": {"token": way.token}}));
    let contexts = of_each(|way| json!({"name": way.name, "context": {"cluster": way.name, "user": way.name}}));
    let document = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": ways[0].name,
        "clusters": clusters, "users": users, "contexts": contexts,
    });
    document.to_string()
}

/// The broker's flags, those of the process and those of the Deployment, but for addresses and the coordination cluster.
fn flags() -> Vec<String> {
    let kind = format!("--watch-kind={}", CERTIFICATE.flag());
    let namespaces = [format!("--cluster-secrets-namespace={CLUSTERS}"), format!("--namespace={SYSTEM}")];
    [kind].into_iter().chain(namespaces).chain(["--leader-elect".to_owned()]).collect()
}

impl Installation {
    /// Starts the clusters, and lets the consumer and the provider join.
    pub(crate) async fn start() -> Self {
        let lab = Lab::start(LabOptions::default()).await.unwrap_or_else(|error| panic!("{error:#}"));
        let options = ClusterOptions { workloads: vec!["apps/v1", "batch/v1"], ..ClusterOptions::default() };
        let (hub, homer, theseus) = tokio::join!(
            place(&lab, "hub", &options, &[MIGRATION, MIGRATION_CONFIGURATION]),
            edge(&lab, HOMER, &[CERTIFICATE]),
            edge(&lab, THESEUS, &[CERTIFICATE, ACCEPT_API]),
        );
        let clock = WallClock::make(lab.directory()).unwrap();
        let mut at = Self { hub, homer, theseus, joined: Vec::new(), clock, broker: Mutex::new(None), lab };
        at.write_kubeconfig();
        at.hub.apply(RIGHTS).await;
        at.deploy(&[]).await;
        for (name, role) in [(HOMER, "consumer"), (THESEUS, "provider")] {
            let said = at.join(name, role, &[]).await;
            assert_eq!(said.code, Some(0), "{said:?}");
            at.joined.push(said);
        }
        let setup =
            BrokerSetup { name: "broker", coordination: Some(&at.hub), args: flags(), ..BrokerSetup::default() };
        let broker = Broker::start(&at.lab, &setup).await;
        at.broker = Mutex::new(Some(broker));
        let spec = json!({"gvr": CERTIFICATE.gvr(), "filters": [{"key": "fqdn", "suffix": ".doctor.test"}]});
        at.theseus.create(&ACCEPT_API, ACCEPT_NAMESPACE, ACCEPTS, json!({"spec": spec})).await;
        at.homer.make_namespace(SHOP).await;
        at.ask().await;
        at
    }

    /// All clusters.
    pub(crate) fn places(&self) -> [&Place; 3] {
        [&self.hub, &self.homer, &self.theseus]
    }

    fn kubeconfig_file(&self) -> PathBuf {
        self.lab.directory().join("kubeconfig")
    }

    /// A person's kubeconfig: a context for each cluster, those of somebody who may do nothing, and one to nowhere.
    fn write_kubeconfig(&self) {
        let way = |name, to, user| Way { name, to, server: None, token: token(to, user) };
        let Self { hub, homer, theseus, .. } = self;
        let ways = [
            way("hub", hub, PERSON),
            way(HOMER, homer, PERSON),
            way(THESEUS, theseus, PERSON),
            way("hub-limited", hub, LIMITED),
            way("theseus-limited", theseus, LIMITED),
            Way { server: Some(NOWHERE), ..way("nowhere", hub, PERSON) },
        ];
        fs::write(self.kubeconfig_file(), kubeconfig(&ways)).unwrap();
    }

    /// Runs `kubectl broker`, as a person whose current context is the coordination cluster.
    pub(crate) async fn command(&self, args: &[&str]) -> Said {
        run(&self.kubeconfig_file(), &self.clock, args).await
    }

    /// Runs `kubectl broker join`; the cluster's name is that of the context, too.
    pub(crate) async fn join(&self, name: &str, role: &str, more: &[&str]) -> Said {
        let args = ["join", name, "--role", role, "--member-context", name];
        self.command(&[&args, more].concat()).await
    }

    /// Applies the broker's Deployment, with further arguments, and says that it works.
    pub(crate) async fn deploy(&self, more: &[&str]) {
        self.deploy_tagged(TAG, more).await;
    }

    /// The same, with this tag of its image.
    pub(crate) async fn deploy_tagged(&self, tag: &str, more: &[&str]) {
        let args: Vec<String> = flags().into_iter().chain(more.iter().map(ToString::to_string)).collect();
        BROKER.deploy(&self.hub, tag, &args).await;
        BROKER.work(&self.hub, 1).await;
    }

    /// The consumer asks for its object, and the provider serves it.
    pub(crate) async fn ask(&self) {
        let fqdn = format!("{WEB}.doctor.test");
        self.homer.create(&CERTIFICATE, SHOP, WEB, json!({"spec": {"fqdn": fqdn}})).await;
        let served = |seen: &Object| seen.has("Brokered", "True", "Placed");
        self.homer.until(&CERTIFICATE, SHOP, WEB, "to be served", served).await;
    }

    /// The broker stands still (SIGSTOP).
    pub(crate) async fn freeze(&self) {
        self.broker.lock().await.as_mut().unwrap().process().pause().await.unwrap();
    }

    /// It goes on.
    pub(crate) async fn thaw(&self) {
        self.broker.lock().await.as_mut().unwrap().process().resume().unwrap();
    }

    /// The end of its log, for a test that fails.
    pub(crate) fn log(&self) -> String {
        let Ok(broker) = self.broker.try_lock() else { return "the broker is in use".to_owned() };
        broker.as_ref().map(|broker| broker.last_lines(40)).unwrap_or_default()
    }

    /// The ends of all audit logs.
    pub(crate) async fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        for place in self.places() {
            marks.push(place.cluster.audit().settle().await.unwrap());
        }
        marks
    }

    /// What people have written since then: questions about rights are none.
    pub(crate) async fn written_since(&self, marks: &[Mark]) -> Vec<String> {
        let mut written = Vec::new();
        for (place, mark) in self.places().into_iter().zip(marks) {
            let events = place.cluster.audit().settled_since(*mark).await.unwrap().writes();
            let events = events.only(|event| [PERSON, LIMITED].contains(&event.user.as_str()));
            let events = events.only(|event| !event.resource.ends_with("subjectaccessreviews"));
            written.extend(events.iter().map(|event| format!("{}: {} {}", place.name(), event.verb, event.uri)));
        }
        written
    }
}

fn token<'a>(place: &'a Place, user: &str) -> &'a str {
    place.cluster.token(user).unwrap()
}
