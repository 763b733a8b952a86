//! `Director`: has the acts of a plan done, and in the end puts all in order again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use broker_api::keys;
use serde_json::{Value, json};
use sim::{ApiServer, World};
use tokio::time::sleep;

use crate::{
    act::{Act, Mark, Order, Policy, Thing},
    customer::{Customer, annotate, hold},
    hasty, people,
    person::Person,
    provider::Mood,
    stage::{
        ACCEPT, ACCEPT_APIS, CERTIFICATE, CLUSTERS, CONFIGURATIONS, CRDS, FOREIGN, HUB, PRIVATE, Stage, acceptance,
        certificate, certificates, cluster_secret, configuration, first_crd,
    },
};

/// How long people may be kept waiting once all is in order.
const PATIENCE: Duration = Duration::from_hours(3);

/// How long a consumer's kind stays for people who still wait for something of it.
const IDLE: Duration = Duration::from_mins(20);

/// Whoever does what a plan says.
pub(crate) struct Director<'a> {
    stage: &'a Stage,
    customers: BTreeMap<Thing, Customer>,
}

impl<'a> Director<'a> {
    pub(crate) fn of(stage: &'a Stage) -> Self {
        let things = Thing::all(stage.tenants).into_iter();
        Self { stage, customers: things.map(|thing| (thing, Customer::start(&stage.world, thing))).collect() }
    }

    pub(crate) async fn perform(&self, act: Act) {
        let world = &self.stage.world;
        if act != Act::Nothing {
            world.tell("", "story", format!("{act:?}"));
        }
        match act {
            // Processes are not its business.
            Act::Nothing | Act::Freeze(_) => {}
            Act::Ask(thing)
            | Act::Edit(thing, _)
            | Act::GiveBack(thing)
            | Act::Forge(thing, _)
            | Act::Force(thing)
            | Act::Pause(thing)
            | Act::Resume(thing)
            | Act::Hold(thing)
            | Act::Release(thing) => self.customers[&thing].tell(act),
            Act::Strip(thing, mark) => self.strip(thing, mark).await,
            Act::Drop(thing) => self.on_copies(thing, "DELETE", &Value::Null).await,
            Act::Squat(thing) => self.squat(thing).await,
            Act::Keep(thing) => self.keep(thing).await,
            Act::Hasten(thing, haste) => hasty::start(self.stage, thing, haste),
            Act::Raze(thing) => self.raze(thing).await,
            Act::Yield(_) => self.yield_all().await,
            Act::Steal(provider) => self.steal(provider).await,
            Act::Policy(provider, policy) => self.set_policy(provider, policy).await,
            Act::Mood(provider, mood) => _ = self.stage.moods[provider].send_replace(mood),
            Act::Leave(name) => self.at_hub("DELETE", &format!("{CLUSTERS}/{name}"), &Value::Null).await,
            Act::Return(name) => self.at_hub("POST", CLUSTERS, &cluster_secret(name)).await,
            Act::Outage(server, outage) => world.set_outage(server, Some(outage)),
            Act::Heal(server) => world.set_outage(server, None),
            Act::Compact(server) => self.stage.server(server).compact(),
            Act::Rotate(name, token) => self.rotate(name, token).await,
            Act::Uninstall(server) => self.uninstall(server).await,
            Act::Install(server) => self.install(server).await,
            Act::Withdraw(provider) => self.define(provider, "DELETE", ACCEPT_APIS, &Value::Null).await,
            Act::Readmit(provider) => self.readmit(provider).await,
            Act::Extend => {
                for provider in self.stage.providers {
                    let versions = json!({"spec": {"versions": self.stage.certificate_crd()["spec"]["versions"]}});
                    self.define(provider, "PATCH", CERTIFICATE, &versions).await;
                }
            }
            Act::Transfer(thing, to) => people::transfer(self.stage, thing, to).await,
            Act::Order(order) => people::order(self.stage, order).await,
            Act::Configure => self.at_hub("POST", CONFIGURATIONS, &configuration()).await,
            Act::Hide => self.serve_configurations(false).await,
            Act::Show => self.serve_configurations(true).await,
            Act::Deconfigure => {
                self.at_hub("DELETE", &format!("{CONFIGURATIONS}/certificates"), &Value::Null).await;
            }
        }
    }

    /// Nothing stands in anybody's way any more, and people wait until they have done what they wanted.
    pub(crate) async fn settle(self) -> Result<(), String> {
        self.stage.world.set_outage(HUB, None);
        self.perform(Act::Show).await;
        for provider in self.stage.providers {
            self.perform(Act::Install(provider)).await;
        }
        for name in self.stage.tenants.iter().chain(self.stage.providers) {
            self.stage.world.set_outage(name, None);
            self.at_hub("POST", CLUSTERS, &cluster_secret(name)).await;
        }
        for provider in self.stage.providers {
            if definition(&self.stage.server(provider), ACCEPT_APIS).is_none_or(|crd| is_going(&crd)) {
                self.perform(Act::Readmit(provider)).await;
            }
            self.stage.moods[provider].send_replace(Mood::Prompt);
            self.set_policy(provider, Policy::Open).await;
        }
        self.yield_all().await;
        self.clear_away().await;
        let stage = self.stage;
        let resume = async {
            loop {
                resume_all(stage).await;
                sleep(Duration::from_secs(20)).await;
            }
        };
        let finished = async {
            // It is not there before all that was of it is gone, which somebody may hold until now.
            for tenant in stage.tenants {
                self.install(tenant).await;
            }
            for (thing, customer) in self.customers {
                if !customer.finish(PATIENCE).await {
                    return Err(format!("{thing:?}: its last one does not go"));
                }
            }
            Ok(())
        };
        tokio::select! {
            biased;
            done = finished => done?,
            () = resume => {}
        }
        resume_all(stage).await;
        Ok(())
    }

    async fn at_hub(&self, method: &str, path: &str, body: &Value) {
        let hub = self.stage.server(HUB);
        // It may be there already, or not any more.
        Person { name: "platform", server: &hub }.ask(method, path, body).await;
    }

    /// What people there wanted of it before is done before: otherwise the end would depend on who was late.
    async fn uninstall(&self, server: &str) {
        for (_, customer) in self.customers.iter().filter(|(thing, _)| thing.tenant == server) {
            if !customer.has_done_all(IDLE).await {
                return;
            }
        }
        self.define(server, "DELETE", CERTIFICATE, &Value::Null).await;
    }

    async fn install(&self, server: &str) {
        let is_provider = self.stage.providers.contains(&server);
        let crd = if is_provider { self.stage.certificate_crd() } else { first_crd(CERTIFICATE) };
        self.define(server, "POST", CERTIFICATE, &crd).await;
    }

    /// The AcceptAPIs that there were went with their CRD: there is one that takes what comes.
    async fn readmit(&self, provider: &str) {
        self.define(provider, "POST", ACCEPT_APIS, &first_crd(ACCEPT_APIS)).await;
        let server = self.stage.server(provider);
        let owner = Person { name: "owner", server: &server };
        // It takes a moment until they are served.
        for _ in 0..600 {
            if owner.ask("POST", ACCEPT, &acceptance()).await.0 != 404 {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    /// It may be there already, or not any more.
    async fn define(&self, provider: &str, method: &str, name: &str, body: &Value) {
        let server = self.stage.server(provider);
        let owner = Person { name: "owner", server: &server };
        let path = if method == "POST" { CRDS.to_owned() } else { format!("{CRDS}/{name}") };
        // One that goes stays until the last object of its kind is gone.
        for _ in 0..600 {
            let taken = owner.ask(method, &path, body).await.0 == 409;
            if !taken || definition(&server, name).is_none_or(|crd| !is_going(&crd)) {
                return;
            }
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn serve_configurations(&self, served: bool) {
        let name = "migrationconfigurations.broker.platform-mesh.io";
        let held = self.stage.server(HUB).objects("customresourcedefinitions.apiextensions.k8s.io");
        let Some(crd) = held.get(&(String::new(), name.to_owned())) else { return };
        let mut versions = crd["spec"]["versions"].clone();
        versions[0]["served"] = json!(served);
        self.at_hub("PATCH", &format!("{CRDS}/{name}"), &json!({"spec": {"versions": versions}})).await;
    }

    async fn rotate(&self, name: &str, token: u8) {
        let kubeconfig = World::kubeconfig_with(name, &format!("token-{token}"));
        let path = format!("{CLUSTERS}/{name}");
        self.at_hub("PATCH", &path, &json!({"stringData": {"kubeconfig": kubeconfig}})).await;
    }

    async fn on_copies(&self, thing: Thing, method: &str, body: &Value) {
        for (server, namespace, name) in self.copies(thing) {
            let owner = Person { name: "owner", server: &server };
            owner.ask(method, &format!("{}/{name}", certificates(&namespace)), body).await;
        }
    }

    /// Where it has copies: at whom, namespace and name.
    fn copies(&self, thing: Thing) -> Vec<(ApiServer, String, String)> {
        let servers = self.stage.providers.iter().map(|provider| self.stage.server(provider));
        let at = |server: ApiServer| {
            let copies = copies_at(&server, thing).into_iter();
            copies.map(move |(namespace, name, _)| (server.clone(), namespace, name)).collect::<Vec<_>>()
        };
        servers.flat_map(at).collect()
    }

    async fn squat(&self, thing: Thing) {
        for (server, namespace, name) in self.copies(thing) {
            let owner = Person { name: "owner", server: &server };
            owner.ask("DELETE", &format!("{}/{name}", certificates(&namespace)), &Value::Null).await;
            let mut own = certificate(&namespace, &name, "squatter.example.org");
            own["metadata"]["labels"] = json!({FOREIGN: "true"});
            owner.ask("POST", &certificates(&namespace), &own).await;
        }
    }

    async fn keep(&self, thing: Thing) {
        for (server, namespace, _) in self.copies(thing) {
            let metadata = json!({"name": "of-my-own", "labels": {FOREIGN: "true"}});
            let own = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
            let owner = Person { name: "owner", server: &server };
            owner.ask("POST", &format!("/api/v1/namespaces/{namespace}/configmaps"), &own).await;
        }
    }

    async fn raze(&self, thing: Thing) {
        for (server, namespace, _) in self.copies(thing) {
            let owner = Person { name: "owner", server: &server };
            owner.ask("DELETE", &format!("/api/v1/namespaces/{namespace}"), &Value::Null).await;
        }
    }

    async fn yield_all(&self) {
        for provider in self.stage.providers {
            let server = self.stage.server(provider);
            let owner = Person { name: "owner", server: &server };
            for kind in [CERTIFICATE, "configmaps"] {
                for ((namespace, name), object) in server.objects(kind) {
                    if object["metadata"]["labels"][FOREIGN].is_string() {
                        let all = match kind {
                            CERTIFICATE => certificates(&namespace),
                            _ => format!("/api/v1/namespaces/{namespace}/{kind}"),
                        };
                        owner.ask("DELETE", &format!("{all}/{name}"), &Value::Null).await;
                    }
                }
            }
        }
    }

    /// What bears the name of a copy and no mark of a broker any more: nobody can tell it from what was there before, and who
    /// waits for its place is told so.
    async fn clear_away(&self) {
        for provider in self.stage.providers {
            let server = self.stage.server(provider);
            let owner = Person { name: "owner", server: &server };
            for ((namespace, name), object) in server.objects(CERTIFICATE) {
                let is_named_so = name.split_once('-').is_some_and(|(hash, _)| is_hash(hash));
                if is_named_so && object["metadata"]["labels"][keys::MANAGED_BY].is_null() {
                    owner.ask("DELETE", &format!("{}/{name}", certificates(&namespace)), &Value::Null).await;
                }
            }
        }
    }

    async fn strip(&self, thing: Thing, mark: Mark) {
        let labels = json!({keys::MANAGED_BY: null, keys::CONSUMER: null, keys::SLOT: null});
        let metadata = match mark {
            Mark::Origin => json!({"annotations": {keys::ORIGIN: null}}),
            Mark::Name => json!({"annotations": {keys::CONSUMER_NAME: null}}),
            Mark::Labels => json!({"labels": labels}),
            Mark::All => json!({"annotations": null, "labels": null}),
        };
        self.on_copies(thing, "PATCH", &json!({"metadata": metadata})).await;
    }

    async fn steal(&self, provider: &str) {
        let server = self.stage.server(provider);
        let owner = Person { name: "owner", server: &server };
        let copies = server.objects(CERTIFICATE);
        let Some(((namespace, name), copy)) =
            copies.into_iter().find(|((namespace, name), _)| namespace != PRIVATE && !name.starts_with("forged"))
        else {
            return;
        };
        let metadata = json!({"name": format!("forged-{name}"), "annotations": copy["metadata"]["annotations"],
            "labels": copy["metadata"]["labels"]});
        let body = json!({"apiVersion": copy["apiVersion"], "kind": copy["kind"], "metadata": metadata,
            "spec": {"fqdn": "stolen.example.org"}});
        owner.ask("POST", &certificates(&namespace), &body).await;
        let status = json!({"status": {"status": "Available", "conditions": [{"type": "Issued", "status": "True",
            "reason": "Issued", "message": "for a thief", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
        owner.ask("PATCH", &format!("{}/forged-{name}/status", certificates(&namespace)), &status).await;
    }

    async fn set_policy(&self, provider: &str, policy: Policy) {
        let server = self.stage.server(provider);
        let owner = Person { name: "owner", server: &server };
        let path = format!("{ACCEPT}/certificates");
        if policy == Policy::None {
            owner.ask("DELETE", &path, &Value::Null).await;
            return;
        }
        // It may have been deleted.
        owner.ask("POST", ACCEPT, &acceptance()).await;
        let drained = if policy == Policy::Drained { json!("true") } else { Value::Null };
        let wants_share = if policy == Policy::Rebalancing { json!("true") } else { Value::Null };
        let suffix = if policy == Policy::Closed { ".example.com" } else { ".example.org" };
        let patch = json!({
            "metadata": {"annotations": {keys::DRAIN: drained, keys::REBALANCE: wants_share}},
            "spec": {
                "filters": [{"key": "fqdn", "suffix": suffix}],
                "cordoned": matches!(policy, Policy::Cordoned | Policy::Drained),
                "priority": if policy == Policy::Preferred { 5 } else { 0 },
                "unreachableAfterSeconds": if policy == Policy::Impatient { json!(20) } else { Value::Null },
            },
        });
        owner.ask("PATCH", &path, &patch).await;
    }
}

/// A CRD as a server has it.
pub(crate) fn definition(server: &ApiServer, name: &str) -> Option<Arc<Value>> {
    server.objects("customresourcedefinitions.apiextensions.k8s.io").remove(&(String::new(), name.to_owned()))
}

/// What names of copies begin with.
fn is_hash(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(crate) fn is_going(crd: &Value) -> bool {
    crd["metadata"]["deletionTimestamp"].is_string()
}

/// The copies of it that a provider has: namespace, name, and all of it.
pub(crate) fn copies_at(provider: &ApiServer, thing: Thing) -> Vec<(String, String, Value)> {
    let all = provider.objects(CERTIFICATE).into_iter();
    let its = all.filter(|((_, name), copy)| {
        let annotations = &copy["metadata"]["annotations"];
        annotations[keys::CONSUMER_CLUSTER] == thing.tenant
            && annotations[keys::CONSUMER_NAME] == thing.name
            && !name.starts_with("forged")
    });
    its.map(|((namespace, name), copy)| (namespace, name, (*copy).clone())).collect()
}

/// Nothing is held up any more, no object and no move.
async fn resume_all(stage: &Stage) {
    people::order(stage, Order::Resume).await;
    for thing in Thing::all(stage.tenants) {
        let server = stage.server(thing.tenant);
        let ann = Person { name: "ann", server: &server };
        annotate(&ann, thing, &json!({keys::PAUSED: null})).await;
        hold(&ann, thing, false).await;
    }
}
